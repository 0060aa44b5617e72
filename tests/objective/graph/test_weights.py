"""Weights under a: against the oracle, and where exp(−distance²) has left the floats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import oracle
from tests.problems import joined, partly_labelled, points

import pglearn
from pglearn.objective.graph import mean_distance, weighted_graph


def graph_like_the_oracles(X, a, k, rtol=1e-10):
    graph, edges = weighted_graph(X, a, k), oracle.neighbours(X, a, k)
    np.testing.assert_array_equal(joined(graph.edges), edges)
    W = oracle.weights(X, a, edges)
    np.testing.assert_allclose(graph.W.toarray(), W, rtol=rtol, atol=0)
    np.testing.assert_allclose(graph.P.toarray(), oracle.normalised(W), rtol=rtol, atol=0)
    i, j = graph.edges.i, graph.edges.j
    np.testing.assert_allclose(graph.t_ij, W[i, j] / W.sum(axis=1)[i], rtol=rtol)
    np.testing.assert_allclose(graph.t_ji, W[i, j] / W.sum(axis=1)[j], rtol=rtol)
    return graph


@given(st.integers(2, 16), st.integers(1, 5), st.integers(1, 20), st.integers(0, 1000))
def test_graph_is_the_oracles(n, d, k, seed):
    rng = np.random.default_rng(seed)
    graph_like_the_oracles(rng.normal(size=(n, d)), rng.exponential(size=d), k)


def test_duplicates_are_edges_of_weight_one_and_small_weights_follow_the_oracle_to_the_edge_of_underflow():
    assert graph_like_the_oracles(points(15), np.full(4, 10.0), 4).log_w.min() < -100
    X = points(12)
    X[5] = X[8] = X[2]
    W = graph_like_the_oracles(X, np.ones(4), 3).W.toarray()
    assert W[2, 5] == W[2, 8] == W[5, 8] == 1.0


@pytest.mark.parametrize(("X", "weight"), [(np.full((9, 4), 0.1), 1), (points(9), 0)], ids=["the same", "no weights"])
def test_points_that_are_all_as_far_make_a_graph_of_weight_one(X, weight):
    graph = weighted_graph(X, np.full(4, weight), 4)
    assert (np.bincount(np.r_[graph.edges.i, graph.edges.j], minlength=9) >= 4).all()
    np.testing.assert_array_equal(graph.W.data, 1.0)
    assert np.isfinite(graph.P.data).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("least", [80, 1e5], ids=["a tenth of the mean distance", "distances² of 100,000"])
def test_where_weights_underflow_P_and_gradients_do_not(dtype, least):
    X = np.random.default_rng(0).normal(size=(60, 1000)).astype(dtype)
    X[:5] *= 1.5  # points far from all others
    a = np.full(1000, 1 / (0.1 * mean_distance(X)) ** 2 if least == 80 else 100.0)
    graph = weighted_graph(X, a, 5)
    assert graph.log_w.max() < -least
    for array in (graph.log_d, graph.p, graph.t_ij, graph.t_ji):
        assert np.isfinite(array).all()
    assert (np.maximum(graph.t_ij, graph.t_ji) <= 1).all()
    assert (graph.p <= 1).all()
    assert least > 80 or (np.asarray(graph.P.sum(axis=1)) > 0).all()
    for validation in ("loo", "kfold", "holdout"):
        options = {"a": a, "k": 5, "validation": validation, "dtype": dtype}
        loss, gradient = pglearn.loss_and_gradient(X, partly_labelled(60, 12), **options)
        assert np.isfinite(loss)
        assert np.isfinite(gradient).all()
        assert least > 80 or gradient.any()


def test_a_common_factor_of_the_weights_cancels_where_exp_could_not_follow():
    # Every edge of a ring has the same length: P = ½ whatever the length.
    angle = np.arange(12) * 2 * np.pi / 12
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(weighted_graph(ring, np.full(2, 1e6), 2).p, 0.5, rtol=1e-9)


def test_a_huge_offset_changes_neither_graph_nor_gradient():
    X = np.round(points(30) * 2**20) / 2**20  # so that adding 10⁹ loses nothing
    far = X + np.array([1e9, 0, -1e9, 0])
    a, y = np.full(4, 0.5), partly_labelled(30, 12)
    near_graph, far_graph = weighted_graph(X, a, 5), weighted_graph(far, a, 5)
    np.testing.assert_array_equal(joined(near_graph.edges), joined(far_graph.edges))
    np.testing.assert_allclose(far_graph.p, near_graph.p, rtol=1e-6)
    (near_g, near_gradient), (far_g, far_gradient) = (pglearn.loss_and_gradient(at, y, a=a, k=5) for at in (X, far))
    assert far_g == pytest.approx(near_g, rel=1e-6)
    np.testing.assert_allclose(far_gradient, near_gradient, atol=1e-6 * np.abs(near_gradient).max(), rtol=0)
