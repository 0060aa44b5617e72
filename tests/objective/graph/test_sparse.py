"""Sparse tables give what dense ones give, by the oracle's equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests import oracle
from tests.problems import joined, oracle_objective, partly_labelled

import pglearn
from pglearn.arrays import column_medians, sparse_rows
from pglearn.engine import Configuration, CPUEngine
from pglearn.errors import InputError
from pglearn.objective.graph import k_nearest, mean_distance, weighted_graph
from pglearn.objective.graph import sparse as rows
from pglearn.objective.graph.differences import differences
from pglearn.objective.graph.neighbours import scaled_points
from pglearn.objective.loss import LOSSES
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC
from pglearn.objective.propagation.inductive import spreading
from pglearn.runtime.threads import at_most

MU = 0.9


def table(n=28, d=12, seed=0):
    """Mostly zeros; duplicates, an empty row, an empty column, and a column of large numbers without a zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    X[3] = X[0]
    X[5] = 0
    X[:, 4] = 0
    X[:, 7] = 1e5 + rng.normal(size=n)
    return X


def weights(d=12):
    a = np.random.default_rng(1).uniform(0.05, 1, d)
    a[2] = 0
    return a


def problems(validation="loo"):
    X, y = table(), partly_labelled(28, 12)
    return (Problem.from_labels(form(X), y, validation=validation) for form in (np.asarray, sparse_rows))


@pytest.mark.parametrize(("d", "levels"), [(8, 3), (40, 2)])
def test_of_equally_far_rows_the_same_are_neighbours_as_in_an_array(d, levels):
    Z = np.random.default_rng(0).integers(0, levels, (200, d)) * np.sqrt(0.37)
    for queries in (None, Z[:20]):
        expected = k_nearest(Z, 6, queries)
        found = k_nearest(sparse_rows(Z), 6, None if queries is None else sparse_rows(queries))
        np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))


def test_a_row_beyond_all_floats_is_nobodys_neighbour_while_there_are_others():
    X = table()
    X[2] = 1e200  # its square is infinite, and so is its product with itself: their difference is no number
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = rows.k_nearest(sparse_rows(X), 6, sparse_rows(X[:3]))
    assert (nearest != 2).all()
    assert all(len(set(found)) == 6 for found in nearest.tolist())


def test_neighbours_are_the_oracles():
    X, a = table(), weights()
    X[3, 1] += 1e-3  # no ties
    X[5, 2:4] = 0.1
    graph = weighted_graph(sparse_rows(X), a, 4)
    edges = oracle.neighbours(X, a, 4)
    np.testing.assert_array_equal(joined(graph.edges), edges)
    P = oracle.normalised(oracle.weights(X, a, edges))
    np.testing.assert_allclose(graph.P.toarray(), P, rtol=1e-9)


def test_neighbours_come_nearest_first_and_of_equals_the_first(monkeypatch):
    Z = sparse_rows(np.array([[1.0, 0], [1, 0], [1, 0], [0, 0], [3, 0]]))
    found = k_nearest(Z, 3)
    assert found.tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2]]
    assert k_nearest(Z, 9).shape == (5, 4), "no more than there are"
    assert k_nearest(Z, 2, sparse_rows(np.array([[2.9, 0]]))).tolist() == [[4, 0]]
    monkeypatch.setattr(rows, "BLOCK", 6)
    for threads in (1, 3):
        with at_most(threads):
            np.testing.assert_array_equal(k_nearest(Z, 3), found)


