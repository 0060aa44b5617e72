"""The adjoint gradient against central differences of the oracle, for every combination there is.

The examples have duplicates, a constant column, a feature of weight zero and a scored row that no label reaches.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import pglearn
from pglearn.engine import Configuration, CPUEngine
from pglearn.engine import scores as module
from pglearn.graph import weighted_graph
from pglearn.loss import LOSSES, Log
from pglearn.problem import Problem
from pglearn.propagation import LGC
from tests import oracle
from tests.problems import EXAMPLES, ISLAND, LABEL_LOSSES, joined, oracle_objective, partly_labelled, points

MU = 0.99
FORWARD_MODE = Path(__file__).parents[1] / "bench" / "forward_mode.py"

examples = pytest.mark.parametrize("name", EXAMPLES)
# Every loss with two examples, every example with two losses.
pairs = pytest.mark.parametrize(
    ("name", "loss"),
    [(name, loss) for i, name in enumerate(EXAMPLES) for j, loss in enumerate(LABEL_LOSSES) if (i - j) % 5 < 2],
)


@pytest.fixture(params=["by size", "iterations"])
def solver(request, monkeypatch):
    """What solves: the factor where the system is small, or conjugate gradients always."""
    if request.param == "iterations":
        monkeypatch.setattr("pglearn.propagation.lgc.DENSE_LIMIT", 0)


@cache
def truth(name, loss, make_engine=CPUEngine):
    """g and ∂g/∂a of an example by the oracle, with the edges of the engine's own graph (ties are its to break)."""
    example = EXAMPLES[name]
    problem = example.problem()
    edges = joined(make_engine().graph(problem, Configuration(example.k, example.a)).edges)
    g = oracle_objective(problem, edges, loss, MU)
    return g(example.a), oracle.central_differences(g, example.a, 1e-5)


def assert_same_gradient(found, expected, relative=1e-6):
    np.testing.assert_allclose(found, expected, rtol=0, atol=relative * np.abs(expected).max())


@examples
def test_the_examples_are_awkward(name):
    example = EXAMPLES[name]
    problem, edges = example.problem(), weighted_graph(example.X, example.a, example.k).edges
    assert len(np.unique(example.X, axis=0)) < len(example.X), "duplicates"
    assert (np.ptp(example.X, axis=0) == 0).any(), "a constant column"
    assert (example.a == 0).any(), "a feature of weight zero"
    mainland = np.arange(len(example.X)) < len(example.X) - ISLAND
    assert not joined(edges)[np.ix_(mainland, ~mainland)].any(), "a component apart"
    P = oracle.normalised(oracle.weights(example.X, example.a, joined(edges)))
    S = oracle.scores(P, problem.labelled, problem.codes, problem.n_classes, problem.fold, problem.scored, MU)
    assert (S.sum(axis=1) == 0).sum() == 1, "a scored row that no label reaches"


@pairs
def test_the_gradients_differ_from_zero_where_they_can(name, loss):
    _, dg_da = truth(name, loss)
    assert dg_da[3] == pytest.approx(0, abs=1e-9), "nothing depends on a constant column"
    assert (np.abs(np.delete(dg_da, 3)) > 1e-4).all()


@pairs
def test_engine_gradient_is_that_of_central_differences(name, loss, solver, make_engine, precision):
    example, (g, dg_da) = EXAMPLES[name], truth(name, loss, make_engine)
    engine = make_engine(LOSSES[loss](), LGC(MU))
    (evaluation,) = engine.value_and_gradient(example.problem(), [Configuration(example.k, example.a)])
    assert evaluation.loss == pytest.approx(g, rel=max(1e-8, precision.loss))
    assert_same_gradient(evaluation.dg_da, dg_da, max(1e-6, precision.gradient))


@examples
def test_loss_and_gradient_is_that_of_the_engine(name):
    example = EXAMPLES[name]
    (expected,) = CPUEngine(Log(), LGC(MU)).value_and_gradient(example.problem(), [Configuration(example.k, example.a)])
    options = {"k": example.k, "loss": "log", "validation": example.validation, "alpha": MU}
    g, dg_da = pglearn.loss_and_gradient(example.X, example.y, a=example.a, random_state=example.seed, **options)
    assert g == expected.loss
    np.testing.assert_array_equal(dg_da, expected.dg_da)


@pairs
def test_float32_is_close(name, loss, make_engine):
    example, (g, dg_da) = EXAMPLES[name], truth(name, loss, make_engine)
    engine = make_engine(LOSSES[loss](), LGC(MU))
    (evaluation,) = engine.value_and_gradient(example.problem(np.float32), [Configuration(example.k, example.a)])
    assert evaluation.loss == pytest.approx(g, rel=1e-4)
    assert_same_gradient(evaluation.dg_da, dg_da, 1e-3)


