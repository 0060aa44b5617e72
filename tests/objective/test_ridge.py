"""Regression on products of rows, and what it says of a row whose label it has not seen."""

from __future__ import annotations

import numpy as np
import pytest

from pglearn.objective import ridge

PENALTY = 0.3


def with_intercept(K, Y, penalty):
    """Weights of the rows and the intercept, which is not penalised: the textbook's system, dense."""
    n = len(K)
    system = np.block([[K + penalty * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.vstack([Y, np.zeros(Y.shape[1])]))
    return solved[:n], solved[n]


@pytest.mark.parametrize("of_row", [np.arange(25), np.array([0, 0, 1, 1, 1, 2, *range(3, 22)])], ids=["all", "equal"])
def test_rows_are_predicted_by_the_textbook_their_own_by_a_model_without_them_and_their_equals(monkeypatch, of_row):
    rng = np.random.default_rng(2)
    rows, Y = (5 + rng.normal(size=(25, 3)) * [1.0, 2.0, 0.5])[of_row], np.eye(3)[np.arange(25) % 3]
    middle = rows.mean(axis=0)
    centred = rows - middle
    monkeypatch.setattr(ridge, "PENALTIES", PENALTY / ((centred**2).sum() / 25) * np.ones(1))
    own, dual = ridge.ridge(centred @ centred.T, Y)
    K = rows @ rows.T
    expected, intercept = with_intercept(K, Y, PENALTY)
    X = 5 + rng.normal(size=(7, 3))
    np.testing.assert_allclose(
        (X - middle) @ centred.T @ dual + Y.mean(axis=0), X @ rows.T @ expected + intercept, rtol=1e-8, atol=1e-8
    )
    for i in (0, 3, 4, 11, 24):
        others = np.flatnonzero(of_row != of_row[i])
        dual, intercept = with_intercept(K[np.ix_(others, others)], Y[others], PENALTY)
        expected = K[i, others] @ dual + intercept - Y[others].mean(axis=0)
        np.testing.assert_allclose(own[i], expected, rtol=1e-8, atol=1e-8)


def test_the_unit_of_the_products_does_not_matter():
    rng = np.random.default_rng(0)
    rows, Y = rng.normal(size=(20, 4)), np.eye(2)[np.arange(20) % 2]
    rows -= rows.mean(axis=0)
    own, dual = ridge.ridge(rows @ rows.T, Y)
    of_small, dual_of_small = ridge.ridge(1e-20 * rows @ rows.T, Y)
    np.testing.assert_allclose(of_small, own, rtol=1e-9)
    np.testing.assert_allclose(1e-20 * dual_of_small, dual, rtol=1e-6)
