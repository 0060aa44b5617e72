"""The file of rows: complete lines, resumed after a crash, added to."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

from pglearn.errors import InputError, OutputError
from pglearn.paper.experiments import Cell
from pglearn.paper.methods import Budget
from pglearn.paper.results_file import COLUMNS, Rows, row_of
from pglearn.paper.run import Outcome

CELL = Cell("PG-learn", "yale", 10, 0, "none", Budget(4, 2))
HERE = {"versions": "pglearn 0.1.0", "machine": "a machine", "command": "pglearn reproduce table2 -o 'a, b'"}


def row(cell=CELL, accuracy=0.75, **changes):
    outcome = Outcome(cell, 1.25, accuracy, 0.5, **changes)
    return row_of(outcome, HERE) | {"finished": "2018-10-22T09:00:00+00:00"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.csv"


def test_rows_come_back_as_they_were_and_of_two_for_one_fit_the_later_counts(path):
    rows = Rows(path)
    cells = [CELL, replace(CELL, budget=Budget(4, 2, 1, 0.05), split=3)]
    for cell, accuracy in ((CELL, 0.25), (CELL, 2 / 3), (cells[1], 0.5)):
        rows.add(row(cell, accuracy))
    for found in (rows, Rows(path)):
        assert [*found.frame(cells)["accuracy"]] == [2 / 3, 0.5]
        assert [*found.frame(cells)["split"]] == [0, 3]
        assert all(found.has(cell) for cell in cells)
        for other in (Budget(8, 2), Budget(4, 2, unit_seconds=1.0)):
            assert not found.has(replace(CELL, budget=other)), "a fit with another budget is another fit"
    with path.open(newline="") as lines:
        line = next(csv.DictReader(lines))
    begin = ["PG-learn", "yale", "10", "0", "none", "0.25", "0.5", "1.25", "4", "2", "1", "", "0", ""]
    assert list(line) == list(COLUMNS)
    assert [*line.values()] == [*begin, "2018-10-22T09:00:00+00:00", *HERE.values()]


@pytest.mark.parametrize("lost", [1, 60])
def test_a_torn_last_line_is_cut_off_and_the_run_goes_on(path, lost):
    others = [replace(CELL, split=split) for split in range(3)]
    rows = Rows(path)
    for cell in others:
        rows.add(row(cell))
    whole = path.read_bytes()
    path.write_bytes(whole[:-lost])
    resumed = Rows(path)
    assert [cell for cell in others if resumed.has(cell)] == others[:2]
    resumed.add(row(others[2]))
    assert path.read_bytes() == whole
    path.write_text("method,da")
    Rows(path).add(row())
    assert path.read_text().startswith(",".join(COLUMNS) + "\n"), "a torn head is written again"


def test_a_fit_that_failed_is_kept_and_tried_again(path):
    Rows(path).add(row(accuracy=np.nan, failure="ValueError: no\nway"))
    read = Rows(path)
    assert (len(read), read.has(CELL), len(read.frame([CELL]))) == (1, False, 0)
    assert ",ValueError: no way," in path.read_text()


@pytest.mark.parametrize(
    "line", ["PG-learn,yale,ten,0\n", "PG-learn,yale,10,0,none,0.5,0.5,1\n", "a," * 30 + "\n", None]
)
def test_a_file_of_something_else_is_left_alone(path, line):
    rows = Rows(path)
    rows.add(row())
    content = "a,b\n1,2\n" if line is None else path.read_text() + line
    path.write_text(content)
    number = 1 if line is None else 3
    with pytest.raises(
        InputError, match=rf"^Line {number} of .*rows\.csv is no row of this version .*: take it out, or"
    ):
        Rows(path)
    assert path.read_text() == content
    path.unlink()
    path.mkdir()
    with pytest.raises(OutputError, match="cannot be added to"):
        rows.add(row())
