"""Labels for rows that were not in the graph."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import points

from pglearn.objective.propagation.inductive import spreading

A = np.array([0.5, 0.2, 0.0, 0.4])
X, X_NEW = np.round(points(20), 3), np.round(points(7, seed=3), 3)
F = np.random.default_rng(1).dirichlet(np.ones(3), 20)


def weighted_means(k, a=A):
    """The equation, point by point."""
    rows = []
    for x in X_NEW:
        d2 = (a * (X - x) ** 2).sum(axis=1)
        near = np.argsort(d2)[:k]
        w = np.exp(-d2[near])
        rows.append(w @ F[near] / w.sum())
    return np.array(rows)


@pytest.mark.parametrize("k", [1, 4, 20, 500])
def test_new_rows_are_weighted_means_of_their_nearest(k):
    found = spreading(X, A, k, F)(X_NEW)
    np.testing.assert_allclose(found, weighted_means(k), rtol=1e-10)
    one_by_one = np.vstack([spreading(X, A, k, F)(x[None]) for x in X_NEW])
    np.testing.assert_allclose(found, one_by_one, rtol=1e-12)


def test_a_known_row_is_its_own_nearest_one_far_from_all_takes_its_nearest_and_weights_of_zero_the_mean():
    np.testing.assert_array_equal(spreading(X, np.ones(4), 1, F)(X), F)
    far = X[[3]] + np.array([1e4, 0, 0, 0])  # so far that every weight underflows
    found = spreading(X, np.array([1.0, 0, 0, 0]), 5, F)(far)
    np.testing.assert_allclose(found, F[[np.argmax(X[:, 0])]], rtol=1e-12)
    np.testing.assert_allclose(spreading(X, np.zeros(4), 20, F)(X_NEW), np.tile(F.mean(axis=0), (7, 1)), rtol=1e-12)


def test_a_huge_offset_changes_nothing_and_float32_little():
    offset, expected = np.array([1e9, 0, 0, -1e9]), weighted_means(4)
    np.testing.assert_allclose(spreading(X + offset, A, 4, F)(X_NEW + offset), expected, rtol=1e-5)
    single = spreading(X.astype(np.float32), A, 4, F)(X_NEW.astype(np.float32))
    np.testing.assert_allclose(single, expected, rtol=1e-4)
