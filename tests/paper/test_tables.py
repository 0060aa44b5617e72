"""Tables: the paper's figures as printed, means, ranks, marks, and Markdown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pglearn.paper import tables
from pglearn.paper.datasets import NAMES
from pglearn.paper.experiments import EXPERIMENTS, Cell
from pglearn.paper.methods import METHODS
from pglearn.paper.results_file import row_of
from pglearn.paper.run import Outcome
from pglearn.paper.tables import compared, published, table_of

TABLE_2 = replace(EXPERIMENTS["table2"], methods=("PG-learn", "Grid", "mine"))
TABLE_3 = replace(EXPERIMENTS["table3"], methods=("PG-learn", "Grid", "Rand_d", "mine"), percents=(10, 50))
OF_PAPER = ("PG-learn", "MinEnt", "IDML", "AEW", "Grid", "Rand_d")
OTHER = np.linspace(0.6, 0.69, 10)
DISTINCT = 0.01 * np.arange(1, 11)


def test_the_figures_are_the_papers_and_its_own_tables_agree():
    """The first line of table 3 is the mean of table 2, which a slip of the hand here would undo."""
    second, third = (published(name)[["accuracy", "mark"]] for name in ("table2", "table3"))
    assert [*second.loc["coil"]["accuracy"]] == [0.9232, 0.9116, 0.7508, 0.9100, 0.8929, 0.8764]
    by_set = second["accuracy"].unstack()[list(OF_PAPER)]
    np.testing.assert_allclose(third["accuracy"]["10 %"][list(OF_PAPER)], by_set.mean(), atol=1e-4)
    ranks = by_set.rank(axis=1, ascending=False).mean()
    np.testing.assert_allclose(published("table3")["rank"]["10 %"][list(OF_PAPER)], ranks)
    ours = third.xs("PG-learn", level="method")["accuracy"]
    assert [*ours] == [0.8819, 0.8900, 0.9085, 0.9153, 0.9251]
    assert [*published("table4")["accuracy"]["yale"]] == [0.6859, 0.5671, 0.5925, 0.5298]
    assert {method for _, method in third.index} == set(OF_PAPER) < set(METHODS)
    weak = [key for key, mark in second["mark"].items() if mark == "△"]
    assert weak == [("mnist", "IDML"), ("umist", "IDML"), ("yale", "MinEnt")]


def rows(experiment, accuracy_of, sets=("coil", "yale")):
    """A row for every fit, with the accuracy that the function gives."""
    cells = experiment.cells(sets)
    return pd.DataFrame([row_of(Outcome(cell, seconds=2.0, accuracy=accuracy_of(cell)), {}) for cell in cells])


def steadily(cell: Cell) -> float:
    """Grid loses every split by another margin, mine wins them all, Rand_d is last on coil alone."""
    ours = 0.9 if cell.data == "coil" else 0.8
    gap = 0.001 * (cell.split + 1)
    least = 0.5 if cell.data == "coil" else ours + 0.02
    return {"PG-learn": ours, "Grid": ours - gap, "Rand_d": least, "mine": ours + gap}[cell.method]


def entry(table, group, method):
    (found,) = table[(table["group"] == group) & (table["method"] == method)].to_dict("records")
    return found


def test_means_differences_marks_and_verdicts():
    table = table_of(TABLE_2, rows(TABLE_2, steadily), ("coil", "yale"))
    grid = entry(table, "coil", "Grid")
    assert grid["ours"] == pytest.approx(0.9 - 0.0055)
    assert grid["difference"] == pytest.approx(0.9 - 0.0055 - 0.8929)
    assert grid["deviation"] == pytest.approx(np.std(0.001 * np.arange(1, 11), ddof=1))
    assert grid["p"] == pytest.approx(2 / 1024)
    assert (grid["ours_mark"], grid["splits"], grid["seconds"]) == ("▲", 10, 2.0)
    mine = entry(table, "coil", "mine")
    assert np.isnan([mine["paper"], mine["difference"]]).all()
    assert (mine["ours_mark"], mine["advantage"] < 0) == ("", True)
    assert entry(table, "coil", "PG-learn")["pairs"] == 0
    mean = entry(table, "mean", "PG-learn")
    assert mean["ours"] == pytest.approx(0.85)
    assert mean["paper"] == pytest.approx((0.9232 + 0.8234) / 2), "over the same sets"
    assert tables.verdicts(table) == [
        "PG-learn is better than Grid on 2 of 2 at p < 0.01.",
        "PG-learn is better than mine on 0 of 2 at p < 0.01, worse on 2.",
    ]


def test_ranks_are_among_the_papers_methods_and_one_more():
    table = table_of(TABLE_3, rows(TABLE_3, steadily), ("coil", "yale"))
    ranks = {method: entry(table, "50 %", method)["rank"] for method in TABLE_3.methods}
    # coil: PG-learn, Grid, Rand_d; yale: Rand_d, PG-learn, Grid. Mine is first on coil and second on yale.
    assert ranks == {"PG-learn": 1.5, "Grid": 2.5, "Rand_d": 2.0, "mine": 1.5}
    assert entry(table, "50 %", "Grid")["pairs"] == 20, "splits of all data sets"
    table = table_of(TABLE_3, rows(TABLE_3, lambda cell: 0.5), ("coil", "yale"))
    assert entry(table, "10 %", "PG-learn")["rank"] == 2.0, "equal accuracies share their rank"


def test_markdown():
    one = replace(TABLE_3, percents=(10,))
    table = table_of(one, rows(one, steadily, NAMES), NAMES)
    text = tables.markdown(one, table)
    assert "B = 16, T = 4, unit 0.2 s for every method" in text
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    assert len({len(line) for line in text.splitlines() if line[:1] == "|"}) == 1, "columns stand below each other"
    assert ",".join(cells[0]) == "labels,method,paper,ours,difference,rank: paper,rank: ours,p,splits,s/fit"
    p = f"{entry(table, '10 %', 'Grid')['p']:.2g}"
    assert cells[3] == ["10 %", "Grid", "0.8129▲", "0.8145▲", "+0.0016", "4.80", "2.80", p, "10", "2.0"]


def test_the_papers_mean_over_five_sets_is_not_compared_with_one_over_some():
    every = rows(TABLE_3, steadily, NAMES)
    table = table_of(TABLE_3, every[(every["method"] != "Grid") | (every["data"] != "yale")], NAMES)
    grid = entry(table, "10 %", "Grid")
    assert np.isnan(grid["paper"])
    assert grid["pairs"] == 40, "the splits that both have"
    assert entry(table, "10 %", "PG-learn")["difference"] == pytest.approx(0.82 - 0.8819)
    nothing = table_of(TABLE_3, every[:0], NAMES)
    assert entry(nothing, "10 %", "Grid")["paper"] == 0.8129


@pytest.mark.parametrize(
    ("pairs", "p", "mark"),
    [(10, 2 / 1024, "▲"), (9, 2 / 512, "▲"), (8, 2 / 256, "△"), (7, 2 / 128, ""), (2, 0.5, "")],
)
def test_all_splits_won(pairs, p, mark):
    found = compared((OTHER + DISTINCT)[:pairs], OTHER[:pairs])
    assert (found.p, found.mark, found.pairs) == (pytest.approx(p), mark, pairs)
    other = compared(OTHER[:pairs], (OTHER + DISTINCT)[:pairs])
    assert (other.p, other.mark, other.advantage < 0) == (found.p, "", True), "no mark where the other is better"


@pytest.mark.parametrize(("lost", "signings", "mark"), [(0, 4, "▲"), (2, 10, "△")])
def test_a_small_difference_of_ten_lost(lost, signings, mark):
    """Of the 2¹⁰ signings, rank sums of the minority ≤ 1: {}, {1}; ≤ 3: {}, {1}, {2}, {3}, {1, 2}; twice that."""
    gains = DISTINCT * np.where(np.arange(10) == lost, -1, 1)
    found = compared(OTHER + gains, OTHER)
    assert (found.p, found.mark) == (pytest.approx(signings / 1024), mark)


def test_equal_results_and_none():
    equal = compared(OTHER, OTHER)
    assert (equal.p, equal.mark, equal.advantage) == (1.0, "", 0.0)
    assert (compared([], []).pairs, compared([], []).mark) == (0, "")
    tied = compared(np.array([0.9, 0.9, 0.9, 0.9, 0.8]), np.array([0.8, 0.8, 0.8, 0.9, 0.9]))
    assert 0.1 < tied.p <= 1, "without a warning"


@pytest.mark.parametrize(("rows", "step"), [(450, 3), (224, 5)])
def test_ties_of_shares_are_ties(rows, step):
    """Eight splits won and two lost by as many rows are one tie, which floating point pulls apart."""
    other = np.array([0.83, 0.72, 0.81, 0.66, 0.74, 0.79, 0.69, 0.77, 0.63, 0.71]) * rows // 1
    steps = np.where(np.arange(10) < 8, step, -step)
    shares = (other + steps) / rows, other / rows
    assert len(np.unique(np.abs(np.subtract(*shares)))) > 1
    assert compared(*shares).p == compared(steps, np.zeros(10)).p
    assert compared((other + np.arange(1, 11)) / rows, other / rows).p == pytest.approx(2 / 1024), "a row more counts"
