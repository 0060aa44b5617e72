"""Compiled distances against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

from pglearn.graph import compiled, weights


def pairs(n, m, count, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, n, count), rng.integers(0, m, count)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-13), (np.float32, 1e-6)])
@pytest.mark.parametrize("d", [1, 7, 300])
def test_distances_of_pairs_are_exact_to_the_precision_of_the_rows(dtype, accuracy, d, monkeypatch):
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(20, d)).astype(dtype), rng.normal(size=(30, d)).astype(dtype)
    i, j = pairs(20, 30, 200)
    expected = ((U.astype(np.float64)[i] - V.astype(np.float64)[j]) ** 2).sum(axis=1)
    monkeypatch.setattr("pglearn.compiled.FROM_ROWS", 0)
    np.testing.assert_allclose(weights.squared_distances(U, V, i, j), expected, rtol=accuracy)


def test_sums_of_many_small_squares_do_not_lose_digits_in_float32():
    d = 100_000
    U, V = np.zeros((1, d), dtype=np.float32), np.full((1, d), 1e-3, dtype=np.float32)
    V[0, 0] = 1e3
    d2 = np.empty(1)
    compiled.squared_distances(0, 1, U, V, np.array([0]), np.array([0]), d2)
    expected = (V.astype(np.float64) ** 2).sum()
    assert d2[0] == pytest.approx(expected, rel=1e-12)
    assert np.float32(1e6) + np.float32(1e-6) == 1e6, "a float32 sum would not see the others"


def test_rows_that_may_not_be_written_to_are_read():
    Z = np.random.default_rng(0).normal(size=(10, 3))
    Z.flags.writeable = False
    i, j = pairs(10, 10, 5)
    d2 = np.empty(5)
    compiled.squared_distances(0, len(i), Z, Z, i, j, d2)
    np.testing.assert_allclose(d2, ((Z[i] - Z[j]) ** 2).sum(axis=1))


@pytest.mark.parametrize("k", [1, 3, 12])
def test_the_nearest_of_candidates_come_nearest_first(k):
    rng = np.random.default_rng(k)
    Z = rng.normal(size=(40, 5))
    candidates = np.array([rng.permutation(np.delete(np.arange(40), p))[:12] for p in range(40)]).astype(np.int32)
    nearest = np.empty((40, k), dtype=np.int32)
    compiled.nearest_of(0, len(Z), Z, candidates, nearest)
    for p in range(40):
        d2 = ((Z[candidates[p]] - Z[p]) ** 2).sum(axis=1)
        np.testing.assert_array_equal(nearest[p], candidates[p][np.argsort(d2)[:k]])


def test_a_distance_that_is_no_number_takes_no_place_of_one_that_is():
    Z = np.array([[0.0], [1.0], [2.0], [np.nan], [3.0]])
    nearest = np.empty((1, 2), dtype=np.int32)
    for candidates in ([1, 2, 3], [3, 2, 1], [2, 3, 1]):
        compiled.nearest_of(0, 1, Z, np.array([candidates], dtype=np.int32), nearest)
        np.testing.assert_array_equal(nearest, [[1, 2]])
