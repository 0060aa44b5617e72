"""Where candidates come from, and what they remember."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pglearn.engine import Evaluation
from pglearn.search.candidate import Candidate, Draws, Space


def draws(**changes):
    setting = {"spaces": (Space(5, 3.0),), "k_range": (4, 9), "bandwidth_range": (0.1, 10.0), "seed": 1}
    return Draws(**{**setting, **changes})


def test_a_candidate_is_the_same_whoever_was_drawn_before():
    forwards = [draws().candidate(id) for id in range(10)]
    backwards = [draws().candidate(id) for id in reversed(range(10))][::-1]
    for one, other in zip(forwards, backwards, strict=True):
        assert one.k == other.k
        np.testing.assert_array_equal(one.a, other.a)


def test_candidates_of_different_numbers_or_seeds_differ():
    a = [tuple(draws(seed=seed).candidate(id).a) for seed in (0, 1) for id in range(5)]
    assert len(set(a)) == 10


def test_k_takes_every_value_of_its_range_and_no_other():
    assert {draws().candidate(id).k for id in range(200)} == {4, 5, 6, 7, 8, 9}


def test_bandwidths_are_spread_over_their_range_in_mean_distances():
    bandwidths = np.concatenate([draws().candidate(id).a ** -0.5 for id in range(200)]) / 3.0
    assert 0.1 <= bandwidths.min() < 0.3
    assert 9.8 < bandwidths.max() <= 10.0
    assert bandwidths.mean() == pytest.approx(5.05, abs=0.3)


def test_a_candidate_is_known_by_the_best_it_has_seen():
    candidate = Candidate(0, k=5, a=np.array([1.0]))
    for a, loss, accuracy in [(1.0, 3.0, 0.1), (2.0, 1.0, 0.9), (3.0, 2.0, 0.5)]:
        candidate.a = np.array([a])
        candidate.record(Evaluation(loss, accuracy, np.array([-1.0])))
        candidate.steps += 1
    assert candidate.answer.a == [2.0]
    assert (candidate.loss, candidate.accuracy) == (1.0, 0.9)
    assert candidate.here.a == [3.0]
    assert candidate.history == [(0, 3.0, 0.1), (1, 1.0, 0.9), (2, 2.0, 0.5)]


@pytest.mark.parametrize(
    "evaluation",
    [
        Evaluation(float("nan"), 0.5, np.zeros(1)),
        Evaluation(float("inf"), 0.5, np.zeros(1)),
        Evaluation(1.0, 0.5, np.array([np.nan])),
        Evaluation(1.0, 0.5, np.array([np.inf])),
    ],
)
def test_what_is_no_number_ends_the_run_and_leaves_no_trace_in_its_record(evaluation):
    candidate = Candidate(0, k=5, a=np.ones(1), steps=4)
    candidate.record(evaluation)
    assert candidate.failure == "loss or gradient is not finite at step 4"
    assert candidate.finished
    assert candidate.started
    assert candidate.history == []
    assert candidate.best is None


def test_a_candidate_survives_the_trip_to_a_worker():
    candidate = draws().candidate(2, born=4.0)
    candidate.record(Evaluation(0.25, 0.5, np.arange(5.0)))
    back = pickle.loads(pickle.dumps(candidate))  # noqa: S301 - our own bytes
    assert (back.id, back.k, back.born, back.loss, back.history) == (2, candidate.k, 4.0, 0.25, [(0, 0.25, 0.5)])
    np.testing.assert_array_equal(back.dg_da, np.arange(5.0))
