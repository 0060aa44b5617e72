"""When Algorithm 2 eliminates, and how many it keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pglearn.search import Schedule


def test_the_worked_example_of_the_paper_and_a_budget_that_is_no_power():
    paper = Schedule(np.int64(16), np.int32(2), np.uint8(8))  # whole numbers of numpy are whole numbers
    assert (paper.eliminations, paper.survivors, paper.configurations) == (4, 4, 24)
    assert paper.milestones == [1, 2, 4, 8, 16]
    other = Schedule(budget=10, rate=3, population=7)
    assert (other.eliminations, other.survivors, other.configurations) == (2, 2, 7 + 2 * 5)
    assert other.milestones == [10 / 9, 10 / 3, 10]


@pytest.mark.parametrize(("rate", "power"), [(2, 1), (2, 62), (3, 5), (3, 39), (5, 3), (10, 3), (10, 18)])
def test_the_number_of_eliminations_is_exact_around_powers_of_the_rate(rate, power):
    # math.log(1000, 10) is 2.9999999999999996 and math.log(243, 3) is 4.999999999999999.
    eliminations = [Schedule(rate**power + change, rate, rate).eliminations for change in (-1, 0, 1)]
    assert eliminations == [power - 1, power, power]


@given(st.integers(1, 5000), st.integers(2, 12), st.integers(12, 60))
def test_milestones_and_configurations_are_those_of_the_formulas(B, r, T):
    schedule = Schedule(B, r, T)
    R = schedule.eliminations
    assert 1 <= schedule.milestones[0] < r
    assert schedule.milestones[-1] == B
    assert len(schedule.milestones) == R + 1
    assert schedule.configurations == T + R * (T - T // r)
    if T % r == 0:
        assert schedule.configurations == pytest.approx(T + (1 - 1 / r) * T * R)
