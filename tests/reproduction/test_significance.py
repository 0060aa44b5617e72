"""The marks, against cases counted by hand: of n pairs all won, two-sided p = 2/2ⁿ."""

from __future__ import annotations

import numpy as np
import pytest

from pglearn.reproduction.significance import compared

OTHER = np.linspace(0.6, 0.69, 10)
DISTINCT = 0.01 * np.arange(1, 11)


@pytest.mark.parametrize(
    ("pairs", "p", "mark"),
    [(10, 2 / 1024, "▲"), (9, 2 / 512, "▲"), (8, 2 / 256, "△"), (7, 2 / 128, ""), (2, 0.5, "")],
)
def test_all_splits_won(pairs, p, mark):
    found = compared((OTHER + DISTINCT)[:pairs], OTHER[:pairs])
    assert found.p == pytest.approx(p)
    assert found.mark == mark
    assert found.pairs == pairs


def test_the_smallest_difference_of_ten_lost():
    """Of the 2¹⁰ signings, rank sums of the minority ≤ 1: the empty one and {1}; twice that for two sides."""
    gains = DISTINCT * np.where(np.arange(10) == 0, -1, 1)
    found = compared(OTHER + gains, OTHER)
    assert found.p == pytest.approx(4 / 1024)
    assert found.mark == "▲"


def test_the_third_smallest_of_ten_lost():
    """Rank sums ≤ 3: {}, {1}, {2}, {3}, {1, 2}: p = 10/1024, just under 0.01."""
    gains = DISTINCT * np.where(np.arange(10) == 2, -1, 1)
    found = compared(OTHER + gains, OTHER)
    assert found.p == pytest.approx(10 / 1024)
    assert found.mark == "△"


def test_no_mark_where_the_other_is_better():
    found = compared(OTHER - DISTINCT, OTHER)
    assert found.p == pytest.approx(2 / 1024)
    assert found.mark == ""
    assert found.advantage < 0


def test_equal_results():
    found = compared(OTHER, OTHER)
    assert (found.p, found.mark, found.advantage) == (1.0, "", 0.0)


def test_ties_and_zeros_raise_no_warning():
    reference = np.array([0.9, 0.9, 0.9, 0.9, 0.8])
    found = compared(reference, np.array([0.8, 0.8, 0.8, 0.9, 0.9]))
    assert 0.1 < found.p <= 1


@pytest.mark.parametrize(("rows", "step"), [(450, 3), (1350, 7), (256, 4), (224, 5)])
def test_ties_of_shares_are_ties_whether_fresh_or_read_from_a_file(rows, step):
    """Eight splits won and two lost by as many rows are one tie, which floating point and six digits pull apart."""
    other = np.array([0.83, 0.72, 0.81, 0.66, 0.74, 0.79, 0.69, 0.77, 0.63, 0.71]) * rows // 1
    steps = np.where(np.arange(10) < 8, step, -step)
    fresh = (other + steps) / rows, other / rows
    read = [np.array([float(f"{x:.6f}") for x in part]) for part in fresh]
    assert len(np.unique(np.abs(np.subtract(*read)))) > 1
    expected = compared(steps, np.zeros(10)).p
    assert compared(*fresh).p == compared(*read).p == expected


def test_the_smallest_of_steps_counts():
    """A row of 1,350 more or less is a difference, and two are more than one."""
    gains = np.arange(1, 11) / 1350
    assert compared(OTHER + gains, OTHER).p == pytest.approx(2 / 1024)
    assert compared(OTHER + 1e-6, OTHER).p == 1


def test_no_pairs():
    assert compared([], []).pairs == 0
    assert compared([], []).mark == ""
