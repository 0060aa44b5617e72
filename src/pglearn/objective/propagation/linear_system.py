"""I − μP of a graph, solved for many right-hand sides.

| symbol | meaning                                      | here           |
|--------|----------------------------------------------|----------------|
| μ      | how much a point listens to its neighbours   | `alpha`        |
| M      | I − μP, symmetric, eigenvalues in [1−μ, 1+μ] | `LinearSystem` |

Conjugate gradients solve it. They find an entry of F as well as the largest ones are found; rows that labels hardly
reach are found by a dense factor, where the points are few enough for one, because it keeps the digits of small
numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg, sparse

from pglearn.arrays import Array
from pglearn.objective.graph import Graph
from pglearn.objective.propagation.base import RightSides, Solution
from pglearn.objective.propagation.conjugate import conjugate_gradients, norms

DENSE_LIMIT = 4000  # points up to which a dense factor is made: 128 MB in float64
FINER, FINEST = 1e-4, 1e-14  # tolerances, where a row asks for more: the last is all that rounding allows
SINGLE_FROM = 1e-5  # tolerance that float32 reaches


def precision_of(tolerance: float) -> str:
    """In which a solve to that tolerance is done."""
    return "float32" if tolerance >= SINGLE_FROM else "float64"


@dataclass(eq=False)
class LinearSystem:
    """I − μP of one graph."""

    graph: Graph
    alpha: float
    tolerance: float = 1e-12
    """Largest relative residual of a solve, which is in float32 where that reaches it."""
    precision: float = 1e-6
    """Relative accuracy wanted of rows that will be normalised. An iterative solve is accurate relative to the largest
    rows; `finer` is asked for where others need more."""
    memory: dict[str, Array] | None = None
    is_direct: bool = False
    """Whether it is solved by a dense factor, which is kept for the next right-hand sides."""

    @property
    def source(self) -> float:
        """The labels enter as M F = source·Y."""
        return 1 - self.alpha

    @property
    def dtype(self) -> str:
        return precision_of(self.tolerance)

    def solve(self, B: RightSides, role: str = "") -> Solution:
        """F with M F = B, from a dense B or a sparse one; begun from the last solution of that role, if one is kept."""
        if self.is_direct:
            B = B.toarray() if sparse.issparse(B) else B
            F = linalg.cho_solve(self.factor, B, check_finite=False)
            size = norms(B)
            left = norms(B - F + self.alpha * (self.graph.P @ F))
            residual = float((left / np.where(size > 0, size, 1)).max())
            return Solution(F, 0, residual, residual <= self.tolerance)
        memory = {} if self.memory is None else self.memory
        start = memory.get(role)
        if start is not None and start.shape != B.shape:
            start = None
        alpha, tolerance = self.alpha, self.tolerance
        F, R, size, iterations = conjugate_gradients(self.P, alpha, tolerance, B, start, self.modes)
        if role:
            memory[role] = F
        left = norms(R)
        residual = float((left / size).max(initial=0))
        if self.dtype == "float32":
            return Solution(F, iterations, residual, residual <= tolerance, R=R)
        # ‖F − F*‖ ≤ ‖B − MF‖ / (1−μ), the smallest eigenvalue of M.
        return Solution(F, iterations, residual, residual <= tolerance, float(left.max(initial=0)) / (1 - alpha))

    def finer(self) -> LinearSystem | None:
        """A system that resolves smaller rows, where there is one."""
        if self.is_direct:
            return None
        if self.tolerance > FINER:
            return replace(self, tolerance=FINER)
        if self.graph.edges.n <= DENSE_LIMIT:
            return replace(self, memory=None, is_direct=True)
        if self.tolerance > FINEST:
            return replace(self, tolerance=FINEST, memory=None)
        return None

    @cached_property
    def P(self) -> sparse.csr_matrix:
        """In the precision of the solves."""
        return self.graph.edges.matrix(self.graph.p.astype(self.dtype, copy=False))

    @property
    def modes(self) -> sparse.csr_matrix:
        return self.graph.modes.astype(self.dtype)

    @cached_property
    def factor(self) -> tuple[Array, bool]:
        """Cholesky factor of the dense M."""
        M = self.graph.P.toarray(order="F")
        M *= -self.alpha
        M.flat[:: len(M) + 1] += 1
        factor: tuple[Array, bool] = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        return factor
