"""Scores of the validation points and their adjoint, in whichever of two forms solves for fewer columns.

| symbol | meaning                                                   | shape     |
|--------|-----------------------------------------------------------|-----------|
| M      | I − μP                                                    | n × n     |
| Z      | M⁻¹ E_L: what each label by itself spreads                | n × l     |
| H      | Z on the labelled rows                                    | l × l     |
| S      | scores: S_v = Σ_{u in other folds than v} (1−μ) H_vu Y_u  | s × c     |
| Λ      | adjoint: −dM pulls on ⟨Λ_i, F_j⟩                          | like F    |

*By fold*: one right-hand side per fold and class (labels of the other folds), and as many again for the adjoint.
*By label*: one right-hand side per label gives Z, and with it every fold at once. Since dH = Zᵀ (μ dP) Z, the adjoint
needs no solve: Λ = Z ∂g/∂H with F replaced by Z. Leave-one-out is the case this is made for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pglearn.problem import Array, Problem
from pglearn.propagation import Propagation, System


@dataclass(frozen=True, eq=False)
class Scores:
    """S, and the map from ∂g/∂S to factors (Λ, F) with ∂g/∂P_ij = μ (⟨Λ_i, F_j⟩ + ⟨Λ_j, F_i⟩) / 2."""

    S: Array
    least: float
    """A row of S whose sum is not above this is lost in the error of the solve."""
    factors: Callable[[Array], tuple[Array, Array]]


def validation_scores(problem: Problem, propagation: Propagation, system: System) -> Scores:
    folds = np.unique(problem.fold[problem.scored])
    if len(problem.labelled) <= 2 * len(folds) * problem.n_classes:
        return _by_label(problem, propagation, system)
    return _by_fold(problem, propagation, system, folds)


def _by_fold(problem: Problem, propagation: Propagation, system: System, folds: Array) -> Scores:
    n, c = len(problem.X), problem.n_classes
    B = np.zeros((n, len(folds), c), dtype=problem.X.dtype)
    for f, fold in enumerate(folds):
        shown = problem.fold != fold
        B[problem.labelled[shown], f, problem.codes[shown]] = propagation.source
    rows = problem.labelled[problem.scored]
    solution = system.solve(B.reshape(n, -1), rows)
    F = solution.F
    columns = np.searchsorted(folds, problem.fold[problem.scored])
    S = F.reshape(B.shape)[rows, columns]

    def factors(dg_dS: Array) -> tuple[Array, Array]:
        G = np.zeros_like(B)
        G[rows, columns] = dg_dS
        return system.solve(G.reshape(n, -1)).F, F

    return Scores(S, c * solution.error / system.precision, factors)


def _by_label(problem: Problem, propagation: Propagation, system: System) -> Scores:
    n, labels = len(problem.X), len(problem.labelled)
    E = np.zeros((n, labels), dtype=problem.X.dtype)
    E[problem.labelled, np.arange(labels)] = 1
    solution = system.solve(E, problem.labelled[problem.scored])
    Z = solution.F
    weight = propagation.source * (problem.fold[problem.scored, None] != problem.fold)
    Y = problem.Y
    S = (weight * Z[problem.labelled[problem.scored]]) @ Y

    def factors(dg_dS: Array) -> tuple[Array, Array]:
        dg_dH = np.zeros((labels, labels))
        dg_dH[problem.scored] = weight * (dg_dS @ Y.T)
        # Symmetric, because H is: then ⟨Λ_i, Z_j⟩ is symmetric as well.
        return Z @ ((dg_dH + dg_dH.T) / 2).astype(Z.dtype, copy=False), Z

    # The errors of the columns are of either sign: their sum grows like the root of their number.
    return Scores(S, propagation.source * math.sqrt(labels) * solution.error / system.precision, factors)
