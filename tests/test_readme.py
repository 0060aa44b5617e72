"""The code in README.md runs: Python blocks as they stand, `pglearn` commands on a small table in a short search."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import rows, run

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
TABLES = (".csv", ".tsv", ".parquet")
SHORT = {
    "fit": ["--budget", "2", "--candidates", "2", "--max-time", "0.000001"],  # leaves `pglearn resume` something
    "demo": ["--budget", "2", "--candidates", "2"],
}


def blocks(*languages):
    return [
        text for language, text in re.findall(r"^```(\w+)\n(.*?)^```", README, re.M | re.S) if language in languages
    ]


def commands():
    """The words of every command, without prompt and comment."""
    lines = "".join(blocks("sh", "bash", "shell", "console")).replace("\\\n", " ").splitlines()
    found = [shlex.split(line.removeprefix("$ "), comments=True) for line in lines]
    return [words for words in found if words]


def write_table(path, target):
    frame = rows()[0].rename(columns={"kind": target})
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


def test_python_blocks_run_one_after_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "readme"}
    assert blocks("python")
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), namespace)


def test_pglearn_commands_run_one_after_another(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGLEARN_DATA", str(tmp_path))
    found = [words[1:] for words in commands() if words[0] == "pglearn"]
    assert found
    for words in found:
        target = words[words.index("--target") + 1] if "--target" in words else "label"
        for name in words[1:]:
            if name.endswith(TABLES) and words[words.index(name) - 1] not in ("-o", "--output"):
                write_table(Path(name), target)
        code, error = run(*words, *SHORT.get(words[0], [])), capsys.readouterr().err
        if words[0] == "reproduce":  # the paper's data is not here
            assert "The data is not part of pglearn" in error
        else:
            assert code == 0, error


@pytest.mark.parametrize("words", [words for words in commands() if words[0] != "pglearn"], ids=" ".join)
def test_other_commands_are_there(words):
    if words[0] == "python":
        words = [word for word in words[1:] if not word.startswith("-")]
    assert (ROOT / words[0]).exists() or shutil.which(words[0])
