"""Labels for rows that were not in the graph."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import points

from pglearn.propagation.inductive import spreading

A = np.array([0.5, 0.2, 0.0, 0.4])


def known():
    X = points(20)
    F = np.random.default_rng(1).random((20, 3))
    return X, F


def spread_to(X_new, X, a, k, F):
    return spreading(X, a, k, F)(X_new)


def weighted_means(X_new, X, a, k, F):
    """The equation, point by point."""
    rows = []
    for x in X_new:
        d2 = (a * (X - x) ** 2).sum(axis=1)
        near = np.argsort(d2)[:k]
        w = np.exp(-d2[near])
        rows.append(w @ F[near] / w.sum())
    return np.array(rows)


@pytest.mark.parametrize("k", [1, 4, 20])
def test_new_rows_are_weighted_means_of_their_nearest(k):
    X, F = known()
    X_new = points(7, seed=3)
    np.testing.assert_allclose(spread_to(X_new, X, A, k, F), weighted_means(X_new, X, A, k, F), rtol=1e-10)


def test_k_above_the_number_of_points_takes_all_of_them():
    X, F = known()
    X_new = points(7, seed=3)
    np.testing.assert_allclose(spread_to(X_new, X, A, 500, F), weighted_means(X_new, X, A, 20, F), rtol=1e-10)


def test_a_known_row_is_its_own_nearest():
    X, F = known()
    np.testing.assert_array_equal(spread_to(X, X, np.ones(4), 1, F), F)


def test_rows_that_sum_to_one_still_do():
    X, F = known()
    F /= F.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(spread_to(points(9, seed=3), X, A, 4, F).sum(axis=1), 1, rtol=1e-12)


def test_a_row_so_far_away_that_every_weight_underflows_takes_its_nearest():
    X, F = known()
    far = X[[3]] + np.array([1e4, 0, 0, 0])
    nearest = np.argmax(X[:, 0])
    np.testing.assert_allclose(spread_to(far, X, np.array([1.0, 0, 0, 0]), 5, F), F[[nearest]], rtol=1e-12)


def test_weights_of_zero_take_the_mean_of_k_rows():
    X, F = known()
    np.testing.assert_allclose(spread_to(X[:2], X, np.zeros(4), 20, F), np.tile(F.mean(axis=0), (2, 1)), rtol=1e-12)


def test_a_huge_offset_changes_nothing():
    X, F = known()
    X, X_new = np.round(X, 3), np.round(points(7, seed=3), 3)
    offset = np.array([1e9, 0, 0, -1e9])
    far = spread_to(X_new + offset, X + offset, A, 4, F)
    np.testing.assert_allclose(far, spread_to(X_new, X, A, 4, F), rtol=1e-5)


def test_no_new_row_depends_on_another():
    X, F = known()
    X_new = points(7, seed=3)
    one_by_one = np.vstack([spread_to(x[None], X, A, 4, F) for x in X_new])
    np.testing.assert_allclose(spread_to(X_new, X, A, 4, F), one_by_one, rtol=1e-12)


def test_float32_rows_are_close_to_the_exact_ones():
    X, F = known()
    X_new = points(7, seed=3)
    single = spread_to(X_new.astype(np.float32), X.astype(np.float32), A, 4, F)
    np.testing.assert_allclose(single, spread_to(X_new, X, A, 4, F), rtol=1e-4)
