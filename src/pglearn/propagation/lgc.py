"""Learning with local and global consistency: (I − μP) F = (1−μ) Y.

| symbol | meaning                                    | here               |
|--------|--------------------------------------------|--------------------|
| μ      | how much a point listens to its neighbours | `alpha`            |
| M      | I − μP, symmetric, eigenvalues in [1−μ, 1+μ] | `LGCSystem`      |

Three solvers, one answer: `power` is the paper's (error × μ per product), `cg` needs some √(1/(1−μ)) times fewer
products, `cholesky` factors a dense M once and then serves any number of right-hand sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import linalg, sparse

from pglearn.compiled import is_large
from pglearn.errors import InputError
from pglearn.graph import Graph
from pglearn.parameters import choice
from pglearn.problem import Array
from pglearn.propagation.base import Solution
from pglearn.propagation.conjugate import (
    BATCH,
    compiled_conjugate_gradients,
    conjugate_gradients,
    dense,
    goal_of,
    norms,
)

DENSE_LIMIT = 4000  # points up to which a dense factor is considered: 128 MB in float64
FINEST = 1e-14  # tolerance that rounding allows
DENSE_WORTH = 250_000  # factoring pays when n² is below this times the number of right-hand sides


@dataclass(frozen=True)
class LGC:
    """Label spreading with the symmetrically normalised graph (Zhou et al. 2004).

    Parameters
    ----------
    alpha : float in (0, 1)
        μ, the weight of the neighbours against the given label.
    solver : {"auto", "power", "cg", "cholesky"}
        `auto` factors small systems and takes conjugate gradients for the others.
    tolerance : float
        Largest relative residual of a solve.
    precision : float
        Relative accuracy wanted of rows that will be normalised. An iterative solve is accurate relative to the largest
        rows; `finer` is asked for where others need more.
    """

    alpha: float = 0.99
    solver: str = "auto"
    tolerance: float = 1e-12
    precision: float = 1e-6

    def __post_init__(self) -> None:
        if not (isinstance(self.alpha, (int, float, np.number)) and 0 < self.alpha < 1):
            raise InputError(f"alpha={self.alpha!r} is not between 0 and 1: the paper uses 0.99.")
        choice(self.solver, {"auto": None, **SOLVERS}, "solver")

    @property
    def source(self) -> float:
        return 1 - self.alpha

    @property
    def coupling(self) -> float:
        return self.alpha

    def system(self, graph: Graph) -> LGCSystem:
        return LGCSystem(graph, self)


@dataclass(eq=False)
class LGCSystem:
    """I − μP of one graph; the dense factor, once made, is kept for the next right-hand sides."""

    graph: Graph
    lgc: LGC
    _factor: tuple[Array, bool] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.graph.edges.n

    @property
    def precision(self) -> float:
        return self.lgc.precision

    def solve(self, B: Array | sparse.csc_matrix) -> Solution:
        """F, from a dense B or a sparse one; kept in float32 where so much is not asked for and F is large."""
        solver = self._best_solver(B) if self.lgc.solver == "auto" else self.lgc.solver
        if solver == "cg" and is_large(len(self)):
            rows, P = self.graph.in_order
            F, iterations, residual, worst = compiled_conjugate_gradients(
                rows, P, self.lgc.alpha, self.lgc.tolerance, B
            )
        else:
            B = dense(B)
            F, iterations = SOLVERS[solver](self, B)
            residual, worst = self._residual(B, F)
        # ‖F − F*‖ ≤ ‖B − MF‖ / (1−μ), the smallest eigenvalue of M.
        error = 0.0 if solver == "cholesky" else worst / (1 - self.lgc.alpha)
        return Solution(F, iterations, residual, residual <= self.lgc.tolerance, error)

    def finer(self) -> LGCSystem | None:
        if self.lgc.solver == "auto" and self.graph.edges.n <= DENSE_LIMIT:
            return LGCSystem(self.graph, replace(self.lgc, solver="cholesky"))
        if self.lgc.solver in ("auto", "cg") and self.lgc.tolerance > FINEST:
            return LGCSystem(self.graph, replace(self.lgc, solver="cg", tolerance=FINEST))
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

    def _best_solver(self, B: Array) -> str:
        n, columns = B.shape
        if self._factor is not None or (n <= DENSE_LIMIT and n * n <= DENSE_WORTH * columns):
            return "cholesky"
        return "cg"


def cholesky(system: LGCSystem, B: Array) -> tuple[Array, int]:
    return linalg.cho_solve(system.factor, B, check_finite=False), 0


def power(system: LGCSystem, B: Array) -> tuple[Array, int]:
    """F ← μPF + B. What a step changes is the residual before it."""
    P, mu, goal = system.graph.P, system.lgc.alpha, goal_of(system.lgc.tolerance, B)
    # In exact arithmetic the error is below the tolerance after this many steps; twice that is for rounding.
    most = 2 * math.ceil(math.log(system.lgc.tolerance) / math.log(mu))
    F, iterations = B.copy(), 0
    while iterations < most:
        change = mu * (P @ F)
        change += B
        change -= F
        F += change
        iterations += 1
        if (norms(change) <= goal).all():
            break
    return F, iterations


def iterated(system: LGCSystem, B: Array) -> tuple[Array, int]:
    return conjugate_gradients(system.graph.P, system.lgc.alpha, system.lgc.tolerance, B)


SOLVERS: dict[str, Callable[[LGCSystem, Array], tuple[Array, int]]] = {
    "power": power,
    "cg": iterated,
    "cholesky": cholesky,
}
