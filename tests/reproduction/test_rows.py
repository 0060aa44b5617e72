"""The file of rows: complete lines, resumed after a crash, added to."""

from __future__ import annotations

import csv
import re
from dataclasses import replace

import numpy as np
import pytest

from pglearn.errors import InputError, OutputError
from pglearn.reproduction.experiments import Cell
from pglearn.reproduction.methods import Budget
from pglearn.reproduction.rows import COLUMNS, Rows, circumstances, row_of

CELL = Cell("PG-learn", "yale", 10, 0, "none", Budget(4, 2))
HERE = {"versions": "pglearn 0.1.0", "machine": "a machine", "command": "pglearn reproduce table2 -o 'a, b'"}


def row(cell=CELL, accuracy=0.75, failure=""):
    figures = {"accuracy": accuracy, "validation_accuracy": 0.5, "seconds": 1.25}
    return row_of(cell, figures, failure, HERE) | {"finished": "2018-10-22T09:00:00+00:00"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.csv"


def test_rows_come_back_as_they_were(path):
    rows = Rows(path)
    cells = [CELL, replace(CELL, budget=Budget(4, 2, 1, 0.25), split=3)]
    for cell, accuracy in zip(cells, (0.75, 0.5), strict=True):
        rows.add(row(cell, accuracy))
    for found in (rows, Rows(path)):
        frame = found.frame(cells)
        assert [*frame["accuracy"]] == [0.75, 0.5]
        assert [*frame["split"]] == [0, 3]
        assert all(found.has(cell) for cell in cells)
        assert not found.has(replace(CELL, budget=Budget(8, 2))), "a fit with another budget is another fit"
        assert not found.has(replace(CELL, budget=Budget(4, 2, unit_seconds=1.0)))


def test_a_row_has_everything_that_is_promised(path):
    Rows(path).add(row())
    with path.open(newline="") as lines:
        (line,) = csv.DictReader(lines)
    assert line == {
        "method": "PG-learn",
        "data": "yale",
        "percent": "10",
        "split": "0",
        "noise": "none",
        "accuracy": "0.750000",
        "validation_accuracy": "0.500000",
        "seconds": "1.250000",
        "budget": "4",
        "candidates": "2",
        "unit_steps": "1",
        "unit_seconds": "",
        "seed": "0",
        "failure": "",
        "finished": "2018-10-22T09:00:00+00:00",
        **HERE,
    }


@pytest.mark.parametrize("lost", [1, 20, 60])
def test_a_torn_last_line_is_cut_off_and_the_run_goes_on(path, lost):
    rows = Rows(path)
    others = [replace(CELL, split=split) for split in range(3)]
    for cell in others:
        rows.add(row(cell))
    whole = path.read_bytes()
    path.write_bytes(whole[:-lost])
    resumed = Rows(path)
    assert [cell for cell in others if resumed.has(cell)] == others[:2]
    resumed.add(row(others[2]))
    assert path.read_bytes() == whole


def test_a_head_that_is_torn_is_written_again(path):
    path.write_text("method,da")
    Rows(path).add(row())
    assert Rows(path).has(CELL)
    assert path.read_text().startswith(",".join(COLUMNS) + "\n")


def test_of_two_rows_for_one_fit_the_later_counts(path):
    for accuracy in (0.75, 0.875):
        Rows(path).add(row(accuracy=accuracy))
    assert [*Rows(path).frame([CELL])["accuracy"]] == [0.875]


def test_a_fit_that_failed_is_kept_and_tried_again(path):
    Rows(path).add(row(accuracy=np.nan, failure="ValueError: no\nway"))
    read = Rows(path)
    assert len(read) == 1
    assert not read.has(CELL)
    assert read.frame([CELL]).empty
    assert ",ValueError: no way," in path.read_text()


def test_a_foreign_file_is_left_alone(path):
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no file of rows of this version"):
        Rows(path)
    assert path.read_text() == "a,b\n1,2\n"


@pytest.mark.parametrize("line", ["PG-learn,yale,ten,0\n", "PG-learn,yale,10,0,none,0.5,0.5,1\n"])
def test_a_broken_line_in_the_middle_is_named(path, line):
    Rows(path).add(row())
    with path.open("a") as file:
        file.write(line)
    with pytest.raises(InputError, match=r"Line 3 of .* is no row"):
        Rows(path)


def test_a_disk_that_is_full_is_a_sentence(tmp_path):
    rows = Rows(tmp_path / "rows.csv")
    rows.path = tmp_path / "gone" / "rows.csv"
    with pytest.raises(OutputError, match="cannot be added to"):
        rows.add(row())


def test_circumstances_name_what_matters():
    found = circumstances("pglearn \n reproduce")
    for name in ("pglearn", "Python", "NumPy", "SciPy", "scikit-learn"):
        assert f"{name} " in found["versions"]
    assert re.match(r"pglearn \S+ [0-9a-f]{8}, ", found["versions"])
    assert found["machine"].endswith("cores")
    assert found["command"] == "pglearn reproduce"
