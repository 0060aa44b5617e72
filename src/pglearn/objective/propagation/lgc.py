"""Learning with local and global consistency: (I − μP) F = (1−μ) Y.

| symbol | meaning                                    | here               |
|--------|--------------------------------------------|--------------------|
| μ      | how much a point listens to its neighbours | `alpha`            |
| M      | I − μP, symmetric, eigenvalues in [1−μ, 1+μ] | `System`         |

Conjugate gradients solve it. The labels and the adjoint of the gradient share a system: it is symmetric. They find an
entry of F as well as the largest ones are found; rows that labels hardly reach are found by a dense factor, where the
points are few enough for one, because it keeps the digits of small numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from pglearn.arrays import Array
from pglearn.errors import InputError
from pglearn.objective.graph import Graph
from pglearn.objective.propagation.conjugate import RightSides, conjugate_gradients, norms

DENSE_LIMIT = 4000  # points up to which a dense factor is made: 128 MB in float64
FINER, FINEST = 1e-4, 1e-14  # tolerances, where a row asks for more: the last is all that rounding allows
SINGLE_FROM = 1e-5  # tolerance that float32 reaches


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


@dataclass(frozen=True)
class LGC:
    """Label spreading with the symmetrically normalised graph (Zhou et al. 2004).

    Parameters
    ----------
    alpha : float in (0, 1)
        μ, the weight of the neighbours against the given label.
    tolerance : float
        Largest relative residual of a solve, which is in float32 where that reaches it.
    precision : float
        Relative accuracy wanted of rows that will be normalised. An iterative solve is accurate relative to the largest
        rows; `finer` is asked for where others need more.
    """

    alpha: float = 0.99
    tolerance: float = 1e-12
    precision: float = 1e-6

    def __post_init__(self) -> None:
        if not (isinstance(self.alpha, (int, float, np.number)) and 0 < self.alpha < 1):
            raise InputError(f"alpha={self.alpha!r} is not between 0 and 1: the paper uses 0.99.")

    @property
    def source(self) -> float:
        """The labels enter as M F = source·Y."""
        return 1 - self.alpha

    @property
    def dtype(self) -> str:
        return "float32" if self.tolerance >= SINGLE_FROM else "float64"

    def system(self, graph: Graph, memory: dict[str, Array] | None = None) -> System:
        """`memory` has the solutions of an earlier graph, by what they are of: to begin from, and to be replaced."""
        return System(graph, self, memory)


@dataclass(eq=False)
class System:
    """I − μP of one graph."""

    graph: Graph
    lgc: LGC
    memory: dict[str, Array] | None = None
    is_direct: bool = False
    """Whether it is solved by a dense factor, which is kept for the next right-hand sides."""
    _factor: tuple[Array, bool] | None = field(default=None, repr=False)
    _P: sparse.csr_matrix | None = field(default=None, repr=False)

    def solve(self, B: RightSides, role: str = "") -> Solution:
        """F with M F = B, from a dense B or a sparse one; begun from the last solution of that role, if one is kept."""
        if self.is_direct:
            B = B.toarray() if sparse.issparse(B) else B
            F = linalg.cho_solve(self.factor, B, check_finite=False)
            size = norms(B)
            left = norms(B - F + self.lgc.alpha * (self.graph.P @ F))
            residual = float((left / np.where(size > 0, size, 1)).max())
            return Solution(F, 0, residual, residual <= self.lgc.tolerance)
        memory = {} if self.memory is None else self.memory
        start = memory.get(role)
        if start is not None and start.shape != B.shape:
            start = None
        alpha, tolerance = self.lgc.alpha, self.lgc.tolerance
        F, R, size, iterations = conjugate_gradients(self.P, alpha, tolerance, B, start, self.modes)
        if role:
            memory[role] = F
        left = norms(R)
        residual = float((left / size).max(initial=0))
        if self.lgc.dtype == "float32":
            return Solution(F, iterations, residual, residual <= tolerance, R=R)
        # ‖F − F*‖ ≤ ‖B − MF‖ / (1−μ), the smallest eigenvalue of M.
        return Solution(F, iterations, residual, residual <= tolerance, float(left.max(initial=0)) / (1 - alpha))

    def finer(self) -> System | None:
        """A system that resolves smaller rows, where there is one."""
        if self.is_direct:
            return None
        if self.lgc.tolerance > FINER:
            return System(self.graph, replace(self.lgc, tolerance=FINER), self.memory)
        if self.graph.edges.n <= DENSE_LIMIT:
            return System(self.graph, self.lgc, is_direct=True)
        if self.lgc.tolerance > FINEST:
            return System(self.graph, replace(self.lgc, tolerance=FINEST))
        return None

    @property
    def P(self) -> sparse.csr_matrix:
        """In the precision of the solves."""
        if self._P is None:
            self._P = self.graph.edges.matrix(self.graph.p.astype(self.lgc.dtype, copy=False))
        return self._P

    @property
    def modes(self) -> sparse.csr_matrix:
        return self.graph.modes.astype(self.lgc.dtype)

    @property
    def factor(self) -> tuple[Array, bool]:
        """Cholesky factor of the dense M."""
        if self._factor is None:
            M = self.graph.P.toarray(order="F")
            M *= -self.lgc.alpha
            M.flat[:: len(M) + 1] += 1
            self._factor = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        return self._factor
