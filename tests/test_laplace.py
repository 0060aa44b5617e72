"""The graph of the table's own distances: against its definition, where no label reaches, and for new rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import euclidean_distances

from pglearn import laplace
from pglearn.laplace import PlainGraph

SHARES = np.array([0.45, 0.55])


def dense_weights(X, k=10):
    """W as its definition has it, pair by pair."""
    Z = X / X.std(axis=0)
    D = euclidean_distances(Z)
    np.fill_diagonal(D, np.inf)
    width = np.sort(D, axis=1)[:, k - 1]
    near = width[:, None] >= D
    W = np.where(near | near.T, np.exp(-4 * (D / np.maximum(width, width[:, None])) ** 2), 0)
    np.fill_diagonal(W, 0)
    return W


def dense_solution(W, labelled, Y, mu):
    """f_u = μ D_u⁻¹ (W_uu f_u + W_ul Y), rows brought to a sum of one, and classes to their shares."""
    u = np.setdiff1d(np.arange(len(W)), labelled)
    T = W / W.sum(axis=1, keepdims=True)
    f = np.linalg.solve(np.eye(len(u)) - mu * T[np.ix_(u, u)], mu * T[np.ix_(u, labelled)] @ Y)
    F = np.zeros((len(W), Y.shape[1]))
    f /= f.sum(axis=1, keepdims=True)
    f *= SHARES / f.mean(axis=0)
    F[labelled], F[u] = Y, f / f.sum(axis=1, keepdims=True)
    return F


def moons(n=200, labels=10, seed=0):
    X, y = make_moons(n, noise=0.1, random_state=seed)
    labelled = np.sort(np.concatenate([np.flatnonzero(y == c)[: labels // 2] for c in (0, 1)]))
    return X * np.array([1.0, 50.0]) + 1e3, y, labelled


def test_weights_are_those_of_the_definition():
    X, _, _ = moons()
    np.testing.assert_allclose(PlainGraph(X).graph.W.toarray(), dense_weights(X), rtol=1e-6)


@pytest.mark.parametrize("large", [False, True])
def test_labels_spread_as_in_the_definition(large, monkeypatch):
    if large:
        monkeypatch.setattr("pglearn.compiled.FROM_ROWS", 0)
        monkeypatch.setattr("pglearn.propagation.lgc.DENSE_LIMIT", 0)
    X, y, labelled = moons()
    Y = np.eye(2)[y[labelled]]
    expected = dense_solution(dense_weights(X), labelled, Y, laplace.ALPHA)
    np.testing.assert_allclose(PlainGraph(X).spread(labelled, Y, SHARES).F, expected, atol=1e-4 if large else 1e-8)


def test_the_end_of_a_long_path_is_reached(monkeypatch):
    """Of a spiral with one label at each end, by conjugate gradients, which are off by more than is left there."""
    monkeypatch.setattr("pglearn.propagation.lgc.DENSE_LIMIT", 0)
    angle = 6 * np.pi * np.sqrt(np.linspace(0.02, 1, 3000))
    X = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)])
    found = PlainGraph(X).spread(np.array([0, 2999]), np.eye(2), SHARES)
    assert not (found.F == SHARES).all(axis=1).any()
    first = found.F[:, 0]
    assert (np.diff(first) <= 1e-9).all()
    assert first[100] > 0.9 > 0.1 > first[2900]


def test_two_moons_with_five_labels_each():
    X, y, labelled = moons()
    found = PlainGraph(X).spread(labelled, np.eye(2)[y[labelled]], SHARES)
    assert (found.F.argmax(axis=1) == y).mean() > 0.95
    new, y_new = make_moons(200, noise=0.1, random_state=1)
    said = found.of(new * np.array([1.0, 50.0]) + 1e3)
    np.testing.assert_allclose(said.sum(axis=1), 1)
    assert (said.argmax(axis=1) == y_new).mean() > 0.95


def test_a_new_row_has_the_mean_of_its_neighbours():
    X, y, labelled = moons()
    found = PlainGraph(X).spread(labelled, np.eye(2)[y[labelled]], SHARES)
    new = X[:1] + 0.01
    squares = euclidean_distances(new / X.std(axis=0), X / X.std(axis=0), squared=True)[0]
    nearest = np.argsort(squares)[:10]
    w = np.exp(-4 * squares[nearest] / squares[nearest].max())
    np.testing.assert_allclose(found.of(new)[0], w @ found.F[nearest] / w.sum())


def test_rows_that_no_label_reaches_have_the_shares():
    X, y, labelled = moons()
    X = np.vstack([X, X[:50] + 1e6])
    found = PlainGraph(X).spread(labelled, np.eye(2)[y[labelled]], SHARES)
    np.testing.assert_array_equal(found.F[200:], np.tile(SHARES, (50, 1)))
    np.testing.assert_allclose(found.F.sum(axis=1), 1)


def test_rows_that_are_all_alike():
    X = np.ones((30, 2))
    X[:15] = 0
    found = PlainGraph(X).spread(np.array([0, 29]), np.eye(2), SHARES)
    np.testing.assert_array_equal(found.F.argmax(axis=1), np.repeat([0, 1], 15))
    np.testing.assert_array_equal(found.of(np.ones((1, 2))).argmax(axis=1), [1])


@pytest.mark.parametrize("unlabelled", [0, 1])
def test_few_rows_without_a_label(unlabelled):
    X, y, _ = moons(30)
    labelled = np.arange(unlabelled, 30)
    found = PlainGraph(X).spread(labelled, np.eye(2)[y[labelled]], SHARES)
    np.testing.assert_array_equal(found.F[labelled], np.eye(2)[y[labelled]])
    np.testing.assert_allclose(found.F.sum(axis=1), 1)


def test_float32_points():
    X, y, labelled = moons()
    Y = np.eye(2)[y[labelled]]
    exact = PlainGraph(X - 1e3).spread(labelled, Y, SHARES).F
    np.testing.assert_allclose(PlainGraph((X - 1e3).astype(np.float32)).spread(labelled, Y, SHARES).F, exact, atol=0.02)
