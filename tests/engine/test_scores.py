"""Solves that a search asks for: how large, how close, and in which precision."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.memory import MEASURING, needs_linux
from tests.problems import partly_labelled, points

from pglearn.engine import Configuration, CPUEngine
from pglearn.graph import weighted_graph
from pglearn.loss import Log
from pglearn.problem import Problem
from pglearn.propagation import LGC, Solution, System

MANY_LABELS = """
import numpy as np
import pglearn

rng = np.random.default_rng(0)
n = 20_000
y = rng.integers(4, size=n)
X = rng.normal(size=(n, 6)) + 2 * rng.normal(size=(4, 6))[y]
shown = np.where(np.arange(n) < n // 2, y, -1)

def step(rows):
    return pglearn.loss_and_gradient(X[:rows], shown[:rows], a=np.full(6, 0.5), k=10)

step(5_000)  # Numba itself, compiled or read from its cache
before = size_from_here()
step(n)
print((peak() - before) / 2**20)
"""


@needs_linux
def test_leave_one_out_of_ten_thousand_labels_takes_no_array_of_rows_by_labels():
    """20,000 × 10,000 numbers would be 1,526 MB."""
    command = [sys.executable, "-c", MEASURING + MANY_LABELS]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert float(run.stdout) < 300


@pytest.mark.parametrize(
    ("first", "finest", "is_solved"), [(9e-13, 5e-13, True), (9e-13, 2e-12, False), (2e-12, 1e-12, False)]
)
def test_a_finer_solution_need_only_be_as_close_as_was_asked_for(monkeypatch, first, finest, is_solved):
    """Rounding may leave more than the finest tolerance, and nobody is to be warned of that."""
    problem = Problem.of(np.zeros((4, 1)), [0, 1, 0, -1])
    solved = iter(
        [Solution(np.eye(4)[:, :2], 9, first, first <= 1e-12, 1.0), Solution(np.eye(4)[:, :2], 99, finest, False)]
    )
    monkeypatch.setattr(System, "solve", lambda *_: next(solved))
    graph = weighted_graph(np.arange(4.0)[:, None], np.ones(1), 2)
    found = CPUEngine().propagate(problem, graph)
    assert (found.iterations, found.converged) == (99, is_solved)


@pytest.mark.parametrize("scored", [30, 8], ids=["by label", "by row"])
def test_float32_where_a_search_allows_it_changes_little(scored, monkeypatch):
    """Against float64 and dense solves: points, solutions and adjoint in float32, sums in float64."""
    problem = Problem.of(points(300, 5), partly_labelled(300, 30))
    problem = replace(problem, scored=problem.scored & (np.arange(30) < scored))
    here = [Configuration(8, np.linspace(0.1, 0.5, 5))]
    (expected,) = CPUEngine(Log(), LGC()).value_and_gradient(problem, here)
    monkeypatch.setattr("pglearn.compiled.FROM_ROWS", 0)
    monkeypatch.setattr("pglearn.propagation.lgc.DENSE_LIMIT", 0)
    coarse = replace(problem, X=problem.X.astype(np.float32))
    engine = CPUEngine(Log(), LGC(tolerance=1e-8, precision=1e-2))
    (found,) = engine.value_and_gradient(coarse, here)
    assert found.loss == pytest.approx(expected.loss, rel=1e-5)
    np.testing.assert_allclose(found.dg_da, expected.dg_da, rtol=1e-4, atol=1e-4 * np.abs(expected.dg_da).max())
    graph, B = engine.graph(coarse, here[0]), np.eye(300)[:, :5]
    assert engine.propagation.system(graph).solve(B).F.dtype == np.float32
    assert LGC().system(graph).solve(B).F.dtype == np.float64
