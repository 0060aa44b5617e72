"""The harness: what a learner is given, what is timed, what comes back."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from pglearn.datasets import load_benchmark
from pglearn.reproduction import methods
from pglearn.reproduction.experiments import Cell
from pglearn.reproduction.methods import METHODS, Budget
from pglearn.reproduction.run import accuracy, outcomes

CELL = Cell("spy", "tiny", 10, 2, "none", Budget(4, 2))
SEARCH = Cell("PG-learn", "tiny", 20, 1, "uniform", Budget(4, 4))


class Spy:
    """Keeps what it is given and answers class 0."""

    given: ClassVar[list] = []

    def __init__(self, budget, seed):
        self.budget, self.seed = budget, seed

    def fit(self, X, y):
        Spy.given.append((self.budget, self.seed, X.copy(), y.copy()))
        self.transduction_ = np.zeros(len(X), dtype=int)
        return self


@pytest.fixture(autouse=True)
def spy(monkeypatch):
    monkeypatch.setattr(Spy, "given", [])
    monkeypatch.setitem(methods.METHODS, "spy", Spy)
    return Spy


def test_a_learner_sees_no_label_of_a_test_row_and_is_scored_on_these(data):
    (outcome,) = outcomes([CELL], {"tiny": data})
    ((budget, seed, X, y),) = Spy.given
    labelled = data.labelled(10, 2)
    assert (y[~labelled] == -1).all()
    assert (y[labelled] == data.y[labelled]).all()
    np.testing.assert_array_equal(X, data.X)
    assert (budget, seed) == (CELL.budget, 2)
    figures = outcome.figures(data)
    assert figures["accuracy"] == pytest.approx((data.y[~labelled] == 0).mean())
    assert np.isnan(figures["validation_accuracy"]), "a method need not tell"


def test_noise_is_that_of_the_split(data):
    list(outcomes([replace(CELL, noise="normal")], {"tiny": data}))
    np.testing.assert_array_equal(Spy.given[0][2], data.features("normal", 2))


def test_only_the_fit_is_timed(data, monkeypatch):
    def slowly(budget, seed):
        time.sleep(0.3)
        return Spy(budget, seed)

    monkeypatch.setitem(methods.METHODS, "spy", slowly)
    (outcome,) = outcomes([CELL], {"tiny": data})
    assert outcome.seconds < 0.25


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
        (raising(KeyError("metric")), "KeyError: 'metric'"),
    ],
)
def test_whatever_a_method_does_is_an_outcome_and_the_others_go_on(folder, monkeypatch, method, failure):
    data = load_benchmark("yale", folder)
    monkeypatch.setitem(methods.METHODS, "careless", method)
    cell = replace(CELL, data="yale")
    failed, fine = outcomes([replace(cell, method="careless"), cell], {"yale": data})
    assert failed.failure.startswith(failure)
    assert np.isnan(failed.figures(data)["accuracy"])
    assert not fine.failure


class Interrupted(Spy):
    stop_reason_ = "interrupted"


@pytest.mark.parametrize("method", [raising(KeyboardInterrupt()), Interrupted])
def test_ctrl_c_in_a_method_ends_the_run(data, monkeypatch, method):
    monkeypatch.setitem(methods.METHODS, "careless", method)
    with pytest.raises(KeyboardInterrupt):
        list(outcomes([replace(CELL, method="careless"), CELL], {"tiny": data}))
    assert sum(seed == CELL.seed for _, seed, _, _ in Spy.given) <= 1


@pytest.fixture(scope="module")
def watched():
    from tests.reproduction import tiny

    data = {"tiny": tiny.benchmark()}
    cells = [replace(SEARCH, split=split) for split in range(2)]
    return data["tiny"], [
        {outcome.cell.split: outcome for outcome in outcomes(cells, data, jobs=jobs, watch=True)} for jobs in (1, 2)
    ]


def test_side_by_side_gives_the_same_answers(watched):
    data, (alone, together) = watched
    assert set(alone) == set(together) == {0, 1}
    for split, outcome in alone.items():
        np.testing.assert_array_equal(outcome.labels, together[split].labels)
        np.testing.assert_array_equal(outcome.trace(data).weights, together[split].trace(data).weights)
        assert outcome.trace(data).rows.equals(together[split].trace(data).rows)


def test_every_candidate_of_every_round_is_seen(watched):
    """T = 4 in the rounds that end at 1, 2 and 4; two of four are replaced after the first two."""
    data, (outcomes_of, _) = watched
    trace = outcomes_of[1].trace(data)
    assert trace.rows["until"].value_counts().to_dict() == {1: 4, 2: 4, 4: 4}
    assert trace.rows["candidate"].nunique() == 8
    assert trace.weights.shape == (6,)


def test_a_watched_fit_is_a_fit_like_any_other_and_the_best_at_its_end_is_its_answer(watched):
    data, (outcomes_of, _) = watched
    outcome, trace = outcomes_of[1], outcomes_of[1].trace(data)
    model = METHODS["PG-learn"](SEARCH.budget, SEARCH.seed).fit(data.features("uniform", 1), data.shown(20, 1))
    np.testing.assert_array_equal(outcome.labels, model.transduction_)
    last = trace.best.iloc[-1]
    assert trace.best["until"].tolist() == [1, 2, 4]
    assert last["test"] == accuracy(data, SEARCH, model.transduction_)
    chosen = model.search_results_["selected"]
    assert last["candidate"] == model.search_results_["candidate"][chosen]
    assert last["validation"] == outcome.validation_accuracy == model.search_results_["accuracy"][chosen]
    np.testing.assert_array_equal(trace.weights, model.feature_weights_)