@pytest.mark.parametrize("alpha", [0.1, 0.9])
def test_gradient_holds_for_other_alphas(alpha, make_engine, precision):
    example = EXAMPLES["loo"]
    problem, configuration = example.problem(), Configuration(example.k, example.a)
    engine = make_engine(Log(), LGC(alpha))
    edges = joined(engine.graph(problem, configuration).edges)
    expected = oracle.central_differences(oracle_objective(problem, edges, "log", alpha), example.a, 1e-5)
    (evaluation,) = engine.value_and_gradient(problem, [configuration])
    assert_same_gradient(evaluation.dg_da, expected, max(1e-6, precision.gradient))


def test_gradient_at_weights_that_are_all_zero(make_engine, precision):
    problem, configuration = EXAMPLES["loo"].problem(), Configuration(4, np.zeros(5))
    engine = make_engine(Log(), LGC(0.9))
    edges = joined(engine.graph(problem, configuration).edges)
    expected = oracle.central_differences(oracle_objective(problem, edges, "log", 0.9), np.zeros(5), 1e-6)
    (evaluation,) = engine.value_and_gradient(problem, [configuration])
    # The island is 40 away: its column dwarfs the others, which are compared by themselves.
    relative = max(1e-5, precision.gradient)
    assert_same_gradient(evaluation.dg_da[:1], expected[:1], relative)
    assert_same_gradient(evaluation.dg_da[1:], expected[1:], relative)


def test_single_label_helps_the_others_unscored(make_engine, precision):
    X, y = points(20), np.full(20, -1)
    y[:7] = [0, 1, 0, 1, 0, 1, 2]
    problem, a = Problem.of(X, y, validation="loo"), np.full(4, 0.4)
    assert problem.scored.sum() == 6
    engine = make_engine(Log(), LGC(MU))
    edges = joined(engine.graph(problem, Configuration(9, a)).edges)
    g = oracle_objective(problem, edges, "log", MU)
    (evaluation,) = engine.value_and_gradient(problem, [Configuration(9, a)])
    assert evaluation.loss == pytest.approx(g(a), rel=max(1e-8, precision.loss))
    assert_same_gradient(evaluation.dg_da, oracle.central_differences(g, a, 1e-5), max(1e-6, precision.gradient))


@pytest.mark.parametrize("placeholder", [1e6, 1e9])
def test_one_row_with_an_absurd_value_spoils_neither_graph_nor_gradient(placeholder, make_engine, precision):
    X, a = points(24), np.full(4, 0.4)
    X[23, 0] = placeholder
    problem = Problem.of(X, partly_labelled(24, 9))
    engine = make_engine(Log(), LGC(MU))
    edges = joined(engine.graph(problem, Configuration(4, a)).edges)
    np.testing.assert_array_equal(edges, oracle.neighbours(X, a, 4))
    expected = oracle.central_differences(oracle_objective(problem, edges, "log", MU), a, 1e-5)
    (evaluation,) = engine.value_and_gradient(problem, [Configuration(4, a)])
    assert_same_gradient(evaluation.dg_da, expected, max(1e-6, precision.gradient))


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
    problem = Problem.of(X, example.y, validation=example.validation, seed=example.seed)
    island = problem.labelled >= len(X) - ISLAND
    without = replace(problem, scored=problem.scored & ~island)
    engine = make_engine(Log(), LGC(MU))
    edges = joined(engine.graph(problem, Configuration(9, example.a)).edges)
    exact, left_out = (
        oracle.central_differences(oracle_objective(reading, edges, "log", MU), example.a, 1e-5)
        for reading in (problem, without)
    )
    (evaluation,) = engine.value_and_gradient(problem, [Configuration(9, example.a)])
    errors = [np.abs(evaluation.dg_da - expected).max() / np.abs(expected).max() for expected in (exact, left_out)]
    assert min(errors) < max(1e-6, precision.gradient)


@pytest.mark.parametrize("loss", ["log", "ranking"])
@pytest.mark.parametrize("digits", [(200, 26), (300, 36)], ids=str)
def test_a_scored_row_whose_sum_is_nearly_no_number_has_its_gradient(digits, loss, make_engine, precision):
    """1e-200 and 1e-300 in float64; as near to the end of its numbers in float32."""
    X, y = np.vstack([points(12, 2), points(3, 2, seed=1) + np.array([60, 0])]), partly_labelled(15, 6)
    y[12] = 0
    problem, wanted = Problem.of(X, y), digits[precision.loss > 0]
    edges = oracle.neighbours(X, np.ones(2), 14)

    def smallest_sum(a):
        P = oracle.normalised(oracle.weights(X, a, edges))
        return oracle.scores(P, problem.labelled, problem.codes, 3, problem.fold, problem.scored, MU).sum(axis=1).min()

    a = min(
        (np.array([w, 0.5]) for w in np.arange(0.01, 0.25, 0.0005)),
        key=lambda a: abs(smallest_sum(a) * 10.0**wanted - 1),
    )
    assert 10.0 ** (-wanted - 1) < smallest_sum(a) < 10.0 ** (1 - wanted)
    expected = oracle.central_differences(oracle_objective(problem, edges, loss, MU), a, 1e-5)
    (evaluation,) = make_engine(LOSSES[loss](), LGC(MU)).value_and_gradient(problem, [Configuration(14, a)])
    assert_same_gradient(evaluation.dg_da, expected, max(1e-6, 2 * precision.gradient))


