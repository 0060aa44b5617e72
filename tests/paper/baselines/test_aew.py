"""AEW: the reconstruction error and its gradient against dense matrices and differences, and bounded memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests import oracle
from tests.memory import MEASURING, needs_linux
from tests.paper.baselines import dense
from tests.problems import EXAMPLES, joined, partly_labelled, points

from pglearn.objective.problem import Problem
from pglearn.paper.baselines import AEW, Clock, search
from pglearn.paper.baselines.aew import LocalGraph, local_scales

ELL = np.array([0.7, 1.3, 0.0, 1.0, 0.4])


def scales(X, k):
    """The distance of each point to its 7th neighbour, or its k-th, by the book."""
    D = np.sqrt(oracle.distances(X, np.ones(X.shape[1])))
    return np.array([np.sort(np.delete(D[i], i))[min(7, k) - 1] for i in range(len(X))])


@pytest.mark.parametrize("k", [3, 7, 9])
def test_the_graph_is_the_one_written_out_and_spreads_all_labels(k):
    problem = Problem.of(points(26, d=5), partly_labelled(26, 9), validation="holdout")
    method = AEW(0.9, (k, k))
    trial = next(method.trials(problem, Clock(1000)))
    graph, solution = method.answer(problem, trial)
    np.testing.assert_array_equal(joined(graph.edges), oracle.neighbours(problem.X, np.ones(5), k))
    W = dense.local_weights(problem.X, np.sqrt(trial.a), joined(graph.edges), scales(problem.X, k))
    np.testing.assert_allclose(graph.W.toarray(), W, rtol=1e-10)
    np.testing.assert_allclose(solution.F, oracle.lgc(oracle.normalised(W), problem.sources(), 0.9), atol=1e-8)


def test_reconstruction_error_and_its_gradient_are_those_of_central_differences():
    problem = EXAMPLES["loo"].problem()
    local = LocalGraph.from_problem(problem, 4)
    edges, s = joined(local.edges), scales(problem.X, 4)

    def g(ell):
        return dense.reconstruction(problem.X, ell, edges, s)

    point = local.evaluated(ELL)
    expected = oracle.central_differences(g, ELL, 1e-5)
    assert point.g == pytest.approx(g(ELL), rel=1e-10)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(point.dg_dx, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_duplicates_have_the_smallest_scale_that_is_not_zero():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [3.0], [6.0]])
    neighbours = np.array([[1, 2], [0, 2], [0, 1], [0, 4], [3, 5], [4, 3]])
    np.testing.assert_array_equal(local_scales(X, neighbours), [2, 2, 2, 2, 3, 5])
    assert local_scales(np.zeros((4, 1)), np.array([[1, 2], [0, 2], [0, 1], [0, 1]])).tolist() == [1, 1, 1, 1]


def test_every_k_is_tried_once_and_the_error_falls_until_the_budget_cuts_a_descent_short():
    problem = Problem.of(points(60, d=5), partly_labelled(60, 15))
    method, clock = AEW(0.9, (3, 8)), Clock(10_000)
    found = search(method, problem, clock)
    assert found.reason == "finished"
    assert found.trials["k"].tolist() == [3, 8, 5, 4, 6, 7]
    assert clock.evaluations == (found.trials["step"] + 1).sum()
    for k, loss in zip(found.trials["k"], found.trials["loss"], strict=True):
        assert loss < LocalGraph.from_problem(problem, k).evaluated(np.ones(5)).g
    clock = Clock(3)
    found = search(method, problem, clock)
    assert (clock.evaluations, len(found.trials["k"])) == (3, 1)
    assert 0 <= found.best.accuracy <= 1


def test_labels_are_not_looked_at():
    X, y = points(60, d=5), partly_labelled(60, 15)
    other = np.where(y >= 0, (y + np.arange(60)) % 3, -1)
    learned = [next(AEW(0.9, (6, 6)).trials(Problem.of(X, labels), Clock(1000))).a for labels in (y, other)]
    np.testing.assert_array_equal(*learned)


@needs_linux
def test_memory_is_bounded():
    """Of a process that fits data of the shape of noisy Yale: one n × n × d array would be 1.7 GB."""
    code = f"""{MEASURING}
import numpy as np
from pglearn import AEWClassifier
rng = np.random.default_rng(0)
y = np.arange(320) % 5
X = rng.random((320, 2048)) + 0.2 * rng.random((5, 2048))[y]
shown = np.where(np.arange(320) < 32, y, -1)
before = size_from_here()
model = AEWClassifier(budget=2, k_range=(20, 20)).fit(X, shown)
print((peak() - before) / 2**20, (model.transduction_ == y).mean())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    megabytes, accuracy = map(float, run.stdout.split())
    assert megabytes < 250
    assert accuracy > 0.5
