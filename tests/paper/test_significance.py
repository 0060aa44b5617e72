"""The marks, against cases counted by hand: of n pairs all won, two-sided p = 2/2ⁿ."""

from __future__ import annotations

import numpy as np
import pytest

from pglearn.paper.tables import compared

OTHER = np.linspace(0.6, 0.69, 10)
DISTINCT = 0.01 * np.arange(1, 11)


@pytest.mark.parametrize(
    ("pairs", "p", "mark"),
    [(10, 2 / 1024, "▲"), (9, 2 / 512, "▲"), (8, 2 / 256, "△"), (7, 2 / 128, ""), (2, 0.5, "")],
)
def test_all_splits_won(pairs, p, mark):
    found = compared((OTHER + DISTINCT)[:pairs], OTHER[:pairs])
    assert (found.p, found.mark, found.pairs) == (pytest.approx(p), mark, pairs)
    other = compared(OTHER[:pairs], (OTHER + DISTINCT)[:pairs])
    assert (other.p, other.mark, other.advantage < 0) == (found.p, "", True), "no mark where the other is better"


@pytest.mark.parametrize(("lost", "signings", "mark"), [(0, 4, "▲"), (2, 10, "△")])
def test_a_small_difference_of_ten_lost(lost, signings, mark):
    """Of the 2¹⁰ signings, rank sums of the minority ≤ 1: {}, {1}; ≤ 3: {}, {1}, {2}, {3}, {1, 2}; twice that."""
    gains = DISTINCT * np.where(np.arange(10) == lost, -1, 1)
    found = compared(OTHER + gains, OTHER)
    assert (found.p, found.mark) == (pytest.approx(signings / 1024), mark)


def test_equal_results_and_none():
    equal = compared(OTHER, OTHER)
    assert (equal.p, equal.mark, equal.advantage) == (1.0, "", 0.0)
    assert (compared([], []).pairs, compared([], []).mark) == (0, "")
    tied = compared(np.array([0.9, 0.9, 0.9, 0.9, 0.8]), np.array([0.8, 0.8, 0.8, 0.9, 0.9]))
    assert 0.1 < tied.p <= 1, "without a warning"


@pytest.mark.parametrize(("rows", "step"), [(450, 3), (224, 5)])
def test_ties_of_shares_are_ties(rows, step):
    """Eight splits won and two lost by as many rows are one tie, which floating point pulls apart."""
    other = np.array([0.83, 0.72, 0.81, 0.66, 0.74, 0.79, 0.69, 0.77, 0.63, 0.71]) * rows // 1
    steps = np.where(np.arange(10) < 8, step, -step)
    shares = (other + steps) / rows, other / rows
    assert len(np.unique(np.abs(np.subtract(*shares)))) > 1
    assert compared(*shares).p == compared(steps, np.zeros(10)).p
    assert compared((other + np.arange(1, 11)) / rows, other / rows).p == pytest.approx(2 / 1024), "a row more counts"
