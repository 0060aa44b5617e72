"""The code in README.md runs: Python blocks as they stand, `pglearn` commands in a short search on made-up flowers."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.cli.conftest import rows, run

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
TABLE = re.compile(r"[\w-]+\.(?:csv|tsv|parquet)")
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
    found = []
    for block in blocks("sh", "bash", "shell", "console"):
        lines = block.replace("\\\n", " ").splitlines()
        prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        found += [shlex.split(line, comments=True) for line in prompted or lines]
    return [words for words in found if words]


def write_tables(text, target="label"):
    """Every table that is named, into the working directory."""
    frame = rows()[0].rename(columns={"kind": target})
    for name in TABLE.findall(text):
        if name.endswith(".parquet"):
            frame.to_parquet(name)
        else:
            frame.to_csv(name, index=False, sep="\t" if name.endswith(".tsv") else ",")


def test_python_blocks_run_one_after_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "readme"}
    assert blocks("python")
    for block in blocks("python"):
        write_tables(block)
        exec(compile(block, "README.md", "exec"), namespace)


def test_pglearn_commands_run_one_after_another(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGLEARN_DATA", str(tmp_path))
    found = [words[1:] for words in commands() if words[0] == "pglearn"]
    assert found
    for words in found:
        write_tables(" ".join(words), words[words.index("--target") + 1] if "--target" in words else "label")
        code, error = run(*words, *SHORT.get(words[0], [])), capsys.readouterr().err
        if words[0] == "reproduce":  # the paper's data is not here
            assert "The data is not part of pglearn" in error
        else:
            assert code == 0, error


def test_scripts_are_there():
    found = [word for words in commands() for word in words if word.startswith("./") or word.endswith(".py")]
    assert [word for word in found if not (ROOT / word).is_file()] == []
