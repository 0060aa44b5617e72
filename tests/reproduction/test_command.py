"""`pglearn reproduce`, from a folder of data to tables and figures."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.reproduction import tiny

from pglearn import cli
from pglearn.reproduction import figures, methods, session, traces

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reproduction.md"
FEW = ["--sets", "umist", "yale", "--splits", "2", "--quiet", "--jobs", "1"]
SMALL = [*FEW, "--budget", "2", "--candidates", "2", "--unit-steps", "1"]


@pytest.fixture
def reproduce(folder, tmp_path):
    def call(experiment, *arguments, small=True):
        usual = ["--data", folder, "-o", tmp_path / "out", *(SMALL if small else [])]
        given = ["reproduce", experiment, *usual, *arguments]
        return cli.main([str(argument) for argument in given])

    return call


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


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
    assert "36 of 36 fits to do" in printed
    assert "0.9321" in printed, "the paper's figure"
    table = pd.read_csv(out / "table2.csv")
    of_grid = rows[(rows["method"] == "Grid") & (rows["data"] == "yale")]["accuracy"].mean()
    shown = table[(table["method"] == "Grid") & (table["group"] == "yale")]["ours"].item()
    assert shown == pytest.approx(of_grid, abs=1e-6)
    assert "| Yale | Grid | 0.6576▲ |" in (out / "table2.md").read_text()


def test_a_run_that_was_stopped_goes_on(reproduce, out, capsys):
    few = ("--methods", "PG-learn", "Grid", "Rand_d")
    assert reproduce("table2", *few) == 0
    whole = (out / "rows.csv").read_bytes()
    (out / "rows.csv").write_bytes(whole[:-30])
    capsys.readouterr()
    assert reproduce("table2", *few) == 0
    assert "1 of 12 fits to do" in capsys.readouterr().out
    assert len((out / "rows.csv").read_bytes().splitlines()) == 1 + 12
    assert reproduce("table2", *few) == 0
    assert "0 of 12 fits to do" in capsys.readouterr().out


def test_rows_of_another_version_are_told_of(reproduce, out, capsys):
    assert reproduce("table2", "--methods", "Grid", "--splits", "1") == 0
    assert "several versions" not in capsys.readouterr().out
    (out / "rows.csv").write_text(
        re.sub(r"pglearn \S+ \w{8},", "pglearn 0.0.9 01234567,", (out / "rows.csv").read_text())
    )
    assert reproduce("table2", "--methods", "Grid", "--splits", "2") == 0
    assert "note The rows are of several versions: pglearn 0.0.9 01234567 and pglearn" in capsys.readouterr().out


def test_ctrl_c_says_how_to_go_on(reproduce, out, monkeypatch, capsys):
    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "outcomes", stopped)
    assert reproduce("table2", "--methods", "Grid") == 130
    assert "the same command goes on from there" in capsys.readouterr().out


def test_table_3_has_ranks(reproduce, out):
    assert reproduce("table3", "--methods", "PG-learn", "Grid", "--percents", "10", "50") == 0
    table = pd.read_csv(out / "table3.csv")
    assert table["group"].tolist() == ["10 %", "10 %", "50 %", "50 %"]
    assert table["rank"].between(1, 2).all()
    assert table[["paper", "difference", "paper_rank"]].isna().all(axis=None), "the paper's are of five sets"


def test_what_is_named_twice_is_fitted_once(reproduce, out, capsys):
    twice = ("--methods", "PG-learn", "Grid", "Grid", "--percents", "10", "10", "--sets", "yale", "yale")
    assert reproduce("table3", *twice) == 0
    printed = capsys.readouterr().out
    assert "4 of 4 fits to do" in printed
    assert printed.count("PG-learn is better than Grid") == 1
    assert len(pd.read_csv(out / "rows.csv")) == 4
    assert pd.read_csv(out / "table3.csv")["method"].tolist() == ["PG-learn", "Grid"]
    assert reproduce("table4", "--methods", "Grid", "--percents", "10", "10") == 0


def test_table_4_gives_each_competitor_all_units(reproduce, out):
    assert reproduce("table4", "--methods", "PG-learn", "Grid", "--noise", "normal", "--percents", "50") == 0
    rows = pd.read_csv(out / "rows.csv")
    assert set(rows["noise"]) == {"normal"}
    assert set(rows["percent"]) == {50}
    assert "50 % labels, normal noise" in (out / "table4.md").read_text(encoding="utf-8")
    assert (rows["budget"] * rows["candidates"]).eq(4).all()
    assert set(pd.read_csv(out / "table4.csv")["noise"]) == {"normal"}


def test_units_of_seconds(reproduce, out, capsys):
    few = (*FEW, "--budget", "2", "--candidates", "2", "--methods", "Grid", "--unit-seconds", "0.01")
    assert reproduce("table2", *few, small=False) == 0
    assert "Expected time: about 0 s, 1 at a time." in capsys.readouterr().out
    assert (pd.read_csv(out / "rows.csv")["unit_seconds"] == 0.01).all()


def test_a_unit_is_steps_or_seconds_not_both(reproduce, out, capsys):
    assert reproduce("table2", "--unit-seconds", "0.01") == 2
    assert "give --unit-steps or --unit-seconds, not both" in capsys.readouterr().err
    assert not (out / "rows.csv").exists()


def test_a_quick_run_tells_what_the_full_one_would_take(reproduce, capsys):
    assert reproduce("table2", "--quick", "--sets", "umist", "--methods", "Grid", "--splits", "1") == 0
    told = "The full run (B = 16, T = 4, unit 0.2 s, 10 splits) would take about 19 minutes, one fit at a time."
    assert told in capsys.readouterr().out


def test_no_run_shows_what_there_is(reproduce, out, capsys):
    assert reproduce("table2", "--no-run") == 0
    assert not (out / "rows.csv").exists()
    assert "0.8234" in capsys.readouterr().out


def test_a_fit_that_failed_is_told_and_the_exit_code_says_so(reproduce, tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text("def make(budget, seed):\n    raise ValueError('a degenerate metric')\nMETHODS = {'mine': make}\n")
    assert reproduce("table2", "--method-file", path, "--methods", "mine") == 1
    printed = capsys.readouterr().out
    assert "mine on umist, 10 %, split 0 failed: ValueError: a degenerate metric" in printed
    assert "4 fits failed; the same command tries them again." in printed


def test_the_method_of_the_documentation_works(reproduce, tmp_path, out):
    """docs/reproduction.md has it as a whole file: what stands there is what runs here."""
    (example,) = re.findall(r"```python\n(# mine\.py\n.*?)```", DOCS.read_text(encoding="utf-8"), flags=re.DOTALL)
    path = tmp_path / "mine.py"
    path.write_text(example)
    assert reproduce("table2", "--method-file", path, "--methods", "PG-learn", "LabelSpreading") == 0
    table = pd.read_csv(out / "table2.csv")
    assert table[(table["method"] == "LabelSpreading") & (table["group"] == "mean")]["ours"].item() > 0.5


def test_all_figures(reproduce, out, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(figures, "search_picture", partial(figures.search_picture, points=30, resolution=3))
    assert reproduce("figures", "--methods", "PG-learn", "Grid", "--percents", "10", "--splits", "1") == 0
    drawn = sorted(path.name for path in (out / "figures").iterdir())
    assert drawn == [f"figure{name}.svg" for name in ("1", "3", "4", "5a", "5b", "6")]
    assert len(list((out / "traces").iterdir())) == 2 + 2, "each set without noise and with it"
    rows = pd.read_csv(out / "rows.csv")
    assert set(rows["budget"]) == {1, 2}, "over time"
    assert len(rows[(rows["noise"] == "none") & (rows["candidates"] == 2) & (rows["method"] == "PG-learn")]) == 2
    assert not rows.duplicated(["method", "data", "percent", "split", "noise", "budget", "candidates"]).any()
    before = {path: path.stat().st_mtime_ns for path in (out / "traces").iterdir()}
    assert reproduce("figures", "--only", "5b", "6", "--percents", "10", "--splits", "1") == 0
    assert {path: path.stat().st_mtime_ns for path in (out / "traces").iterdir()} == before


@pytest.mark.parametrize(
    ("options", "percent"), [([], 10), (["--percents", "20"], 20), (["--percents", "20", "30"], 10)]
)
def test_figure_3_has_the_share_of_labels_asked_for_and_names_it(reproduce, out, options, percent):
    pytest.importorskip("matplotlib")
    assert reproduce("figures", "--only", "3", *options) == 0
    assert set(pd.read_csv(out / "rows.csv")["percent"]) == {percent}
    assert f"PG-learn with {percent} % labels, one run each" in (out / "figures" / "figure3.svg").read_text()


def test_the_time_of_searches_to_watch_is_told_before_them(reproduce, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(session, "outcomes", lambda *given: iter(()))
    few = (*FEW, "--budget", "32", "--candidates", "8", "--unit-seconds", "0.25", "--only", "3", "6")
    assert reproduce("figures", *few, small=False) == 0
    printed = capsys.readouterr().out
    assert "6 fits to do for all figures." in printed, "two sets, one without noise and two splits with it"
    times = re.findall(r"Expected time: about (.*), 1 at a time\.", printed)
    assert times == ["6 minutes", "2 minutes", "4 minutes"]


def test_a_search_that_fails_is_told_and_the_rest_is_drawn(reproduce, out, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    usual, umist = traces.Watcher.seen, tiny.arrays(0)["X"]

    def on_yale_alone(watcher, model, X, y):
        if np.array_equal(X[:, : umist.shape[1]], umist):
            raise ValueError("a degenerate metric")
        return usual(watcher, model, X, y)

    monkeypatch.setattr(traces.Watcher, "seen", on_yale_alone)
    assert reproduce("figures", "--only", "3", "5b", "6", "--splits", "1") == 1
    printed = capsys.readouterr().out
    assert printed.count("PG-learn on umist, 20 %, split 0 failed: ValueError: a degenerate metric") == 1, "of 5b and 6"
    assert "2 fits failed; the same command tries them again." in printed
    rows = pd.read_csv(out / "rows.csv")
    assert set(rows[rows["data"] == "umist"]["failure"]) == {"ValueError: a degenerate metric"}
    assert rows[rows["data"] == "yale"]["failure"].isna().all()
    for name in ("3", "5b", "6"):
        drawn = (out / "figures" / f"figure{name}.svg").read_text()
        assert "Yale" in drawn
        assert "UMIST" not in drawn
    assert reproduce("figures", "--only", "3", "6", "--sets", "umist", "--splits", "1") == 1
    printed = capsys.readouterr().out
    assert "Figure 3 is not drawn: nothing that it needs went through." in printed
    assert "Figure 6 is not drawn" in printed


def test_quick_figures_are_of_one_split_with_short_budgets(reproduce, monkeypatch):
    pytest.importorskip("matplotlib")
    asked = []
    monkeypatch.setattr(session, "outcomes", lambda cells, *rest: iter(asked.extend(cells) or ()))
    quick = ("--quick", "--only", "4", "5a", "--sets", "umist", "yale", "--quiet")
    assert reproduce("figures", *quick, small=False) == 0
    assert {cell.split for cell in asked} == {0}
    seconds = sum(cell.budget.total * cell.budget.unit_seconds for cell in asked) * 5 / 2  # all data sets
    assert seconds / 2 < 400, "on two cores"


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
        ("table2", ["--jobs", "0"], "--jobs=0 must be"),
        ("table2", ["--unit-seconds", "-1"], "--unit-seconds=-1.0 must be above 0"),
        ("table2", ["--percents", "10"], "--percents is for table3, table4 and figures, not for table2"),
        ("table3", ["--noise", "normal"], "--noise is for table4 and figures, not for table3"),
        ("table4", ["--only", "1"], "--only is for figures, not for table4"),
        ("figures", ["--no-run"], "--no-run is for table2, table3 and table4, not for figures"),
    ],
)
def test_options_that_are_no_good_cost_no_time(reproduce, out, capsys, experiment, options, sentence):
    assert reproduce(experiment, *options, small=False) == 2
    assert sentence in capsys.readouterr().err
    assert not out.exists()


def test_data_that_is_missing_is_a_sentence(reproduce, out, capsys):
    assert reproduce("table2", "--sets", "coil", small=False) == 2
    assert "github.com/LingxiaoShawn/PG-Learn" in capsys.readouterr().err
    assert not out.exists()
