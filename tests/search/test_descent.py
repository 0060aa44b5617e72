"""Algorithm 1."""

from __future__ import annotations

import numpy as np
import pytest
from tests.search.fakes import NEVER_ENOUGH, Bowl, Clock, Scripted, Ticking, candidates, small_problem

from pglearn.engine import CPUEngine, Evaluation
from pglearn.objective.loss import Yardstick
from pglearn.search import Candidate, Descent, Stint
from pglearn.search.descent import advance


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("pglearn.search.descent.time", clock)
    return clock


def newborn(id=0, a=(4.0, 2.0), **changes):
    return Candidate(id, k=id, a=np.array(a), **changes)


def run(engine, given, stint, descent=NEVER_ENOUGH, **options):
    return advance(engine, small_problem(), given, descent, stint, **options)


def test_a_step_is_measured_in_units_of_the_candidates_own_weights():
    (candidate,) = run(Bowl(), [newborn()], Stint(until=1))
    np.testing.assert_allclose(candidate.a, np.array([4.0, 2.0]) - 0.5 * 3 / np.sqrt(20) * np.array([6.0, 2.0]))
    for size in (1e-310, 1e-200, 1e200):
        step = NEVER_ENOUGH.step(np.array([4.0, 2.0]), size * np.array([6.0, 2.0]))
        np.testing.assert_allclose(step, candidate.a, err_msg="the size of the gradient does not matter")


def test_weights_never_become_negative():
    (candidate,) = run(Bowl(centre=-5.0), [newborn(a=(1.0, 0.01))], Stint(until=4))
    assert (candidate.a >= 0).all()
    assert (candidate.a == 0).any()


def test_a_run_in_two_stints_is_the_same_run_bit_for_bit():
    (whole,), (parts,) = candidates(1), candidates(1)
    for candidate, ends in ((whole, [7]), (parts, [3, 7])):
        for end in ends:
            run(CPUEngine(), [candidate], Stint(until=end))
    assert whole.history == parts.history
    assert [step for step, _, _ in whole.history] == list(range(8))
    assert whole.steps == parts.steps == whole.spent == 7
    for name in ("a", "dg_da", "best"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_a_loss_near_perfect_is_enough_also_when_resumed():
    from_10_to_30 = Descent(Yardstick(perfect=10.0, chance=30.0), enough=0.05)
    for loss, steps in [(10.9, 0), (11.1, 5)]:
        (candidate,) = run(Scripted(lambda k, loss=loss: loss), [newborn()], Stint(until=3), from_10_to_30)
        run(Scripted(lambda k, loss=loss: loss), [candidate], Stint(until=5), from_10_to_30)
        assert candidate.converged == (steps == 0)
        assert candidate.steps == steps
        assert len(candidate.history) == steps + 1


def test_without_a_direction_to_follow_the_run_ends():
    (candidate,) = run(Bowl(), [newborn(a=(1.0, 1.0))], Stint(until=3))  # the gradient is zero at the centre
    assert candidate.converged
    assert candidate.steps == 0
    assert np.isfinite(candidate.a).all()


def test_a_run_that_fails_keeps_what_it_found_and_leaves_the_others_alone():
    class FailsLater(Bowl):
        def judged(self, problem, configuration):
            evaluation = super().judged(problem, configuration)
            return (
                Evaluation(np.nan, 0.0, evaluation.dg_da)
                if configuration.owner == 0 and configuration.a[0] < 1
                else evaluation
            )

    candidate, other = run(FailsLater(), [newborn(), newborn(1)], Stint(until=50))
    assert candidate.failure == f"loss or gradient is not finite at step {candidate.steps}"
    assert 0 < candidate.steps < 50
    assert candidate.loss == min(loss for _, loss, _ in candidate.history)
    assert candidate.answer.a[0] >= 1
    assert (other.steps, other.failure) == (50, None)


def test_what_a_stint_runs_over_by_is_taken_off_those_that_follow(clock):
    candidate = newborn()
    ends = []
    for number in range(1, 11):
        run(Ticking(clock), [candidate], Stint(until=0.375 * number, in_seconds=True))
        ends.append(clock.now - 1000)
    assert ends == [1, 1, 2, 2, 2, 3, 3, 3, 4, 4], "a step as soon as there is time"
    assert candidate.spent == 4
    assert candidate.steps == 3, "and the evaluation at birth"
    (unlucky,) = run(Ticking(clock), [newborn(1, spent=0.5)], Stint(until=0.4, in_seconds=True))
    assert not unlucky.started


def test_time_that_a_converged_candidate_leaves_is_not_saved_up(clock):
    descent = Descent(Yardstick(perfect=1.0, chance=20.0))
    (candidate,) = run(Ticking(clock), [newborn()], Stint(until=5, in_seconds=True), descent)
    assert candidate.converged
    assert candidate.spent == 5


def test_the_deadline_and_the_stop_flag_are_read_before_every_step(clock):
    (candidate,) = run(Ticking(clock), [newborn()], Stint(until=100, deadline=1002.5))
    assert (clock.now, candidate.steps, candidate.spent) == (1003, 2, 2)
    (candidate,) = run(Ticking(clock), [newborn()], Stint(until=100), stopped=lambda: clock.now >= 1007)
    assert (clock.now, candidate.steps, candidate.spent) == (1007, 3, 3)
