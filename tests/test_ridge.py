"""Regression on products of rows, and what it says of a row whose label it has not seen."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from pglearn import ridge
from pglearn.ridge import KernelRidge, LinearRidge

PENALTY = 0.3


def with_intercept(K, Y, penalty):
    """Weights of the rows and the intercept, which is not penalised: the textbook's system, dense."""
    n = len(K)
    system = np.block([[K + penalty * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.vstack([Y, np.zeros(Y.shape[1])]))
    return solved[:n], solved[n]


@pytest.fixture
def problem(monkeypatch):
    rng = np.random.default_rng(0)
    rows, Y, columns = rng.normal(size=(25, 3)), np.eye(3)[np.arange(25) % 3], np.array([1.0, 2.0, 0.5])
    K = rbf_kernel(rows * columns, gamma=0.4)
    mean = K.mean(axis=0)
    values = np.linalg.eigvalsh(K - mean - mean[:, None] + mean.mean())
    monkeypatch.setattr(ridge, "PENALTIES", PENALTY / np.maximum(values, 0).mean() * np.ones(1))
    return rows, columns, Y, K


def test_it_says_what_the_textbook_says_but_for_the_intercept(problem):
    rows, columns, Y, K = problem
    fitted, _ = KernelRidge.fitted(columns, rows * columns, Y, 0.4)
    dual, intercept = with_intercept(K, Y, PENALTY)
    X = np.random.default_rng(1).normal(size=(7, 3))
    expected = rbf_kernel(X * columns, rows * columns, gamma=0.4) @ dual + intercept
    np.testing.assert_allclose(fitted.of(X) + Y.mean(axis=0), expected, rtol=1e-9)


def test_of_its_own_rows_it_says_what_it_would_without_their_labels(problem):
    rows, columns, Y, K = problem
    _, own = KernelRidge.fitted(columns, rows * columns, Y, 0.4)
    for i in (0, 11, 24):
        others = np.delete(np.arange(25), i)
        dual, intercept = with_intercept(K[np.ix_(others, others)], Y[others], PENALTY)
        without = K[i, others] @ dual + intercept
        np.testing.assert_allclose(own[i], without - Y[others].mean(axis=0), rtol=1e-8)


def test_a_line_says_what_the_textbook_says_of_other_rows_and_of_its_own_without_their_labels(monkeypatch):
    rng = np.random.default_rng(2)
    rows, Y, columns = 5 + rng.normal(size=(25, 3)), np.eye(3)[np.arange(25) % 3], np.array([1.0, 2.0, 0.5])
    K = (rows * columns) @ (rows * columns).T
    of_centred = np.linalg.eigvalsh(np.cov((rows * columns).T, bias=True) * 25).sum() / 25
    monkeypatch.setattr(ridge, "PENALTIES", PENALTY / of_centred * np.ones(1))
    fitted, own = LinearRidge.fitted(columns, rows * columns, Y)
    dual, intercept = with_intercept(K, Y, PENALTY)
    X = 5 + rng.normal(size=(7, 3))
    expected = (X * columns) @ (rows * columns).T @ dual + intercept
    np.testing.assert_allclose(fitted.of(X) + Y.mean(axis=0), expected, rtol=1e-8, atol=1e-8)
    for i in (0, 11, 24):
        others = np.delete(np.arange(25), i)
        dual, intercept = with_intercept(K[np.ix_(others, others)], Y[others], PENALTY)
        expected = K[i, others] @ dual + intercept - Y[others].mean(axis=0)
        np.testing.assert_allclose(own[i], expected, rtol=1e-8, atol=1e-8)


def test_pairs_speak_for_one_class_and_against_the_other(problem):
    rows, columns, Y, _ = problem
    fitted, _ = KernelRidge.fitted_to_pairs(columns, rows * columns, Y, 0.4)
    X = np.random.default_rng(1).normal(size=(7, 3))
    expected = np.zeros((7, 3))
    for one, other in ((0, 1), (0, 2), (1, 2)):
        alone, _ = pair_of(rows, columns, Y, one, other)
        said = alone.of(X)[:, 0].clip(-1, 1) / 2
        expected[:, one] += said
        expected[:, other] -= said
    np.testing.assert_allclose(fitted.of(X), expected, rtol=1e-9, atol=1e-12)


def test_of_its_own_rows_a_regression_of_pairs_says_what_it_would_without_their_labels(problem):
    rows, columns, Y, _ = problem
    _, own = KernelRidge.fitted_to_pairs(columns, rows * columns, Y, 0.4)
    for i in (0, 11, 24):
        expected = np.zeros(3)
        for one, other in ((0, 1), (0, 2), (1, 2)):
            alone, without = pair_of(rows, columns, Y, one, other)
            among = np.flatnonzero(Y[:, [one, other]].any(axis=1))
            said = without[among == i, 0][0] if i in among else alone.of(rows[[i]])[0, 0]
            expected[[one, other]] += np.array([1, -1]) * np.clip(said, -1, 1) / 2
        np.testing.assert_allclose(own[i], expected, rtol=1e-9, atol=1e-12)


def pair_of(rows, columns, Y, one, other):
    """The regression of one class against another by itself."""
    among = Y[:, [one, other]].any(axis=1)
    sides = (Y[among, one] - Y[among, other])[:, None]
    return KernelRidge.fitted(columns, rows[among] * columns, sides, 0.4)


def test_the_unit_of_the_products_does_not_matter():
    rng = np.random.default_rng(0)
    rows, Y = rng.normal(size=(20, 4)), np.eye(2)[np.arange(20) % 2]
    rows -= rows.mean(axis=0)
    own, dual = ridge.ridge(rows @ rows.T, Y)
    of_small, dual_of_small = ridge.ridge(1e-20 * rows @ rows.T, Y)
    np.testing.assert_allclose(of_small, own, rtol=1e-9)
    np.testing.assert_allclose(1e-20 * dual_of_small, dual, rtol=1e-6)


def test_of_rows_that_are_all_the_same_nothing_is_said():
    rows, Y = np.ones((6, 2)), np.eye(2)[[0, 1, 0, 1, 0, 1]]
    fitted, own = KernelRidge.fitted(np.ones(2), rows, Y, 1.0)
    assert not own.any()
    assert not fitted.of(np.array([[3.0, 4.0]])).any()
