"""Gradient descent with backtracking: it falls, it ends, and it tells of every evaluation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from pglearn.baselines.descent import Point, descended


def bowl(x):
    """A narrow valley with its lowest point at (1, 2)."""
    scale = np.array([1.0, 50.0])
    away = x - [1.0, 2.0]
    return Point(x, float(scale @ away**2) + 3.0, 2 * scale * away)


def test_it_comes_to_the_lowest_point():
    seen = list(descended(bowl, np.array([5.0, 5.0])))
    best = min(seen, key=lambda point: point.g)
    assert best.g == pytest.approx(3.0, rel=1e-2)
    np.testing.assert_allclose(best.x, [1, 2], atol=0.15)


def test_every_evaluation_is_told():
    calls = []

    def counted(x):
        calls.append(x)
        return bowl(x)

    assert len(list(descended(counted, np.array([5.0, 5.0])))) == len(calls)


def test_it_stops_where_a_step_gains_too_little():
    flat = list(descended(lambda x: Point(x, 1e6 + float(x @ x), 2 * x), np.ones(3)))
    assert len(flat) == 2, "the first step is taken and gains less than a 10⁻⁴th"


def test_it_stops_after_its_steps():
    endless = descended(lambda x: Point(x, -float(x.sum()), -np.ones(2)), np.ones(2), steps=7)
    assert len(list(endless)) == 8


def test_a_slope_that_lies_is_given_up():
    lying = list(descended(lambda x: Point(x, float(x @ x), -2 * x), np.ones(2)))
    assert len(lying) == 13, "the start and twelve halvings"


@pytest.mark.parametrize("slope", [np.zeros(2), np.array([np.nan, 1.0])])
def test_nothing_to_follow_is_the_end(slope):
    assert len(list(descended(lambda x: Point(x, 1.0, slope), np.ones(2)))) == 1


def test_no_coordinate_loses_more_than_it_may():
    slope = np.array([1.0, 0.01])
    xs = [p.x for p in descended(lambda x: Point(x, float(slope @ x), slope), np.ones(2), most_shrink=0.5, steps=5)]
    assert all((later >= 0.5 * earlier - 1e-12).all() for earlier, later in pairwise(xs))
    assert xs[-1][0] == pytest.approx(0.5**5)
