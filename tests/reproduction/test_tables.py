"""Tables: the paper's figures as printed, means, ranks, marks, and the three forms."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from pglearn.datasets import NAMES
from pglearn.reproduction import tables
from pglearn.reproduction.experiments import EXPERIMENTS, units_over_time
from pglearn.reproduction.methods import METHODS, Budget
from pglearn.reproduction.rows import Cell, Circumstances, Row
from pglearn.reproduction.tables import published, table_of

TABLE_2 = replace(EXPERIMENTS["table2"], methods=("PG-learn", "Grid", "mine"))
TABLE_3 = replace(EXPERIMENTS["table3"], methods=("PG-learn", "Grid", "Rand_d", "mine"), percents=(10, 50))

# The figures of BASELINES.md: PG-learn, MinEnt, IDML, AEW, Grid, Rand_d.
AT_10_PERCENT = {
    "coil": (0.9232, 0.9116, 0.7508, 0.9100, 0.8929, 0.8764),
    "usps": (0.9066, 0.9088, 0.8565, 0.8951, 0.8732, 0.8169),
    "mnist": (0.8241, 0.8163, 0.7801, 0.7828, 0.7550, 0.7324),
    "umist": (0.9321, 0.8954, 0.8973, 0.8975, 0.8859, 0.8704),
    "yale": (0.8234, 0.7648, 0.7331, 0.7386, 0.6576, 0.6797),
}
WITH_NOISE = {
    "coil": (0.9044, 0.8197, 0.6311, 0.6954),
    "usps": (0.9154, 0.8779, 0.8746, 0.7619),
    "mnist": (0.8634, 0.8006, 0.7932, 0.6668),
    "umist": (0.8789, 0.7756, 0.7124, 0.6405),
    "yale": (0.6859, 0.5671, 0.5925, 0.5298),
}
OF_PAPER = ("PG-learn", "MinEnt", "IDML", "AEW", "Grid", "Rand_d")


@pytest.mark.parametrize("data", NAMES)
def test_the_figures_of_tables_2_and_4_are_the_papers(data):
    assert tuple(published("table2")[data, method].accuracy for method in OF_PAPER) == AT_10_PERCENT[data]
    with_noise = tuple(published("table4")[data, m].accuracy for m in ("PG-learn", "MinEnt", "Grid", "Rand_d"))
    assert with_noise == WITH_NOISE[data]


def test_the_figures_of_table_3_are_the_papers():
    found = [published("table3")[f"{percent} %", "PG-learn"] for percent in (10, 20, 30, 40, 50)]
    assert [figure.accuracy for figure in found] == [0.8819, 0.8900, 0.9085, 0.9153, 0.9251]
    assert [figure.rank for figure in found] == [1.20, 1.42, 1.33, 1.67, 1.50]
    assert {method for _, method in published("table3")} == set(OF_PAPER) < set(METHODS)


@pytest.mark.parametrize("method", OF_PAPER)
def test_the_first_line_of_table_3_is_the_mean_of_table_2(method):
    """The paper's own tables agree, which a slip of the hand here would undo."""
    at = OF_PAPER.index(method)
    mean = np.mean([figures[at] for figures in AT_10_PERCENT.values()])
    assert published("table3")["10 %", method].accuracy == pytest.approx(mean, abs=1e-4)
    ranks = [1 + sum(other > figures[at] for other in figures) for figures in AT_10_PERCENT.values()]
    assert published("table3")["10 %", method].rank == pytest.approx(np.mean(ranks))


def test_the_papers_marks():
    marks = {key: figure.mark for key, figure in published("table2").items()}
    assert {key for key, mark in marks.items() if mark == "△"} == {
        ("mnist", "IDML"),
        ("umist", "IDML"),
        ("yale", "MinEnt"),
    }
    unmarked = {key for key, mark in marks.items() if not mark and key[1] != "PG-learn"}
    assert unmarked == {("usps", "MinEnt"), ("mnist", "MinEnt")}
    assert [key for key, figure in published("table3").items() if figure.mark == "△"] == [("50 %", "MinEnt")]
    assert [key for key, figure in published("table4").items() if figure.mark == "△"] == [("usps", "MinEnt")]