def test_rows_that_others_barely_reach_are_solved_for_one_by_one_where_few_of_many_labels_are_scored():
    """What all labels of a class spread, less what the point itself does, has no digits left there."""
    X = np.vstack([points(24, 2), points(3, 2, seed=1) + np.array([60, 0])])
    y = np.append(partly_labelled(24, 24), [0, -1, -1])
    problem = Problem.of(X, y)
    problem = replace(problem, scored=problem.scored & (np.arange(25) >= 20))
    a = np.array([0.05, 0.5])
    system = LGC(MU).system(weighted_graph(X, a, 26))
    by_row, by_label = (form(problem, LGC(MU), system) for form in (module._by_row, module._by_label))
    assert by_row.S.sum(axis=1).min() < 1e-40
    dg_dS = np.random.default_rng(0).normal(size=by_row.S.shape) / by_row.S.sum(axis=1, keepdims=True)
    pulls = [np.einsum("ir,jr->ij", *scores.factors(dg_dS)) * system.graph.P.toarray() for scores in (by_row, by_label)]
    found, expected = (pull + pull.T for pull in pulls)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


# The three forms of the CPU engine


@examples
def test_the_cheapest_form_is_chosen(name, monkeypatch):
    chosen = spied_forms(monkeypatch)
    example = EXAMPLES[name]
    CPUEngine().value_and_gradient(example.problem(), [Configuration(example.k, example.a)])
    assert chosen == [example.form]


def test_rows_are_solved_for_where_few_of_many_labels_are_scored(monkeypatch):
    chosen = spied_forms(monkeypatch)
    X = points(600)
    problem = Problem.of(X, np.arange(600) % 3)
    assert problem.scored.sum() == 200
    CPUEngine().value_and_gradient(problem, [Configuration(5, np.ones(4))])
    assert chosen == ["by row"]


def spied_forms(monkeypatch):
    """A list that the forms write their names to when they are used."""
    chosen = []
    for form, function in (("by label", "_by_label"), ("by fold", "_by_fold"), ("by row", "_by_row")):
        original = getattr(module, function)

        def spy(*arguments, form=form, original=original):
            chosen.append(form)
            return original(*arguments)

        monkeypatch.setattr(module, function, spy)
    return chosen


@examples
def test_all_forms_give_the_same_scores_and_factors(name):
    example = EXAMPLES[name]
    problem, propagation = example.problem(), LGC(MU)
    system = propagation.system(weighted_graph(example.X, example.a, example.k))
    by_label = module._by_label(problem, propagation, system)
    dg_dS = np.random.default_rng(0).normal(size=by_label.S.shape)

    def symmetric(scores):
        adjoint, F = scores.factors(dg_dS)
        return adjoint @ F.T + F @ adjoint.T

    expected = symmetric(by_label)
    for form in (module._by_fold, module._by_row):
        scores = form(problem, propagation, system)
        np.testing.assert_allclose(scores.S, by_label.S, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(symmetric(scores), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


# The paper's own algorithm


@pytest.fixture(scope="module")
def forward_mode():
    spec = importlib.util.spec_from_file_location("forward_mode", FORWARD_MODE)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["forward_mode"] = loaded  # dataclasses look their module up there
    spec.loader.exec_module(loaded)
    yield loaded
    del sys.modules["forward_mode"]


@pytest.mark.parametrize("name", ["holdout, few labels", "holdout, many labels"])
def test_gradient_is_that_of_the_papers_forward_mode(name, forward_mode):
    example = EXAMPLES[name]
    problem = example.problem()
    shown, hidden = problem.labelled[~problem.scored], problem.labelled[problem.scored]
    g, dg_da, _ = forward_mode.forward_mode_gradient(
        example.X, example.y, shown, hidden, example.a, example.k, alpha=MU, tol=1e-13
    )
    found_g, found = pglearn.loss_and_gradient(
        example.X,
        example.y,
        a=example.a,
        k=example.k,
        loss="ranking",
        validation="holdout",
        alpha=MU,
        random_state=example.seed,
    )
    assert found_g == pytest.approx(g, rel=1e-8)
    assert_same_gradient(found, dg_da)


def test_gradient_is_that_of_the_papers_forward_mode_on_a_larger_table(forward_mode):
    X, y, a = points(200, 12), partly_labelled(200, 40), np.full(12, 0.1)
    problem = Problem.of(X, y, validation="holdout")
    shown, hidden = problem.labelled[~problem.scored], problem.labelled[problem.scored]
    g, dg_da, _ = forward_mode.forward_mode_gradient(X, y, shown, hidden, a, 8, alpha=0.9, tol=1e-13)
    found_g, found = pglearn.loss_and_gradient(X, y, a=a, k=8, loss="ranking", validation="holdout", alpha=0.9)
    assert found_g == pytest.approx(g, rel=1e-10)
    assert_same_gradient(found, dg_da, 1e-8)
