"""Scores of the validation points, form by form; that all forms agree is in test_adjoint.py."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests.problems import partly_labelled, points

from pglearn.engine.scores import _by_fold
from pglearn.graph import weighted_graph
from pglearn.problem import Problem
from pglearn.propagation import LGC

N, MU = 60, 0.9


class Heard:
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
    system = Heard(LGC(MU).system(graph))
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
