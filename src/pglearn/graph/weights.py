"""Edge weights under a, kept as logarithms.

| symbol | meaning                                            | here                        |
|--------|----------------------------------------------------|-----------------------------|
| W_ij   | exp(−Σ_m a_m (x_im − x_jm)²) on the edges          | `log_w` (one per edge)      |
| D_i    | Σ_j W_ij                                           | `log_d` (n,)                |
| P_ij   | W_ij / √(D_i D_j)                                  | `p` (one per edge), `P`     |
| T_ij   | W_ij / D_i                                         | `t_ij`, `t_ji`              |

With hundreds of features exp(−distance²) underflows for perfectly good graphs, and degrees span hundreds of orders
of magnitude. P and T are in [0, 1] and come from differences of logarithms; W itself is only made when asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from pglearn import sparse as sparse_tables
from pglearn.compiled import is_large
from pglearn.graph.edges import Edges
from pglearn.graph.neighbours import k_nearest, scaled_points
from pglearn.problem import Array, Points, column_medians
from pglearn.threads import in_parts

BLOCK = 1 << 16  # numbers per gathered block of rows: two of them stay in a core's cache


@dataclass(frozen=True, eq=False)
class Graph:
    """A weighted graph over n points, in float64 whatever the precision of the points."""

    edges: Edges
    log_w: Array
    log_d: Array
    recall: float = 1.0
    """Share of the exact neighbours that it has."""
    anchor: Array | None = None
    """The weights that near points were searched for with, where neighbours are approximate."""

    @property
    def p(self) -> Array:
        """P_ij on the edges."""
        e = self.edges
        return np.asarray(np.exp(self.log_w - 0.5 * (self.log_d[e.i] + self.log_d[e.j])))

    @cached_property
    def P(self) -> sparse.csr_matrix:
        return self.edges.matrix(self.p)

    @cached_property
    def in_order(self) -> tuple[Array, sparse.csr_matrix]:
        """An order of the points in which neighbours are close, and P in that order.

        Products with many columns fetch a row per neighbour; in this order most of them are in the cache already.
        """
        P = self.edges.matrix(self.p)  # not kept: who solves in this order needs no other
        order = reverse_cuthill_mckee(P, symmetric_mode=True)
        P = P[order]
        P = P.T.tocsr()  # P is symmetric, so its rows may be taken twice; that leaves the columns sorted
        return order, P[order]

    @property
    def t_ij(self) -> Array:
        return np.asarray(np.exp(self.log_w - self.log_d[self.edges.i]))

    @property
    def t_ji(self) -> Array:
        return np.asarray(np.exp(self.log_w - self.log_d[self.edges.j]))

    @property
    def W(self) -> sparse.csr_matrix:
        return self.edges.matrix(np.exp(self.log_w))


def weighted_graph(X: Points, a: Array, k: int, centre: Array | None = None) -> Graph:
    """The union k-nearest-neighbour graph of `X` under diag(a); `centre` saves looking for the middle of X again."""
    Z = scaled_points(X, a, column_medians(X) if centre is None else centre)
    return graph_on_edges(Z, Edges.between_neighbours(k_nearest(Z, k)))


def graph_on_edges(Z: Points, edges: Edges) -> Graph:
    """Weights for given edges between scaled points."""
    return graph_of_exponents(edges, squared_distances(Z, Z, edges.i, edges.j))


def graph_of_exponents(edges: Edges, exponents: Array) -> Graph:
    """The graph with W_ij = exp(−exponent) on the edges."""
    log_w = -exponents
    return Graph(edges, log_w, _log_degrees(edges, log_w))


def squared_distances(U: Points, V: Points, i: Array, j: Array) -> Array:
    """‖u_i − v_j‖² per pair (i, j), from differences: products would cancel for close points."""
    if sparse_tables.is_sparse(U):
        return sparse_tables.squared_distances(U, V, i, j)
    d2 = np.empty(len(i))
    if is_large(len(V)):
        from pglearn.graph import compiled

        in_parts(lambda start, stop: compiled.squared_distances(start, stop, U, V, i, j, d2), len(i))
        return d2
    for part in blocks(len(i), U.shape[1]):
        difference = U[i[part]] - V[j[part]]
        d2[part] = np.einsum("em,em->e", difference, difference)
    return d2


def blocks(n: int, width: int) -> list[slice]:
    """Slices that cover n rows of `width` numbers, `BLOCK` numbers at a time."""
    step = max(1, BLOCK // max(1, width))
    return [slice(start, start + step) for start in range(0, n, step)]


def _log_degrees(edges: Edges, log_w: Array) -> Array:
    """log D by a log-sum-exp per row; every point has a neighbour, so no row is empty."""
    rows = np.concatenate([log_w, log_w])[edges.order]
    starts = edges.indptr[:-1]
    peak = np.maximum.reduceat(rows, starts)
    rows -= np.repeat(peak, np.diff(edges.indptr))
    return peak + np.log(np.add.reduceat(np.exp(rows, out=rows), starts))
