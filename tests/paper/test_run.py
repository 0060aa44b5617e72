"""The harness: what a learner is given, what is timed, what comes back."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from tests.paper import tiny

from pglearn.paper import methods
from pglearn.paper.datasets import load_benchmark
from pglearn.paper.experiments import Cell
from pglearn.paper.methods import METHODS, Budget
from pglearn.paper.run import outcomes

CELL = Cell("spy", "tiny", 10, 2, "none", Budget(4, 2))
SEARCH = Cell("PG-learn", "tiny", 20, 1, "uniform", Budget(4, 4))
DATA = {"tiny": tiny.benchmark()}


class Spy:
    """Keeps what it is given and answers class 0; it takes its time before the fit."""

    given: ClassVar[list] = []

    def __init__(self, budget, seed):
        time.sleep(0.2)
        self.budget, self.seed = budget, seed

    def fit(self, X, y):
        Spy.given.append((self.budget, self.seed, X.copy(), y.copy()))
        self.transduction_ = np.zeros(len(X), dtype=int)


@pytest.fixture(autouse=True)
def spy(monkeypatch):
    monkeypatch.setattr(Spy, "given", [])
    monkeypatch.setitem(methods.METHODS, "spy", Spy)


def test_a_learner_sees_no_label_of_a_test_row_and_is_scored_on_these():
    data = DATA["tiny"]
    plain, noisy = outcomes([CELL, replace(CELL, noise="normal")], DATA)
    (budget, seed, X, y), (*_, wide, _) = Spy.given
    labelled = data.labelled(10, 2)
    assert (y[~labelled] == -1).all()
    assert (y[labelled] == data.y[labelled]).all()
    assert (budget, seed) == (CELL.budget, 2)
    np.testing.assert_array_equal(X, data.X)
    np.testing.assert_array_equal(wide, data.features("normal", 2))
    assert plain.accuracy == noisy.accuracy == pytest.approx((data.y[~labelled] == 0).mean())
    assert np.isnan(plain.validation_accuracy), "a method need not tell"
    assert plain.seconds < 0.15, "only the fit is timed"


def stop(model, X, y):
    raise KeyboardInterrupt


def in_place(model, X, y):
    X -= X.mean(axis=0)


def answers(shape):
    return lambda model, X, y: setattr(model, "transduction_", np.zeros(shape))


@pytest.mark.parametrize(
    ("fit", "failure"),
    [
        (lambda model, X, y: None, "InputError: the estimator has no transduction_ after fit: set it"),
        (answers((60, 1)), "InputError: transduction_ has the shape (60, 1): make it one label for each of 60 rows."),
        (in_place, "ValueError: output array is read-only"),
    ],
)
def test_whatever_a_method_does_is_an_outcome_and_the_others_go_on(folder, monkeypatch, fit, failure):
    monkeypatch.setitem(methods.METHODS, "careless", type("Careless", (Spy,), {"fit": fit}))
    cell = replace(CELL, data="yale")
    failed, fine = outcomes([replace(cell, method="careless"), cell], {"yale": load_benchmark("yale", folder)})
    assert failed.failure.startswith(failure)
    assert np.isnan(failed.accuracy)
    assert not fine.failure


@pytest.mark.parametrize("change", [{"fit": stop}, {"stop_reason_": "interrupted"}])
def test_ctrl_c_in_a_method_ends_the_run(monkeypatch, change):
    monkeypatch.setitem(methods.METHODS, "careless", type("Careless", (Spy,), change))
    with pytest.raises(KeyboardInterrupt):
        list(outcomes([replace(CELL, method="careless"), CELL], DATA))
    assert len(Spy.given) <= 1


def test_a_watched_fit_is_a_fit_like_any_other_also_side_by_side_and_the_best_at_its_end_is_its_answer():
    cells = [replace(SEARCH, split=split) for split in range(2)]
    alone, together = ({found.cell: found for found in outcomes(cells, DATA, jobs=n, watch=True)} for n in (1, 2))
    assert set(alone) == set(together) == set(cells)
    for cell, outcome in alone.items():
        assert outcome.accuracy == together[cell].accuracy
        np.testing.assert_array_equal(outcome.trace.weights, together[cell].trace.weights)
        assert outcome.trace.rows.equals(together[cell].trace.rows)
    data, outcome = DATA["tiny"], alone[SEARCH]
    trace, last = outcome.trace, outcome.trace.best.iloc[-1]
    model = METHODS["PG-learn"](SEARCH.budget, SEARCH.split).fit(data.features("uniform", 1), data.shown(20, 1))
    test = ~data.labelled(20, 1)
    assert last["test"] == outcome.accuracy == (model.transduction_ == data.y)[test].mean()
    chosen = model.search_results_["selected"]
    assert last["candidate"] == model.search_results_["candidate"][chosen]
    assert last["validation"] == outcome.validation_accuracy == model.search_results_["accuracy"][chosen]
    np.testing.assert_array_equal(trace.weights, model.feature_weights_)
    assert trace.best["until"].tolist() == [1, 2, 4]
    assert trace.rows["until"].value_counts().to_dict() == {1: 4, 2: 4, 4: 4}, "T = 4 in every round"
    assert trace.rows["candidate"].nunique() == 8, "two of four are replaced after the first two"
