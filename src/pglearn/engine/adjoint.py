"""From the adjoint of the propagation to the gradient with respect to the feature weights.

| symbol | meaning                                          | shape      |
|--------|--------------------------------------------------|------------|
| Λ, F   | adjoint and solution                             | n × q      |
| S      | ∂g/∂P on the edges, μ ⟨Λ_i, F_j⟩ symmetrised     | per edge   |
| q̃      | q̃_i = Σ_j S_ij P_ij                              | n          |
| B      | S_ij P_ij − ½ (q̃_i T_ij + q̃_j T_ji)              | per edge   |
| b      | B·1                                              | n          |

∂g/∂a_m = −Σ_ij B_ij (x_im − x_jm)² = −2 [ Σ_i b_i x_im² − Σ_i x_im (BX)_im ]

The second form is NumPy's way around an array of edges × features; compiled loops, which need none, and sparse tables,
of which only blocks of differences are made (`pglearn.sparse`), take the first.

The edges are held fixed. B has P and T in it, never W or 1/D, so nothing under- or overflows.
"""

from __future__ import annotations

import numpy as np

from pglearn import sparse
from pglearn.compiled import is_large
from pglearn.graph import Edges, Graph
from pglearn.graph.weights import blocks
from pglearn.problem import Array, Problem
from pglearn.threads import in_parts, summed

COLUMNS = 64  # features per sparse product: bounds the memory to a slice of X


def gradient(problem: Problem, graph: Graph, mu: float, adjoint: Array, F: Array) -> Array:
    """∂g/∂a, from the adjoint and the solution of the propagation on `graph`."""
    edges = graph.edges
    S = mu * edge_products(graph, adjoint, F)
    SP = S * graph.p
    q = edges.sums(SP, SP)
    B = SP - 0.5 * (q[edges.i] * graph.t_ij + q[edges.j] * graph.t_ji)
    return contracted(problem, graph, B)


def edge_products(graph: Graph, adjoint: Array, F: Array) -> Array:
    """(⟨Λ_i, F_j⟩ + ⟨Λ_j, F_i⟩) / 2 per edge."""
    edges = graph.edges
    if is_large(edges.n):
        from pglearn.engine import compiled

        totals = np.empty(len(edges))
        given = graph.in_order[0], edges.indptr, edges.indices, edges.order, adjoint, F, totals
        in_parts(lambda start, stop: compiled.edge_products(start, stop, *given), edges.n)
        return totals
    products = inner_products(adjoint, F, edges.i, edges.j) + inner_products(adjoint, F, edges.j, edges.i)
    return np.asarray(products / 2)


def row_stochastic_pull(graph: Graph, R_ij: Array, R_ji: Array) -> Array:
    """B where g depends on the row-normalised T instead of P, with R_ij = ∂g/∂T_ij on the edges, either way.

    Since dT_ij = T_ij (d log W_ij − Σ_k T_ik d log W_ik), row i pulls on log W_ij with T_ij (R_ij − Σ_k T_ik R_ik); an
    edge is pulled on from both of its ends.
    """
    edges, t_ij, t_ji = graph.edges, graph.t_ij, graph.t_ji
    q = edges.sums(t_ij * R_ij, t_ji * R_ji)
    return np.asarray((t_ij * (R_ij - q[edges.i]) + t_ji * (R_ji - q[edges.j])) / 2)


def inner_products(U: Array, V: Array, i: Array, j: Array) -> Array:
    """⟨U_i, V_j⟩ per pair (i, j)."""
    products = np.empty(len(i))
    for part in blocks(len(i), U.shape[1]):
        products[part] = np.einsum("eq,eq->e", U[i[part]], V[j[part]])
    return products


def contracted(problem: Problem, graph: Graph, B: Array) -> Array:
    """−Σ_ij B_ij (x_im − x_jm)² for every feature m."""
    edges, X = graph.edges, problem.X
    if sparse.is_sparse(X):
        return sparse.contracted(X, edges.i, edges.j, B)
    if is_large(edges.n):
        from pglearn.engine import compiled

        given = graph.in_order[0], edges.indptr, edges.indices, edges.order, X, B
        return summed(lambda start, stop, sums: compiled.contracted(start, stop, *given, sums), edges.n, X.shape[1])
    return _contracted_without_differences(X, problem.centre, edges, B)


def _contracted_without_differences(X: Array, centre: Array, edges: Edges, B: Array) -> Array:
    b = edges.sums(B, B)
    matrix = edges.matrix(B)
    dg_da = np.empty(X.shape[1])
    for start in range(0, X.shape[1], COLUMNS):
        m = slice(start, start + COLUMNS)
        x = X[:, m] - centre[m]
        dg_da[m] = -2 * (b @ (x * x) - np.einsum("im,im->m", x, matrix @ x))
    return dg_da
