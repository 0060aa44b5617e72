"""Learning with local and global consistency: (I − μP) F = (1−μ) Y.

| symbol | meaning                                    | here               |
|--------|--------------------------------------------|--------------------|
| μ      | how much a point listens to its neighbours | `alpha`            |
| M      | I − μP, symmetric, eigenvalues in [1−μ, 1+μ] | `System`         |

Two ways, one answer: a small M is factored once (Cholesky) and then serves any number of right-hand sides; conjugate
gradients solve with a large one. The labels and the adjoint of the gradient share a system: it is symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from pglearn.compiled import is_large
from pglearn.errors import InputError
from pglearn.graph import Graph
from pglearn.problem import Array
from pglearn.propagation.conjugate import (
    BATCH,
    compiled_conjugate_gradients,
    conjugate_gradients,
    dense,
    norms,
)

DENSE_LIMIT = 4000  # points up to which a dense factor is considered: 128 MB in float64
FINEST = 1e-14  # tolerance that rounding allows
DENSE_WORTH = 250_000  # factoring pays when n² is below this times the number of right-hand sides


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


def is_blurred(sums: Any, least: float) -> bool:
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
        Largest relative residual of a solve.
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

    def system(self, graph: Graph) -> System:
        return System(graph, self)


@dataclass(eq=False)
class System:
    """I − μP of one graph; the dense factor, once made, is kept for the next right-hand sides."""

    graph: Graph
    lgc: LGC
    is_direct: bool = False
    """Whether it is factored for however few right-hand sides."""
    _factor: tuple[Array, bool] | None = field(default=None, repr=False)

    def solve(self, B: Array | sparse.csc_matrix) -> Solution:
        """F with M F = B, from a dense B or a sparse one; F is kept in float32 where that is enough and F is large."""
        alpha, tolerance = self.lgc.alpha, self.lgc.tolerance
        if self._is_factored_for(B.shape[1]):
            B = dense(B)
            F = linalg.cho_solve(self.factor, B, check_finite=False)
            residual, _ = self._residual(B, F)
            return Solution(F, 0, residual, residual <= tolerance)
        if is_large(self.graph.edges.n):
            F, iterations, residual, worst = compiled_conjugate_gradients(*self.graph.in_order, alpha, tolerance, B)
        else:
            B = dense(B)
            F, iterations = conjugate_gradients(self.graph.P, alpha, tolerance, B)
            residual, worst = self._residual(B, F)
        # ‖F − F*‖ ≤ ‖B − MF‖ / (1−μ), the smallest eigenvalue of M.
        return Solution(F, iterations, residual, residual <= tolerance, worst / (1 - alpha))

    def finer(self) -> System | None:
        """A system that resolves smaller rows, where there is one."""
        if self.is_direct:
            return None
        if self.graph.edges.n <= DENSE_LIMIT:
            return System(self.graph, self.lgc, is_direct=True)
        if self.lgc.tolerance > FINEST:
            return System(self.graph, replace(self.lgc, tolerance=FINEST))
        return None

    def _residual(self, B: Array, F: Array) -> tuple[float, float]:
        """max over columns of ‖B − MF‖ / ‖B‖ and of ‖B − MF‖; for a column of zeros they are the same."""
        relative, absolute = np.zeros(1), np.zeros(1)
        for start in range(0, B.shape[1], BATCH):
            b, f = B[:, start : start + BATCH], F[:, start : start + BATCH]
            scale = norms(b)
            error = norms(b - f + self.lgc.alpha * (self.graph.P @ f))
            relative = np.append(relative, error / np.where(scale > 0, scale, 1))
            absolute = np.append(absolute, error)
        return float(relative.max()), float(absolute.max())  # NaN if any is

    @property
    def factor(self) -> tuple[Array, bool]:
        """Cholesky factor of the dense M."""
        if self._factor is None:
            M = self.graph.P.toarray(order="F")
            M *= -self.lgc.alpha
            M.flat[:: len(M) + 1] += 1
            self._factor = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        return self._factor

    def _is_factored_for(self, columns: int) -> bool:
        if self.is_direct or self._factor is not None:
            return True
        n = self.graph.edges.n
        return n <= DENSE_LIMIT and n * n <= DENSE_WORTH * columns
