"""A search watched from outside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pglearn.reproduction import traces
from pglearn.reproduction.methods import METHODS, Budget
from pglearn.reproduction.rows import Cell
from pglearn.reproduction.run import Outcome, accuracy, fitted
from pglearn.reproduction.traces import Trace, traced, watched

CELL = Cell("PG-learn", "tiny", 20, 1, "uniform", Budget(4, 4))


@pytest.fixture
def trace(data):
    return traced(CELL, data)[0]


def test_every_candidate_of_every_round_has_an_entry(trace):
    """T = 4 in the rounds that end at 1, 2 and 4; two of four are replaced after the first two."""
    assert np.unique(trace.until, return_counts=True)[1].tolist() == [4, 4, 4]
    assert np.unique(trace.until).tolist() == [1, 2, 4]
    assert len(np.unique(trace.candidate)) == 8
    assert len(trace.of(0).until) >= 1
    assert trace.weights.shape == (6,)


def test_the_best_at_the_end_is_what_the_fit_answers(trace, data):
    model = METHODS["PG-learn"](CELL.budget, CELL.seed)
    model.fit(data.features("uniform", 1), data.shown(20, 1))
    best = trace.best
    assert best.until.tolist() == [1, 2, 4]
    assert best.test[-1] == accuracy(data, 20, 1, model.transduction_)
    chosen = model.search_results_["selected"]
    assert best.candidate[-1] == model.search_results_["candidate"][chosen]
    assert best.validation[-1] == model.search_results_["accuracy"][chosen]
    np.testing.assert_array_equal(trace.weights, model.feature_weights_)


def test_the_outcome_is_that_of_an_unwatched_fit(data):
    _, outcome = traced(CELL, data)
    X, y = data.features("uniform", 1), data.shown(20, 1)
    expected = fitted("PG-learn", (), CELL.budget, CELL.seed, X, y)
    np.testing.assert_array_equal(outcome.labels, expected.labels)
    assert outcome.validation_accuracy == expected.validation_accuracy
    assert outcome.seconds > 0


def test_searches_side_by_side_are_those_one_by_one(data):
    cells = [replace(CELL, split=split) for split in range(3)]
    alone, together = ({cell: trace for cell, trace, _ in watched(cells, {"tiny": data}, jobs)} for jobs in (1, 2))
    assert set(alone) == set(together) == set(cells)
    for cell in cells:
        np.testing.assert_array_equal(alone[cell].weights, together[cell].weights)
        np.testing.assert_array_equal(alone[cell].test, together[cell].test)


def test_a_search_that_is_cut_short_ends_them_all(data, monkeypatch):
    begun = []

    def cut_short(cell, data):
        begun.append(cell)
        return None, Outcome(None, np.nan, 0.0, interrupted=cell.split == 1)

    monkeypatch.setattr(traces, "traced", cut_short)
    cells = [replace(CELL, split=split) for split in range(3)]
    with pytest.raises(KeyboardInterrupt):
        list(watched(cells, {"tiny": data}, jobs=1))
    assert len(begun) == 2


def test_the_best_has_the_lowest_loss_of_its_round():
    trace = Trace(
        candidate=np.array([0, 1, 0, 2]),
        until=np.array([1.0, 1.0, 2.0, 2.0]),
        loss=np.array([3.0, 2.0, 1.0, 4.0]),
        validation=np.array([0.1, 0.2, 0.3, 0.4]),
        test=np.array([0.5, 0.6, 0.7, 0.8]),
        weights=np.ones(2),
    )
    assert trace.best.candidate.tolist() == [1, 0]
    assert trace.best.test.tolist() == [0.6, 0.7]
    assert trace.of(0).validation.tolist() == [0.1, 0.3]


def test_a_trace_comes_back_from_its_file(trace, tmp_path):
    trace.save(tmp_path / "trace.npz")
    read = Trace.load(tmp_path / "trace.npz")
    for name in ("candidate", "until", "loss", "validation", "test", "weights"):
        np.testing.assert_array_equal(getattr(read, name), getattr(trace, name))
