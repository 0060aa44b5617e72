"""The contract of an engine; tests/conftest.py lists the engines that must keep it."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest

from pglearn.engine import Configuration, CPUEngine
from pglearn.objective.folds import VALIDATIONS
from pglearn.objective.loss import LOSSES, Log
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC
from tests import oracle
from tests.problems import EXAMPLES, ISLAND, LABEL_LOSSES, joined, oracle_objective, partly_labelled, points

examples = pytest.mark.parametrize("name", EXAMPLES)


@pytest.fixture
def engine(make_engine):
    return make_engine(Log(), LGC(0.9))


def problem_of(n=30, n_labels=12, validation="loo"):
    return Problem.from_labels(points(n), partly_labelled(n, n_labels), validation=validation)


def population(size=6, d=4):
    """Configurations of different k and a."""
    rng = np.random.default_rng(0)
    return [
        Configuration(int(k), a) for k, a in zip(rng.integers(2, 9, size), rng.exponential(size=(size, d)), strict=True)
    ]


def assert_same(found, expected, precision, rtol=1e-9):
    assert found.loss == pytest.approx(expected.loss, rel=max(rtol, precision.loss))
    assert found.accuracy == pytest.approx(expected.accuracy, rel=max(rtol, precision.loss))
    atol = max(rtol, precision.gradient) * np.abs(expected.dg_da).max()
    np.testing.assert_allclose(found.dg_da, expected.dg_da, rtol=0, atol=atol)


# Graph


def test_graph_is_the_oracles(engine):
    problem = problem_of()
    for configuration in population():
        graph = engine.graph(problem, configuration)
        edges = oracle.neighbours(problem.X, configuration.a, configuration.k)
        np.testing.assert_array_equal(joined(graph.edges), edges)
        P = oracle.normalised(oracle.weights(problem.X, configuration.a, edges))
        np.testing.assert_allclose(graph.P.toarray(), P, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize(("d", "levels"), [(3, 4), (8, 2), (16, 3)])
@pytest.mark.parametrize("weights", ["even", "drawn"])
def test_of_equally_far_points_the_first_are_neighbours(d, levels, weights, engine, precision):
    """Whole numbers, most distances between which are ties, and rows that are the same."""
    rng = np.random.default_rng(d)
    X = rng.integers(0, levels, (120, d)).astype(float)
    X[60:80] = X[:20]
    problem = Problem.from_labels(X, partly_labelled(120, 40))
    a = np.full(d, 0.37) if weights == "even" else rng.exponential(size=d)
    cpu = CPUEngine(Log(), LGC(0.9))
    for configuration in (Configuration(4, a), Configuration(9, a)):
        edges = joined(cpu.graph(problem, configuration).edges)
        if weights == "even":
            edges = oracle.neighbours(X, np.ones(d), configuration.k)
        np.testing.assert_array_equal(joined(engine.graph(problem, configuration).edges), edges)
        (found,), (expected,) = (each.value_and_gradient(problem, [configuration]) for each in (engine, cpu))
        assert_same(found, expected, precision)


# Propagation


@examples
@pytest.mark.parametrize("with_beliefs", [False, True])
def test_propagation_is_the_oracles_with_every_label_shown(name, with_beliefs, engine):
    """What is not given is nothing, or a belief."""
    example = EXAMPLES[name]
    problem = example.problem()
    graph = engine.graph(problem, Configuration(example.k, example.a))
    beliefs = np.random.default_rng(0).dirichlet(np.ones(problem.n_classes), size=problem.n) if with_beliefs else None
    Y = np.zeros((problem.n, problem.n_classes)) if beliefs is None else beliefs.copy()
    Y[problem.labelled] = np.eye(problem.n_classes)[problem.codes]
    solution = engine.propagate(problem, graph, beliefs)
    assert solution.converged
    assert solution.residual <= 1e-10
    np.testing.assert_allclose(solution.F, oracle.lgc(graph.P.toarray(), Y, 0.9), rtol=0, atol=1e-8)


# Loss, accuracy and gradient


def test_different_k_side_by_side_are_each_the_oracles(engine, precision):
    problem, a = problem_of(20, 8), np.full(4, 0.3)
    ks = [9, 4, 40, 6, 19]
    evaluations = engine.value_and_gradient(problem, [Configuration(k, a) for k in ks])
    for k, evaluation in zip(ks, evaluations, strict=True):
        g = oracle_objective(problem, oracle.neighbours(problem.X, a, k), "log", 0.9)
        assert evaluation.loss == pytest.approx(g(a), rel=max(1e-8, precision.loss))
        expected = oracle.central_differences(g, a, 1e-5)
        atol = max(1e-6, precision.gradient) * np.abs(expected).max()
        np.testing.assert_allclose(evaluation.dg_da, expected, rtol=0, atol=atol)


def test_an_empty_population_has_no_evaluations(engine):
    assert engine.value_and_gradient(problem_of(), []) == []


@pytest.mark.parametrize("validation", VALIDATIONS)
def test_a_population_over_two_views_is_evaluated_as_each_view_by_itself(validation, engine, precision):
    first = problem_of(validation=validation)
    second = replace(first, X=first.X @ np.random.default_rng(5).normal(size=(4, 6)))
    problem, alone = replace(first, others=(second.X,)), (first, second)
    in_second = [replace(configuration, view=1) for configuration in population(3, d=6)]
    configurations = [in_second[0], *population(4), *in_second[1:]]
    found = engine.value_and_gradient(problem, configurations)
    assert len({evaluation.loss for evaluation in found}) == len(configurations), "in order, and all different"
    for evaluation, configuration in zip(found, configurations, strict=True):
        by_itself = alone[configuration.view], replace(configuration, view=0)
        (expected,) = engine.value_and_gradient(by_itself[0], [by_itself[1]])
        assert_same(evaluation, expected, precision)
        P = engine.graph(problem, configuration).P.toarray()
        np.testing.assert_allclose(P, engine.graph(*by_itself).P.toarray(), rtol=1e-12)


@pytest.mark.parametrize(("weight", "position"), [(1e300, 0), (1e20, 2), (1e-320, 0), (0.0, 2), (np.nan, 1)])
def test_absurd_weights_in_one_configuration_do_not_touch_the_others(weight, position, engine, precision):
    problem, configurations = problem_of(), population(3)
    expected = engine.value_and_gradient(problem, configurations)
    absurd = Configuration(4, np.full(4, weight))
    found = engine.value_and_gradient(problem, [*configurations[:position], absurd, *configurations[position:]])
    strange = found.pop(position)
    assert np.isfinite(strange.loss) == (weight < precision.largest)
    assert np.isfinite(strange.dg_da).all() or not np.isfinite(strange.loss)
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other, precision)


@pytest.mark.parametrize(("name", "loss"), [*zip(cycle(EXAMPLES), LABEL_LOSSES, strict=False)])
def test_the_same_call_twice_is_bit_identical_and_writes_to_nothing(name, loss, make_engine):
    example, engine = EXAMPLES[name], make_engine(LOSSES[loss](), LGC())
    X, a = example.X.copy(), example.a.copy()
    configurations = [Configuration(k, a) for k in (2, 3, 4)]
    problem = Problem.from_labels(X, example.y, validation=example.validation, seed=example.seed)
    first, second = (engine.value_and_gradient(problem, configurations) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert (one.loss, one.accuracy) == (other.loss, other.accuracy)
        np.testing.assert_array_equal(one.dg_da, other.dg_da)
    np.testing.assert_array_equal(X, example.X)
    np.testing.assert_array_equal(a, example.a)


def test_accuracy_is_the_share_of_scored_rows_that_are_reached_and_whose_best_class_is_theirs(engine):
    # Class 0 has a label on the island alone: first of the classes, and not found by being first.
    X = np.vstack([points(10), points(ISLAND, seed=1) + 100])
    y = np.full(15, -1)
    y[[1, 4, 2, 5]] = [1, 1, 2, 2]
    y[[0, 10]] = 0
    problem, configuration = Problem.from_labels(X, y), Configuration(4, np.ones(4))
    P = engine.graph(problem, configuration).P.toarray()
    S = oracle.scores(P, problem.labelled, problem.codes, 3, problem.fold, problem.scored, 0.9)
    unreached = S.sum(axis=1) == 0
    assert problem.scored_codes[unreached].tolist() == [0]
    right = (S.argmax(axis=1) == problem.scored_codes) & ~unreached
    (evaluation,) = engine.value_and_gradient(problem, [configuration])
    assert 0 < evaluation.accuracy < 1
    assert evaluation.accuracy == pytest.approx(right.mean())


def test_features_keep_their_order_and_number(engine, precision):
    # The gradient of a permuted table is the permuted gradient; 70 columns are more than one block of the contraction.
    X, y = points(40, 70), partly_labelled(40, 12)
    a, order = np.linspace(0.01, 0.05, 70), np.random.default_rng(0).permutation(70)
    (plain,) = engine.value_and_gradient(Problem.from_labels(X, y), [Configuration(5, a)])
    (permuted,) = engine.value_and_gradient(Problem.from_labels(X[:, order], y), [Configuration(5, a[order])])
    assert plain.dg_da.shape == (70,)
    atol = max(1e-9, precision.gradient * np.abs(plain.dg_da).max())
    np.testing.assert_allclose(permuted.dg_da, plain.dg_da[order], rtol=1e-6, atol=atol)
