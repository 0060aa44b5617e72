"""Where runs come from, what they remember, and who is ahead of whom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pglearn.engine import Evaluation
from pglearn.search import Draws, Run, Space, standing
from pglearn.search.runs import ranked


def draws(**changes):
    setting = {"spaces": (Space(5, 3.0),), "k_range": (4, 9), "bandwidth_range": (0.1, 10.0), "seed": 1}
    return Draws(**{**setting, **changes})


def test_a_run_is_the_same_whoever_was_drawn_before_and_others_differ():
    forwards = [draws().draw(id) for id in range(10)]
    backwards = [draws().draw(id) for id in reversed(range(10))][::-1]
    for one, other in zip(forwards, backwards, strict=True):
        assert one.k == other.k
        np.testing.assert_array_equal(one.a, other.a)
    assert len({tuple(draws(seed=seed).draw(id).a) for seed in (0, 1) for id in range(5)}) == 10


def test_draws_are_uniform_over_their_ranges():
    drawn = [draws().draw(id) for id in range(200)]
    assert {run.k for run in drawn} == {4, 5, 6, 7, 8, 9}
    bandwidths = np.concatenate([run.a**-0.5 for run in drawn]) / 3.0  # in mean distances
    assert 0.1 <= bandwidths.min() < 0.3
    assert 9.8 < bandwidths.max() <= 10.0
    assert bandwidths.mean() == pytest.approx(5.05, abs=0.3)


def test_views_take_turns_unless_one_is_asked_for_and_each_has_its_own_distances():
    several = draws(spaces=(Space(5, 3.0), Space(2, 0.5)), k_range=(6, 6), bandwidth_range=(2.0, 2.0))
    assert [several.draw(id).view for id in range(5)] == [0, 1, 0, 1, 0]
    assert [several.draw(id, view=1).view for id in range(3)] == [1, 1, 1]
    np.testing.assert_allclose(several.draw(0).a, np.full(5, 1 / 36))
    np.testing.assert_allclose(several.draw(1).a, np.full(2, 1.0))
    assert (several.draw(1).here.view, several.draw(1).answer.view) == (1, 1)


def after(*losses, id=0, view=0):
    """A run that had these losses at a = 1, 2, …, with accuracies of a tenth of that."""
    run = Run(id, k=5, a=np.zeros(1), view=view)
    for number, loss in enumerate(losses, 1):
        evaluation = Evaluation(loss, number / 10, np.array([-1.0]), recall=1 - number / 10)
        run = replace(run, a=np.array([float(number)])).evaluated(evaluation)
    return run


def test_a_run_is_known_by_the_best_it_has_seen():
    run = after(3.0, 1.0, 2.0, 1.0)
    assert (run.answer.a, run.loss, run.accuracy) == ([2.0], 1.0, 0.2)
    assert (run.here.a, run.steps) == ([4.0], 3)
    assert run.recall == 0.6
    assert run.history == ((0, 3.0, 0.1), (1, 1.0, 0.2), (2, 2.0, 0.3), (3, 1.0, 0.4))


@pytest.mark.parametrize(("loss", "slope"), [(np.nan, 0.0), (np.inf, 0.0), (1.0, np.nan), (1.0, np.inf)])
def test_what_is_no_number_ends_the_run_and_leaves_no_trace_in_its_record(loss, slope):
    for losses in ((), (3.0, 2.0)):
        before = after(*losses)
        run = before.evaluated(Evaluation(loss, 0.5, np.array([slope])))
        assert run.failure == f"loss or gradient is not finite at step {len(losses)}"
        assert run.finished
        assert run.steps == len(losses)
        assert (run.history, run.loss, run.best) == (before.history, before.loss, before.best)


def in_views(losses):
    """Runs with the given losses, which are {view: losses}, numbered as they come; those with None are new."""
    pairs = [(view, loss) for view, of_view in losses.items() for loss in of_view]
    return [after(*([] if loss is None else [loss]), id=id, view=view) for id, (view, loss) in enumerate(pairs)]


def test_the_best_of_each_view_stand_first_then_the_second_of_each_and_ties_go_to_the_older():
    mixed = in_views({0: [5.0, 1.0, 3.0], 1: [20.0, 30.0], 2: [0.5]})
    assert [run.loss for run in standing(mixed)] == [0.5, 1.0, 20.0, 3.0, 30.0, 5.0]
    assert [run.loss for run in ranked(mixed)] == [0.5, 1.0, 3.0, 5.0, 20.0, 30.0]
    tied = in_views({1: [2.0, 2.0], 0: [2.0, 2.0]})
    assert [run.id for run in standing(tied)] == [run.id for run in standing(reversed(tied))] == [0, 2, 1, 3]
    alone = in_views({0: np.random.default_rng(0).integers(0, 9, 40).astype(float)})
    assert [run.id for run in standing(alone)] == [run.id for run in ranked(alone)]


def test_those_that_failed_stand_last_whatever_they_had_found():
    failed, *others = in_views({0: [0.1, None, 3.0], 1: [4.0]})
    runs = [failed.failed("a bug"), *others]
    assert [run.id for run in ranked(runs)] == [2, 3, 1, 0]
    assert [run.id for run in standing(runs)] == [2, 3, 1, 0]
