"""Scores of the validation points and their adjoint, in whichever of three forms solves for fewest columns.

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
*By row*: H is symmetric, so one right-hand side per scored point gives its row of H, and as many again the adjoint. It
is for many labels of which few are scored. Where each of these is a fold by itself, one per class is enough for the
adjoint: what all labels of a class spread, less what the point itself does. (Where others barely reach a point, that
difference has no digits left, and each point is solved for.)

The rows without a label have scores too, for a loss that asks for no true class: one right-hand side per class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pglearn.arrays import Array
from pglearn.objective.problem import Problem
from pglearn.objective.propagation.linear_system import LinearSystem

BARELY = 2.0**-30  # a row of S with a smaller sum is lost among the digits of what the point itself spreads


@dataclass(frozen=True, eq=False)
class Factored:
    """S, and the map from ∂g/∂S to factors (Λ, F) with ∂g/∂P_ij = μ (⟨Λ_i, F_j⟩ + ⟨Λ_j, F_i⟩) / 2."""

    S: Array
    least: Array | float
    """A row of S whose sum is not above this is lost in the error of the solve."""
    factors: Callable[[Array], tuple[Array, Array]]
    is_symmetric: bool = False
    """Whether ⟨Λ_i, F_j⟩ = ⟨Λ_j, F_i⟩."""


def cheapest_form(problem: Problem) -> str:
    """Which form solves for fewest columns: "by label", "by row" or "by fold"."""
    folds = len(np.unique(problem.fold[problem.scored]))
    scored = int(problem.scored.sum())
    columns = {
        "by label": len(problem.labelled),
        "by row": scored + (problem.n_classes if are_left_out_alone(problem) else scored),
        "by fold": 2 * folds * problem.n_classes,
    }
    return min(columns, key=lambda form: columns[form])


def of_unlabelled(problem: Problem, system: LinearSystem) -> Factored:
    n, c = problem.n, problem.n_classes
    shown = problem.labelled[problem.shown]
    rows = np.setdiff1d(np.arange(n), shown)
    B = np.zeros((n, c))
    B[shown, problem.codes[problem.shown]] = system.source
    solution = system.solve(B, "unlabelled")

    def factors(dg_dS: Array) -> tuple[Array, Array]:
        G = np.zeros_like(B)
        G[rows] = dg_dS
        return system.solve(G, "adjoint").F, solution.F

    return Factored(solution.F[rows], solution.doubt(rows) / system.precision, factors)


def _by_fold(problem: Problem, system: LinearSystem) -> Factored:
    n, c = problem.n, problem.n_classes
    folds = np.unique(problem.fold[problem.scored])
    f, label = (problem.fold != folds[:, None]).nonzero()  # a label enters where its own fold is not hidden
    shape, at = (n, len(folds) * c), (problem.labelled[label], f * c + problem.codes[label])
    sources = sparse.csc_matrix((np.full(len(label), system.source), at), shape=shape)
    solution = system.solve(sources, "labels")
    F = solution.F
    rows = problem.labelled[problem.scored, None]
    columns = c * np.searchsorted(folds, problem.fold[problem.scored])[:, None] + np.arange(c)
    S = F[rows, columns]

    def factors(dg_dS: Array) -> tuple[Array, Array]:
        entries = dg_dS.ravel(), (np.repeat(rows, c), columns.ravel())
        return system.solve(sparse.csc_matrix(entries, shape=shape), "adjoint").F, F

    return Factored(S, solution.doubt(rows, columns) / system.precision, factors)


def _by_label(problem: Problem, system: LinearSystem) -> Factored:
    labels = len(problem.labelled)
    solution = system.solve(_ones_at(problem.labelled, problem.n), "labels")
    Z = solution.F
    weight = _weight_of_labels(problem, system)
    Y = problem.Y
    S = (weight * Z[problem.labelled[problem.scored]]) @ Y

    def factors(dg_dS: Array) -> tuple[Array, Array]:
        dg_dH = np.zeros((labels, labels))
        dg_dH[problem.scored] = weight * (dg_dS @ Y.T)
        # Symmetric, because H is: then ⟨Λ_i, Z_j⟩ is symmetric as well.
        return Z @ ((dg_dH + dg_dH.T) / 2).astype(Z.dtype, copy=False), Z

    doubt = solution.doubt(problem.labelled[problem.scored])
    return Factored(S, system.source * doubt / system.precision, factors, is_symmetric=True)


def _by_row(problem: Problem, system: LinearSystem) -> Factored:
    n = problem.n
    solution = system.solve(_ones_at(problem.labelled[problem.scored], n), "scored")
    Z = solution.F
    weight = _weight_of_labels(problem, system)
    Y = problem.Y
    S = (weight * Z[problem.labelled].T) @ Y

    def factors_of_points_alone(dg_dS: Array) -> tuple[Array, Array]:
        sources = np.full(len(problem.labelled), system.source), (problem.labelled, problem.codes)
        F = system.solve(sparse.csc_matrix(sources, shape=(n, problem.n_classes)), "labels").F
        own = system.source * dg_dS[np.arange(len(dg_dS)), problem.scored_codes]
        return F @ dg_dS.T.astype(F.dtype, copy=False) - Z * own.astype(Z.dtype, copy=False), Z

    def factors(dg_dS: Array) -> tuple[Array, Array]:
        columns = (weight * (dg_dS @ Y.T)).T
        at = np.repeat(problem.labelled, columns.shape[1]), np.tile(np.arange(columns.shape[1]), len(columns))
        return system.solve(sparse.csc_matrix((columns.ravel(), at), shape=Z.shape), "adjoint").F, Z

    sums = S.sum(axis=1)
    told_apart = not ((sums > 0) & (sums < BARELY)).any()
    chosen = factors_of_points_alone if are_left_out_alone(problem) and told_apart else factors
    doubt = solution.transposed().doubt(slice(None), problem.labelled)
    return Factored(S, system.source * doubt / system.precision, chosen)


def are_left_out_alone(problem: Problem) -> bool:
    """Whether every scored label is the only one of its fold."""
    _, fold, labels = np.unique(problem.fold, return_inverse=True, return_counts=True)
    return bool((labels[fold[problem.scored]] == 1).all())


def _ones_at(rows: Array, n: int) -> sparse.csc_matrix:
    return sparse.csc_matrix((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(n, len(rows)))


def _weight_of_labels(problem: Problem, system: LinearSystem) -> Array:
    """What a label (column) counts for a scored point (row): nothing in its own fold."""
    return np.asarray(system.source * (problem.fold[problem.scored, None] != problem.fold))


FORMS = {"by label": _by_label, "by row": _by_row, "by fold": _by_fold}
