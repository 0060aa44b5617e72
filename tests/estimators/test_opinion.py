"""Regressions beside the graphs: which there are, how much each counts, and that what is heard is kept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from pglearn.basis import Basis, linear_basis, standardising
from pglearn.estimators import opinion
from pglearn.estimators.members import sharpened
from pglearn.estimators.opinion import (
    BY_COLUMN,
    DISCRIMINANT,
    GRAPHS,
    PLAIN,
    Line,
    Opinion,
    Voice,
    fitted_power,
    learned_distances,
    likelihoods,
    nats,
    opinion_of,
    regressions,
    said_by,
    weights_by,
    weights_by_loss,
)
from pglearn.laplace import PlainGraph
from pglearn.logistic import Kernels, Lines
from pglearn.sparse import sparse_rows


def overlapping(n=300, d=20, seed=0):
    """Two classes that every column tells apart a little; the first sixty rows are labelled."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + np.where(y, 0.35, -0.35)[:, None], y


LABELLED = np.arange(60)


def fitted(X, y, learned=None, bases=(), **others):
    return regressions(X, bases, LABELLED, np.eye(y.max() + 1)[y[LABELLED]], learned, **others)


# Which there are


def test_lines_kernels_and_a_discriminant_at_the_distances_of_the_table():
    found = fitted(*overlapping())
    kinds = {name: type(regression) for name, (regression, _) in found.items()}
    assert kinds == {"lines, the table": Lines, "kernels, the table": Kernels, DISCRIMINANT: Lines, BY_COLUMN: Lines}


def test_lines_and_kernels_at_every_learned_distance():
    X, y = overlapping()
    columns = np.arange(20.0)
    found = fitted(X, y, {"learned": columns})
    assert set(found) == {*fitted(X, y), "lines, learned", "kernels, learned"}
    np.testing.assert_array_equal(found["kernels, learned"][0].columns, columns)
    np.testing.assert_array_equal(found["kernels, the table"][0].columns, standardising(X))


def test_learned_distances_see_through_noise():
    X = np.random.default_rng(0).normal(size=(300, 42))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    found = fitted(X, y, {"learned": np.array([1.0, 1.0] + [0.1] * 40)})
    for kind in ("lines", "kernels"):
        right = [
            (said_by(found[f"{kind}, {where}"][0], X[60:], []).argmax(axis=1) == y[60:]).mean()
            for where in ("the table", "learned")
        ]
        assert right[1] > right[0] + 0.1


def test_distances_at_which_all_labelled_rows_are_the_same_say_nothing():
    X, y = overlapping()
    assert set(fitted(X, y, {"learned": np.zeros(20)})) == set(fitted(X, y))


def test_the_unit_of_a_column_makes_no_difference():
    X, y = overlapping()
    units = np.logspace(-3, 3, 20)
    for (one, _), (other, _) in zip(fitted(X, y).values(), fitted(X * units, y).values(), strict=True):
        np.testing.assert_allclose(said_by(one, X, []), said_by(other, X * units, []), atol=1e-6)


def test_float32_stays_accurate():
    X, y = overlapping()
    for (one, _), (other, _) in zip(fitted(X, y).values(), fitted(X.astype(np.float32), y).values(), strict=True):
        np.testing.assert_allclose(said_by(one, X, []), said_by(other, X.astype(np.float32), []), atol=1e-4)


def test_there_are_none_for_very_many_classes(monkeypatch):
    monkeypatch.setattr(opinion, "MOST_CLASSES", 1)
    assert fitted(*overlapping()) == {}


def test_no_discriminant_where_every_class_has_a_single_label():
    X, _ = overlapping()
    found = regressions(X, [], np.arange(3), np.eye(3))
    assert set(found) == {"lines, the table", "kernels, the table"}


def test_a_sparse_table_has_the_line_of_its_linear_basis():
    X, y = overlapping()
    X = np.where(np.abs(X) > 0.8, X, 0)
    table, Y = sparse_rows(X), np.eye(2)[y[LABELLED]]
    basis = linear_basis(table, LABELLED, Y)
    ((name, (line, loss)),) = fitted(table, y, {"learned": np.ones(20)}, [Basis("raw", np.ones(20)), basis]).items()
    assert (name, line.basis) == ("line", 1)
    numbers = basis.of(table)
    expected = softmax(line.slope * (numbers - numbers[LABELLED].mean(axis=0)) + np.log([0.5, 0.5]), axis=1)
    np.testing.assert_allclose(said_by(line, table, [Basis("raw", np.ones(20)), basis]), expected)
    assert loss < 60 * np.log(2)
    assert fitted(table, y, None, [Basis("raw", np.ones(20))]) == {}


