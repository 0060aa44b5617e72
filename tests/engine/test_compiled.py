"""Compiled sums over edges against the NumPy code; whole gradients are in test_adjoint.py and test_engines.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.problems import partly_labelled, points

from pglearn.engine import Configuration, CPUEngine, adjoint
from pglearn.graph import weighted_graph
from pglearn.loss import Log
from pglearn.problem import Problem
from pglearn.propagation import LGC


def graph_and_problem(dtype=np.float64, offset=0.0):
    X = (points(80) + offset).astype(dtype)
    return weighted_graph(X, np.full(4, 0.3), 5), Problem.of(X, partly_labelled(80, 12))


@pytest.mark.parametrize("columns", [1, 10, 33])
def test_edge_products_are_numpys(columns, monkeypatch):
    graph, _ = graph_and_problem()
    U, V = np.random.default_rng(0).normal(size=(2, 80, columns))
    expected = adjoint.edge_products(graph, U, V)
    monkeypatch.setattr("pglearn.compiled.FROM_ROWS", 0)
    np.testing.assert_allclose(adjoint.edge_products(graph, U, V), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_the_contraction_is_the_sum_of_squared_differences(dtype, accuracy, offset, monkeypatch):
    graph, problem = graph_and_problem(dtype, offset)
    B = np.random.default_rng(0).normal(size=len(graph.edges))
    X, i, j = problem.X.astype(np.float64), graph.edges.i, graph.edges.j
    expected = -2 * B @ (X[i] - X[j]) ** 2
    monkeypatch.setattr("pglearn.compiled.FROM_ROWS", 0)
    found = adjoint.contracted(problem, graph, B)
    np.testing.assert_allclose(found, expected, rtol=0, atol=accuracy * np.abs(expected).max())


def test_float32_where_a_search_allows_it_changes_little(monkeypatch):
    """Against float64 and dense solves: points, solutions and adjoint in float32, sums in float64."""
    monkeypatch.setattr("pglearn.compiled.FROM_ROWS", 0)
    X, y = points(300, 5), partly_labelled(300, 30)
    for labels in (30, 8):  # by label, and by row if few of the labels are scored
        problem = Problem.of(X, y)
        scored = problem.scored & (np.arange(len(problem.scored)) < labels)
        exact, coarse = replace(problem, scored=scored), replace(problem, X=X.astype(np.float32), scored=scored)
        here = [Configuration(8, np.linspace(0.1, 0.5, 5))]
        monkeypatch.setattr("pglearn.propagation.lgc.DENSE_LIMIT", 4000)
        (expected,) = CPUEngine(Log(), LGC()).value_and_gradient(exact, here)
        monkeypatch.setattr("pglearn.propagation.lgc.DENSE_LIMIT", 0)
        engine = CPUEngine(Log(), LGC(tolerance=1e-8, precision=1e-2))
        (found,) = engine.value_and_gradient(coarse, here)
        assert found.loss == pytest.approx(expected.loss, rel=1e-5)
        np.testing.assert_allclose(found.dg_da, expected.dg_da, rtol=1e-4, atol=1e-4 * np.abs(expected.dg_da).max())
        graph = engine.graph(coarse, here[0])
        assert LGC(tolerance=1e-8).system(graph).solve(np.eye(300)[:, :5]).F.dtype == np.float32
        assert LGC().system(graph).solve(np.eye(300)[:, :5]).F.dtype == np.float64
