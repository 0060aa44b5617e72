"""Gradient descent with backtracking: it falls, it ends, and it tells of every evaluation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from pglearn.paper.baselines.backtracking import Point, descended


def test_it_comes_to_the_lowest_point_of_a_narrow_valley_and_tells_of_every_evaluation():
    scale, calls = np.array([1.0, 50.0]), []

    def bowl(x):
        calls.append(x)
        away = x - [1.0, 2.0]
        return Point(x, float(scale @ away**2) + 3.0, 2 * scale * away)

    seen = list(descended(bowl, np.array([5.0, 5.0])))
    best = min(seen, key=lambda point: point.g)
    assert best.g == pytest.approx(3.0, rel=1e-2)
    np.testing.assert_allclose(best.x, [1, 2], atol=0.15)
    assert len(seen) == len(calls)


ENDS = {
    "a step that gains less than a 10⁻⁴th": (lambda x: Point(x, 1e6 + float(x @ x), 2 * x), 2),
    "its steps": (lambda x: Point(x, -float(x.sum()), -np.ones(2)), 8),
    "a slope that lies: the start and twelve halvings": (lambda x: Point(x, float(x @ x), -2 * x), 13),
    "no slope": (lambda x: Point(x, 1.0, np.zeros(2)), 1),
    "a slope that is no number": (lambda x: Point(x, 1.0, np.array([np.nan, 1.0])), 1),
}


@pytest.mark.parametrize("reason", ENDS)
def test_it_ends(reason):
    evaluate, evaluations = ENDS[reason]
    assert len(list(descended(evaluate, np.ones(2), steps=7))) == evaluations


def test_no_coordinate_loses_more_than_it_may():
    slope = np.array([1.0, 0.01])
    xs = [p.x for p in descended(lambda x: Point(x, float(slope @ x), slope), np.ones(2), most_shrink=0.5, steps=5)]
    assert all((later >= 0.5 * earlier - 1e-12).all() for earlier, later in pairwise(xs))
    assert xs[-1][0] == pytest.approx(0.5**5)
