"""MinEnt: the harmonic solution, its entropy and the gradient of that, against dense matrices and differences."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from tests import oracle
from tests.paper.baselines import dense
from tests.problems import EXAMPLES, joined, partly_labelled, points

import pglearn
from pglearn import MinEntClassifier
from pglearn.objective.folds import VALIDATIONS
from pglearn.objective.graph import mean_distance, weighted_graph
from pglearn.objective.problem import Problem
from pglearn.paper.baselines.base import Clock
from pglearn.paper.baselines.harmonic import Harmonic
from pglearn.paper.baselines.minent import EPSILONS, MOST_STEPS, evaluated
from pglearn.search import Draws, Space

SIGMA = np.array([1.2, 2.0, 3.0, 1.7, 0.9])
ENDS = (EPSILONS[0], EPSILONS[-1])


@pytest.mark.parametrize("epsilon", ENDS)
@pytest.mark.parametrize("name", ["loo", "kfold, many labels"])
def test_the_solution_is_that_of_the_matrix_written_out_also_where_a_fold_is_hidden(name, epsilon):
    problem = EXAMPLES[name].problem()
    graph = weighted_graph(problem.X, SIGMA**-2, EXAMPLES[name].k)
    found = Harmonic(graph, epsilon, problem.labelled, problem.Y)
    W = oracle.weights(problem.X, SIGMA**-2, joined(graph.edges))
    np.testing.assert_allclose(found.F, dense.harmonic(W, problem.labelled, problem.Y, epsilon), atol=1e-12)
    hidden = found.hidden(problem.fold)
    for fold in np.unique(problem.fold):
        inside = problem.fold == fold
        without = dense.harmonic(W, problem.labelled[~inside], problem.Y[~inside], epsilon)
        np.testing.assert_allclose(hidden[inside], without[problem.labelled[inside]], atol=1e-10)


@pytest.mark.parametrize("epsilon", ENDS)
@pytest.mark.parametrize("name", ["loo", "holdout, few labels"])
def test_entropy_and_its_gradient_are_those_of_central_differences(name, epsilon):
    example = EXAMPLES[name]
    problem = example.problem()
    point = evaluated(problem, example.k, SIGMA, epsilon)
    edges = joined(weighted_graph(problem.X, SIGMA**-2, example.k).edges)
    shown = problem.labelled[problem.shown]

    def H(sigma):
        W = oracle.weights(problem.X, sigma**-2.0, edges)
        f = dense.harmonic(W, shown, problem.Y[problem.shown], epsilon)
        return dense.entropy(np.delete(f, shown, axis=0))

    expected = oracle.central_differences(H, SIGMA, 1e-5)
    assert point.g == pytest.approx(H(SIGMA), rel=1e-10)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(point.dg_dx, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("validation", VALIDATIONS)
def test_a_point_is_judged_on_labels_that_did_not_answer(validation):
    problem = Problem.from_labels(points(30), partly_labelled(30, 12), validation=validation)
    sigma = np.full(4, 1.5)
    W = oracle.weights(problem.X, sigma**-2, joined(weighted_graph(problem.X, sigma**-2, 5).edges))
    shown = problem.shown
    f = dense.harmonic(W, problem.labelled[shown], problem.Y[shown], 0.05)
    masses = np.delete(f, problem.labelled[shown], axis=0).sum(axis=0)
    right = []
    for v in np.flatnonzero(problem.scored):
        others = problem.fold != problem.fold[v]
        f = dense.harmonic(W, problem.labelled[others], problem.Y[others], 0.05)
        right.append((f[problem.labelled[v]] / masses).argmax() == problem.codes[v])
    assert evaluated(problem, 5, sigma, 0.05).accuracy == np.mean(right)


def test_a_table_without_unlabelled_rows_has_no_entropy():
    point = evaluated(Problem.from_labels(points(20), partly_labelled(20, 20)), 4, np.full(4, 1.5), 0.05)
    assert (point.g, point.dg_dx.any(), 0 < point.accuracy <= 1) == (0, False, True)


def test_descents_start_from_one_bandwidth_for_all_and_the_answer_has_all_labels_clamped():
    problem = Problem.from_labels(points(40), partly_labelled(40, 12), validation="holdout")
    method, clock = MinEntClassifier(k_range=(4, 9), bandwidth_range=(0.2, 2.0)), Clock(1000)
    trials, mean = list(islice(method.trials(problem, clock, seed=0), 200)), mean_distance(problem.X, 0)
    assert clock.evaluations == 200
    starts = [trial for trial in trials if trial.step == 0]
    assert len({(trial.k, *trial.settings.values()) for trial in starts}) == len(starts) > 3
    for start in starts:
        assert np.ptp(start.a) == 0
        assert 0.2 * mean <= start.a[0] ** -0.5 <= 2 * mean
        assert start.settings["epsilon"] in EPSILONS
    first = [trial.loss for trial in trials if trial.candidate == 0]
    assert min(first) < first[0]
    trial = trials[1]
    assert np.ptp(trial.a) > 0, "then every feature has its own"
    graph, found = method.answer(problem, trial)
    np.testing.assert_array_equal(found.F[problem.labelled], problem.Y)
    W = oracle.weights(problem.X, trial.a, joined(graph.edges))
    expected = dense.harmonic(W, problem.labelled, problem.Y, trial.settings["epsilon"])
    expected /= np.delete(expected, problem.labelled, axis=0).sum(axis=0)
    np.testing.assert_allclose(found.F, expected / expected.sum(axis=1, keepdims=True), atol=1e-12)


def test_the_entropy_of_lgc_is_followed_downhill_from_pglearns_draws():
    X, y = points(40), partly_labelled(40, 12)
    problem = Problem.from_labels(X, y, validation="holdout", seed=3)
    method = MinEntClassifier(propagation="lgc", k_range=(1, 8))
    draws = Draws((Space(4, mean_distance(X, 3)),), (1, 8), (0.1, 10.0), seed=3)
    trials = list(islice(method.trials(problem, Clock(1000), seed=3), 150))
    for trial in trials[:5]:
        options = {"k": trial.k, "loss": "entropy", "validation": "holdout", "random_state": 3}
        g, _ = pglearn.loss_and_gradient(X, y, a=trial.a, **options)
        assert trial.loss == trial.tie_break == pytest.approx(g, rel=1e-6)
    starts = [trial for trial in trials if trial.step == 0]
    assert len(starts) > 1
    fell = []
    for start in starts[:-1]:
        np.testing.assert_array_equal(start.a, draws.draw(start.candidate).a)
        own = [trial.loss for trial in trials if trial.candidate == start.candidate]
        assert len(own) <= MOST_STEPS + 1
        fell.append(min(own) < own[0])
    assert np.mean(fell) > 0.5, "a step can be too long, but not every one"
