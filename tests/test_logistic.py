"""Logistic regression between pairs of classes, and what it says of rows whose label it has not seen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.metrics.pairwise import rbf_kernel

from pglearn import logistic
from pglearn.logistic import Kernels, fitted_slope, kernels, lines, newton, pairs_of, votes


def overlapping(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    t = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.4 * t[:, None], t


def loss_of_primal(weights, X, t, s):
    """The same regression as a textbook has it: weights with variance s, an intercept with variance 4."""
    logits = X @ weights[:-1] + weights[-1]
    return np.logaddexp(0, -t * logits).sum() + (weights[:-1] ** 2).sum() / (2 * s) + weights[-1] ** 2 / 8


def primal(X, t, s):
    return minimize(loss_of_primal, np.zeros(X.shape[1] + 1), (X, t, s), tol=1e-12).x


def fit_one(K, t):
    a, hidden = newton(K[None], t[None], np.zeros((1, len(t))))
    return a[0], hidden[0]


@pytest.mark.parametrize("s", [0.3, 30.0, 1e4])
def test_newton_finds_the_weights_of_the_textbook(s):
    X, t = overlapping()
    a, _ = fit_one(s * X @ X.T + 4, t)
    weights = primal(X, t, s)
    np.testing.assert_allclose(s * a @ X, weights[:-1], atol=1e-3)
    assert 4 * a.sum() == pytest.approx(weights[-1], abs=1e-3)


def test_at_the_largest_value_what_is_left_of_a_label_is_its_weight():
    X, t = overlapping()
    K = 10 * rbf_kernel(X, gamma=0.3) + 4
    a, _ = fit_one(K, t)
    np.testing.assert_allclose(a, (t + 1) / 2 - 1 / (1 + np.exp(-K @ a)), atol=1e-4)


def test_many_at_once_are_each_by_itself_and_rows_that_fill_up_have_no_part():
    X, t = overlapping()
    K = 10 * rbf_kernel(X, gamma=0.3) + 4
    sides = np.array([t, np.where(np.arange(40) < 25, t, 0)])
    a, hidden = newton(np.array([K, K]), sides, np.zeros((2, 40)))
    np.testing.assert_allclose(a[0], fit_one(K, t)[0], atol=1e-4)
    alone, alone_hidden = fit_one(K[:25, :25], t[:25])
    np.testing.assert_allclose(a[1, :25], alone, atol=1e-4)
    np.testing.assert_allclose(hidden[1, :25], alone_hidden, atol=1e-3)
    assert (a[1, 25:] == 0).all()


def test_where_it_begins_makes_no_difference():
    X, t = overlapping()
    K = 100 * rbf_kernel(X, gamma=0.3) + 4
    far, _ = newton(K[None], t[None], np.random.default_rng(0).normal(size=(1, 40)))
    np.testing.assert_allclose(far[0], fit_one(K, t)[0], atol=1e-4)


@pytest.mark.parametrize("K_of", [lambda X: 3 * X @ X.T + 4, lambda X: 10 * rbf_kernel(X, gamma=0.3) + 4])
def test_of_its_own_rows_it_says_nearly_what_it_would_without_their_labels(K_of):
    X, t = overlapping()
    K = K_of(X)
    _, hidden = fit_one(K, t)
    again = np.empty(40)
    for i in range(40):
        others = np.delete(np.arange(40), i)
        a, _ = fit_one(K[np.ix_(others, others)], t[others])
        again[i] = K[i, others] @ a
    np.testing.assert_allclose(hidden, again, atol=0.1 * np.abs(again).max())
    assert np.abs(hidden - again).mean() < 0.02 * np.abs(again).mean()
    nats = [np.logaddexp(0, -t * logits).sum() for logits in (hidden, again)]
    assert nats[0] == pytest.approx(nats[1], rel=0.01)


def three(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, d)) + 0.6 * np.eye(3)[y] @ rng.normal(size=(3, d)), np.eye(3)[y]


def grid_of_one(monkeypatch):
    monkeypatch.setattr(logistic, "SCALES_OF_PRODUCTS", (3.0,))
    monkeypatch.setattr(logistic, "SCALES_OF_KERNELS", (10.0,))
    monkeypatch.setattr(logistic, "GAMMAS", (0.5,))


def test_lines_are_those_of_every_pair_of_classes(monkeypatch):
    grid_of_one(monkeypatch)
    X, Y = three()
    columns = np.array([1.0, 2.0, 0.5, 1.0])
    found, _ = lines(columns, X, Y)
    new = np.random.default_rng(1).normal(size=(7, 4))
    logits = np.empty((7, 3))
    rows, middle = X * columns, (X * columns).mean(axis=0)
    unit = ((rows - middle) ** 2).sum(axis=1).mean()
    for number, (one, other) in enumerate(((0, 1), (0, 2), (1, 2))):
        among = Y[:, [one, other]].any(axis=1)
        weights = primal(rows[among] - middle, Y[among, one] - Y[among, other], 3 / unit)
        logits[:, number] = (new * columns - middle) @ weights[:-1] + weights[-1]
    np.testing.assert_allclose(new @ found.axes[0].T + found.intercepts[0], logits, atol=2e-3)
    expected = softmax(found.slopes[0] * votes(logits, pairs_of(3)), axis=1)
    np.testing.assert_allclose(found.of(new), expected, atol=1e-3)


def test_kernels_are_of_rows_times_the_columns(monkeypatch):
    grid_of_one(monkeypatch)
    X, t = overlapping()
    Y, columns = np.eye(2)[(t < 0).astype(int)], np.array([1.0, 2.0, 0.5])
    found, _ = kernels(columns, X, Y)
    rows = X * columns
    K = 10 * rbf_kernel(rows, gamma=found.gammas[0]) + 100
    a, _ = fit_one(K, t)
    new = np.random.default_rng(1).normal(size=(7, 3))
    logits = (10 * rbf_kernel(new * columns, rows, gamma=found.gammas[0]) + 100) @ a
    expected = 1 / (1 + np.exp(-found.slopes[0] * logits))
    np.testing.assert_allclose(found.of(new)[:, 0], expected, atol=1e-4)
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    assert found.gammas[0] == pytest.approx(0.5 / (squares.sum() / (40 * 39)))


@pytest.mark.parametrize("fitted", [lines, kernels])
def test_its_loss_on_labels_that_it_has_not_seen_is_that_on_other_rows(fitted):
    told, found = [], []
    for seed in range(20):
        X, Y = three(n=360, seed=seed)
        regression, nats = fitted(np.ones(4), X[:60], Y[:60])
        told.append(nats / 60)
        found.append(-np.log((regression.of(X[60:]) * Y[60:]).sum(axis=1)).mean())
    assert np.mean(told) == pytest.approx(np.mean(found), rel=0.08)


@pytest.mark.parametrize("fitted", [lines, kernels])
def test_on_noise_it_is_no_better_than_chance(fitted):
    rng = np.random.default_rng(0)
    Y = np.eye(2)[np.arange(40) % 2]
    nats = [fitted(np.ones(15), rng.normal(size=(40, 15)), Y)[1] for _ in range(20)]
    assert np.mean(nats) > 0.97 * 40 * np.log(2)


@pytest.mark.parametrize(("fitted", "members"), [(lines, 5), (kernels, 16)])
def test_all_of_the_grid_answer_but_for_those_that_count_next_to_nothing(fitted, members, monkeypatch):
    X, Y = three()
    found, _ = fitted(np.ones(4), X, Y)
    assert found.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.of(X).sum(axis=1), 1)
    monkeypatch.setattr(logistic, "LEAST", 0.0)
    every, _ = fitted(np.ones(4), X, Y)
    assert len(every.weights) == members
    kept = every.weights >= 0.01
    assert 1 < kept.sum() < members or members == 5
    np.testing.assert_allclose(found.weights, every.weights[kept] / every.weights[kept].sum())


def test_a_member_of_the_grid_counts_by_how_likely_it_makes_labels(monkeypatch):
    X, Y = three()
    weights = lines(np.ones(4), X, Y)[0].weights
    nats = []
    for s in logistic.SCALES_OF_PRODUCTS:
        with monkeypatch.context() as patch:
            patch.setattr(logistic, "SCALES_OF_PRODUCTS", (s,))
            nats.append(lines(np.ones(4), X, Y)[1])
    expected = softmax(-0.5 * np.array(nats))
    np.testing.assert_allclose(weights, expected[expected >= 0.01] / expected[expected >= 0.01].sum(), rtol=1e-3)


@pytest.mark.parametrize("fitted", [lines, kernels])
def test_where_a_table_lies_and_its_unit_make_no_difference(fitted):
    X, Y = three()
    near, far = fitted(np.ones(4), X, Y)[0].of(X), fitted(np.ones(4), 1000 * X + 4e4, Y)[0].of(1000 * X + 4e4)
    np.testing.assert_allclose(near, far, atol=1e-5)


@pytest.mark.parametrize("fitted", [lines, kernels])
def test_a_class_with_one_label_is_no_obstacle(fitted):
    X, Y = three()
    few = np.r_[np.flatnonzero(Y[:, 0]), np.flatnonzero(Y[:, 1]), np.flatnonzero(Y[:, 2])[:1]]
    found, nats = fitted(np.ones(4), X[few], Y[few])
    assert np.isfinite(nats)
    assert np.isfinite(found.of(X)).all()


def test_rows_that_are_all_the_same_but_one_are_no_obstacle():
    X, Y = np.zeros((10, 2)), np.eye(2)[np.arange(10) % 2]
    X[0] = 1
    for fitted in (lines, kernels):
        found, nats = fitted(np.ones(2), X, Y)
        assert np.isfinite(nats)
        assert np.isfinite(found.of(X)).all()


def test_pairs_vote_for_one_class_and_against_the_other():
    np.testing.assert_allclose(votes(np.array([[0.8]]), pairs_of(2)), [[0.4, -0.4]])
    logits = np.array([[50.0, 50.0, -50.0]])  # 0 before 1 and 2, 2 before 1
    np.testing.assert_allclose(votes(logits, pairs_of(3)), [[1, -1, 0]])
    np.testing.assert_allclose(votes(logits, np.empty((0, 3))), logits)


def test_the_slope_is_the_one_that_makes_labels_most_likely():
    rng = np.random.default_rng(0)
    said = rng.normal(size=(500, 3))
    Y = np.eye(3)[[rng.choice(3, p=p) for p in softmax(2 * said, axis=1)]]
    slope, nats = fitted_slope(said, Y, most=8.0)
    assert slope == pytest.approx(2, abs=0.3)
    assert nats == pytest.approx(-np.log((softmax(slope * said, axis=1) * Y).sum(axis=1)).sum())
    assert fitted_slope(said, Y, most=1.0)[0] == pytest.approx(1, abs=1e-3)


def test_where_one_class_lies_around_another_kernels_see_it_and_lines_do_not():
    X, y = np.random.default_rng(0).normal(size=(400, 5)), np.zeros(400, dtype=int)
    squares = (X**2).sum(axis=1)
    y[squares > np.median(squares)] = 1
    Y = np.eye(2)[y]
    found, of_kernels = kernels(np.ones(5), X[:80], Y[:80])
    _, of_lines = lines(np.ones(5), X[:80], Y[:80])
    assert isinstance(found, Kernels)
    assert of_kernels < 0.7 * of_lines
    assert (found.of(X[80:]).argmax(axis=1) == y[80:]).mean() > 0.8


@pytest.mark.parametrize("fit", [lines, kernels])
def test_where_the_columns_lie_makes_no_difference(fit):
    X, t = overlapping()
    Y = np.eye(2)[(t > 0).astype(int)]
    (one, loss), (other, loss_far) = fit(np.ones(3), X, Y), fit(np.ones(3), X + 1e7, Y)
    assert loss_far == pytest.approx(loss, rel=1e-5)
    np.testing.assert_allclose(other.of(X + 1e7), one.of(X), atol=1e-5)


def test_pairs_of_very_different_size_are_fitted_apart_and_come_to_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [60, 5, 4, 6])
    X, Y = rng.normal(size=(75, 3)) + rng.normal(size=(4, 3))[y], np.eye(4)[y]
    sizes = []

    def recorded(K, t, a):
        sizes.append(K.shape[-1])
        return newton(K, t, a)

    monkeypatch.setattr(logistic, "newton", recorded)
    apart, loss = kernels(np.ones(3), X, Y)
    assert set(sizes) == {11, 66}
    monkeypatch.setattr(logistic, "_of_like_size", lambda sizes: [np.arange(len(sizes))])
    together, loss_together = kernels(np.ones(3), X, Y)
    assert loss == pytest.approx(loss_together, rel=1e-4)
    np.testing.assert_allclose(apart.of(X), together.of(X), atol=1e-3)
