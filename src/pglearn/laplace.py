"""Labels spread over the graph of the table's own distances, for which nothing has to be learned.

| symbol | meaning                                                                             | shape |
|--------|-------------------------------------------------------------------------------------|-------|
| r_i    | distance of row i to its k-th neighbour, columns having a variance of one           | n     |
| W_ij   | exp(−4 ‖x_i − x_j‖² / max(r_i, r_j)²) between neighbours: every row has its width   | n × n |
| D, P   | the degrees, and D^−½ W D^−½                                                        | n × n |
| l, u   | rows with a label and without                                                       |       |
| f      | labels, and of other rows the mean of their neighbours: the harmonic solution       | n × c |
| π, m   | shares of the classes among the labels, and means of f over u, rows summing to one  | c     |

A handful of labels bends the weights of a learned graph: rings through each other in a cloud, five labels of each, are
better told apart by a graph that nobody has bent (docs/defaults.md). Labels are held here, and not only where spreading
begins (Zhu, Ghahramani, Lafferty 2003; with such weights it is the Laplace learning of the package graphlearning).

From f_u = μ D_u⁻¹ (W_uu f_u + W_ul Y), with g = D_u^½ f_u, comes (I − μ P_uu) g = μ P_ul D_l^½ Y: the system of
`pglearn.propagation.lgc` on part of a graph. With μ a little below one it has a solution where no label reaches, too:
nothing.

A row is reached if a path leads to it from a label; one that equals ten others may have no other neighbours. Far from
all labels the rows have nearly the same f, that of some class with a label in the middle, and so f is brought to the
shares of the classes: f ∘ π / m, rows to a sum of one again (class mass normalisation, in the same paper).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse.csgraph import connected_components

from pglearn.basis import standardising
from pglearn.graph import Edges, Graph, k_nearest
from pglearn.graph.neighbours import scaled_points
from pglearn.graph.weights import graph_of_exponents, squared_distances
from pglearn.problem import Array, column_medians
from pglearn.propagation import LGC

NEIGHBOURS = 10
NARROW = 4.0  # exponent of the k-th neighbour
ALPHA, TOLERANCE = 0.9999, 1e-12  # rows at the end of a long path have but little of anything


@dataclass(frozen=True, eq=False)
class PlainGraph:
    """Of the rows of a dense table."""

    X: Array

    @cached_property
    def columns(self) -> Array:
        return standardising(self.X)

    @cached_property
    def middle(self) -> Array:
        return column_medians(self.X)

    @cached_property
    def points(self) -> Array:
        return self.placed(self.X)

    def placed(self, X: Array) -> Array:
        """Any rows, with columns of variance one, near the middle of the table."""
        return np.asarray(scaled_points(X, self.columns**2, self.middle))

    @cached_property
    def graph(self) -> Graph:
        Z = self.points
        neighbours = k_nearest(Z, NEIGHBOURS)
        farthest = _squares_to(neighbours, Z, Z).max(axis=1)
        edges = Edges.between_neighbours(neighbours)
        squares = squared_distances(Z, Z, edges.i, edges.j)
        return graph_of_exponents(edges, _in_widths(squares, np.maximum(farthest[edges.i], farthest[edges.j])))

    @cached_property
    def parts(self) -> Array:
        """For every row the number of the connected part that it is in."""
        return np.asarray(connected_components(self.graph.P, directed=False)[1])

    def spread(self, labelled: Array, Y: Array, shares: Array) -> PlainSpread:
        """What the one-hot labels `Y` of some rows come to.

        `shares` of the classes are what rows that are reached have in the mean, and the others each.
        """
        graph, n = self.graph, len(self.X)
        others = np.setdiff1d(np.arange(n), labelled)
        F = np.tile(shares, (n, 1))
        F[labelled] = Y
        if not len(others):
            return PlainSpread(self, F)
        roots = np.exp(graph.log_d / 2)[:, None]
        source = ALPHA * (graph.P[others][:, labelled] @ (roots[labelled] * Y))
        solution = LGC(ALPHA, tolerance=TOLERANCE).system(_among(graph, others)).solve(source)
        found = np.maximum(solution.F, 0) / roots[others]
        sums = found.sum(axis=1)
        reached = np.isin(self.parts[others], self.parts[labelled]) & (sums > 0)
        F[others[reached]] = _with_shares(found[reached] / sums[reached, None], shares)
        return PlainSpread(self, F)


@dataclass(frozen=True, eq=False)
class PlainSpread:
    """What has spread over a plain graph."""

    plain: PlainGraph
    F: Array
    """Class probabilities of the rows of the table, n × c."""

    def afresh(self) -> PlainSpread:
        """The same without what was made of the table on the way, which may be larger than the table."""
        return replace(self, plain=PlainGraph(self.plain.X))

    def of(self, X: Array) -> Array:
        """Those of new rows: the mean of their neighbours in the table, at the width that the new row has."""
        Z, points = self.plain.placed(X), self.plain.points
        neighbours = k_nearest(points, NEIGHBOURS, Z)
        squares = _squares_to(neighbours, Z, points)
        w = np.exp(-_in_widths(squares, squares.max(axis=1, keepdims=True)))
        return np.asarray(np.einsum("ik,ikc->ic", w / w.sum(axis=1, keepdims=True), self.F[neighbours]))


def _with_shares(f: Array, shares: Array) -> Array:
    """Rows with a sum of one, each class brought to its share of them all."""
    masses = f.mean(axis=0) if len(f) else shares
    brought = f * np.divide(shares, masses, out=np.zeros_like(shares), where=masses > 0)
    return np.asarray(brought / brought.sum(axis=1, keepdims=True))


def _squares_to(neighbours: Array, Z: Array, points: Array) -> Array:
    """Squared distances of every row of Z to its neighbours among the points."""
    n, k = neighbours.shape
    return squared_distances(Z, points, np.repeat(np.arange(n), k), neighbours.ravel()).reshape(n, k)


def _in_widths(squares: Array, widths: Array) -> Array:
    """Exponents of the weights; rows with nothing but equal ones around them are as near to these as can be."""
    return np.asarray(NARROW * np.divide(squares, widths, out=np.zeros_like(squares), where=widths > 0))


def _among(graph: Graph, rows: Array) -> Graph:
    """The edges among some rows, in order, with the degrees that they have in the whole graph."""
    edges = graph.edges
    position = np.full(edges.n, -1)
    position[rows] = np.arange(len(rows))
    kept = (position[edges.i] >= 0) & (position[edges.j] >= 0)
    part = Edges.between(len(rows), position[edges.i[kept]], position[edges.j[kept]])
    return Graph(part, graph.log_w[kept], graph.log_d[rows])
