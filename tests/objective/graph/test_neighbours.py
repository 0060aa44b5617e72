"""Exact neighbours under diag(a), and the mean distance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests import oracle
from tests.memory import traced

from pglearn.objective.graph import k_nearest, mean_distance, weighted_graph
from pglearn.objective.graph.neighbours import ROWS, SAMPLE_FOR_MEAN_DISTANCE, scaled_points
from pglearn.runtime.threads import at_most

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


def nearest(Z, k, queries=None):
    """As sets, in float64."""
    asking = Z if queries is None else queries
    D2 = np.array([((Z.astype(np.float64) - z) ** 2).sum(axis=1) for z in asking.astype(np.float64)])
    if queries is None:
        np.fill_diagonal(D2, np.inf)
    return np.sort(D2.argsort(axis=1, kind="stable")[:, :k], axis=1)


@pytest.mark.parametrize(("spread", "dtype"), [(1e-2, "float32"), (3e-4, "float32"), (1e-5, "float64")])
def test_near_points_far_from_the_middle_are_told_apart_where_products_in_float32_could_not(spread, dtype):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 10))
    Z, new = ((centres[np.arange(n) % 4] + spread * rng.normal(size=(n, 10))).astype(dtype) for n in (400, 40))
    for queries in (None, new):
        found, expected = np.sort(k_nearest(Z, 9, queries), axis=1), nearest(Z, 9, queries)
        share = np.mean([np.isin(*both).mean() for both in zip(found, expected, strict=True)])
        assert share > 0.99 if dtype == "float32" else share == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_rows_and_queries_have_theirs_on_any_number_of_threads(dtype):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(2 * ROWS + 100, 4)).astype(dtype)
    Z[ROWS : ROWS + 50] = Z[:50]  # equally far from all
    for queries in (None, rng.normal(size=(ROWS + 30, 4)).astype(dtype)):
        found = []
        for threads in (1, 3):
            with at_most(threads):
                found.append(k_nearest(Z, 7, queries))
        np.testing.assert_array_equal(*found)
        np.testing.assert_array_equal(np.sort(found[0], axis=1), nearest(Z, 7, queries))


@pytest.mark.parametrize("power", [3, 6, 12, 20, 21, 22, 23, 30, 100])
def test_one_row_far_from_all_costs_the_others_no_digits(power):
    Z = np.random.default_rng(0).normal(size=(300, 5))
    Z[0] *= 10.0**power
    np.testing.assert_array_equal(np.sort(k_nearest(Z, 6), axis=1)[1:], nearest(Z, 6)[1:])


def test_no_scale_changes_neighbours_while_distances_are_numbers():
    Z = np.random.default_rng(0).normal(size=(200, 5))
    for scale in (2.0**-500, 2.0**-80, 2.0**80, 2.0**500):
        np.testing.assert_array_equal(k_nearest(scale * Z, np.int64(6)), k_nearest(Z, 6))
    with pytest.raises(OverflowError, match="beyond all numbers"):
        k_nearest(1e160 * Z, 6)


def test_scaled_points_have_the_distances_of_the_metric_and_the_precision_of_X():
    X, a = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32), np.array([2.0, 0.0, 0.5])
    before = X.copy()
    Z = scaled_points(X, a, X.mean(axis=0))
    assert Z.dtype == np.float32
    np.testing.assert_allclose(oracle.distances(Z, np.ones(3)), oracle.distances(X, a), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(X, before)


def test_no_array_of_all_pairs_is_made():
    n = 6000
    X = np.random.default_rng(0).normal(size=(n, 3))
    weighted_graph(X[:10], np.ones(3), 3)  # what is imported on first use does not count
    _, peak = traced(lambda: weighted_graph(X, np.ones(3), 10))
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
