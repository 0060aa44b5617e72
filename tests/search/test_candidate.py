"""Where candidates come from, what they remember, and who is ahead of whom."""

from __future__ import annotations

import numpy as np
import pytest

from pglearn.engine import Evaluation
from pglearn.search import Candidate
from pglearn.search.candidate import Draws, Space, ranked, standing


def draws(**changes):
    setting = {"spaces": (Space(5, 3.0),), "k_range": (4, 9), "bandwidth_range": (0.1, 10.0), "seed": 1}
    return Draws(**{**setting, **changes})


def test_a_candidate_is_the_same_whoever_was_drawn_before_and_others_differ():
    forwards = [draws().candidate(id) for id in range(10)]
    backwards = [draws().candidate(id) for id in reversed(range(10))][::-1]
    for one, other in zip(forwards, backwards, strict=True):
        assert one.k == other.k
        np.testing.assert_array_equal(one.a, other.a)
    assert len({tuple(draws(seed=seed).candidate(id).a) for seed in (0, 1) for id in range(5)}) == 10


def test_draws_are_uniform_over_their_ranges():
    drawn = [draws().candidate(id) for id in range(200)]
    assert {candidate.k for candidate in drawn} == {4, 5, 6, 7, 8, 9}
    bandwidths = np.concatenate([candidate.a**-0.5 for candidate in drawn]) / 3.0  # in mean distances
    assert 0.1 <= bandwidths.min() < 0.3
    assert 9.8 < bandwidths.max() <= 10.0
    assert bandwidths.mean() == pytest.approx(5.05, abs=0.3)


def test_views_take_turns_unless_one_is_asked_for_and_each_has_its_own_distances():
    several = draws(spaces=(Space(5, 3.0), Space(2, 0.5)), k_range=(6, 6), bandwidth_range=(2.0, 2.0))
    assert [several.candidate(id).view for id in range(5)] == [0, 1, 0, 1, 0]
    assert [several.candidate(id, view=1).view for id in range(3)] == [1, 1, 1]
    np.testing.assert_allclose(several.candidate(0).a, np.full(5, 1 / 36))
    np.testing.assert_allclose(several.candidate(1).a, np.full(2, 1.0))
    assert (several.candidate(1).here.view, several.candidate(1).answer.view) == (1, 1)


def test_a_candidate_is_known_by_the_best_it_has_seen():
    candidate = Candidate(0, k=5, a=np.array([1.0]))
    for a, loss, accuracy in [(1.0, 3.0, 0.1), (2.0, 1.0, 0.9), (3.0, 2.0, 0.5)]:
        candidate.a = np.array([a])
        candidate.record(Evaluation(loss, accuracy, np.array([-1.0])))
        candidate.steps += 1
    assert (candidate.answer.a, candidate.loss, candidate.accuracy) == ([2.0], 1.0, 0.9)
    assert candidate.here.a == [3.0]
    assert candidate.history == [(0, 3.0, 0.1), (1, 1.0, 0.9), (2, 2.0, 0.5)]


@pytest.mark.parametrize(("loss", "slope"), [(np.nan, 0.0), (np.inf, 0.0), (1.0, np.nan), (1.0, np.inf)])
def test_what_is_no_number_ends_the_run_and_leaves_no_trace_in_its_record(loss, slope):
    candidate = Candidate(0, k=5, a=np.ones(1), steps=4)
    candidate.record(Evaluation(loss, 0.5, np.array([slope])))
    assert candidate.failure == "loss or gradient is not finite at step 4"
    assert candidate.finished
    assert candidate.history == []
    assert candidate.best is None


def in_views(losses):
    """Candidates with the given losses, which are {view: losses}, numbered as they come."""
    pairs = [(view, loss) for view, of_view in losses.items() for loss in of_view]
    return [Candidate(id, 5, np.ones(2), view=view, loss=loss) for id, (view, loss) in enumerate(pairs)]


def test_the_best_of_each_view_stand_first_then_the_second_of_each_and_ties_go_to_the_older():
    mixed = in_views({0: [5.0, 1.0, 3.0], 1: [20.0, 30.0], 2: [0.5]})
    assert [c.loss for c in standing(mixed)] == [0.5, 1.0, 20.0, 3.0, 30.0, 5.0]
    assert [c.loss for c in ranked(mixed)] == [0.5, 1.0, 3.0, 5.0, 20.0, 30.0]
    tied = in_views({1: [2.0, 2.0], 0: [2.0, 2.0]})
    assert [c.id for c in standing(tied)] == [c.id for c in standing(reversed(tied))] == [0, 2, 1, 3]
    alone = in_views({0: np.random.default_rng(0).integers(0, 9, 40).astype(float)})
    assert [c.id for c in standing(alone)] == [c.id for c in ranked(alone)]


def test_those_that_failed_stand_last_whatever_they_had_found():
    failed, new, *sound = in_views({0: [0.1, np.inf, 3.0], 1: [4.0]})
    failed.failure = "a bug"
    assert [c.id for c in ranked([failed, new, *sound])] == [2, 3, 1, 0]
    assert [c.id for c in standing([failed, new, *sound])] == [2, 3, 1, 0]
