"""From the adjoint of the propagation to the gradient with respect to the feature weights.

| symbol | meaning                                          | shape      |
|--------|--------------------------------------------------|------------|
| Λ, F   | adjoint and solution                             | n × q      |
| S      | ∂g/∂P on the edges, μ ⟨Λ_i, F_j⟩ symmetrised     | per edge   |
| q̃      | q̃_i = Σ_j S_ij P_ij                              | n          |
| B      | S_ij P_ij − ½ (q̃_i T_ij + q̃_j T_ji)              | per edge   |
| b      | B·1                                              | n          |

∂g/∂a_m = −Σ_ij B_ij (x_im − x_jm)² = −2 [ Σ_i b_i x_im² − Σ_i x_im (BX)_im ]

The edges are held fixed. B has P and T in it, never W or 1/D, so nothing under- or overflows.
"""

from __future__ import annotations

import numpy as np

from pglearn.graph import Edges, Graph
from pglearn.graph.weights import blocks
from pglearn.problem import Array, Problem

COLUMNS = 64  # features per sparse product: bounds the memory to a slice of X


def gradient(problem: Problem, graph: Graph, coupling: float, adjoint: Array, F: Array) -> Array:
    """∂g/∂a, from the adjoint and the solution of the propagation on `graph`."""
    edges = graph.edges
    S = coupling * edge_products(edges, adjoint, F)
    SP = S * graph.p
    q = edges.sums(SP, SP)
    B = SP - 0.5 * (q[edges.i] * graph.t_ij + q[edges.j] * graph.t_ji)
    return _contracted(problem, edges, B)


def edge_products(edges: Edges, adjoint: Array, F: Array) -> Array:
    """(⟨Λ_i, F_j⟩ + ⟨Λ_j, F_i⟩) / 2 per edge."""
    products = np.empty(len(edges))
    for part in blocks(len(edges), F.shape[1]):
        i, j = edges.i[part], edges.j[part]
        products[part] = np.einsum("eq,eq->e", adjoint[i], F[j])
        products[part] += np.einsum("eq,eq->e", adjoint[j], F[i])
    products /= 2
    return products


def _contracted(problem: Problem, edges: Edges, B: Array) -> Array:
    X, centre = problem.X, problem.centre
    b = edges.sums(B, B)
    matrix = edges.matrix(B)
    dg_da = np.empty(X.shape[1])
    for start in range(0, X.shape[1], COLUMNS):
        m = slice(start, start + COLUMNS)
        x = X[:, m] - centre[m]
        dg_da[m] = -2 * (b @ (x * x) - np.einsum("im,im->m", x, matrix @ x))
    return dg_da
