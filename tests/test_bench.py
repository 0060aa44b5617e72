"""The quick form of every benchmark script runs and prints its table."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import EXTRAS

BENCH = Path(__file__).resolve().parents[1] / "bench"
LIBRARIES = {"common.py", "forward_mode.py", "other_data.py", "peers.py", "processes.py", "record.py", "tasks.py"}
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
    assert all(",pglearn " in line for line in ours)
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    assert record.read_text() == with_ours
