"""The entropy of the rows without a label: as a loss, and on LGC in PG-learn's own loop."""

from __future__ import annotations

import numpy as np
import pytest
from tests import oracle
from tests.paper.baselines import dense
from tests.problems import EXAMPLES, joined, partly_labelled, points

import pglearn
from pglearn.engine import Configuration, CPUEngine
from pglearn.objective.folds import VALIDATIONS
from pglearn.objective.loss import Entropy, Log, Yardstick
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC

NOBODY = np.empty(0, dtype=int)


def test_value_and_gradient_are_the_equations():
    S = np.random.default_rng(0).dirichlet(np.ones(4), size=9)
    g, dg_dS = Entropy()(S, NOBODY)
    assert g == pytest.approx(dense.entropy(S), rel=1e-12)
    expected = oracle.central_differences(lambda flat: Entropy()(flat.reshape(S.shape), NOBODY)[0], S.ravel(), 1e-7)
    np.testing.assert_allclose(dg_dS.ravel(), expected, atol=1e-5)


@pytest.mark.parametrize("S", [np.eye(3), np.empty((0, 3))], ids=["certain rows", "no rows"])
def test_what_has_no_entropy_has_no_nan(S):
    g, dg_dS = Entropy()(S, NOBODY)
    assert g == 0
    assert dg_dS.shape == S.shape
    assert np.isfinite(dg_dS).all()


def test_chance_is_the_entropy_of_uniform_rows():
    yardstick = Yardstick.from_loss(Entropy(), np.arange(6) % 3, 3)
    assert (yardstick.perfect, yardstick.chance) == pytest.approx((0, np.log(3)))


@pytest.mark.parametrize("name", EXAMPLES)
def test_engine_gradient_is_that_of_central_differences(name):
    example = EXAMPLES[name]
    problem, configuration = example.problem(), Configuration(example.k, example.a)
    engine, labelled, Y = CPUEngine(Entropy(), LGC(0.99)), problem.labelled[problem.shown], problem.Y[problem.shown]
    edges = joined(engine.graph(problem, configuration).edges)

    def H(a):
        return dense.lgc_entropy(problem.X, a, edges, labelled, Y, 0.99)

    (found,) = engine.value_and_gradient(problem, [configuration])
    expected = oracle.central_differences(H, example.a, 1e-5)
    assert found.loss == pytest.approx(H(example.a), rel=1e-8)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(found.dg_da, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    options = {"loss": "entropy", "validation": example.validation, "random_state": example.seed}
    g, dg_da = pglearn.loss_and_gradient(example.X, example.y, a=example.a, k=example.k, **options)
    assert g == found.loss
    np.testing.assert_array_equal(dg_da, found.dg_da)


@pytest.mark.parametrize("validation", VALIDATIONS)
def test_accuracy_is_still_that_on_the_hidden_labels(validation):
    problem = Problem.from_labels(points(30), partly_labelled(30, 12), validation=validation)
    configuration = Configuration(5, np.full(4, 0.3))
    engines = CPUEngine(Entropy()), CPUEngine(Log())
    (by_entropy,), (by_log,) = (engine.value_and_gradient(problem, [configuration]) for engine in engines)
    assert by_entropy.accuracy == by_log.accuracy
    assert by_entropy.loss != by_log.loss


def test_the_search_lowers_it():
    X, y = points(60), partly_labelled(60, 12)
    model = pglearn.PGLearnClassifier(
        loss="entropy", budget=8, n_candidates=2, views=["given"], selection="best", random_state=0
    ).fit(X, y)
    first, (chosen,) = model.history_["step"] == 0, np.flatnonzero(model.search_results_["selected"])
    at_the_start = model.history_["loss"][first & (model.history_["candidate"] == chosen)]
    assert model.search_results_["loss"][chosen] < at_the_start - 0.01
