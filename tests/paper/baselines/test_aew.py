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

from pglearn import AEWClassifier
from pglearn.paper.baselines.aew import LocalGraph, local_scales

ELL = np.array([0.7, 1.3, 0.0, 1.0, 0.4])


def scales(X, k):
    """The distance of each point to its 7th neighbour, or its k-th, by the book."""
    D = np.sqrt(oracle.distances(X, np.ones(X.shape[1])))
    return np.array([np.sort(np.delete(D[i], i))[min(7, k) - 1] for i in range(len(X))])


@pytest.mark.parametrize("k", [3, 7, 9])
def test_the_graph_is_the_one_written_out_and_spreads_all_labels(k):
    X, y = points(26, d=5), partly_labelled(26, 9)
    model = AEWClassifier(alpha=0.9, k_range=(k, k), budget=1000).fit(X, y)
    edges, s = oracle.neighbours(X, np.ones(5), k), scales(X, k)
    mean = np.mean((1 / np.outer(s, s))[edges])
    W = dense.local_weights(X, np.sqrt(model.feature_weights_ / mean), edges, s)
    np.testing.assert_allclose(model.graph_.toarray(), W, rtol=1e-10)
    F = oracle.lgc(oracle.normalised(W), np.eye(3)[y] * (y >= 0)[:, None], 0.9)
    np.testing.assert_allclose(model.label_distributions_, oracle.row_normalised(F), atol=1e-8)


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
    X, y = points(60, d=5), partly_labelled(60, 15)
    model = AEWClassifier(k_range=(3, 8), budget=10_000).fit(X, y)
    results = model.search_results_
    assert model.stop_reason_ == "finished"
    assert results["k"].tolist() == [3, 8, 5, 4, 6, 7]
    assert results["spent"][-1] == (results["step"] + 1).sum()
    for k, loss in zip(results["k"], results["loss"], strict=True):
        assert loss < dense.reconstruction(X, np.ones(5), oracle.neighbours(X, np.ones(5), k), scales(X, k))
    other = np.where(y >= 0, (y + np.arange(60)) % 3, -1)
    same = AEWClassifier(k_range=(3, 8), budget=10_000).fit(X, other).search_results_
    np.testing.assert_array_equal(same["loss"], results["loss"], "labels are not looked at")
    cut = AEWClassifier(k_range=(3, 8), budget=3).fit(X, y).search_results_
    assert (cut["spent"].tolist(), cut["step"].tolist()) == ([3], [2])


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
