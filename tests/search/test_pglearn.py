"""Algorithm 2: who survives, who is drawn, and how a search ends."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from tests.search.fakes import (
    Bowl,
    NumberedDraws,
    Scripted,
    Sleepy,
    serial_pool,
    worked_example,
)
from tests.search.test_gradient import Clock, Ticking

from pglearn.errors import InputError
from pglearn.search import Schedule, Search


def lives(result):
    """(born, died, steps) of every candidate; died is None for those that ran to the end."""
    return [(c.born, c.died, c.steps) for c in result.candidates]


# The paper's worked example: eliminations at 1, 2, 4, 8; the steps of the rounds are 1, 1, 2, 4, 8.


def test_when_the_old_are_better_they_resume_and_every_new_draw_dies_at_once():
    result = worked_example(lambda k: k)
    assert lives(result) == [
        *[(0, None, 16)] * 4,
        *[(0, 1, 1)] * 4,
        *[(1, 2, 1)] * 4,
        *[(2, 4, 2)] * 4,
        *[(4, 8, 4)] * 4,
        *[(8, None, 8)] * 4,
    ]
    assert [c.id for c in result.ranked] == [0, 1, 2, 3, 20, 21, 22, 23]


def test_when_the_new_are_better_every_candidate_lives_for_two_rounds():
    result = worked_example(lambda k: 100 - k)
    assert lives(result) == [
        *[(0, 1, 1)] * 4,
        *[(0, 2, 1 + 1)] * 4,
        *[(1, 4, 1 + 2)] * 4,
        *[(2, 8, 2 + 4)] * 4,
        *[(4, None, 4 + 8)] * 4,
        *[(8, None, 8)] * 4,
    ]
    assert [c.id for c in result.ranked] == [23, 22, 21, 20, 19, 18, 17, 16]


def test_survivors_are_those_with_the_lowest_loss_among_old_and_new_alike():
    good = {2: 0.3, 5: 0.1, 9: 0.2, 13: 0.05, 22: 0.01}  # the others lose 1 each, ties going to the older
    result = worked_example(lambda k: good.get(k, 1.0))
    died = {c.id: c.died for c in result.candidates}
    assert [id for id in range(8) if died[id] == 1] == [3, 4, 6, 7]  # 5, 2, 0 and 1 go on
    assert [id for id in range(12) if died[id] == 2] == [1, 8, 10, 11]  # 9 comes in, 0 goes on
    assert [id for id in range(16) if died[id] == 4] == [0, 12, 14, 15]  # 13 comes in
    assert [id for id in range(20) if died[id] == 8] == [16, 17, 18, 19]
    assert [c.id for c in result.ranked] == [22, 13, 5, 9, 2, 20, 21, 23]


def test_twenty_four_configurations_are_drawn_and_numbered_in_order():
    result = worked_example(lambda k: (k * 7) % 11)
    assert [c.id for c in result.candidates] == list(range(24))
    assert result.reason == "finished"
    assert sum(c.died is None for c in result.candidates) == 8


def test_candidates_are_judged_by_the_best_they_have_seen_and_not_by_where_they_stand():
    class Worsening(Scripted):
        def judged(self, problem, configuration):
            evaluation = super().judged(problem, configuration)
            moved = configuration.a[0] < 1
            return type(evaluation)(evaluation.loss + 100 * moved, 0.5, evaluation.dg_da)

    search = Search(Schedule(budget=2, rate=2, population=2), NumberedDraws(), unit_steps=1)
    with serial_pool(Worsening(lambda k: k)) as pool:
        result = search.run(pool)
    assert [c.loss for c in result.candidates] == [0, 1, 2]
    assert result.ranked[0].id == 0


def test_a_converged_candidate_stays_in_the_race_without_taking_steps():
    search = Search(Schedule(budget=16, rate=2, population=8), NumberedDraws(), unit_steps=1)
    with serial_pool(Bowl(centre=1.0)) as pool:  # all draws start at the centre
        result = search.run(pool)
    assert [c.id for c in result.ranked] == [0, 1, 2, 3, 20, 21, 22, 23]
    assert {c.steps for c in result.candidates} == {0}


def test_all_candidates_failing_is_an_error_that_says_what_to_try():
    with pytest.raises(InputError, match=r"No candidate has a finite loss: look for extreme values.* try scale=True"):
        worked_example(lambda k: float("nan"))


def test_a_budget_of_one_unit_runs_everyone_once():
    search = Search(Schedule(budget=1, rate=2, population=4), NumberedDraws(), unit_steps=3)
    with serial_pool(Scripted(lambda k: -k)) as pool:
        result = search.run(pool)
    assert lives(result) == [(0, None, 3)] * 4
    assert [c.id for c in result.ranked] == [3, 2, 1, 0]


# How a search ends before its time


def test_a_time_that_is_over_before_it_begins_still_gives_an_answer():
    result = worked_example(lambda k: 5.0, max_time=1e-9)
    assert result.reason == "out of time"
    assert [c.best is not None for c in result.candidates].count(True) == 1
    assert result.ranked[0].loss == 5.0
    assert len(result.candidates) == 8


def test_units_of_seconds_give_every_candidate_its_time():
    search = Search(Schedule(budget=2, rate=2, population=2), NumberedDraws(), unit_seconds=0.2)
    with serial_pool(Sleepy(0.05)) as pool:
        begun = time.monotonic()
        result = search.run(pool)
        took = time.monotonic() - begun
    # Two rounds of a unit for two candidates each; every place may be over by a step.
    assert 0.8 <= took < 0.8 + 2 * 0.05 + 1.0
    survivor, eliminated, new = result.candidates
    assert (survivor.died, eliminated.died, new.born) == (None, 1, 1)
    assert survivor.steps > eliminated.steps
    assert 1 <= eliminated.steps <= 4


@pytest.mark.parametrize("unit", [0.15, 0.3, 1.0, 1.7, 4.0])
@pytest.mark.parametrize("loss_of", [lambda k: k, lambda k: -k])
def test_however_short_a_unit_a_search_takes_its_time_and_a_step_for_every_place(monkeypatch, unit, loss_of):
    clock = Clock()
    monkeypatch.setattr("pglearn.search.gradient.time", clock)

    class TickingScript(Ticking):
        def judged(self, problem, configuration):
            return replace(super().judged(problem, configuration), loss=loss_of(configuration.k))

    search = Search(Schedule(budget=16, rate=2, population=8), NumberedDraws(), unit_seconds=unit)
    with serial_pool(TickingScript(clock)) as pool:
        result = search.run(pool)
    took = clock.now - 1000
    assert 16 * 8 * unit - 1e-9 <= took <= 8 * (16 * unit + 1)
    assert result.reason == "finished"
    assert len(result.candidates) == 24
    assert result.ranked[0].best is not None


def test_a_search_that_is_stopped_says_so_and_keeps_the_best_so_far():
    search = Search(Schedule(budget=16, rate=2, population=8), NumberedDraws(), unit_steps=1)
    with serial_pool(Scripted(lambda k: 10 - k)) as pool:
        stop_in_round_1 = lambda event: pool.stop() if event.get("round") == 1 else None  # noqa: E731
        result = search.run(pool, [stop_in_round_1])
    assert result.reason == "interrupted"
    assert len(result.candidates) == 12
    assert result.ranked[0].id == 7  # the newcomers of round 1 were never evaluated


class Pending:
    """A checkpoint that has yet to write the state of a whole part when a stop falls in."""

    found = None

    def __init__(self, stop):
        self._stop = stop

    def keep(self, state, emit, *, at_once):
        self.state = state
        if not at_once:
            self._stop()


def test_a_state_that_is_yet_to_be_written_does_not_know_of_what_came_after_it():
    class AllAtOnce(Scripted):
        together = None

    search = Search(Schedule(budget=1, rate=2, population=4), NumberedDraws(), unit_seconds=0.02)
    with serial_pool(AllAtOnce(lambda k: 1.0)) as pool:
        pending = Pending(pool.stop)
        assert search.run(pool, checkpoint=pending).reason == "interrupted"
    assert [candidate.done for candidate in pending.state.candidates] == [0.02] * 4, "nobody runs a stint twice"
    assert [candidate.told for candidate in pending.state.candidates] == [0] * 4


def test_a_search_stopped_at_once_looks_at_one_candidate():
    search = Search(Schedule(budget=16, rate=2, population=8), NumberedDraws(), unit_steps=1)
    with serial_pool(Scripted(lambda k: 1.0)) as pool:
        pool.stop()
        result = search.run(pool)
    assert result.reason == "interrupted"
    assert [c.best is not None for c in result.candidates].count(True) == 1
