"""Scores of the validation points, form by form; that all forms agree is in test_adjoint.py."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from tests.memory import MEASURING, needs_linux
from tests.problems import partly_labelled, points

from pglearn.engine import CPUEngine
from pglearn.engine.scores import _by_fold
from pglearn.graph import weighted_graph
from pglearn.problem import Problem
from pglearn.propagation import LGC, Solution, System

N, MU = 60, 0.9


class Noted:
    """A system that remembers what it was asked to solve for."""

    def __init__(self, system):
        self.system, self.precision, self.asked = system, system.precision, []

    def solve(self, B):
        self.asked.append(B)
        return self.system.solve(B)


@pytest.mark.parametrize("validation", ["kfold", "holdout"])
def test_what_is_solved_for_by_fold_is_sparse_and_gives_the_equation(validation):
    problem = Problem.of(points(N), partly_labelled(N, 21), validation=validation)
    graph = weighted_graph(problem.X, np.full(4, 0.3), 5)
    system = Noted(LGC(MU).system(graph))
    scores = _by_fold(problem, LGC(MU), system)
    R = np.linalg.inv(np.eye(N) - MU * graph.P.toarray())
    H = R[np.ix_(problem.labelled[problem.scored], problem.labelled)]
    others = problem.fold[problem.scored, None] != problem.fold
    np.testing.assert_allclose(scores.S, (1 - MU) * (H * others) @ problem.Y, rtol=1e-9)

    dg_dS = np.random.default_rng(0).normal(size=scores.S.shape)
    adjoint, F = scores.factors(dg_dS)
    # ⟨Λ, BF⟩ for a change B of M: −dS from the equation, by hand.
    change = np.random.default_rng(1).normal(size=(N, N))
    dR = -R @ change @ R
    dH = dR[np.ix_(problem.labelled[problem.scored], problem.labelled)]
    expected = ((1 - MU) * (dH * others) @ problem.Y * dg_dS).sum()
    assert -(adjoint * (change @ F)).sum() == pytest.approx(expected, rel=1e-8)
    assert all(sparse.issparse(B) for B in system.asked)
    assert len(system.asked) == 2


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
