"""The harmonic solution with smoothing (Zhu, Ghahramani, Lafferty 2003), for any number of classes.

| symbol | meaning                                                             | shape     |
|--------|---------------------------------------------------------------------|-----------|
| T      | D⁻¹W, the transition matrix of the graph                            | n × n     |
| P̃      | (1−ε)T + ε/n·11ᵀ, smoothed: from any point to any other now and then | n × n     |
| l, u   | rows with a label and without                                       |           |
| f_u    | (I − P̃_uu)⁻¹ P̃_ul Y_l; rows sum to one                             | u × c     |
| Λ      | adjoint: (I − P̃_uu)ᵀ Λ = ∂g/∂f_u                                    | u × c     |

The smoothing is a rank-one term. It is never formed: with B = I − (1−ε)T_uu and v = B⁻¹1, Sherman and Morrison give
(I − P̃_uu)⁻¹R = B⁻¹R + v (ε/n·1ᵀB⁻¹R) / (1 − ε/n·1ᵀv), and the same with Bᵀ for the adjoint, because 11ᵀ is symmetric.
The denominator is at least the share of labelled rows, since B⁻¹1 ≤ 1/ε.

Since f_u = P̃_u· F with the labels in F, ∂g/∂T_ij = (1−ε) ⟨Λ_i, F_j⟩ for the rows i without a label, and 0 for others.

Hiding labels that were clamped: with A = I − P̃ and its Schur complement S = A_ll − A_lu A_uu⁻¹ A_ul over the labelled
rows, the solution at a hidden fold V is f_V = −S_VV⁻¹ S_V,r Y_r, r the other folds. One solve serves every fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, sparse

from pglearn.arrays import Array
from pglearn.objective.adjoint import inner_products, row_stochastic_pull
from pglearn.objective.graph import Graph
from pglearn.objective.graph.weights import edge_differences
from pglearn.objective.problem import Problem


@dataclass(frozen=True, eq=False)
class Harmonic:
    """The solution on one graph with the rows `labelled` clamped to `Y`."""

    graph: Graph
    epsilon: float
    labelled: Array
    Y: Array

    @cached_property
    def unlabelled(self) -> Array:
        return np.setdiff1d(np.arange(self.graph.edges.n), self.labelled)

    @cached_property
    def T(self) -> sparse.csr_matrix:
        return self.graph.edges.directed(self.graph.t_ij, self.graph.t_ji)

    @property
    def smoothing(self) -> float:
        """ε/n, every entry of the rank-one term."""
        return self.epsilon / self.graph.edges.n

    @cached_property
    def _factor(self) -> tuple[Array, Array]:
        u = self.unlabelled
        B = self.T[u][:, u].toarray(order="F")
        B *= self.epsilon - 1
        B.flat[:: len(B) + 1] += 1
        factor: tuple[Array, Array] = linalg.lu_factor(B, overwrite_a=True, check_finite=False)
        return factor

    def solve(self, R: Array, transposed: bool = False) -> Array:
        """(I − P̃_uu)⁻¹R, or with the transpose."""
        if not len(self.unlabelled):
            return R
        ones = np.ones((len(R), 1))
        both = linalg.lu_solve(self._factor, np.hstack([R, ones]), trans=int(transposed), check_finite=False)
        x, v = both[:, :-1], both[:, -1:]
        return np.asarray(x + v * (self.smoothing * x.sum(axis=0)) / (1 - self.smoothing * v.sum()))

    @cached_property
    def F(self) -> Array:
        """Class probabilities of all rows, the labels among them, n × c."""
        u, labelled = self.unlabelled, self.labelled
        F = np.zeros((self.graph.edges.n, self.Y.shape[1]))
        F[labelled] = self.Y
        source = (1 - self.epsilon) * (self.T[u][:, labelled] @ self.Y) + self.smoothing * self.Y.sum(axis=0)
        F[u] = np.maximum(self.solve(source), 0)
        return F

    @property
    def masses(self) -> Array:
        """What the unlabelled rows have of each class."""
        return np.asarray(self.F[self.unlabelled].sum(axis=0))

    def gradient(self, problem: Problem, dg_df: Array) -> Array:
        """∂g/∂a from ∂g/∂f_u, with the edges held fixed."""
        adjoint = np.zeros_like(self.F)
        adjoint[self.unlabelled] = (1 - self.epsilon) * self.solve(dg_df, transposed=True)
        edges = self.graph.edges
        R_ij, R_ji = (inner_products(adjoint, self.F, p, q) for p, q in ((edges.i, edges.j), (edges.j, edges.i)))
        return edge_differences(problem.X, edges).contracted(row_stochastic_pull(self.graph, R_ij, R_ji))

    def hidden(self, fold: Array) -> Array:
        """The solution at every labelled row when its fold's labels are hidden, l × c."""
        u, v = self.unlabelled, self.labelled
        A_ul, A_lu, A_ll = (self._smoothed(*rows) for rows in ((u, v), (v, u), (v, v)))
        S = A_ll - A_lu @ self.solve(A_ul)
        found = np.empty_like(self.Y)
        for V in np.unique(fold):
            inside = fold == V
            found[inside] = -np.linalg.solve(S[np.ix_(inside, inside)], S[np.ix_(inside, ~inside)] @ self.Y[~inside])
        return found

    def _smoothed(self, rows: Array, columns: Array) -> Array:
        """A block of I − P̃ with few rows or few columns."""
        block = (self.epsilon - 1) * self.T[rows][:, columns].toarray() - self.smoothing
        return np.asarray(block + (rows[:, None] == columns))
