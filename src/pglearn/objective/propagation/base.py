"""The contract of a propagation: how labels spread over a graph, and what hidden labels then score.

| symbol | meaning                                                  | here                |
|--------|----------------------------------------------------------|---------------------|
| F      | what the labels spread to every point, n × c             | `Solution.F`        |
| S      | scores of the points that are judged, s × c              | `Scores.S`          |
| B      | half of ∂g/∂log W on every edge of the graph             | `Scores.edge_pull`  |

A propagation is asked for the system of a graph, labels and folds: to hide a label may change the right-hand side alone
(LGC), or the matrix as well (harmonic functions). From B the gradient ∂g/∂a is one contraction with the differences
over the edges, whatever the propagation (`pglearn.objective.graph.differences`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np

from pglearn.arrays import Array
from pglearn.objective.graph import Graph
from pglearn.objective.problem import Problem

RightSides: TypeAlias = Any  # an array, or a sparse one


@dataclass(frozen=True, eq=False)
class Scores:
    """S, and the map from ∂g/∂S back to the edges."""

    S: Array
    """s × c, not negative. Rows of any scale: they are normalised. A row of zeros is one that no label reaches."""
    least: Array | float
    """A row of S whose sum is not above this is lost in the error of the solve."""
    edge_pull: Callable[[Array], Array]
    """From ∂g/∂S, which may be divided by a power of two, to B (`pglearn.objective.adjoint`). Edges are held fixed."""


class System(Protocol):
    """A propagation on one graph, with the labels and folds of one problem."""

    def validation_scores(self) -> Scores:
        """Of the scored points, each by the labels of the other folds."""
        ...

    def unlabelled_scores(self) -> Scores:
        """Of the rows that carry none of the labels shown (`Problem.shown`), by these labels."""
        ...

    def labels(self, beliefs: Array | None = None) -> Solution:
        """F with every label shown; rows without one that have `beliefs` (n × c) count as labelled by them."""
        ...


class Propagation(Protocol):
    """A way to spread labels, with how closely it is solved for."""

    name: ClassVar[str]

    @property
    def dtype(self) -> str:
        """The precision of its solves: "float32" or "float64"."""
        ...

    def system(self, graph: Graph, problem: Problem, memory: dict[str, Array] | None = None) -> System:
        """In `memory` it may leave solutions, by what they are of, for the system of the next graph to begin from."""
        ...

    def reach(self, graph: Graph, sources: RightSides, labelled: Array) -> Array:
        """How far a label at each source (a column of n × q) would reach, beside the rows that are labelled, but for a
        factor that all sources share."""
        ...

    def for_search(self, dtype: str) -> Self:
        """The same, or itself, solved for as closely as the steps of a search in that precision need."""
        ...

    def for_large_table(self) -> Self:
        """The same, solved for as closely as time allows for the labels of very many rows."""
        ...


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solve gave: F, and how far to trust it."""

    F: Array
    iterations: int
    """Products with the graph; 0 for a direct solve."""
    residual: float
    """Largest ‖B − M F‖ / ‖B‖ over the columns."""
    converged: bool
    """Whether the residual is within the tolerance asked for."""
    error: float = 0.0
    """How far an entry of F may be off, by the residual. 0 for a direct solve: entries are right to their own size."""
    R: Array | None = None
    """B − M F of a coarse solve."""

    def doubt(self, rows: Any = slice(None), columns: Any = slice(None)) -> Array:
        """How far the sums of rows may be off; of a coarse solve, what is left of each row, which is a hint."""
        if self.R is not None:
            return np.asarray(np.abs(self.R[rows, columns]).sum(axis=1, dtype=np.float64))
        # The errors of the terms are of either sign: their sum grows like the root of their number.
        some = self.F[rows, columns]
        return np.full(len(some), np.sqrt(some.shape[1]) * self.error)

    def transposed(self) -> Solution:
        return replace(self, F=self.F.T, R=None if self.R is None else self.R.T)


def is_blurred(sums: Any, least: Any) -> bool:
    """Whether a solve left rows that are reached, but by too little to be told from its error."""
    return bool(((sums != 0) & (sums <= least)).any())
