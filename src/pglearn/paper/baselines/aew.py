"""AEW: adaptive edge weights by local linear reconstruction (Karasuyama & Mamitsuka 2017). No label is looked at.

| symbol | meaning                                                     | shape    |
|--------|-------------------------------------------------------------|----------|
| s_i    | distance to the 7th neighbour (the k-th if k < 7)           | n        |
| ℓ      | one factor per feature, at first 1                          | d        |
| W_ij   | exp(−Σ_m ℓ_m² (x_im − x_jm)² / (s_i s_j)) on the edges      | per edge |
| T_ij   | W_ij / D_i                                                  | per edge |
| R      | X − TX                                                      | n × d    |
| g      | ‖R‖², how badly neighbours make up their point              | scalar   |

The edges are those of the union k-nearest-neighbour graph of the raw data, and stay. With ∂g/∂T_ij = −2⟨R_i, x_j⟩, B as
in `pglearn.objective.adjoint` for a row-normalised matrix, and B̃_ij = B_ij / (s_i s_j), ∂g/∂ℓ_m² is the contraction of
B̃ with differences over the edges: no array is larger than the points or a few times the edges. (The published code
makes arrays of size n × n × d.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pglearn.arrays import Array
from pglearn.objective.adjoint import inner_products, row_stochastic_pull
from pglearn.objective.graph import Edges, Graph, k_nearest
from pglearn.objective.graph.differences import Differences, differences
from pglearn.objective.graph.weights import edge_differences, graph_of_exponents
from pglearn.objective.problem import Problem
from pglearn.paper.baselines.backtracking import Point, descended
from pglearn.paper.baselines.base import BaselineClassifier, Clock, Trial
from pglearn.paper.baselines.grid import halvings

SCALE_NEIGHBOUR = 7


@dataclass(kw_only=True, eq=False, repr=False)
class AEWClassifier(BaselineClassifier):
    """AEW: edge weights by which every row is best made up of its neighbours (Karasuyama & Mamitsuka 2017).

    The edges are those of the raw data; a factor per feature is learned without a look at the labels, with bandwidths
    local to every row. Only k is searched, and each k once: the search may end before its budget does.

    Parameters and attributes are those of :class:`pglearn.GridClassifier`, without `bandwidth_range`. An evaluation is
    one value and gradient of the reconstruction error; a descent that the budget cuts short is judged where it stands.
    `feature_weights_` are the means over all edges of ℓ_m² / (s_i s_j), s being the local scales. New rows, which have
    none, are labelled with these.
    """

    alpha: float = 0.99

    def trials(self, problem: Problem, clock: Clock, seed: int) -> Iterator[Trial]:
        """One descent on ℓ per k; the ends of k_range first, then what halves the gaps between those seen."""
        for number, k in enumerate(halvings(*self.k_range)):
            local = LocalGraph.from_problem(problem, k)
            seen = []
            for point in descended(local.evaluated, np.ones(problem.X.shape[1])):
                clock.tick()
                seen.append(point)
                if clock.reason:
                    break
            best = min(seen, key=lambda point: point.g)
            accuracy = self._accuracy(problem, local.graph(best.x))
            yield Trial(number, len(seen) - 1, k, best.x**2, accuracy, best.g)

    def _graph(self, problem: Problem, k: int, a: Array) -> Graph:
        return LocalGraph.from_problem(problem, k).graph(np.sqrt(a))

    def _weights(self, problem: Problem, best: Trial) -> Array:
        return np.asarray(best.a * np.mean(1 / LocalGraph.from_problem(problem, best.k).scales))


@dataclass(frozen=True, eq=False)
class LocalGraph:
    """Fixed edges with local scales, to be weighted under any ℓ."""

    problem: Problem
    edges: Edges
    differences: Differences
    scales: Array
    """s_i s_j per edge."""

    @classmethod
    def from_problem(cls, problem: Problem, k: int) -> LocalGraph:
        neighbours = k_nearest(problem.X - problem.centre, k)
        edges, s = Edges.between_neighbours(neighbours), local_scales(problem.X, neighbours)
        return cls(problem, edges, edge_differences(problem.X, edges), s[edges.i] * s[edges.j])

    def graph(self, ell: Array) -> Graph:
        return graph_of_exponents(self.edges, self.differences.distances(ell**2) / self.scales)

    def evaluated(self, ell: Array) -> Point:
        """g and ∂g/∂ℓ."""
        graph, edges = self.graph(ell), self.edges
        X = self.problem.X - self.problem.centre  # rows of T sum to one: the centre cancels in R
        R = X - edges.directed(graph.t_ij, graph.t_ji) @ X
        dg_dT = (-2 * inner_products(R, X, p, q) for p, q in ((edges.i, edges.j), (edges.j, edges.i)))
        dg_dl2 = self.differences.contracted(row_stochastic_pull(graph, *dg_dT) / self.scales)
        return Point(ell, float(np.einsum("im,im->", R, R)), 2 * ell * dg_dl2)


def local_scales(X: Array, neighbours: Array) -> Array:
    """s: the distance of each point to its 7th neighbour, or to its last. Among duplicates, where that is 0, the
    smallest that is not."""
    (n, k), at = neighbours.shape, min(SCALE_NEIGHBOUR, neighbours.shape[1]) - 1
    d2 = differences(X, X, np.repeat(np.arange(n), k), neighbours.ravel()).distances(np.ones(X.shape[1]))
    s = np.sqrt(np.partition(d2.reshape(n, k), at, axis=1)[:, at])
    return np.where(s > 0, s, s[s > 0].min() if s.any() else 1.0)
