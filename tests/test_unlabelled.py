"""Linear models that all rows teach: against dense likelihoods and scikit-learn, and where there is nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier

from pglearn import unlabelled
from pglearn.basis import standardising
from pglearn.discriminant import discriminant
from pglearn.unlabelled import PENALTY, SURE, Scatter, _clouds


def clouds(n=400, d=6, classes=3, seed=0, apart=1.3):
    """Clouds of one oblique shape."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    shape = rng.normal(size=(d, d))
    return (rng.normal(size=(n, d)) + apart * rng.normal(size=(classes, d))[y]) @ shape, y


def taught(X, y, labels=12, classes=None):
    rows = np.arange(labels)
    scatter = Scatter.of_table(X, standardising(X), rows, seed=0)
    return scatter, rows, np.eye(classes or y.max() + 1)[y[rows]]


def right(model, X, y):
    return (model.of(X).argmax(axis=1) == y)[12:].mean()


def test_rows_along_the_principal_axes_have_the_distances_of_the_standardised_table():
    X, y = clouds()
    scatter, *_ = taught(X, y)
    Z = scatter.rows
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z.T @ Z, np.diag(np.diag(Z.T @ Z)), atol=1e-9)
    standardised = X * standardising(X)
    for one, other in ((0, 1), (5, 90)):
        expected = np.linalg.norm(standardised[one] - standardised[other])
        assert np.linalg.norm(Z[one] - Z[other]) == pytest.approx(expected)


def log_likelihood(Z, y, known, N, means, S):
    """Of the rows, and of the labels of those that have one."""
    joint = np.column_stack([multivariate_normal(mean, S).logpdf(Z) for mean in means]) + np.log(N / N.sum())
    return joint[known, y[known]].sum() + logsumexp(joint[~known], axis=1).sum()


def test_every_round_makes_rows_and_labels_more_likely(monkeypatch):
    monkeypatch.setattr(unlabelled, "DRAWN", 0.0)
    monkeypatch.setattr(unlabelled, "LEAST_VARIANCE", 0.0)
    X, y = clouds()
    Z, known = X - X.mean(axis=0), np.arange(400) < 12
    R = np.full((400, 3), 1 / 3) + 0.1 * np.random.default_rng(1).dirichlet(np.ones(3), 400)
    R /= R.sum(axis=1, keepdims=True)
    found = []
    for _ in range(15):
        R[known] = np.eye(3)[y[known]]
        N = R.sum(axis=0)
        means = (R.T @ Z) / N[:, None]
        S = sum((R[:, c, None] * (Z - means[c])).T @ (Z - means[c]) for c in range(3)) / len(Z)
        found.append(log_likelihood(Z, y, known, N, means, S))
        axes, intercept = _clouds(Z, R, Z.T @ Z)
        inverse = np.linalg.inv(S)
        np.testing.assert_allclose(axes, means @ inverse, rtol=1e-6)
        np.testing.assert_allclose(
            intercept, np.log(N / 400) - 0.5 * np.einsum("cq,qr,cr->c", means, inverse, means), rtol=1e-6, atol=1e-6
        )
        R = softmax(Z @ axes.T + intercept, axis=1)
    assert (np.diff(found) > -1e-8).all()
    assert found[-1] > found[0] + 1


def test_all_rows_teach_more_than_labels_alone():
    gained = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = np.arange(400) % 2
        X = rng.normal(size=(400, 20)) + np.where(y, 0.45, -0.45)[:, None]  # every column says a little
        scatter, rows, Y = taught(X, y)
        clouds_alone = right(discriminant(standardising(X), X[rows], Y)[0], X, y)
        line = LogisticRegression(C=PENALTY).fit(scatter.rows[rows], y[rows])
        line_alone = (line.predict(scatter.rows) == y)[12:].mean()
        both = (right(scatter.clouds(rows, Y), X, y), right(scatter.self_taught(rows, Y), X, y))
        gained.append(np.subtract(both, (clouds_alone, line_alone)))
    assert (np.mean(gained, axis=0) > 0.02).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_the_line_is_that_of_scikit_learn(classes):
    X, y = clouds(classes=classes)
    scatter, rows, Y = taught(X, y)
    shown = np.where(np.arange(400) < 12, y, -1)
    theirs = SelfTrainingClassifier(LogisticRegression(C=PENALTY, max_iter=300), threshold=SURE)
    expected = theirs.fit(scatter.rows, shown).predict_proba(scatter.rows)
    np.testing.assert_allclose(scatter.self_taught(rows, Y).of(X), expected, atol=1e-9)


def test_a_class_without_a_label_is_not_found():
    X, y = clouds(classes=2, apart=30)
    between = np.vstack([X, np.tile(X.mean(axis=0), (20, 1)), 1e4 * X[:20]])  # rows that no cloud is near to
    scatter, rows, Y = taught(between, y, classes=4)
    for model in (scatter.clouds(rows, Y), scatter.self_taught(rows, Y)):
        said = model.of(between)
        np.testing.assert_allclose(said.sum(axis=1), 1)
        assert said[:, 2:].max() < 1e-4


