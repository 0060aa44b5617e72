"""Algorithm 1."""

from __future__ import annotations

import numpy as np
import pytest
from tests.search.fakes import Bowl, Clock, Scripted, Ticking, candidates, never_enough, small_problem

from pglearn.engine import CPUEngine
from pglearn.objective.loss import Yardstick
from pglearn.search import Descent, Limit, Run


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("pglearn.search.descent.time", clock)
    return clock


def newborn(id=0, a=(4.0, 2.0), spent=0.0):
    return Run(id, k=id, a=np.array(a), spent=spent)


def advanced(descent, run, limit, **options):
    """A run alone."""
    (run,) = descent.advance(small_problem(), [run], limit, **options)
    return run


def test_a_step_is_measured_in_units_of_the_candidates_own_weights():
    descent = never_enough(Bowl())
    run = advanced(descent, newborn(), Limit(until=1))
    np.testing.assert_allclose(run.a, np.array([4.0, 2.0]) - 0.5 * 3 / np.sqrt(20) * np.array([6.0, 2.0]))
    for size in (1e-310, 1e-200, 1e200):
        step = descent.step(np.array([4.0, 2.0]), size * np.array([6.0, 2.0]))
        np.testing.assert_allclose(step, run.a, err_msg="the size of the gradient does not matter")


def test_weights_never_become_negative():
    run = advanced(never_enough(Bowl(centre=-5.0)), newborn(a=(1.0, 0.01)), Limit(until=4))
    assert (run.a >= 0).all()
    assert (run.a == 0).any()


def test_a_run_in_two_parts_is_the_same_run_bit_for_bit_and_leaves_what_it_began_from_as_it_was():
    (start,), descent = candidates(1), never_enough(CPUEngine())
    whole = advanced(descent, start, Limit(until=7))
    parts = advanced(descent, advanced(descent, start, Limit(until=3)), Limit(until=7))
    assert start.history == ()
    assert whole.history == parts.history
    assert [step for step, _, _ in whole.history] == list(range(8))
    assert whole.steps == parts.steps == whole.spent == 7
    for name in ("a", "dg_da", "best"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_a_loss_near_perfect_is_enough_also_when_resumed():
    for loss, steps in [(10.9, 0), (11.1, 5)]:
        engine = Scripted(lambda k, loss=loss: loss)
        from_10_to_30 = Descent(engine, Yardstick(perfect=10.0, chance=30.0), enough=0.05)
        run = advanced(from_10_to_30, newborn(), Limit(until=3))
        run = advanced(from_10_to_30, run, Limit(until=5))
        assert run.converged == (steps == 0)
        assert run.steps == steps
        assert len(run.history) == steps + 1


def test_without_a_direction_to_follow_the_run_ends():
    run = advanced(never_enough(Bowl()), newborn(a=(1.0, 1.0)), Limit(until=3))  # the gradient is zero at the centre
    assert run.converged
    assert run.steps == 0
    assert np.isfinite(run.a).all()


def test_what_a_run_is_over_its_limit_is_taken_off_what_follows(clock):
    run, descent = newborn(), never_enough(Ticking(clock))
    ends = []
    for number in range(1, 11):
        run = advanced(descent, run, Limit(until=0.375 * number, in_seconds=True))
        ends.append(clock.now - 1000)
    assert ends == [1, 1, 2, 2, 2, 3, 3, 3, 4, 4], "a step as soon as there is time"
    assert run.spent == 4
    assert run.steps == 3, "and the evaluation at birth"
    assert not advanced(descent, newborn(1, spent=0.5), Limit(until=0.4, in_seconds=True)).started


def test_time_that_a_converged_candidate_leaves_is_not_saved_up(clock):
    descent = Descent(Ticking(clock), Yardstick(perfect=1.0, chance=20.0))
    run = advanced(descent, newborn(), Limit(until=5, in_seconds=True))
    assert run.converged
    assert run.spent == 5


def test_the_deadline_and_the_stop_flag_are_read_before_every_step(clock):
    descent = never_enough(Ticking(clock))
    run = advanced(descent, newborn(), Limit(until=100, deadline=1002.5))
    assert (clock.now, run.steps, run.spent) == (1003, 2, 2)
    run = advanced(descent, newborn(), Limit(until=100), stopped=lambda: clock.now >= 1007)
    assert (clock.now, run.steps, run.spent) == (1007, 3, 3)