def test_learned_distances_are_of_those_that_weight_columns_as_they_are_and_of_all():
    bases = [Basis("raw", np.array([1.0, 1.0])), Basis("shared", np.array([1.0, 0.5]))]
    members = [(0, np.array([4.0, 0.0]), 0.5), (1, np.array([2.0, 8.0]), 0.5)]
    found = learned_distances(bases, members)
    np.testing.assert_allclose(found["learned in given features"], np.sqrt([2.0, 0.0]))
    np.testing.assert_allclose(found["learned in all bases"], np.sqrt([3.0, 1.0]))
    assert set(learned_distances(bases, members[1:])) == {"learned in all bases"}


# How much each counts


def test_the_loss_is_that_of_hidden_labels_and_no_single_one_costs_more_than_seven_nats():
    probabilities = np.array([[0.5, 0.5], [0.9, 0.1], [0.0, 1.0]])
    assert nats(likelihoods(probabilities, np.array([0, 1, 1]))) == pytest.approx(-np.log(0.5) - np.log(0.1))
    assert nats(likelihoods(probabilities[2:], np.array([0]))) == pytest.approx(np.log(1000))


def test_what_graphs_and_regressions_count_where_all_lose_the_same():
    even = {GRAPHS: 3 / 7, PLAIN: 1 / 7, "a": 1 / 7, DISCRIMINANT: 2 / 7}
    assert weights_by_loss(dict.fromkeys(even, 3.0), 30) == pytest.approx(even)
    assert weights_by(dict.fromkeys(even, np.full(30, 0.9)), 30) == pytest.approx(even)


def test_the_fewer_labels_the_more_counts_what_has_little_to_learn():
    voices = dict.fromkeys((GRAPHS, "a", DISCRIMINANT, "lines, learned in all bases"), 5.0)
    for labels, more in ((10, 4.0), (30, 2.0), (3000, 1.01)):
        weights = weights_by_loss(voices, labels)
        assert [weight / weights["a"] for weight in weights.values()] == pytest.approx([3, 1, more, 1 / more])


@pytest.mark.parametrize(("labels", "as_one"), [(60, 3.0), (100, 3.0), (200, 6.0)])
def test_three_nats_count_as_much_as_one_would_of_many_labels(labels, as_one):
    weights = weights_by_loss({GRAPHS: 4 * as_one, "a": 3 * as_one, "b": 2 * as_one}, labels)
    assert weights["b"] / weights["a"] == pytest.approx(np.e)
    assert weights["a"] / weights[GRAPHS] == pytest.approx(np.e / 3)
    assert sum(weights.values()) == pytest.approx(1)


def test_weights_make_the_mean_of_all_most_likely():
    """The maximum that a general method finds, of labels and of five more that speak for the weights by loss."""
    told = dict(zip((GRAPHS, "a", "b", "c"), np.random.default_rng(0).beta(2, 1, size=(4, 80)), strict=True))
    by_loss = np.array(list(weights_by_loss({name: nats(one) for name, one in told.items()}, 80).values()))
    values = np.array(list(told.values()))

    def loss(logits):
        weights = softmax(logits)
        return -np.log(weights @ values).sum() - opinion.BY_LOSS * by_loss @ np.log(weights)

    best = softmax(minimize(loss, np.log(by_loss), tol=1e-10).x)
    np.testing.assert_allclose(list(weights_by(told, 80).values()), best, atol=1e-4)


def test_of_many_labels_those_that_are_right_where_others_are_wrong_are_heard_beside_the_best():
    told = {
        GRAPHS: np.repeat([0.9, 0.05], [160, 40]),
        "a": np.repeat([0.2, 0.9], [160, 40]),
        "b": np.full(200, 0.2),
    }
    by_loss = weights_by_loss({name: nats(one) for name, one in told.items()}, 200)
    weights = weights_by(told, 200)
    assert max(by_loss["a"], by_loss["b"], weights["b"]) < 1e-3
    assert weights["a"] > 0.1


