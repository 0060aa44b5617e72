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
from scipy.sparse.csgraph import connected_components

from pglearn.arrays import Array, Points, column_medians
from pglearn.objective.graph.approximate import find_neighbours
from pglearn.objective.graph.differences import Differences, differences
from pglearn.objective.graph.edges import Edges
from pglearn.objective.graph.neighbours import scaled_points


@dataclass(frozen=True, eq=False)
class Graph:
    """A weighted graph over n points, in float64 whatever the precision of the points."""

    edges: Edges
    log_w: Array
    log_d: Array
    recall: float = 1.0
    """Share of the exact neighbours that it has."""

    @cached_property
    def p(self) -> Array:
        """P_ij on the edges."""
        e = self.edges
        return np.asarray(np.exp(self.log_w - 0.5 * (self.log_d[e.i] + self.log_d[e.j])))

    @cached_property
    def P(self) -> sparse.csr_matrix:
        return self.edges.matrix(self.p)

    @cached_property
    def modes(self) -> sparse.csr_matrix:
        """√D of every component, of norm one, in a column each: P leaves them as they are."""
        count, component = connected_components(self.P, directed=False)
        peak = np.full(count, -np.inf)
        np.maximum.at(peak, component, self.log_d)
        root = np.exp(0.5 * (self.log_d - peak[component]))
        root /= np.sqrt(np.bincount(component, root**2))[component]
        return sparse.csr_matrix((root, component, np.arange(self.edges.n + 1)), shape=(self.edges.n, count))

    @property
    def t_ij(self) -> Array:
        return np.asarray(np.exp(self.log_w - self.log_d[self.edges.i]))

    @property
    def t_ji(self) -> Array:
        return np.asarray(np.exp(self.log_w - self.log_d[self.edges.j]))

    @property
    def W(self) -> sparse.csr_matrix:
        return self.edges.matrix(np.exp(self.log_w))


def weighted_graph(X: Points, a: Array, k: int, centre: Array | None = None, neighbours: str = "exact") -> Graph:
    """The union k-nearest-neighbour graph of `X` under diag(a); `centre` saves looking for the middle of X again."""
    edges, recall = neighbour_edges(X, a, k, column_medians(X) if centre is None else centre, neighbours)
    return graph_of_exponents(edges, edge_differences(X, edges).distances(a), recall)


def neighbour_edges(X: Points, a: Array, k: int, centre: Array, neighbours: str) -> tuple[Edges, float]:
    """Those of that graph, and the share of the exact neighbours that they have."""
    Z = scaled_points(X, a, centre)
    found, recall = find_neighbours(Z, k, neighbours)
    del Z
    return Edges.between_neighbours(found), recall


def edge_differences(X: Points, edges: Edges) -> Differences:
    return differences(X, X, edges.i, edges.j)


def graph_of_exponents(edges: Edges, exponents: Array, recall: float = 1.0) -> Graph:
    """The graph with W_ij = exp(−exponent) on the edges."""
    log_w = -exponents
    return Graph(edges, log_w, _log_degrees(edges, log_w), recall)


def _log_degrees(edges: Edges, log_w: Array) -> Array:
    """log D by a log-sum-exp per row; every point has a neighbour, so no row is empty."""
    rows = np.concatenate([log_w, log_w])[edges.order]
    starts = edges.indptr[:-1]
    peak = np.maximum.reduceat(rows, starts)
    rows -= np.repeat(peak, np.diff(edges.indptr))
    return peak + np.log(np.add.reduceat(np.exp(rows, out=rows), starts))
