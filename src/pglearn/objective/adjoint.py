"""From the adjoint of the propagation to the gradient with respect to the feature weights.

| symbol | meaning                                          | shape      |
|--------|--------------------------------------------------|------------|
| Λ, F   | adjoint and solution                             | n × q      |
| S      | ∂g/∂P on the edges, μ ⟨Λ_i, F_j⟩ symmetrised     | per edge   |
| q̃      | q̃_i = Σ_j S_ij P_ij                              | n          |
| B      | S_ij P_ij − ½ (q̃_i T_ij + q̃_j T_ji)              | per edge   |

∂g/∂a_m = −Σ_ij B_ij (x_im − x_jm)², over blocks of edges (`pglearn.objective.graph.differences`)

The edges are held fixed. B has P and T in it, never W or 1/D, so nothing under- or overflows.
"""

from __future__ import annotations

import numpy as np

from pglearn.arrays import Array, blocks
from pglearn.objective.graph import Graph
from pglearn.runtime.threads import each


def edge_pull(graph: Graph, mu: float, adjoint: Array, F: Array, is_symmetric: bool = False) -> Array:
    """B, from the adjoint and the solution of a propagation by P on `graph`.

    Where ⟨Λ_i, F_j⟩ = ⟨Λ_j, F_i⟩, which `is_symmetric` tells, it is computed once.
    """
    edges = graph.edges
    S = inner_products(adjoint, F, edges.i, edges.j)
    if not is_symmetric:
        S = (S + inner_products(adjoint, F, edges.j, edges.i)) / 2
    SP = mu * S * graph.p
    q = edges.sums(SP, SP)
    return np.asarray(SP - 0.5 * (q[edges.i] * graph.t_ij + q[edges.j] * graph.t_ji))


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
    parts = blocks(len(i), U.shape[1])

    def fill(block: int) -> None:
        part = parts[block]
        products[part] = np.einsum("eq,eq->e", U[i[part]], V[j[part]])

    each(fill, len(parts))
    return products
