"""`pglearn reproduce`, from a folder of data to tables and figures."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from pglearn.cli import main as cli
from pglearn.paper import figures, methods

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reproduction.md"
FEW = ["--sets", "umist", "yale", "--splits", "2", "--quiet"]
SMALL = [*FEW, "--budget", "2", "--candidates", "2", "--unit-steps", "1"]


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def reproduce(folder, out):
    def call(experiment, *arguments, small=True):
        given = ["reproduce", experiment, "--data", folder, "-o", out, *(SMALL if small else []), *arguments]
        return cli.main([str(argument) for argument in given])

    return call


def test_all_methods_through_table_2(reproduce, out, capsys):
    assert reproduce("table2") == 0
    rows = pd.read_csv(out / "rows.csv")
    assert len(rows) == 2 * 2 * len(methods.METHODS)
    assert set(rows["method"]) == set(methods.METHODS)
    assert rows["accuracy"].between(0, 1).all()
    assert rows["validation_accuracy"].between(0, 1).all()
    assert (rows["seconds"] > 0).all()
    assert rows["failure"].isna().all()
    assert (rows["command"].str.startswith("pglearn reproduce table2 --data")).all()
    printed = capsys.readouterr().out
    assert f"{len(rows)} of {len(rows)} fits to do" in printed
    table = pd.read_csv(out / "table2.csv", index_col=["group", "method"])
    of_grid = rows[(rows["method"] == "Grid") & (rows["data"] == "yale")]["accuracy"].mean()
    assert table.loc[("yale", "Grid"), "ours"] == pytest.approx(of_grid)
    (line,) = re.findall(r"\| Yale +\| Grid +\| 0\.6576▲ \|.*", (out / "table2.md").read_text(encoding="utf-8"))
    assert line in printed


def test_a_run_that_was_stopped_goes_on_and_rows_of_another_version_are_told_of(reproduce, out, capsys):
    few = ("--methods", "PG-learn", "Grid", "Rand_d")
    assert reproduce("table2", "--no-run", *few) == 0
    assert not (out / "rows.csv").exists()
    assert "0.8234" in capsys.readouterr().out, "the paper's figure"
    assert reproduce("table2", *few) == 0
    whole = (out / "rows.csv").read_text()
    other = re.sub(r"pglearn \S+ \w{8},", "pglearn 0.0.9 01234567,", whole, count=1)
    (out / "rows.csv").write_text(other[:-30])
    assert "several versions" not in capsys.readouterr().out
    assert reproduce("table2", *few) == 0
    printed = capsys.readouterr().out
    assert "1 of 12 fits to do" in printed
    assert "note The rows are of several versions: pglearn 0.0.9 01234567 and pglearn" in printed
    assert reproduce("table2", *few) == 0
    assert "0 of 12 fits to do" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        ("KeyboardInterrupt", 130, "the same command goes on from there"),
        ("ValueError('no metric')", 1, "mine on umist, 10 %, split 0 failed: ValueError: no metric"),
        ("ValueError('no metric')", 1, "4 fits failed; the same command tries them again."),
    ],
)
def test_ctrl_c_and_fits_that_fail_are_told_and_the_exit_code_says_so(reproduce, tmp_path, capsys, error, code, told):
    path = tmp_path / "mine.py"
    path.write_text(f"def make(budget, seed):\n    raise {error}\nMETHODS = {{'mine': make}}\n")
    assert reproduce("table2", "--method-file", path, "--methods", "mine") == code
    assert told in capsys.readouterr().out


def test_table_3_has_ranks_and_what_is_named_twice_is_fitted_once(reproduce, out, capsys):
    twice = ("--methods", "PG-learn", "Grid", "Grid", "--percents", "10", "50", "10", "--sets", "yale", "yale")
    assert reproduce("table3", *twice) == 0
    assert "8 of 8 fits to do" in capsys.readouterr().out
    table = pd.read_csv(out / "table3.csv")
    assert table["group"].tolist() == ["10 %", "10 %", "50 %", "50 %"]
    assert table["rank"].between(1, 2).all()
    assert table[["paper", "difference", "paper_rank"]].isna().all(axis=None), "the paper's are of five sets"


def test_table_4_gives_each_competitor_all_units(reproduce, out):
    assert reproduce("table4", "--methods", "PG-learn", "Grid", "--noise", "normal", "--percents", "50") == 0
    rows = pd.read_csv(out / "rows.csv")
    assert set(zip(rows["noise"], rows["percent"], strict=True)) == {("normal", 50)}
    assert "50 % labels, normal noise" in (out / "table4.md").read_text(encoding="utf-8")
    assert (rows["budget"] * rows["candidates"]).eq(4).all()


def test_the_time_is_told_where_units_are_seconds(reproduce, out, capsys):
    few = (*FEW, "--budget", "2", "--candidates", "2", "--methods", "Grid", "--unit-seconds", "0.01")
    assert reproduce("table2", "--quick", *few, small=False) == 0
    printed = capsys.readouterr().out
    assert "Expected time: about 0:00:00, 1 at a time." in printed
    assert "The full run (B = 16, T = 4, unit 0.2 s, 10 splits) would take about 0:34:08, one fit" in printed
    assert (pd.read_csv(out / "rows.csv")["unit_seconds"] == 0.01).all()


def test_the_method_of_the_documentation_works(reproduce, tmp_path, out):
    """docs/reproduction.md has it as a whole file: what stands there is what runs here."""
    (example,) = re.findall(r"```python\n(# mine\.py\n.*?)```", DOCS.read_text(encoding="utf-8"), flags=re.DOTALL)
    path = tmp_path / "mine.py"
    path.write_text(example)
    assert reproduce("table2", "--method-file", path, "--methods", "LabelSpreading") == 0
    table = pd.read_csv(out / "table2.csv", index_col=["group", "method"])
    assert table.loc[("mean", "LabelSpreading"), "ours"] > 0.5


def test_all_figures(reproduce, out, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(figures, "draw_search", partial(figures.draw_search, points=30, resolution=3))
    assert reproduce("figures", "--methods", "PG-learn", "Grid", "--percents", "20", "--splits", "1") == 0
    drawn = sorted(path.name for path in (out / "figures").iterdir())
    assert drawn == [f"figure{name}.svg" for name in ("1", "3", "4", "5a", "5b", "6")]
    assert "PG-learn with 20 % labels, one run each" in (out / "figures" / "figure3.svg").read_text(encoding="utf-8")
    rows = pd.read_csv(out / "rows.csv")
    assert set(rows["budget"]) == {1, 2}, "over time"
    assert not rows.duplicated(["method", "data", "percent", "split", "noise", "budget", "candidates"]).any()
    before = {path: path.stat().st_mtime_ns for path in (out / "traces").iterdir()}
    assert len(before) == 2 + 2, "each set without noise and with it"
    assert reproduce("figures", "--only", "5b", "6", "--percents", "20", "--splits", "1") == 0
    assert {path: path.stat().st_mtime_ns for path in (out / "traces").iterdir()} == before


def test_a_search_that_fails_is_told_and_the_rest_is_drawn(reproduce, out, capsys, monkeypatch):
    pytest.importorskip("matplotlib")

    def degenerate(budget, seed):
        raise ValueError("a degenerate metric")

    assert reproduce("figures", "--only", "6", "--splits", "1", "--sets", "yale") == 0
    monkeypatch.setitem(methods.METHODS, "PG-learn", degenerate)
    assert reproduce("figures", "--only", "5b", "6", "3", "--splits", "1") == 1
    printed = capsys.readouterr().out
    assert printed.count("PG-learn on umist, 20 %, split 0 failed: ValueError: a degenerate metric") == 1, "of two"
    assert "Figure 3 is not drawn: nothing that it needs went through." in printed
    for name in ("5b", "6"):
        drawn = (out / "figures" / f"figure{name}.svg").read_text(encoding="utf-8")
        assert ("Yale" in drawn, "UMIST" in drawn) == (True, False)


@pytest.mark.parametrize(
    ("experiment", "options", "sentence"),
    [
        ("table2", ["--methods", "Grit"], "--methods Grit is not known: choose among PG-learn, "),
        ("table2", ["--sets", "orl"], "--sets orl is not known: choose among coil, usps"),
        ("table3", ["--percents", "15"], "--percents 15 is not known"),
        ("table4", ["--percents", "10", "20"], "table4 has one share of labels: give one number after --percents"),
        ("table4", ["--noise", "pink"], "--noise pink is not known: choose among uniform, normal"),
        ("figures", ["--only", "2"], "--only 2 is not known"),
        ("table2", ["--candidates", "1"], "--candidates=1 must be a whole number of at least 2"),
        ("table2", ["--splits", "11"], "there are 10 published splits"),
        ("table2", ["--unit-seconds", "-1"], "--unit-seconds=-1.0 must be above 0"),
        ("table2", ["--unit-seconds", "1", "--unit-steps", "1"], "give --unit-steps or --unit-seconds, not both"),
        ("table2", ["--percents", "10"], "--percents is for table3, table4, figures, not for table2"),
        ("table2", ["--sets", "coil"], "github.com/LingxiaoShawn/PG-Learn"),
    ],
)
def test_options_that_are_no_good_cost_no_time(reproduce, out, capsys, experiment, options, sentence):
    assert reproduce(experiment, *options, small=False) == 2
    assert sentence in capsys.readouterr().err
    assert not out.exists()


def test_without_matplotlib_there_is_a_pip_line(reproduce, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert reproduce("figures") == 2
    assert 'pip install "pglearn[report]"' in capsys.readouterr().err
