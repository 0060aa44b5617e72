"""When Algorithm 2 eliminates, and how many it keeps."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pglearn.errors import InputError
from pglearn.search import Schedule


def schedules():
    """Any schedule with T ≥ r."""
    rates = st.integers(2, 12)
    return rates.flatmap(
        lambda r: st.builds(Schedule, budget=st.integers(1, 5000), rate=st.just(r), population=st.integers(r, 60))
    )


def test_the_worked_example_of_the_paper():
    schedule = Schedule(budget=16, rate=2, population=8)
    assert schedule.eliminations == 4
    assert schedule.milestones == [1, 2, 4, 8, 16]
    assert schedule.survivors == 4
    assert schedule.configurations == 24
    assert schedule.steps(1) == [1, 1, 2, 4, 8]


@pytest.mark.parametrize(("rate", "power"), [(2, 1), (2, 62), (3, 5), (3, 39), (5, 3), (10, 3), (10, 6), (10, 18)])
def test_the_number_of_eliminations_is_exact_around_powers_of_the_rate(rate, power):
    # math.log(1000, 10) is 2.9999999999999996 and math.log(243, 3) is 4.999999999999999.
    eliminations = [Schedule(rate**power + change, rate, rate).eliminations for change in (-1, 0, 1)]
    assert eliminations == [power - 1, power, power]


def test_a_budget_of_one_unit_eliminates_no_one():
    schedule = Schedule(budget=1, rate=2, population=8)
    assert schedule.eliminations == 0
    assert schedule.milestones == [1]
    assert schedule.configurations == 8
    assert schedule.steps(3) == [3]


def test_milestones_of_a_budget_that_is_no_power_are_fractions_of_it():
    schedule = Schedule(budget=10, rate=3, population=7)
    assert schedule.milestones == [10 / 9, 10 / 3, 10]
    assert schedule.survivors == 2
    assert schedule.configurations == 7 + 2 * 5


@given(schedules())
def test_the_first_milestone_is_at_least_a_unit_and_less_than_r_units(schedule):
    assert 1 <= schedule.milestones[0] < schedule.rate
    assert schedule.milestones[-1] == schedule.budget


@given(schedules(), st.integers(1, 50))
def test_steps_of_all_rounds_sum_to_the_budget(schedule, unit_steps):
    steps = schedule.steps(unit_steps)
    assert sum(steps) == schedule.budget * unit_steps
    assert all(step > 0 for step in steps[:1] + steps[-1:])
    assert min(steps) >= 0
    assert len(steps) == schedule.eliminations + 1


@given(schedules())
def test_configurations_are_those_of_the_formula_when_r_divides_T(schedule):
    T, r, R = schedule.population, schedule.rate, schedule.eliminations
    assert schedule.configurations == T + R * (T - T // r)
    if T % r == 0:
        assert schedule.configurations == pytest.approx(T + (1 - 1 / r) * T * R)


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        ({"budget": 0}, "budget=0 must be a whole number of at least 1: it is the number of units (B)"),
        ({"budget": 2.0}, "budget=2.0 must be a whole number of at least 1"),
        ({"budget": "16"}, "budget='16' must be a whole number of at least 1"),
        ({"budget": True}, "budget=True must be a whole number of at least 1"),
        ({"rate": 1}, "downsampling_rate=1 must be a whole number of at least 2: of that many candidates (r) one"),
        ({"rate": 2.5}, "downsampling_rate=2.5 must be a whole number of at least 2"),
        ({"population": 0}, "n_candidates=0 must be a whole number of at least 1: it is the number of candidates (T)"),
        ({"population": 2, "rate": 3}, "n_candidates=2 is less than downsampling_rate=3, so none would survive"),
        ({"population": 2, "rate": 3}, "take at least 3 candidates or a smaller rate"),
    ],
)
def test_what_cannot_be_a_schedule_is_refused_with_a_sentence(schedule, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        Schedule(**{"budget": 16, "rate": 2, "population": 8, **schedule})


def test_whole_numbers_of_numpy_are_whole_numbers():
    assert Schedule(np.int64(16), np.int32(2), np.uint8(8)).milestones == [1, 2, 4, 8, 16]
