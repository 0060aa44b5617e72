"""Exact neighbours under diag(a), distances between pairs, and the mean distance."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests import oracle

from pglearn.graph import k_nearest, mean_distance, weighted_graph
from pglearn.graph.neighbours import SAMPLE_FOR_MEAN_DISTANCE, scaled_points
from pglearn.graph.weights import squared_distances

# Whole numbers: full of ties and duplicates, and every distance is exact.
grids = hnp.arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(1, 3)), elements=st.integers(-2, 2).map(float))


@given(grids, st.integers(1, 15), st.sampled_from([1, 0.1, 7.7]), st.booleans())
def test_of_equally_far_points_the_first_are_neighbours(Z, k, scale, by_query):
    D2 = oracle.distances(Z, np.ones(Z.shape[1]))
    if not by_query:
        np.fill_diagonal(D2, np.inf)
    k = min(k, len(Z) - (not by_query))
    expected = D2.argsort(axis=1, kind="stable")[:, :k]
    found = k_nearest(scale * Z, k, scale * Z if by_query else None)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))  # k others, none twice


@pytest.mark.parametrize("d", [64, 784])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ties_of_many_columns_are_seen(d, dtype):
    X = np.random.default_rng(0).integers(0, 2, (300, d))
    expected = oracle.neighbours(X.astype(float), np.ones(d), 9)
    Z = scaled_points(X.astype(dtype), np.full(d, 0.37), np.zeros(d))
    found = np.zeros_like(expected)
    np.put_along_axis(found, k_nearest(Z, 9), True, axis=1)
    np.testing.assert_array_equal(found | found.T, expected)


@pytest.mark.parametrize("spread", [1e-2, 3e-4])
def test_near_points_far_from_the_middle_are_told_apart_in_float32(spread):
    rng = np.random.default_rng(0)
    Z = (rng.normal(size=(4, 10))[np.arange(400) % 4] + spread * rng.normal(size=(400, 10))).astype(np.float32)
    nearest = oracle.distances(Z.astype(float), np.ones(10)).argsort(axis=1)[:, 1:10]
    found = k_nearest(Z, 9)
    assert np.mean([np.isin(*both).mean() for both in zip(found, nearest, strict=True)]) > 0.99


def test_scaled_points_have_the_distances_of_the_metric_and_the_precision_of_X():
    X, a = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32), np.array([2.0, 0.0, 0.5])
    before = X.copy()
    Z = scaled_points(X, a, X.mean(axis=0))
    assert Z.dtype == np.float32
    np.testing.assert_allclose(oracle.distances(Z, np.ones(3)), oracle.distances(X, a), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-13), (np.float32, 1e-6)])
@pytest.mark.parametrize("d", [1, 300])
def test_compiled_distances_of_pairs_are_exact_to_the_precision_of_the_rows(dtype, accuracy, d, monkeypatch):
    monkeypatch.setattr("pglearn.compiled.FROM_ROWS", 0)
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(20, d)).astype(dtype), rng.normal(size=(30, d)).astype(dtype)
    U.flags.writeable = False
    i, j = rng.integers(0, 20, 200), rng.integers(0, 30, 200)
    expected = ((U.astype(np.float64)[i] - V.astype(np.float64)[j]) ** 2).sum(axis=1)
    np.testing.assert_allclose(squared_distances(U, V, i, j), expected, rtol=accuracy)


def test_no_array_of_all_pairs_is_made():
    n = 6000
    X = np.random.default_rng(0).normal(size=(n, 3))
    weighted_graph(X[:10], np.ones(3), 3)  # what is imported on first use does not count
    tracemalloc.start()
    try:
        weighted_graph(X, np.ones(3), 10)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < n * n  # an eighth of n² numbers: even one of bytes would not fit


@given(grids)
def test_mean_distance_is_the_mean_over_pairs_and_one_of_identical_points(X):
    pairs = np.sqrt(oracle.distances(X, np.ones(X.shape[1])))[np.triu_indices(len(X), 1)]
    assert mean_distance(X) == pytest.approx(pairs.mean() if pairs.any() else 1.0, rel=1e-7)
    assert mean_distance(X + np.array([1e9, 0, 0])[: X.shape[1]]) == pytest.approx(mean_distance(X), rel=1e-6)
    assert mean_distance(np.tile(X[0] * 0.1, (9, 1))) == 1.0


def test_mean_distance_of_many_points_is_estimated_from_a_seeded_sample():
    X = np.random.default_rng(0).normal(size=(SAMPLE_FOR_MEAN_DISTANCE + 500, 4))
    exact = np.mean([np.linalg.norm(X - x, axis=1).sum() / (len(X) - 1) for x in X])
    assert mean_distance(X, seed=3) == mean_distance(X, seed=3) != mean_distance(X, seed=4)
    assert mean_distance(X) == pytest.approx(exact, rel=0.02)
