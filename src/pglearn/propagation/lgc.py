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
from typing import Any, Protocol

import numpy as np
from scipy import linalg, sparse

from pglearn.compiled import is_large
from pglearn.errors import InputError
from pglearn.graph import Graph
from pglearn.parameters import choice
from pglearn.problem import Array
from pglearn.propagation.base import Solution
from pglearn.threads import each

DENSE_LIMIT = 4000  # points up to which a dense factor is considered: 128 MB in float64
FINEST = 1e-14  # tolerance that rounding allows
BATCH = 64  # right-hand sides that conjugate gradients move together
COMPILED_BATCH = 16  # right-hand sides that fit the cache with their neighbours
WIDE_UP_TO = 300_000  # points; beyond, half a batch, for memory
COARSE = 1e-9  # tolerance from which on solutions for many points are kept in float32, and solved for in it
BEYOND_FLOAT32 = 1e25  # right-hand sides whose solutions may be
FLOAT32_GOAL = 3e-5  # residual that float32 surely reaches, as a share of the first
MOST_REFINEMENTS = 6
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
            F, iterations, residual, worst = compiled_conjugate_gradients(self, B)
        else:
            B = _dense(B)
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
            scale = _norms(b)
            error = _norms(b - f + self.lgc.alpha * (self.graph.P @ f))
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
    P, mu, goal = system.graph.P, system.lgc.alpha, _goal(system, B)
    # In exact arithmetic the error is below the tolerance after this many steps; twice that is for rounding.
    most = 2 * math.ceil(math.log(system.lgc.tolerance) / math.log(mu))
    F, iterations = B.copy(), 0
    while iterations < most:
        change = mu * (P @ F)
        change += B
        change -= F
        F += change
        iterations += 1
        if (_norms(change) <= goal).all():
            break
    return F, iterations


def conjugate_gradients(system: LGCSystem, B: Array) -> tuple[Array, int]:
    """Columns in batches: the work space is a few batches wide, however many labels there are."""
    F = np.empty_like(B)
    products = 0
    for start in range(0, B.shape[1], BATCH):
        batch = slice(start, start + BATCH)
        b = np.ascontiguousarray(B[:, batch], dtype=np.float64)
        passes = NumPyPasses(system.graph.P, system.lgc.alpha, b)
        F[:, batch], iterations = _conjugate_gradients(passes, _goal(system, b))
        products = max(products, iterations)
    return F, products


