"""Which columns tell the classes apart: the likelihood against its definition, and what is found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics.pairwise import rbf_kernel

from pglearn.relevance import _minus_log_likelihood, relevant, tells_of_columns


def around(n=60, d=6, seed=0):
    """One class lies around the other in the first two columns; the others say nothing."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    inside = np.hypot(X[:, 0], X[:, 1]) < 1.2
    return X, np.column_stack([inside, ~inside]).astype(float)


def test_the_loss_is_the_likelihood_of_a_gaussian_process():
    Z, _ = around()
    rng = np.random.default_rng(1)
    T = rng.normal(size=(60, 3))
    a, scale, noise = rng.uniform(0.2, 2, 6), 1.7, 0.4
    K = scale * rbf_kernel(Z * np.sqrt(a), gamma=1) + noise * np.eye(60)
    expected = -sum(multivariate_normal(np.zeros(60), K).logpdf(t) for t in T.T)
    value, _ = _minus_log_likelihood(np.log([*a, scale, noise]), Z, T, contrasts=3)
    assert value + 3 * 60 * np.log(2 * np.pi) / 2 == pytest.approx(expected, rel=1e-12)


def test_its_gradient_is_that_of_finite_differences():
    Z, Y = around()
    at = np.random.default_rng(1).normal(scale=0.5, size=8)

    def value(logs):
        return _minus_log_likelihood(logs, Z, Y - 0.5, contrasts=2)[0]

    steps = 1e-5 * np.eye(8)
    expected = [(value(at + step) - value(at - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(_minus_log_likelihood(at, Z, Y - 0.5, contrasts=2)[1], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_say_nothing_count_next_to_nothing(seed):
    X, Y = around(seed=seed)
    found = relevant(np.ones(6), X, Y)
    assert found[:2].min() > 3 * found[2:].max()


def test_several_classes():
    X, _ = around(90)
    codes = np.digitize(np.hypot(X[:, 0], X[:, 1]), [0.9, 1.5])
    found = relevant(np.ones(6), X, np.eye(3)[codes])
    assert found[:2].min() > 3 * found[2:].max()


def test_the_unit_of_a_column_makes_no_difference():
    X, Y = around()
    units = np.array([1e3, 1e-3, 1, 1, 1, 1])
    np.testing.assert_allclose(relevant(units, X / units, Y), relevant(np.ones(6), X, Y) * units, rtol=1e-6)


def test_the_middle_of_the_rows_makes_no_difference():
    X, Y = around()
    np.testing.assert_allclose(relevant(np.ones(6), X + 1e5, Y), relevant(np.ones(6), X, Y), rtol=1e-3)


def test_columns_that_are_constant_or_left_out_stay_out():
    X, Y = around()
    X[:, 5] = 3
    found = relevant(np.array([1.0, 1, 1, 0, 1, 1]), X, Y)
    assert found[3] == found[5] == 0
    assert found[0] > 0


def test_two_labels_tell_of_a_column():
    columns = np.array([1.0, 2, 0, 1])
    assert tells_of_columns(columns, 6)
    assert not tells_of_columns(columns, 5)


def test_where_there_is_nothing_to_tell():
    X, Y = around()
    assert relevant(np.zeros(6), X, Y) is None
    assert relevant(np.ones(6), np.ones_like(X), Y) is None
    assert relevant(np.ones(6), X, np.eye(2)[np.zeros(60, dtype=int)]) is None


def test_rows_that_are_given_twice():
    X, Y = around()
    found = relevant(np.ones(6), np.vstack([X, X]), np.vstack([Y, 1 - Y]))
    assert np.isfinite(found).all()
