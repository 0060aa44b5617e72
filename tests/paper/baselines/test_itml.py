"""ITML: the minimum that a general solver finds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from pglearn.paper.baselines.itml import Pairs, learned_metric


def divergence(x, y):
    return np.sum(x / y - np.log(x / y) - 1)


@pytest.mark.parametrize("seed", range(3))
def test_a_general_solver_finds_no_better_metric(seed):
    z2, similar = np.random.default_rng(seed).exponential(size=(12, 4)), np.arange(12) % 2 == 0
    given, prior = Pairs(z2, similar, np.where(similar, 1.0, 6.0)), np.array([1.0, 0.5, 2.0, 1.5])
    sign = np.where(similar, 1, -1)
    direct = minimize(
        lambda x: divergence(x[:4], prior) + divergence(x[4:], given.bound),
        np.concatenate([prior, z2 @ prior]),
        method="SLSQP",
        bounds=[(1e-6, None)] * 16,
        constraints={"type": "ineq", "fun": lambda x: sign * (x[4:] - z2 @ x[:4])},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert direct.success
    assert np.abs(direct.x[:4] / prior - 1).max() > 0.1
    np.testing.assert_allclose(learned_metric(given, prior, enough=1e-10, rounds=5000), direct.x[:4], rtol=1e-4)
    np.testing.assert_allclose(learned_metric(given, prior), direct.x[:4], rtol=0.05, err_msg="by default, nearly")


def test_pairs_that_keep_to_their_bounds_or_are_at_the_same_point_change_nothing():
    kept = Pairs(np.ones((2, 3)), np.array([True, False]), np.array([4.0, 2.0]))
    np.testing.assert_array_equal(learned_metric(kept, np.ones(3)), 1)
    given = Pairs(np.array([[0.0, 0.0], [4.0, 1.0]]), np.array([False, True]), np.array([6.0, 1.0]))
    alone = Pairs(given.z2[1:], given.similar[1:], given.bound[1:])
    np.testing.assert_array_equal(learned_metric(given, np.ones(2)), learned_metric(alone, np.ones(2)))
