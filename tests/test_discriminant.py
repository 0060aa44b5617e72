"""Linear discriminant analysis beside scikit-learn's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from pglearn.discriminant import UNKNOWN, _fitted, discriminant


def clouds(n=60, d=6, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=(classes, d))[y], y


@pytest.mark.parametrize(("n", "d", "classes"), [(60, 6, 3), (40, 4, 2), (24, 80, 3), (20, 6, 5)])
def test_it_is_that_of_scikit_learn_with_shrinkage(n, d, classes):
    X, y = clouds(n, d, classes)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    axes, intercept = _fitted(X, y, classes)
    expected = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(softmax(X @ axes.T + intercept, axis=1), expected, atol=1e-6)


def test_columns_by_themselves_are_a_naive_bayes_classifier_with_common_variances():
    X, y = clouds()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    variances = ((X - means[y]) ** 2).mean(axis=0)
    expected = softmax(-(((X[:, None] - means) ** 2) / variances).sum(axis=2) / 2, axis=1)
    axes, intercept = _fitted(X, y, 3, by_themselves=True)
    np.testing.assert_allclose(softmax(X @ axes.T + intercept, axis=1), expected, atol=1e-9)
    regression, _ = discriminant(np.ones(6), X, np.eye(3)[y], by_themselves=True)
    np.testing.assert_allclose(regression.axes[0], axes)


def test_columns_that_are_constant_in_a_class_are_no_proof():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + y[:, None]
    X[:, 2] = y  # as a rare answer may be among few labels
    axes, intercept = _fitted(X, y, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y)
    np.testing.assert_array_equal((X @ axes.T + intercept).argmax(axis=1), theirs.predict(X))
    assert np.isfinite(axes).all()


def test_probabilities_are_no_surer_than_labels_that_it_has_not_seen_allow():
    told, found, natural = [], [], []
    for seed in range(10):
        X, y = clouds(n=400, d=12, seed=seed)
        Y = np.eye(3)[y]
        regression, nats = discriminant(np.ones(12), X[:30], Y[:30])
        told.append(nats / 30)
        found.append(-np.log((regression.of(X[30:]) * Y[30:]).sum(axis=1)).mean())
        axes, intercept = _fitted(X[:30], y[:30], 3)
        natural.append(-np.log((softmax(X[30:] @ axes.T + intercept, axis=1) * Y[30:]).sum(axis=1)).mean())
        assert regression.slopes[0] <= 1
    assert np.mean(found) < np.mean(natural)
    assert np.mean(told) == pytest.approx(np.mean(found), rel=0.25)


def test_columns_are_multiplied_first():
    X, y = clouds()
    columns = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
    Y = np.eye(3)[y]
    inside = discriminant(columns, X, Y)[0].of(X)
    np.testing.assert_allclose(inside, discriminant(np.ones(6), X * columns, Y)[0].of(X * columns), atol=1e-9)


def test_a_class_with_one_label_and_one_with_none():
    X, y = clouds()
    y[y == 2] = np.where(np.arange(20) < 1, 2, 0)
    regression, nats = discriminant(np.ones(6), X, np.eye(3)[y])
    assert np.isfinite(nats)
    assert np.isfinite(regression.of(X)).all()
    axes, intercept = _fitted(X, np.minimum(y, 1), 3)
    far = 1e4 * X @ axes.T + intercept
    np.testing.assert_allclose(far[:, 2] - far[:, 0], UNKNOWN)


def test_where_the_columns_lie_makes_no_difference():
    X, y = clouds()
    (one, loss), (other, loss_far) = (discriminant(np.ones(6), table, np.eye(3)[y]) for table in (X, X + 1e7))
    assert loss_far == pytest.approx(loss, rel=1e-5)
    np.testing.assert_allclose(other.of(X + 1e7), one.of(X), atol=1e-5)
