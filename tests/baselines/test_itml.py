"""ITML, diagonal and full: the conditions that hold at its minimum, and the minimum itself by a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from pglearn.baselines.itml import Pairs, learned_metric, learned_root


def divergence(x, y):
    return np.sum(x / y - np.log(x / y) - 1)


def pairs(n=12, d=4, seed=0):
    rng = np.random.default_rng(seed)
    z2 = rng.exponential(size=(n, d))
    similar = np.arange(n) % 2 == 0
    return Pairs(np.sqrt(z2), similar, np.where(similar, 1.0, 6.0))


@pytest.mark.parametrize(("gamma", "seed"), [(0.2, 0), (1.0, 1), (10.0, 2)])
def test_the_conditions_of_a_minimum_hold(gamma, seed):
    given, prior = pairs(seed=seed), np.array([1.0, 0.5, 2.0, 1.5])
    found = learned_metric(given, prior, gamma, enough=1e-10, rounds=5000)
    sign = np.where(given.similar, 1, -1)
    slack = sign * (given.z2 @ found.a - found.bounds)
    assert (found.a > 0).all()
    assert (found.duals >= 0).all()
    np.testing.assert_allclose(1 / found.a, 1 / prior + (sign * found.duals) @ given.z2, rtol=1e-8)
    np.testing.assert_allclose(1 / found.bounds, 1 / given.bound - sign * found.duals / gamma, rtol=1e-8)
    assert (slack <= 1e-6).all(), "every pair keeps to its bound"
    np.testing.assert_allclose(found.duals * slack, 0, atol=1e-6)
    assert (found.duals > 0).any()


def test_a_general_solver_finds_no_better_metric():
    given, prior, gamma = pairs(), np.array([1.0, 0.5, 2.0, 1.5]), 1.0
    sign = np.where(given.similar, 1, -1)

    def objective(x):
        return divergence(x[:4], prior) + gamma * divergence(x[4:], given.bound)

    direct = minimize(
        objective,
        np.concatenate([prior, given.z2 @ prior]),
        method="SLSQP",
        bounds=[(1e-6, None)] * 16,
        constraints={"type": "ineq", "fun": lambda x: sign * (x[4:] - given.z2 @ x[:4])},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert direct.success
    found = learned_metric(given, prior, gamma, enough=1e-10, rounds=5000)
    np.testing.assert_allclose(found.a, direct.x[:4], rtol=1e-4)
    assert objective(np.concatenate([found.a, found.bounds])) == pytest.approx(direct.fun, rel=1e-6)


def test_pairs_that_keep_to_their_bounds_leave_the_prior_alone():
    given = Pairs(np.ones((2, 3)), np.array([True, False]), np.array([4.0, 2.0]))
    np.testing.assert_array_equal(learned_metric(given, np.ones(3)).a, 1)


def test_a_pair_at_the_same_point_is_no_constraint():
    given = Pairs(np.array([[0.0, 0.0], [2.0, 1.0]]), np.array([False, True]), np.array([6.0, 1.0]))
    alone = Pairs(given.z[1:], given.similar[1:], given.bound[1:])
    np.testing.assert_array_equal(learned_metric(given, np.ones(2)).a, learned_metric(alone, np.ones(2)).a)


def test_a_feature_that_tells_classes_apart_gains():
    rng = np.random.default_rng(0)
    classes = np.arange(30) % 2
    X = np.column_stack([classes + 0.1 * rng.normal(size=30), rng.normal(size=30)])
    i, j = np.triu_indices(30, 1)
    z, similar = X[i] - X[j], classes[i] == classes[j]
    bounds = np.percentile((z**2).sum(axis=1), [5, 95])
    a = learned_metric(Pairs(z, similar, np.where(similar, *bounds)), np.ones(2)).a
    assert a[0] > 3 * a[1]


def matrix_divergence(A, B):
    ratio = np.linalg.solve(B, A)
    return np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(A)


def full_pairs(n=6, d=3, seed=0):
    z = np.random.default_rng(seed).normal(size=(n, d))
    similar = np.arange(n) % 2 == 0
    return Pairs(z, similar, np.where(similar, 0.5, 6.0))


@pytest.mark.parametrize(("gamma", "seed"), [(0.2, 0), (1.0, 1), (10.0, 2)])
def test_the_conditions_of_a_minimum_hold_for_a_matrix(gamma, seed):
    given = full_pairs(seed=seed)
    found = learned_root(given, gamma, enough=1e-10, rounds=3000)
    sign, A = given.sign, found.a @ found.a.T
    slack = sign * (np.einsum("pi,ij,pj->p", given.z, A, given.z) - found.bounds)
    assert (np.linalg.eigvalsh(A) > 0).all()
    assert (found.duals >= 0).all()
    inverse = np.eye(3) + (given.z.T * (sign * found.duals)) @ given.z
    np.testing.assert_allclose(np.linalg.inv(A), inverse, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(1 / found.bounds, 1 / given.bound - sign * found.duals / gamma, rtol=1e-8)
    assert (slack <= 1e-6).all(), "every pair keeps to its bound"
    np.testing.assert_allclose(found.duals * slack, 0, atol=1e-6)
    assert (found.duals > 0).any()


def test_no_matrix_nearby_is_better():
    """The problem is convex: a minimum among small changes that keep to the bounds is the minimum."""
    given, prior, gamma = full_pairs(), np.eye(3), 1.0
    sign = given.sign

    def objective(A):
        reached = np.einsum("pi,ij,pj->p", given.z, A, given.z)
        slack = np.where(sign > 0, np.maximum(reached, given.bound), np.minimum(reached, given.bound))
        return matrix_divergence(A, prior) + gamma * divergence(slack, given.bound)

    root = learned_root(given, gamma, enough=1e-10, rounds=3000).a
    found = root @ root.T
    rng = np.random.default_rng(1)
    for _ in range(100):
        change = rng.normal(size=(3, 3))
        assert objective(found + 1e-3 * (change + change.T)) > objective(found)


def test_a_matrix_turns_where_a_diagonal_cannot():
    """Two classes that differ along x = y and vary along x = −y: features are as good as each other."""
    rng = np.random.default_rng(0)
    classes = np.arange(40) % 2
    along, across = classes + 0.1 * rng.normal(size=40), 3 * rng.normal(size=40)
    X = np.column_stack([along + across, along - across])
    i, j = np.triu_indices(40, 1)
    z, similar = X[i] - X[j], classes[i] == classes[j]
    given = Pairs(z, similar, np.where(similar, *np.percentile((z**2).sum(axis=1), [5, 95])))
    root = learned_root(given).a
    A = root @ root.T
    assert np.array([1, 1]) @ A @ [1, 1] > 10 * np.array([1, -1]) @ A @ [1, -1]


def test_directions_in_which_no_pair_differs_stay():
    given = Pairs(np.array([[2.0, 1.0, 0.0, 0.0]]), np.array([True]), np.array([1.0]))
    root = learned_root(given).a
    np.testing.assert_allclose((root @ root.T)[2:], np.eye(4)[2:], atol=1e-12)
    np.testing.assert_allclose(root.T @ [-1, 2, 0, 0], [-1, 2, 0, 0], atol=1e-12)
    assert np.linalg.norm(root.T @ [2, 1, 0, 0]) < np.sqrt(5)