def test_whoever_loses_everything_counts_nothing_and_breaks_nothing():
    told = {GRAPHS: np.full(150, 1.0), "a": np.full(150, opinion.LEAST_PROBABLE)}
    assert weights_by(told, 150) == pytest.approx({GRAPHS: 1.0, "a": 0.0}, abs=1e-12)


def test_probabilities_are_raised_to_the_power_that_makes_labels_likely():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(3), size=2000)
    codes = (rng.random((2000, 1)) > np.cumsum(sharpened(probabilities, 1.5), axis=1)).sum(axis=1)
    assert fitted_power(probabilities, codes) == pytest.approx(1.5, abs=0.15)


def test_few_labels_do_not_take_a_power_far_from_one():
    right = np.array([[0.6, 0.4], [0.4, 0.6]])
    powers = [fitted_power(np.tile(right, (times, 1)), np.tile([0, 1], times)) for times in (1, 10, 1000)]
    assert 1 < powers[0] < 1.2 < 1.5 < powers[1] <= powers[2] <= opinion.MOST_POWER
    assert 0.7 < fitted_power(right, np.array([0, 0])) < 1
    assert fitted_power(np.array([[1.0, 0.0]]), np.array([1])) < 0.7


def test_those_that_count_next_to_nothing_are_not_kept():
    X, y = overlapping()
    found = {name: one for name, (one, _) in fitted(X, y).items()}
    weights = {GRAPHS: 0.5, "lines, the table": 0.3, "kernels, the table": 0.2, DISCRIMINANT: 1e-4, BY_COLUMN: 1e-4}
    heard = opinion_of(found, weights, {GRAPHS: 1.2, "kernels, the table": 0.8, DISCRIMINANT: 3.0})
    assert [voice.weight for voice in heard.voices] == pytest.approx([0.6, 0.4])
    assert [voice.power for voice in heard.voices] == [1.0, 0.8]
    assert (heard.weight, heard.power) == (pytest.approx(0.5, abs=1e-3), 1.2)
    assert opinion_of(found, {GRAPHS: 0.9995, **dict.fromkeys(found, 1e-4)}, {}) is None


def test_what_is_heard_is_the_mean_of_graphs_and_regressions():
    X, y = overlapping()
    (one, _), (other, _), *_ = fitted(X, y).values()
    heard = Opinion([Voice(one, 0.7), Voice(other, 0.3, power=0.5)], 0.4, power=2.0)
    graphs = np.tile([0.75, 0.25], (300, 1))
    beside = 0.7 * said_by(one, X, []) + 0.3 * sharpened(said_by(other, X, []), 0.5)
    expected = 0.6 * np.array([0.9, 0.1]) + 0.4 * beside
    np.testing.assert_allclose(heard.mixed(graphs, heard.of(X, [])), expected)
    np.testing.assert_allclose(expected.sum(axis=1), 1)
    assert heard.kind == "linear"
    assert Opinion([Voice(one, 0.3), Voice(other, 0.7)], 0.4).kind == "kernel"
    assert Opinion([Voice(Line(0, np.zeros(2), 1.0, np.zeros(2)), 1.0)], 0.4).kind == "linear"


def test_the_plain_graph_says_of_rows_of_the_table_what_has_spread_to_them():
    X, y = overlapping()
    (one, _), *_ = fitted(X, y).values()
    spread = PlainGraph(X).spread(LABELLED, np.eye(2)[y[LABELLED]], np.full(2, 0.5))
    heard = Opinion([Voice(one, 0.2), Voice(spread, 0.8, power=1.5)], 0.4)
    rows = np.arange(100, 140)
    for said, of_spread in ((heard.of_table(X, [], rows), spread.F[rows]), (heard.of(X[rows], []), spread.of(X[rows]))):
        np.testing.assert_allclose(said, 0.2 * one.of(X[rows]) + 0.8 * sharpened(of_spread, 1.5))
    assert heard.kind == "graph"


def test_kernels_at_the_distances_of_relevant_columns():
    X = np.random.default_rng(1).normal(size=(300, 8))
    y = (np.hypot(X[:, 0], X[:, 1]) > 1.2).astype(int)
    found = fitted(X, y, by_relevance=True)
    assert set(found) - set(fitted(X, y)) == {"kernels, relevant columns"}
    right = {name: (one.of(X[60:]).argmax(axis=1) == y[60:]).mean() for name, (one, _) in found.items()}
    assert right["kernels, relevant columns"] > right["kernels, the table"] + 0.1