def compiled_conjugate_gradients(system: LGCSystem, B: Array) -> tuple[Array, int, float, float]:
    """The same for many points: F, products with P, and the largest residual of a column, relative and absolute.

    Batches run on all threads there are. Residuals are those before F is rounded: what rounding takes from a small
    row is small as well.
    """
    (rows, P), mu = system.graph.in_order, system.lgc.alpha
    n, columns = B.shape
    width = min(COMPILED_BATCH if n <= WIDE_UP_TO else COMPILED_BATCH // 2, -(-columns // 2))  # at least two batches
    is_coarse = system.lgc.tolerance >= COARSE and 1 / BEYOND_FLOAT32 < abs(B).max() < BEYOND_FLOAT32
    coarse = P.astype(np.float32) if is_coarse else P
    F = np.empty(B.shape, dtype=np.float32 if is_coarse else np.float64)

    def solve(number: int) -> tuple[int, float, float]:
        batch = slice(number * width, (number + 1) * width)
        part = B[:, batch]
        b = np.ascontiguousarray(_dense(part)[rows], dtype=np.float64)
        goal, scale = _goal(system, b), _norms(b)
        F[rows, batch], error, iterations = _refined(P, coarse, mu, b, goal) if is_coarse else _at_once(P, mu, b, goal)
        return iterations, float((error / np.where(scale > 0, scale, 1)).max()), float(error.max())

    iterations, relative, absolute = zip(*each(solve, -(-columns // width)), strict=True)
    return F, max(iterations), float(np.max(relative)), float(np.max(absolute))  # NaN if any is


def _at_once(P: sparse.csr_matrix, mu: float, B: Array, goal: Array) -> tuple[Array, Array, int]:
    """F, what is left of B per column, and the products with P."""
    passes = CompiledPasses(P, mu, B)
    F, iterations = _conjugate_gradients(passes, goal)
    return F, _norms(_left(P, mu, B, F)), iterations


def _refined(
    P: sparse.csr_matrix, coarse: sparse.csr_matrix, mu: float, B: Array, goal: Array
) -> tuple[Array, Array, int]:
    """The same by corrections in float32, half the memory to go through, to what is left in float64."""
    F, left, products = np.zeros_like(B), B, 0
    error = _norms(B)
    for _ in range(MOST_REFINEMENTS):
        if not (active := error > goal).any():
            break
        scale = np.where(error > 0, error, 1)
        within = np.where(active, np.maximum(0.5 * goal / scale, FLOAT32_GOAL), np.inf)
        correction, iterations = _conjugate_gradients(
            CompiledPasses(coarse, mu, (left / scale).astype(np.float32)), within
        )
        F += scale * correction
        left = _left(P, mu, B, F)
        error = _norms(left)
        products += iterations
    return F, error, products


def _left(P: sparse.csr_matrix, mu: float, B: Array, F: Array) -> Array:
    """B − MF."""
    from pglearn.propagation import compiled

    product = np.empty_like(B)
    compiled.product(P.indptr, P.indices, P.data, mu, F, product, np.empty(B.shape[1]))
    return np.subtract(B, product, out=product)


class Passes(Protocol):
    """The work of an iteration on a batch of columns, in three passes over memory."""

    F: Array
    rho: Array
    """‖R‖² per column, R being the residual."""

    def product(self) -> Array:
        """Multiply the direction by M; its curvature per column."""
        ...

    def reduce(self, step: Array) -> Array:
        """Take that many of the products from the residual; the new ρ per column."""
        ...

    def move(self, step: Array, turn: Array) -> None:
        """Go that far along the direction, and turn it: R + turn · direction."""
        ...


def _conjugate_gradients(passes: Passes, goal: Array) -> tuple[Array, int]:
    """A batch of columns: one product with P per iteration, step lengths of their own."""
    rho = passes.rho
    iterations, most = 0, 10 * len(passes.F)
    while (active := np.sqrt(rho) > goal).any() and iterations < most:
        curvature = passes.product()
        # A finished column has nothing left to move along: zero steps keep it as it is.
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=active & (curvature > 0))
        previous, rho = rho, passes.reduce(step)
        passes.move(step, np.divide(rho, previous, out=np.zeros_like(rho), where=active & (previous > 0)))
        iterations += 1
    return passes.F, iterations


class NumPyPasses:
    """For small problems."""

    def __init__(self, P: sparse.csr_matrix, mu: float, B: Array) -> None:
        self._P, self._mu = P, mu
        self.F, self._R = np.zeros_like(B), B.copy()
        self._direction = self._product = B.copy()
        self.rho: Array = np.einsum("nc,nc->c", B, B)

    def product(self) -> Array:
        self._product = self._direction - self._mu * (self._P @ self._direction)
        return np.asarray(np.einsum("nc,nc->c", self._direction, self._product))

    def reduce(self, step: Array) -> Array:
        self._product *= step
        self._R -= self._product
        return np.asarray(np.einsum("nc,nc->c", self._R, self._R))

    def move(self, step: Array, turn: Array) -> None:
        self.F += step * self._direction
        self._direction *= turn
        self._direction += self._R


class CompiledPasses:
    """For large ones: every pass reads each number once."""

    def __init__(self, P: sparse.csr_matrix, mu: float, B: Array) -> None:
        from pglearn.propagation import compiled

        self._compiled = compiled
        self._P, self._mu = P, B.dtype.type(mu)
        self.F, self._R = np.zeros_like(B), B.copy()
        self._direction, self._product = B.copy(), np.empty_like(B)
        self.rho: Array = np.einsum("nc,nc->c", B, B, dtype=np.float64)

    def product(self) -> Array:
        curvature, P = np.empty_like(self.rho), self._P
        self._compiled.product(P.indptr, P.indices, P.data, self._mu, self._direction, self._product, curvature)
        return curvature

    def reduce(self, step: Array) -> Array:
        rho = np.empty_like(self.rho)
        self._compiled.reduced(self._R, self._product, step.astype(self._R.dtype, copy=False), rho)
        return rho

    def move(self, step: Array, turn: Array) -> None:
        step, turn = (factor.astype(self._R.dtype, copy=False) for factor in (step, turn))
        self._compiled.moved(self.F, self._direction, self._R, step, turn)


def _dense(B: Any) -> Array:
    return np.asarray(B.toarray() if sparse.issparse(B) else B)


def _goal(system: LGCSystem, B: Array) -> Array:
    # Rounding makes the recurrence drift from the true residual: aim a little below what was asked for.
    return np.asarray(0.5 * system.lgc.tolerance * _norms(B))


def _norms(B: Array) -> Array:
    # Scaled before it is squared: the adjoint of a row that is barely reached may be too large for that.
    peak = np.abs(B).max(axis=0, initial=0)
    scaled = B / np.where(peak > 0, peak, 1)
    return np.asarray(peak * np.sqrt(np.einsum("nc,nc->c", scaled, scaled)))


SOLVERS: dict[str, Callable[[LGCSystem, Array], tuple[Array, int]]] = {
    "power": power,
    "cg": conjugate_gradients,
    "cholesky": cholesky,
}
