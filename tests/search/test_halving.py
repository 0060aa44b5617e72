"""Algorithm 2: who survives, who is drawn, and how a search ends."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.search.fakes import (
    Bowl,
    Clock,
    NumberedDraws,
    Scripted,
    Ticking,
    paper_search,
    serial_pool,
    worked_example,
)

from pglearn.errors import InputError
from pglearn.search import Schedule, Search


def searched(engine, budget=16, rate=2, population=8, views=1, **options):
    with serial_pool(engine) as pool:
        search = Search(Schedule(budget, rate, population), NumberedDraws(views), **{"unit_steps": 1, **options})
        return search.run(pool)


def lives(result):
    """(born, died, steps) of every candidate; died is None for those that ran to the end."""
    return [(run.born, run.died, run.steps) for run in result.candidates]


def found(result):
    return [candidate.id for candidate in result.found]


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
    assert found(result) == [0, 1, 2, 3, 20, 21, 22, 23]
    assert [c.id for c in result.candidates] == list(range(24))
    assert result.reason == "finished"


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
    assert found(result) == [23, 22, 21, 20, 19, 18, 17, 16]


def test_survivors_are_those_with_the_lowest_loss_among_old_and_new_alike():
    good = {2: 0.3, 5: 0.1, 9: 0.2, 13: 0.05, 22: 0.01}  # the others lose 1 each, ties going to the older
    result = worked_example(lambda k: good.get(k, 1.0))
    died = {run.id: run.died for run in result.candidates}
    assert [id for id in range(8) if died[id] == 1] == [3, 4, 6, 7]  # 5, 2, 0 and 1 go on
    assert [id for id in range(12) if died[id] == 2] == [1, 8, 10, 11]  # 9 comes in, 0 goes on
    assert [id for id in range(16) if died[id] == 4] == [0, 12, 14, 15]  # 13 comes in
    assert [id for id in range(20) if died[id] == 8] == [16, 17, 18, 19]
    assert found(result) == [22, 13, 5, 9, 2, 20, 21, 23]


def test_a_converged_candidate_stays_in_the_race_without_taking_steps():
    result = searched(Bowl(centre=1.0))  # all draws start at the centre
    assert found(result) == [0, 1, 2, 3, 20, 21, 22, 23]
    assert {c.steps for c in result.candidates} == {0}


def test_milestones_that_are_no_whole_number_of_steps_come_to_the_budget_all_the_same():
    result = searched(Scripted(lambda k: k), budget=10, rate=3, population=3)  # at 10/9, 10/3 and 10 units
    assert (
        lives(result)
        == [(0, None, 10), (0, 10 / 9, 1), (0, 10 / 9, 1), *[(10 / 9, 10 / 3, 2)] * 2] + [(10 / 3, None, 7)] * 2
    )


def test_all_candidates_failing_is_an_error_that_says_what_to_try():
    with pytest.raises(InputError, match=r"No candidate has a finite loss: look for extreme values.* try scale=True"):
        worked_example(lambda k: float("nan"))


# With several views candidates compete within theirs


def died_in(result, view, died):
    return [c.id for c in result.candidates if c.view == view and c.died == died]


def test_the_best_of_every_view_go_on_however_bad_the_view():
    result = searched(Scripted(lambda k: k, of_view=1000), views=2)
    assert died_in(result, 0, died=1) == [4, 6]
    assert died_in(result, 1, died=1) == [5, 7]
    assert found(result)[:4] == [0, 2, 20, 22], "the answer is the lowest loss"
    result = searched(Scripted(lambda k: k, of_view=1000), views=3)  # the best of each of three, and one second
    assert [c.id for c in result.candidates if c.born == 0 and c.died is None] == [0, 1, 2, 3]
    result = searched(Scripted(lambda k: k, of_view=1000), budget=2, population=4, views=4)
    assert [c.id for c in result.candidates if c.died == 1] == [2, 3], "with fewer places the better views go on"


@pytest.mark.parametrize("views", [1, 2, 3])
@pytest.mark.parametrize(("population", "budget", "rate"), [(8, 16, 2), (9, 9, 3), (5, 7, 2)])
def test_new_draws_take_the_views_of_those_they_replace(views, population, budget, rate):
    for loss_of in (lambda k: k, lambda k: 100 - k, lambda k: (k * 7) % 11):
        result = searched(Scripted(loss_of, of_view=1000), budget, rate, population, views)
        schedule = Schedule(budget, rate, population)
        assert [c.id for c in result.candidates] == list(range(schedule.configurations))
        for milestone in schedule.milestones[:-1]:
            replaced = Counter(c.view for c in result.candidates if c.died == milestone)
            assert replaced == Counter(c.view for c in result.candidates if c.born == milestone)
            assert replaced.total() == population - population // rate


# How a search ends before its time


def test_a_time_that_is_over_before_it_begins_still_gives_an_answer():
    told = []
    result = worked_example(lambda k: 5.0, [told.append], max_time=1e-9)
    assert result.reason == "out of time"
    assert [c.id for c in result.candidates if c.best is not None] == [0]
    assert len(result.candidates) == 8
    assert [event["candidate"] for event in told if event["event"] == "candidate_advanced"] == [0]


@pytest.mark.parametrize("unit", [0.15, 0.3, 1.0, 1.7, 4.0])
@pytest.mark.parametrize("loss_of", [lambda k: k, lambda k: -k])
def test_however_short_a_unit_a_search_takes_its_time_and_a_step_for_every_place(monkeypatch, unit, loss_of):
    clock = Clock()
    monkeypatch.setattr("pglearn.search.descent.time", clock)
    result = searched(Ticking(clock, loss_of), unit_seconds=unit)
    assert 16 * 8 * unit - 1e-9 <= clock.now - 1000 <= 8 * (16 * unit + 1)
    assert result.reason == "finished"
    assert len(result.candidates) == 24
    assert result.found


@pytest.mark.parametrize("round", [0, 1])
def test_a_search_that_is_stopped_says_so_and_keeps_the_best_so_far(round):
    pool = serial_pool(Scripted(lambda k: 10 - k))
    result = paper_search(pool, [lambda event: pool.stop() if event.get("round") == round else None])
    assert result.reason == "interrupted"
    if round == 0:  # before anybody was looked at
        assert found(result) == [0]
    else:  # the newcomers of round 1 were never evaluated
        assert len(result.candidates) == 12
        assert found(result) == [7, 6, 5, 4]
