"""The adjoint gradient against central differences of the oracle, and against the paper's forward mode.

The examples have duplicates, a constant column, a feature of weight zero and a scored row that no label reaches.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import pglearn
from pglearn.engine import Configuration
from pglearn.objective.graph import weighted_graph
from pglearn.objective.loss import LOSSES, Log
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC
from pglearn.objective.propagation.lgc_scores import FORMS, cheapest_form
from tests import oracle
from tests.problems import EXAMPLES, ISLAND, LABEL_LOSSES, joined, oracle_objective, partly_labelled, points

MU = 0.99
BENCH = Path(__file__).parents[1] / "bench"

examples = pytest.mark.parametrize("name", EXAMPLES)
# Every loss with two examples, every example with two losses.
pairs = pytest.mark.parametrize(
    ("name", "loss"),
    [
        (name, loss)
        for i, name in enumerate(EXAMPLES)
        for j, loss in enumerate(LABEL_LOSSES)
        if (i - j) % len(EXAMPLES) < 2
    ],
)


@pytest.fixture(params=["by size", "iterations"])
def solver(request, monkeypatch):
    """What solves: the factor where the system is small, or conjugate gradients always."""
    if request.param == "iterations":
        monkeypatch.setattr("pglearn.objective.propagation.linear_system.DENSE_LIMIT", 0)


def by_the_oracle(problem, a, k, loss="log", mu=MU, h=1e-5):
    """g and ∂g/∂a."""
    g = oracle_objective(problem, oracle.neighbours(problem.X, a, k), loss, mu)
    return g(a), oracle.central_differences(g, a, h)


@cache
def truth(name, loss):
    example = EXAMPLES[name]
    return by_the_oracle(example.problem(), example.a, example.k, loss)


def assert_same_gradient(found, expected, relative=1e-6):
    np.testing.assert_allclose(found, expected, rtol=0, atol=relative * np.abs(expected).max())


@examples
def test_the_examples_are_awkward(name):
    example = EXAMPLES[name]
    problem, edges = example.problem(), joined(weighted_graph(example.X, example.a, example.k).edges)
    assert len(np.unique(example.X, axis=0)) < len(example.X), "duplicates"
    assert (np.ptp(example.X, axis=0) == 0).any(), "a constant column"
    assert (example.a == 0).any(), "a feature of weight zero"
    mainland = np.arange(len(example.X)) < len(example.X) - ISLAND
    assert not edges[np.ix_(mainland, ~mainland)].any(), "a component apart"
    P = oracle.normalised(oracle.weights(example.X, example.a, edges))
    S = oracle.scores(P, problem.labelled, problem.codes, problem.n_classes, problem.fold, problem.scored, MU)
    assert (S.sum(axis=1) == 0).sum() == 1, "a scored row that no label reaches"


@pairs
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_engine_gradient_is_that_of_central_differences(name, loss, dtype, solver, make_engine, precision):
    example, (g, dg_da) = EXAMPLES[name], truth(name, loss)
    assert dg_da[3] == pytest.approx(0, abs=1e-9), "nothing depends on a constant column"
    assert (np.abs(np.delete(dg_da, 3)) > 1e-4).all()
    engine = make_engine(LOSSES[loss](), LGC(MU))
    (evaluation,) = engine.value_and_gradient(example.problem(dtype), [Configuration(example.k, example.a)])
    in_float32 = dtype == np.float32
    assert evaluation.loss == pytest.approx(g, rel=max(1e-4 if in_float32 else 1e-8, precision.loss))
    assert_same_gradient(evaluation.dg_da, dg_da, max(1e-3 if in_float32 else 1e-6, precision.gradient))


def with_an_absurd_value(value):
    X = points(24)
    X[23, 0] = value
    return Problem.from_labels(X, partly_labelled(24, 9))


def problem_of(y):
    return Problem.from_labels(points(len(y)), y)


CASES = {
    "alpha of 0.1": (EXAMPLES["loo"].problem(), EXAMPLES["loo"].a, 4, 0.1),
    "a class with one label": (
        Problem.from_labels(points(20), [0, 1, 0, 1, 0, 1, 2] + 13 * [-1]),
        np.full(4, 0.4),
        9,
        MU,
    ),
    "a row of 1e6": (with_an_absurd_value(1e6), np.full(4, 0.4), 4, MU),
    "a row of 1e9": (with_an_absurd_value(1e9), np.full(4, 0.4), 4, MU),
}


@pytest.mark.parametrize("case", CASES)
def test_the_gradient_holds_in_special_cases(case, make_engine, precision):
    problem, a, k, mu = CASES[case]
    g, dg_da = by_the_oracle(problem, a, k, mu=mu)
    (evaluation,) = make_engine(Log(), LGC(mu)).value_and_gradient(problem, [Configuration(k, a)])
    assert evaluation.loss == pytest.approx(g, rel=max(1e-8, precision.loss))
    assert_same_gradient(evaluation.dg_da, dg_da, max(1e-6, precision.gradient))


def test_gradient_at_weights_that_are_all_zero(make_engine, precision):
    problem, a = EXAMPLES["loo"].problem(), np.zeros(5)
    _, expected = by_the_oracle(problem, a, 4, mu=0.9, h=1e-6)
    (evaluation,) = make_engine(Log(), LGC(0.9)).value_and_gradient(problem, [Configuration(4, a)])
    # The island is 40 away: its column dwarfs the others, which are compared by themselves.
    for columns in (slice(1), slice(1, None)):
        assert_same_gradient(evaluation.dg_da[columns], expected[columns], max(1e-5, precision.gradient))


@pytest.mark.parametrize(
    ("name", "distance"), [("loo", 10), ("loo", 40), ("kfold, many labels", 12), ("holdout, many labels", 40)]
)
def test_a_scored_row_that_labels_barely_reach_is_exact_or_left_out_and_never_noise(
    solver, name, distance, make_engine, precision
):
    """With k = 9 the island is joined, by edges so weak that the scores of its label are 1e-8 to 1e-280 of the others'.

    Normalising such a row divides by its sum: what a solver leaves there must be right relative to that sum, or the
    row must count as unreached.
    """
    example = EXAMPLES[name]
    X = example.X.copy()
    X[-ISLAND:, 0] += distance - 40
    problem = Problem.from_labels(X, example.y, validation=example.validation, seed=example.seed)
    without = replace(problem, scored=problem.scored & (problem.labelled < len(X) - ISLAND))
    truths = [by_the_oracle(each, example.a, 9)[1] for each in (problem, without)]
    engine = make_engine(Log(), LGC(MU))
    (evaluation,) = engine.value_and_gradient(problem, [Configuration(9, example.a)])
    errors = [np.abs(evaluation.dg_da - expected).max() / np.abs(expected).max() for expected in truths]
    assert min(errors) < max(1e-6, precision.gradient)


@pytest.mark.parametrize(("digits", "loss"), [((200, 26), "log"), ((300, 36), "ranking")], ids=str)
def test_a_scored_row_whose_sum_is_nearly_no_number_has_its_gradient(digits, loss, make_engine, precision):
    """1e-200 and 1e-300 in float64; as near to the end of its numbers in float32."""
    if precision.smallest:
        pytest.skip("such a row is lost")
    X, y = np.vstack([points(12, 2), points(3, 2, seed=1) + np.array([60, 0])]), partly_labelled(15, 6)
    y[12] = 0
    problem, wanted = Problem.from_labels(X, y), digits[precision.loss > 0]
    edges = oracle.neighbours(X, np.ones(2), 14)

    def smallest_sum(a):
        P = oracle.normalised(oracle.weights(X, a, edges))
        return oracle.scores(P, problem.labelled, problem.codes, 3, problem.fold, problem.scored, MU).sum(axis=1).min()

    a = min(
        (np.array([w, 0.5]) for w in np.arange(0.01, 0.25, 0.0005)),
        key=lambda a: abs(smallest_sum(a) * 10.0**wanted - 1),
    )
    assert 10.0 ** (-wanted - 1) < smallest_sum(a) < 10.0 ** (1 - wanted)
    _, expected = by_the_oracle(problem, a, 14, loss)
    (evaluation,) = make_engine(LOSSES[loss](), LGC(MU)).value_and_gradient(problem, [Configuration(14, a)])
    assert_same_gradient(evaluation.dg_da, expected, max(1e-6, 2 * precision.gradient))


# The three forms of the scores


@examples
def test_all_forms_give_the_same_and_the_cheapest_is_chosen(name):
    example = EXAMPLES[name]
    problem = example.problem()
    assert cheapest_form(problem) == example.form
    system = LGC(MU).linear_system(weighted_graph(example.X, example.a, example.k))
    scores = {form: of(problem, system) for form, of in FORMS.items()}
    dg_dS = np.random.default_rng(0).normal(size=scores["by label"].S.shape)
    pulls = {form: np.einsum("ir,jr->ij", *of.factors(dg_dS)) for form, of in scores.items()}
    expected = pulls["by label"] + pulls["by label"].T
    for form, pull in pulls.items():
        np.testing.assert_allclose(scores[form].S, scores["by label"].S, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(pull + pull.T, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_rows_are_solved_for_where_few_of_many_labels_are_scored():
    problem = Problem.from_labels(points(600), np.arange(600) % 3)
    assert problem.scored.sum() == 100
    assert cheapest_form(problem) == "by row"


def test_rows_that_others_barely_reach_are_solved_for_one_by_one_where_few_of_many_labels_are_scored():
    """What all labels of a class spread, less what the point itself does, has no digits left there."""
    X = np.vstack([points(24, 2), points(3, 2, seed=1) + np.array([60, 0])])
    problem = Problem.from_labels(X, np.append(partly_labelled(24, 24), [0, -1, -1]))
    problem = replace(problem, scored=problem.scored & (np.arange(25) >= 20))
    system = LGC(MU).linear_system(weighted_graph(X, np.array([0.05, 0.5]), 26)).finer()
    by_row, by_label = (FORMS[form](problem, system) for form in ("by row", "by label"))
    assert by_row.S.sum(axis=1).min() < 1e-40
    dg_dS = np.random.default_rng(0).normal(size=by_row.S.shape) / by_row.S.sum(axis=1, keepdims=True)
    pulls = [np.einsum("ir,jr->ij", *scores.factors(dg_dS)) * system.graph.P.toarray() for scores in (by_row, by_label)]
    found, expected = (pull + pull.T for pull in pulls)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


# The paper's own algorithm


@pytest.mark.parametrize("name", ["holdout, few labels", "holdout, many labels", "a larger table"])
def test_gradient_is_that_of_the_papers_forward_mode(name, monkeypatch):
    monkeypatch.syspath_prepend(BENCH)
    module = importlib.import_module("forward_mode")
    example = EXAMPLES.get(name)
    if example is None:
        X, y, a, k, seed = points(200, 12), partly_labelled(200, 40), np.full(12, 0.1), 8, 0
    else:
        X, y, a, k, seed = example.X, example.y, example.a, example.k, example.seed
    problem = Problem.from_labels(X, y, validation="holdout", seed=seed)
    shown, hidden = problem.labelled[~problem.scored], problem.labelled[problem.scored]
    expected_g, expected, _ = module.forward_mode_gradient(X, y, shown, hidden, a, k, alpha=MU, tol=1e-13)
    options = {"loss": "ranking", "validation": "holdout", "alpha": MU, "random_state": seed}
    g, dg_da = pglearn.loss_and_gradient(X, y, a=a, k=k, **options)
    assert g == pytest.approx(expected_g, rel=1e-8)
    assert_same_gradient(dg_da, expected)
