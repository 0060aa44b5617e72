"""Regression on products of rows, and what it says of a row whose label it has not seen."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from pglearn import ridge
from pglearn.ridge import KernelRidge

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