def rows(experiment, accuracy_of, sets=("coil", "yale"), splits=10):
    """A row for every fit of the first splits, with the accuracy that the function gives."""
    here = Circumstances("", "", "")
    cells = replace(experiment, splits=splits).cells(sets)
    return [Row(cell, accuracy_of(cell), 0.5, 2.0, "", "", here) for cell in cells]


def steadily(cell: Cell) -> float:
    """Grid loses every split by another margin, mine wins them all, Rand_d is last on coil alone."""
    ours = 0.9 if cell.data == "coil" else 0.8
    gap = 0.001 * (cell.split + 1)
    least = 0.5 if cell.data == "coil" else ours + 0.02
    return {"PG-learn": ours, "Grid": ours - gap, "Rand_d": least, "mine": ours + gap}[cell.method]


def entry(table, group, method):
    (found,) = [entry for entry in table.entries if (entry.group, entry.method) == (group, method)]
    return found


def test_means_differences_and_marks():
    table = table_of(TABLE_2, rows(TABLE_2, steadily), ("coil", "yale"))
    grid = entry(table, "coil", "Grid")
    assert grid.ours == pytest.approx(0.9 - 0.0055)
    assert grid.difference == pytest.approx(0.9 - 0.0055 - 0.8929)
    assert grid.deviation == pytest.approx(np.std(0.001 * np.arange(1, 11), ddof=1))
    assert grid.comparison.p == pytest.approx(2 / 1024)
    assert (grid.comparison.mark, grid.splits, grid.seconds) == ("▲", 10, 2.0)
    mine = entry(table, "coil", "mine")
    assert (mine.paper, mine.difference, mine.comparison.mark, mine.comparison.worse) == (None, None, "", True)
    assert entry(table, "coil", "PG-learn").comparison is None


def test_the_mean_is_compared_with_the_papers_mean_over_the_same_sets():
    mean = entry(table_of(TABLE_2, rows(TABLE_2, steadily), ("coil", "yale")), "mean", "PG-learn")
    assert mean.ours == pytest.approx(0.85)
    assert mean.paper.accuracy == pytest.approx((0.9232 + 0.8234) / 2)


def test_other_budgets_noise_and_failures_do_not_count():
    some = rows(TABLE_2, steadily, splits=2)
    others = [replace(row, cell=replace(row.cell, budget=Budget(1, 2)), accuracy=0.0) for row in some]
    noise = [replace(row, cell=replace(row.cell, noise="normal"), accuracy=0.0) for row in some]
    failed = [replace(row, cell=replace(row.cell, split=5), failure="no", accuracy=np.nan) for row in some]
    table = table_of(TABLE_2, [*some, *others, *noise, *failed], ("coil", "yale"))
    assert entry(table, "coil", "PG-learn").ours == pytest.approx(0.9)
    assert entry(table, "coil", "PG-learn").splits == 2


def test_pairs_are_the_splits_that_both_have():
    some = [row for row in rows(TABLE_2, steadily) if row.cell.method != "Grid" or row.cell.split < 4]
    assert entry(table_of(TABLE_2, some, ("coil",)), "coil", "Grid").comparison.pairs == 4


def test_a_table_without_rows_has_the_papers_figures():
    table = table_of(TABLE_2, [], ("coil",))
    assert [entry.method for entry in table.entries] == ["PG-learn", "Grid"]
    assert "0.9232" in tables.markdown(table)


def test_ranks_are_among_the_papers_methods_and_one_more():
    table = table_of(TABLE_3, rows(TABLE_3, steadily), ("coil", "yale"))
    ranks = {method: entry(table, "50 %", method).rank for method in TABLE_3.methods}
    # coil: PG-learn, Grid, Rand_d; yale: Rand_d, PG-learn, Grid. Mine is first on coil and second on yale.
    assert ranks == {"PG-learn": 1.5, "Grid": 2.5, "Rand_d": 2.0, "mine": 1.5}
    assert entry(table, "50 %", "Grid").comparison.pairs == 20, "splits of all data sets"


