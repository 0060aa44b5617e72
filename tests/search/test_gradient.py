"""Algorithm 1."""

from __future__ import annotations

import numpy as np
import pytest
from tests.search.fakes import NEVER_ENOUGH, Bowl, Fake, Scripted, small_problem, small_search

from pglearn.engine import CPUEngine, Evaluation
from pglearn.loss import Yardstick
from pglearn.search import Candidate, Descent, Stint
from pglearn.search.gradient import advance


class Clock:
    """Time that passes only when someone works."""

    def __init__(self):
        self.now = 1000.0

    def time(self):
        return self.now

    monotonic = time


class Ticking(Fake):
    """Every evaluation takes a second of the clock."""

    def __init__(self, clock):
        self.clock = clock

    def judged(self, problem, configuration):
        self.clock.now += 1
        return Evaluation(1.0, 0.5, np.ones_like(configuration.a))


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("pglearn.search.gradient.time", clock)
    return clock


def newborn(id=0, a=(4.0, 2.0)):
    return Candidate(id, k=id, a=np.array(a))


def run(engine, candidates, stint, descent=NEVER_ENOUGH, **options):
    return advance(engine, small_problem(), candidates, descent, stint, **options)


def test_a_stint_of_no_steps_evaluates_where_the_candidate_stands():
    (candidate,) = run(Bowl(), [newborn()], Stint(steps=0))
    assert candidate.steps == 0
    assert candidate.history == [(0, 10.0, 0.5)]
    np.testing.assert_array_equal(candidate.answer.a, [4.0, 2.0])


def test_a_step_is_measured_in_units_of_the_candidates_own_weights():
    (candidate,) = run(Bowl(), [newborn()], Stint(steps=1))
    gradient = np.array([6.0, 2.0])
    expected = np.array([4.0, 2.0]) - 0.5 * 3 / np.sqrt(20) * gradient
    np.testing.assert_allclose(candidate.a, expected)


def test_weights_never_become_negative():
    (candidate,) = run(Bowl(centre=-5.0), [newborn(a=(1.0, 0.01))], Stint(steps=4))
    assert (candidate.a >= 0).all()
    assert (candidate.a == 0).any()


def test_every_evaluation_is_in_the_history():
    (candidate,) = run(Bowl(), [newborn()], Stint(steps=6))
    assert [step for step, _, _ in candidate.history] == [0, 1, 2, 3, 4, 5, 6]
    assert candidate.steps == 6


def test_a_run_in_two_stints_is_the_same_run_bit_for_bit():
    engine, problem, descent = CPUEngine(), small_problem(), NEVER_ENOUGH
    whole, parts = (small_search().draws.candidate(0) for _ in range(2))
    advance(engine, problem, [whole], descent, Stint(steps=7))
    advance(engine, problem, [parts], descent, Stint(steps=3))
    advance(engine, problem, [parts], descent, Stint(steps=4))
    assert whole.history == parts.history
    assert whole.steps == parts.steps == 7
    for name in ("a", "dg_da", "best"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_candidates_run_side_by_side_as_they_would_alone():
    alone = [run(Bowl(), [newborn(id, (1.0 + id, 0.5))], Stint(steps=5))[0] for id in range(3)]
    together = run(Bowl(), [newborn(id, (1.0 + id, 0.5)) for id in range(3)], Stint(steps=5))
    assert [c.history for c in alone] == [c.history for c in together]


def test_a_loss_near_perfect_is_enough():
    from_10_to_30 = Descent(Yardstick(perfect=10.0, chance=30.0), enough=0.05)
    for loss, steps in [(10.9, 0), (11.1, 3)]:
        engine = Scripted(lambda k, loss=loss: loss)
        (candidate,) = run(engine, [newborn()], Stint(steps=3), from_10_to_30)
        assert candidate.converged == (steps == 0)
        assert candidate.steps == steps


def test_a_converged_candidate_stays_where_it_is_when_resumed():
    descent = Descent(Yardstick(perfect=0.0, chance=20.0))
    (candidate,) = run(Bowl(), [newborn(a=(1.5, 1.5))], Stint(steps=3), descent)
    assert candidate.converged
    run(Bowl(), [candidate], Stint(steps=5), descent)
    assert candidate.steps == 0
    assert len(candidate.history) == 1


def test_without_a_direction_to_follow_the_run_ends():
    (candidate,) = run(Bowl(), [newborn(a=(1.0, 1.0))], Stint(steps=3))  # the gradient is zero at the centre
    assert candidate.converged
    assert candidate.steps == 0
    assert np.isfinite(candidate.a).all()


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200])
def test_the_size_of_the_gradient_does_not_matter(size):
    a = np.array([4.0, 2.0])
    step = NEVER_ENOUGH.step(a, size * np.array([3.0, -1.0]))
    np.testing.assert_allclose(step, NEVER_ENOUGH.step(a, np.array([3.0, -1.0])))


def test_a_loss_that_is_no_number_fails_that_candidate_alone():
    engine = Scripted(lambda k: float("nan") if k == 1 else 1.0)
    first, second, third = run(engine, [newborn(id) for id in range(3)], Stint(steps=4))
    assert second.failure == "loss or gradient is not finite at step 0"
    assert second.steps == 0
    assert (first.steps, third.steps) == (4, 4)
    assert first.failure is third.failure is None


def test_a_run_that_fails_on_the_way_keeps_what_it_found():
    class FailsLater(Bowl):
        def judged(self, problem, configuration):
            evaluation = super().judged(problem, configuration)
            return Evaluation(np.nan, 0.0, evaluation.dg_da) if configuration.a[0] < 1 else evaluation

    (candidate,) = run(FailsLater(), [newborn()], Stint(steps=50))
    assert candidate.failure is not None
    assert candidate.steps < 50
    assert candidate.loss == min(loss for _, loss, _ in candidate.history)
    assert candidate.answer.a[0] >= 1


def test_seconds_are_honoured_to_within_one_step(clock):
    (candidate,) = run(Ticking(clock), [newborn()], Stint(seconds=4.5))
    assert clock.now == 1005.0
    assert candidate.steps == 4  # and the evaluation at birth


def test_what_a_stint_runs_over_by_is_taken_off_those_that_follow(clock):
    candidate = newborn()
    ends = []
    for _ in range(10):
        run(Ticking(clock), [candidate], Stint(seconds=0.375))
        ends.append(clock.now - 1000)
    assert ends == [1, 1, 2, 2, 2, 3, 3, 3, 4, 4], "a step as soon as there is time"
    assert candidate.overrun == 0.25
    assert not run(Ticking(clock), [Candidate(1, k=1, a=np.ones(2), overrun=0.5)], Stint(seconds=0.4))[0].started


def test_time_that_a_converged_candidate_leaves_is_not_saved_up(clock):
    descent = Descent(Yardstick(perfect=1.0, chance=20.0))
    (candidate,) = run(Ticking(clock), [newborn()], Stint(seconds=5), descent)
    assert candidate.converged
    assert candidate.overrun == 0


def test_the_deadline_is_honoured_to_within_one_step(clock):
    (candidate,) = run(Ticking(clock), [newborn()], Stint(steps=100, deadline=1002.5))
    assert clock.now == 1003.0
    assert candidate.steps == 2


def test_the_stop_flag_is_read_before_every_step(clock):
    (candidate,) = run(Ticking(clock), [newborn()], Stint(steps=100), stopped=lambda: clock.now >= 1004)
    assert candidate.steps == 3
    assert clock.now == 1004.0
