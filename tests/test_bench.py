"""The quick form of every benchmark script runs and prints its table."""

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import EXTRAS

BENCH = Path(__file__).resolve().parents[1] / "bench"
LIBRARIES = {"common.py", "forward_mode.py", "other_data.py", "peers.py", "processes.py", "record.py", "tasks.py"}
LIBRARIES |= {
    "catalogue.py",
    "seen_data.py",
    "newest_data.py",
    "keel_data.py",
    "fresh_data.py",
    "r_data.py",
    "unseen_data.py",
}
EXTRA = {"gpu.py": "torch"}
SCRIPTS = sorted(path for path in BENCH.glob("*.py") if path.name not in LIBRARIES)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_the_quick_form_prints_a_table(script: Path, tmp_path: Path) -> None:
    if (extra := EXTRA.get(script.name)) and extra not in EXTRAS:
        pytest.skip(f"PGLEARN_TEST_EXTRAS does not ask for {extra}")
    # An empty data folder: the quick form must not need the published data.
    command = [sys.executable, str(script), "--quick", "--data", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "-|-" in run.stdout


def test_accuracy_goes_on_from_its_record(tmp_path: Path) -> None:
    record = tmp_path / "results.csv"
    command = [sys.executable, str(BENCH / "accuracy.py"), "--quick", "--record", str(record)]
    subprocess.run([*command, "--without-ours"], check=True, capture_output=True, timeout=300)
    of_peers = record.read_text()
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    with_ours = record.read_text()
    assert with_ours.startswith(of_peers)
    ours = with_ours.removeprefix(of_peers).splitlines()
    assert len(ours) == 4, "two draws of two data sets"
    assert all(",pglearn budget=2," in line for line in ours)
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    assert record.read_text() == with_ours
    subprocess.run([*command, "--by-share"], check=True, capture_output=True, timeout=300)
    by_share = record.read_text().removeprefix(with_ours).splitlines()
    assert len(by_share) == 4
    assert all(",pglearn by share budget=2," in line for line in by_share)
    assert _balanced(by_share[:2]) > _balanced(ours[:2]), "of the imbalanced one"


def _balanced(lines: list[str]) -> float:
    return float(np.mean([float(line.split(",")[-2]) for line in lines]))


@pytest.fixture
def scaling(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(BENCH)
    module = importlib.import_module("scaling")
    monkeypatch.setattr(module, "PEERS", tmp_path / "peers")
    monkeypatch.setattr(module, "PACKAGE", "no_such_package_at_all")
    return module


def test_peers_that_do_not_install_are_shown_with_the_reason(scaling: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    peers = scaling.Peers.found(install=True)
    assert peers.lacking.startswith("did not install (ERROR: No matching distribution found for no_such_package")
    python = str(scaling.PEERS / "bin" / "python")
    known = subprocess.run([python, "-c", "import numpy, rich, pglearn"], capture_output=True, text=True)
    assert known.returncode == 0, known.stderr


def test_peers_are_left_where_they_are_not_to_be_installed(scaling: Any) -> None:
    assert scaling.Peers.found(install=False).lacking == "not installed"
    assert not scaling.PEERS.exists()


def test_rows_without_an_answer_count_among_the_labels_that_agree(
    scaling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A far group of rows without a label: neither has an answer there."""
    usual = scaling._clouds

    def with_an_island(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
        X, y = usual(n, d)
        X[:50] += 1e4
        y[:50] = -1
        return X, y

    monkeypatch.setattr(scaling, "_clouds", with_an_island)
    found = scaling.same_labels(1_000, 5)
    assert found["unreached"] == 50
    assert found["same"] > 0.99
