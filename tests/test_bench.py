"""The quick form of every benchmark script runs and prints its table."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import EXTRAS

BENCH = Path(__file__).resolve().parents[1] / "bench"
LIBRARIES = {"common.py", "forward_mode.py"}
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
    assert "figure" in run.stdout
    assert "measured" in run.stdout