def test_clouds_keep_to_the_labels(monkeypatch):
    """What they come to is what expectation maximisation comes to, densely, with the labels held."""
    monkeypatch.setattr(unlabelled, "ROUNDS", 200)
    X, y = clouds(apart=0.8)
    y[:12] = y[:12][::-1]  # labels that the rows by themselves would not choose
    scatter, rows, Y = taught(X, y)
    Z, known = scatter.rows, np.arange(400) < 12
    R = softmax(np.log(scatter.clouds(rows, Y).of(X)) / unlabelled.SURENESS, axis=1)
    R[known] = Y
    N = R.sum(axis=0)
    means = (R.T @ Z) / N[:, None]
    S = sum((R[:, c, None] * (Z - means[c])).T @ (Z - means[c]) for c in range(3)) / len(Z)
    S = 0.9 * S + np.diag(0.1 * np.diag(S) + 1e-3)
    joint = np.column_stack([multivariate_normal(mean, S).logpdf(Z) for mean in means]) + np.log(N)
    np.testing.assert_allclose(R[~known], softmax(joint, axis=1)[~known], atol=1e-4)


@pytest.mark.parametrize("kind", ["clouds", "self_taught"])
def test_labels_may_come_in_any_order(kind):
    X, y = clouds()
    scatter, rows, Y = taught(X, y)
    turned = np.random.default_rng(0).permutation(12)
    one, other = (getattr(scatter, kind)(rows[order], Y[order]).of(X) for order in (np.arange(12), turned))
    np.testing.assert_allclose(one, other, atol=0.02)


def test_one_label_of_each_class_and_as_many_classes_as_half_of_the_labels():
    X, y = clouds(classes=15)
    for labels in (15, 30):
        scatter, rows, Y = taught(X, y, labels)
        for model in (scatter.clouds(rows, Y), scatter.self_taught(rows, Y)):
            assert np.isfinite(model.of(X)).all()


def test_there_must_be_rows_without_a_label_and_two_classes():
    X, y = clouds(n=12)
    scatter, rows, Y = taught(X, y)
    assert scatter.clouds(rows, Y) is None
    assert scatter.self_taught(rows, Y) is None
    X, y = clouds()
    scatter, rows, Y = taught(X, np.zeros_like(y), classes=2)
    assert scatter.self_taught(rows, Y) is None
    assert Scatter.of_table(np.ones((20, 3)), np.zeros(3), rows, seed=0) is None


@pytest.mark.parametrize("kind", ["clouds", "self_taught"])
def test_rows_whose_label_is_hidden_are_rows_without_one(kind):
    X, y = clouds()
    scatter, rows, Y = taught(X, y)
    without, rows_shown, Y_shown = taught(X, y, labels=8)
    hidden, never = (
        getattr(some, kind)(rows_shown, Y_shown).of(X) for some in (scatter, replace(without, rows=scatter.rows))
    )
    np.testing.assert_array_equal(hidden, never)
    assert np.abs(getattr(scatter, kind)(rows, Y).of(X) - hidden).max() > 1e-3


def test_of_many_rows_some_are_learned_from(monkeypatch):
    monkeypatch.setattr(unlabelled, "MOST_ROWS", 100)
    X, y = clouds()
    scatter, rows, Y = taught(X, y)
    assert len(scatter.at) == 112
    assert set(rows) < set(scatter.at.tolist())
    assert right(scatter.clouds(rows, Y), X, y) > 0.6


@pytest.mark.parametrize("kind", ["clouds", "self_taught"])
def test_units_and_where_the_columns_lie_make_no_difference(kind):
    X, y = clouds()
    units = np.logspace(-3, 3, 6)
    for table in (X * units, X * units + 1e6 * units, X.astype(np.float32)):
        models = [getattr(scatter, kind)(rows, Y) for scatter, rows, Y in (taught(X, y), taught(table, y))]
        np.testing.assert_allclose(models[0].of(X), models[1].of(table), atol=2e-3)


def test_more_columns_than_rows():
    X, y = clouds(n=60, d=150, apart=0.7)
    scatter, rows, Y = taught(X, y)
    assert scatter.rows.shape[1] <= 59
    assert right(scatter.clouds(rows, Y), X, y) > 0.5
    assert np.isfinite(scatter.self_taught(rows, Y).of(1e6 * X)).all()


def test_a_column_that_repeats_another_is_no_axis_of_its_own():
    X, y = clouds()
    twice = np.hstack([X, 2 * X[:, :1]])
    scatter, rows, Y = taught(twice, y)
    assert scatter.rows.shape[1] == 6
    assert np.isfinite(scatter.clouds(rows, Y).of(twice)).all()
    assert replace(scatter, rows=scatter.rows[:, :2], axes=scatter.axes[:2]).clouds(rows, Y) is not None