@pytest.mark.parametrize("block", [1, 1 << 20])
def test_distances_and_contractions_keep_the_digits_of_close_rows(block, monkeypatch):
    monkeypatch.setattr(rows, "BLOCK", block)
    X = table()
    X[1] = X[0]
    X[1, 7] += 1e-7  # beside 1e5, the square of which has 1e10
    i, j = np.triu_indices(len(X), 1)
    Z = sparse_rows(X)
    pairs, squares = differences(Z, Z, i, j), (X[i] - X[j]) ** 2
    np.testing.assert_allclose(pairs.distances(weights()), squares @ weights(), rtol=1e-12, atol=0)
    B = np.random.default_rng(3).normal(size=len(i))
    np.testing.assert_allclose(pairs.contracted(B), -2 * B @ squares, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize(("validation", "loss"), [("loo", "ranking"), ("kfold", "log"), ("holdout", "exponential")])
def test_gradient_is_that_of_central_differences_and_of_dense_points(validation, loss):
    dense, thin = problems(validation)
    engine, configuration = CPUEngine(LOSSES[loss](), LGC(MU)), Configuration(4, weights())
    (found,), (expected,) = (engine.value_and_gradient(problem, [configuration]) for problem in (thin, dense))
    g = oracle_objective(dense, joined(engine.graph(thin, configuration).edges), loss, MU)
    assert found.loss == pytest.approx(g(weights()), rel=1e-9)
    size = np.abs(expected.dg_da).max()
    np.testing.assert_allclose(found.dg_da, oracle.central_differences(g, weights(), 1e-5), atol=1e-6 * size, rtol=0)
    np.testing.assert_allclose(found.dg_da, expected.dg_da, atol=1e-10 * size, rtol=0)
    assert (found.loss, found.accuracy) == (pytest.approx(expected.loss, rel=1e-10), expected.accuracy)


@pytest.mark.parametrize(
    ("form", "dtype"), [(sparse.csr_matrix, "float32"), (sparse.csc_array, "float64"), (sparse.lil_matrix, "float64")]
)
def test_the_objective_takes_any_sparse_form(form, dtype):
    X, y, a = table(), partly_labelled(28, 12), weights()
    g, dg_da = pglearn.loss_and_gradient(X, y, a=a, k=4)
    found_g, found = pglearn.loss_and_gradient(form(X), y, a=a, k=4, dtype=dtype)
    relative = 1e-10 if dtype == "float64" else 0.02  # the large column has two digits left in float32
    assert found_g == pytest.approx(g, rel=relative)
    np.testing.assert_allclose(found, dg_da, atol=relative * np.abs(dg_da).max(), rtol=0)


def test_numbers_given_twice_or_in_any_order_are_put_right_without_changing_what_is_given():
    X = sparse.csr_matrix((np.array([2, 1, 0, 3]), np.array([1, 0, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    twice = sparse.coo_matrix(([2, 1, 5, -2], ([0, 0, 1, 1], [1, 0, 1, 1])), shape=(2, 2))
    for given in (X, twice):
        before = given.data.copy()
        Z = sparse_rows(given)
        assert (Z.indices.tolist(), Z.data.tolist()) == ([0, 1, 1], [1, 2, 3])
        np.testing.assert_array_equal(given.data, before)
    assert X.indices.tolist() == [1, 0, 0, 1]


def test_new_rows_get_what_they_get_among_dense_ones():
    X, new, F = table(), table(9, seed=5), np.random.default_rng(2).dirichlet(np.ones(3), 28)
    expected = spreading(X, weights(), 4, F)(new)
    np.testing.assert_allclose(spreading(sparse_rows(X), weights(), 4, F)(sparse_rows(new)), expected, rtol=1e-7)


def test_mean_distance_and_medians_are_those_of_dense_points():
    X = table()
    assert mean_distance(sparse_rows(X)) == pytest.approx(mean_distance(X), rel=1e-12)
    X[:15, 0] = 3.0  # more than half of it
    np.testing.assert_allclose(column_medians(sparse_rows(X))[[0, 7]], np.median(X, axis=0)[[0, 7]])
    Z = scaled_points(sparse_rows(X), weights(), column_medians(sparse_rows(X)))
    assert Z.nnz <= 2 * np.count_nonzero(X)


def test_gaps_in_sparse_points_are_refused():
    X = sparse.csr_matrix(table())
    X.data[2] = np.nan
    with pytest.raises(InputError, match="X has NaN or infinite values"):
        pglearn.loss_and_gradient(X, partly_labelled(28, 12), a=weights())