def test_equal_accuracies_share_their_rank():
    table = table_of(TABLE_3, rows(TABLE_3, lambda cell: 0.5), ("coil", "yale"))
    assert entry(table, "10 %", "PG-learn").rank == 2.0


def test_the_verdicts_count_data_sets():
    table = table_of(TABLE_2, rows(TABLE_2, steadily), ("coil", "yale"))
    assert tables.verdicts(table) == [
        "PG-learn is better than Grid on 2 of 2 at p < 0.01.",
        "PG-learn is better than mine on 0 of 2 at p < 0.01, worse on 2.",
    ]


def test_markdown_csv_and_terminal_tell_the_same():
    table = table_of(TABLE_3, rows(TABLE_3, steadily, NAMES), NAMES)
    text = tables.markdown(table)
    assert "B = 16, T = 4, unit 0.2 s for every method" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| 10 % | Grid")]
    p = f"{entry(table, '10 %', 'Grid').comparison.p:.2g}"
    assert line == f"| 10 % | Grid | 0.8129▲ | 0.8145▲ | +0.0016 | 4.80 | 2.80 | {p} | 10 | 2.0 |"
    frame = pd.read_csv(io.StringIO(tables.as_frame(table).to_csv(index=False)))
    grid = frame[(frame["group"] == "10 %") & (frame["method"] == "Grid")].iloc[0]
    assert (grid["paper_mark"], grid["ours_mark"], grid["rank"], grid["splits"]) == ("▲", "▲", 2.8, 10)
    assert grid["ours"] == pytest.approx(0.8145)
    console = Console(width=120, file=io.StringIO())
    console.print(tables.for_terminal(table))
    assert "0.8145▲" in console.file.getvalue()


def test_the_papers_mean_over_five_sets_is_not_compared_with_one_over_some():
    table = table_of(TABLE_3, rows(TABLE_3, steadily), ("coil", "yale"))
    grid = entry(table, "10 %", "Grid")
    assert (grid.paper, grid.difference, grid.rank) == (None, None, 2.5)
    assert "| 10 % | Grid |  | 0.8445▲ |  |  | 2.50 |" in tables.markdown(table)
    unfinished = [row for row in rows(TABLE_3, steadily, NAMES) if (row.cell.method, row.cell.data) != ("Grid", "yale")]
    table = table_of(TABLE_3, unfinished, NAMES)
    assert entry(table, "10 %", "Grid").paper is None
    assert entry(table, "10 %", "PG-learn").difference == pytest.approx(0.82 - 0.8819)
    assert entry(table_of(TABLE_3, [], NAMES), "10 %", "Grid").paper.accuracy == 0.8129


def test_one_share_of_table_3_is_a_line_of_it():
    one = replace(TABLE_3, percents=(10,))
    table = table_of(one, rows(one, steadily, NAMES), NAMES)
    assert {entry.group for entry in table.entries} == {"10 %"}
    grid = entry(table, "10 %", "Grid")
    assert (grid.paper.accuracy, grid.paper.rank, grid.rank) == (0.8129, 4.80, 2.8)
    assert "| labels | method | paper | ours | difference | rank: paper | ours |" in tables.markdown(table)


def test_the_experiments_are_the_papers():
    two, three, four = (EXPERIMENTS[f"table{number}"] for number in (2, 3, 4))
    assert (two.percents, two.noise, two.splits) == ((10,), "none", 10)
    assert (three.percents, three.noise) == ((10, 20, 30, 40, 50), "none")
    assert (four.percents, four.noise, four.budget.candidates) == ((20,), "uniform", 32)
    assert two.methods == three.methods == four.methods == tuple(METHODS)
    assert len(two.cells(NAMES)) == 5 * 10 * len(METHODS)
    assert len({cell.budget for cell in two.cells(NAMES)}) == 1, "equal budgets for all methods"


def test_budgets_over_time_end_at_the_budget():
    assert [budget.units for budget in units_over_time(Budget(20, 4))] == [1, 2, 5, 10, 20]
    assert {budget.candidates for budget in units_over_time(Budget(20, 4))} == {4}
