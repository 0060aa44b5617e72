"""The harness: what a learner is given, what is timed, what is kept."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from pglearn.datasets import load_benchmark
from pglearn.reproduction import methods
from pglearn.reproduction import run as harness
from pglearn.reproduction.methods import Budget
from pglearn.reproduction.rows import Cell, Circumstances, Rows
from pglearn.reproduction.run import run

HERE = Circumstances("versions", "machine", "command")
CELL = Cell("spy", "tiny", 10, 2, "none", Budget(4, 2))


class Spy:
    """Keeps what it is given and answers class 0."""

    given: ClassVar[list] = []

    def __init__(self, budget, seed):
        self.budget, self.seed = budget, seed

    def fit(self, X, y):
        Spy.given.append((self.budget, self.seed, X.copy(), y.copy()))
        self.transduction_ = np.zeros(len(X), dtype=int)
        return self


@pytest.fixture
def rows(tmp_path):
    return Rows(tmp_path / "rows.csv")


@pytest.fixture(autouse=True)
def spy(monkeypatch):
    monkeypatch.setattr(Spy, "given", [])
    monkeypatch.setitem(methods.METHODS, "spy", Spy)
    return Spy


def test_a_learner_sees_no_label_of_a_test_row(data, rows):
    run([CELL], {"tiny": data}, rows, HERE)
    ((budget, seed, X, y),) = Spy.given
    labelled = data.labelled(10, 2)
    assert (y[~labelled] == -1).all()
    assert (y[labelled] == data.y[labelled]).all()
    np.testing.assert_array_equal(X, data.X)
    assert (budget, seed) == (CELL.budget, 2)


def test_accuracy_is_that_of_the_test_rows(data, rows):
    run([CELL], {"tiny": data}, rows, HERE)
    (row,) = rows
    assert row.accuracy == pytest.approx((data.y[~data.labelled(10, 2)] == 0).mean())
    assert np.isnan(row.validation_accuracy), "a method need not tell"


def test_noise_is_that_of_the_split(data, rows):
    run([replace(CELL, noise="normal")], {"tiny": data}, rows, HERE)
    np.testing.assert_array_equal(Spy.given[0][2], data.features("normal", 2))


def test_only_the_fit_is_timed(data, rows, monkeypatch):
    def slowly(*arguments):
        time.sleep(0.3)
        return 1.0

    monkeypatch.setattr(harness, "accuracy", slowly)
    monkeypatch.setitem(methods.METHODS, "spy", lambda budget, seed: slowly() and Spy(budget, seed))
    run([CELL], {"tiny": data}, rows, HERE)
    (row,) = rows
    assert row.seconds < 0.25


def test_what_has_a_row_is_not_fitted_again(data, rows):
    cells = [replace(CELL, split=split) for split in range(3)]
    run(cells[:2], {"tiny": data}, rows, HERE)
    told = []
    run(cells, {"tiny": data}, Rows(rows.path), HERE, done=told.append)
    assert [seed for _, seed, _, _ in Spy.given] == [0, 1, 2]
    assert [row.cell for row in told] == cells[2:]


def test_a_method_that_fails_leaves_a_row_and_the_others_go_on(data, rows, monkeypatch):
    def no_luck(budget, seed):
        raise ValueError("a degenerate metric")

    monkeypatch.setitem(methods.METHODS, "luckless", no_luck)
    run([replace(CELL, method="luckless"), CELL], {"tiny": data}, rows, HERE)
    failed, fine = rows
    assert failed.failure == "ValueError: a degenerate metric"
    assert fine.ok


class WithoutAnswer(Spy):
    def fit(self, X, y):
        pass


class TooShort(Spy):
    def fit(self, X, y):
        self.transduction_ = np.zeros(len(X) - 1)


class AsColumn(Spy):
    def fit(self, X, y):
        self.transduction_ = np.zeros((len(X), 1))


class InPlace(Spy):
    def fit(self, X, y):
        X -= X.mean(axis=0)


def raising(error):
    def make(budget, seed):
        raise error

    return make


@pytest.mark.parametrize(
    ("method", "failure"),
    [
        (WithoutAnswer, "InputError: the estimator has no transduction_ after fit: set it"),
        (TooShort, "InputError: transduction_ has the shape (59,): make it one label for each of 60 rows."),
        (AsColumn, "InputError: transduction_ has the shape (60, 1): make it one label for each of 60 rows."),
        (InPlace, "ValueError: output array is read-only"),
        (raising(TypeError("no such option")), "TypeError: no such option"),
        (raising(KeyError("metric")), "KeyError: 'metric'"),
        (raising(IndexError("row 60")), "IndexError: row 60"),
    ],
)
def test_whatever_a_method_does_is_a_row_and_the_others_go_on(folder, rows, monkeypatch, method, failure):
    data = load_benchmark("yale", folder)
    monkeypatch.setitem(methods.METHODS, "careless", method)
    cell = replace(CELL, data="yale")
    run([replace(cell, method="careless"), cell], {"yale": data}, rows, HERE)
    failed, fine = rows
    assert failed.failure.startswith(failure)
    assert np.isnan(failed.accuracy)
    assert fine.ok


def test_ctrl_c_in_a_method_ends_the_run(data, rows, monkeypatch):
    monkeypatch.setitem(methods.METHODS, "careless", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        run([replace(CELL, method="careless"), CELL], {"tiny": data}, rows, HERE)
    assert len(rows) == 0


def test_an_interrupted_fit_leaves_no_row(data, rows, monkeypatch):
    class Interrupted(Spy):
        stop_reason_ = "interrupted"

    monkeypatch.setitem(methods.METHODS, "spy", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        run([CELL], {"tiny": data}, rows, HERE)
    assert len(rows) == 0


def test_side_by_side_gives_the_same_rows(data, tmp_path):
    cells = [Cell("PG-learn", "tiny", 20, split, "uniform", Budget(2, 2)) for split in range(2)]
    found = []
    for jobs in (1, 2):
        rows = Rows(tmp_path / f"{jobs}.csv")
        run(cells, {"tiny": data}, rows, HERE, jobs=jobs)
        found.append({row.cell: (row.accuracy, row.validation_accuracy) for row in rows})
    assert found[0] == found[1]
    assert set(found[0]) == set(cells)
    assert all(0 <= validation <= 1 for _, validation in found[0].values())
