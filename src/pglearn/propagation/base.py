"""The contract of a propagation: graph → system, system + right-hand sides → solution.

A system belongs to one graph and keeps what depends on the graph alone (a factor, say), so that the solve for the
labels and the adjoint solve of the gradient share it. The system is symmetric: the adjoint uses it as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from scipy import sparse

from pglearn.graph import Graph
from pglearn.problem import Array


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solve gave: F, and how far to trust it."""

    F: Array
    iterations: int
    """Products with the graph; 0 for a direct solve."""
    residual: float
    """Largest ‖B − M F‖ / ‖B‖ over the columns, computed anew at the end; of an F that is kept in float32, before it is
    rounded to that."""
    converged: bool
    """Whether the residual is within the tolerance asked for."""
    error: float = 0.0
    """How far an entry of F may be off, by the residual. 0 for a direct solve: entries are right to their own size."""


class System(Protocol):
    """M of one graph, ready to be solved for any right-hand sides."""

    @property
    def precision(self) -> float:
        """Relative accuracy that is wanted of rows which will be normalised, where small ones count like large ones."""
        ...

    def solve(self, B: Array | sparse.csc_matrix) -> Solution:
        """F with M F = B, column by column; of a B that is mostly zeros only the others need be given."""
        ...

    def finer(self) -> System | None:
        """A system that resolves smaller rows, where there is one."""
        ...


def is_blurred(sums: Array, least: float) -> bool:
    """Whether a solve left rows that are reached, but by too little to be told from its error."""
    return bool(((sums != 0) & (sums <= least)).any())


class Propagation(Protocol):
    """A way to spread labels: M(graph), its source term and its derivative with respect to P."""

    @property
    def source(self) -> float:
        """The labels enter as M F = source·Y."""
        ...

    @property
    def coupling(self) -> float:
        """−dM/dP: the factor μ in front of P."""
        ...

    def system(self, graph: Graph) -> System: ...
