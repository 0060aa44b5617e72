"""Conjugate gradients on M = I − μP for many right-hand sides, a batch of columns at a time.

| symbol | meaning                                   | shape |
|--------|-------------------------------------------|-------|
| B, F   | right-hand sides and solutions            | n × q |
| R      | what is left of B                         | n × q |
| ρ      | ‖R‖² per column                           | q     |

Every column takes steps of its own; a product with P serves the whole batch. Wide batches pay: an edge fetches one
stretch of memory for all of them, and what is fetched from far away is then used in full (docs/scaling.md).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from pglearn.problem import Array
from pglearn.threads import each, in_parts, summed, threads

BATCH = 64  # right-hand sides that move together
MOST_NUMBERS = 1 << 24  # in a batch: beyond 250,000 points batches are narrower, for memory
MANY_ROWS = 1 << 17  # points from which threads share the rows of a batch, instead of taking a batch each
ROWS_WORTH_SHARING = 20_000  # points from which they do so if there are too few columns for a batch each
COARSE = 1e-9  # tolerance from which on solutions for many points are kept in float32, and solved for in it
BEYOND_FLOAT32 = 1e25  # right-hand sides whose solutions may be
FLOAT32_GOAL = 3e-5  # residual that float32 surely reaches, as a share of the first
MOST_REFINEMENTS = 6


def conjugate_gradients(P: sparse.csr_matrix, mu: float, tolerance: float, B: Array) -> tuple[Array, int]:
    """F, and the most products with P that a batch took. The work space is a few batches wide."""
    F = np.empty_like(B)
    products = 0
    for start in range(0, B.shape[1], BATCH):
        batch = slice(start, start + BATCH)
        b = np.ascontiguousarray(B[:, batch], dtype=np.float64)
        F[:, batch], iterations = _iterated(NumPyPasses(P, mu, b), goal_of(tolerance, b))
        products = max(products, iterations)
    return F, products


def compiled_conjugate_gradients(
    rows: Array, P: sparse.csr_matrix, mu: float, tolerance: float, B: Array | sparse.csc_matrix
) -> tuple[Array, int, float, float]:
    """The same for many points: F, products with P, and the largest residual of a column, relative and absolute.

    P is that of the points in the order of `rows`. All threads there are share the batches, or the rows of each.
    Residuals are those before F is rounded: what rounding takes from a small row is small as well.
    """
    n, columns = B.shape
    shares_rows = n >= MANY_ROWS or (n >= ROWS_WORTH_SHARING and columns < BATCH // 4 * threads())
    at_once = columns if shares_rows else max(BATCH // 4, -(-columns // threads()))
    width = min(BATCH, max(BATCH // 4, MOST_NUMBERS // n), at_once)
    is_coarse = tolerance >= COARSE and 1 / BEYOND_FLOAT32 < abs(B).max() < BEYOND_FLOAT32
    coarse = P.astype(np.float32) if is_coarse else P
    F = np.empty(B.shape, dtype=np.float32 if is_coarse else np.float64)

    def solve(number: int) -> tuple[int, float, float]:
        batch = slice(number * width, (number + 1) * width)
        b = np.ascontiguousarray(dense(B[:, batch])[rows], dtype=np.float64)
        goal, scale = goal_of(tolerance, b), norms(b)
        F[rows, batch], error, iterations = _refined(P, coarse, mu, b, goal) if is_coarse else _at_once(P, mu, b, goal)
        return iterations, float((error / np.where(scale > 0, scale, 1)).max()), float(error.max())

    batches = -(-columns // width)
    solved = [solve(number) for number in range(batches)] if shares_rows else each(solve, batches)
    iterations, relative, absolute = zip(*solved, strict=True)
    return F, max(iterations), float(np.max(relative)), float(np.max(absolute))  # NaN if any is


def _at_once(P: sparse.csr_matrix, mu: float, B: Array, goal: Array) -> tuple[Array, Array, int]:
    """F, what is left of B per column, and the products with P."""
    F, iterations = _iterated(CompiledPasses(P, mu, B), goal)
    return F, norms(_left(P, mu, B, F)), iterations


def _refined(
    P: sparse.csr_matrix, coarse: sparse.csr_matrix, mu: float, B: Array, goal: Array
) -> tuple[Array, Array, int]:
    """The same by corrections in float32, half the memory to go through, to what is left in float64."""
    F, left, products = np.zeros_like(B), B, 0
    error = norms(B)
    for _ in range(MOST_REFINEMENTS):
        if not (active := error > goal).any():
            break
        scale = np.where(error > 0, error, 1)
        within = np.where(active, np.maximum(0.5 * goal / scale, FLOAT32_GOAL), np.inf)
        correction, iterations = _iterated(CompiledPasses(coarse, mu, (left / scale).astype(np.float32)), within)
        F += scale * correction
        left = _left(P, mu, B, F)
        error = norms(left)
        products += iterations
    return F, error, products


def _left(P: sparse.csr_matrix, mu: float, B: Array, F: Array) -> Array:
    """B − MF."""
    product, _ = _multiplied(P, mu, F, np.empty_like(F))
    return np.subtract(B, product, out=product)


class Passes(Protocol):
    """The work of an iteration on a batch of columns, in three passes over memory."""

    F: Array
    rho: Array
    """ρ: ‖R‖² per column."""

    def product(self) -> Array:
        """Multiply the direction by M; its curvature per column."""
        ...

    def reduce(self, step: Array) -> Array:
        """Take that many of the products from R; the new ρ."""
        ...

    def move(self, step: Array, turn: Array) -> None:
        """Go that far along the direction, and turn it: R + turn · direction."""
        ...


def _iterated(passes: Passes, goal: Array) -> tuple[Array, int]:
    """A batch of columns until all of them are within their goals: F, and how many products with P it took."""
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
        _, curvature = _multiplied(self._P, self._mu, self._direction, self._product)
        return curvature

    def reduce(self, step: Array) -> Array:
        given = self._R, self._product, step.astype(self._R.dtype, copy=False)
        return summed(lambda start, stop, rho: self._compiled.reduced(start, stop, *given, rho), *self._R.shape)

    def move(self, step: Array, turn: Array) -> None:
        step, turn = (factor.astype(self._R.dtype, copy=False) for factor in (step, turn))
        given = self.F, self._direction, self._R, step, turn
        in_parts(lambda start, stop: self._compiled.moved(start, stop, *given), len(self.F))


def _multiplied(P: sparse.csr_matrix, mu: float, U: Array, result: Array) -> tuple[Array, Array]:
    """(I − μP) U, written to `result`, and its inner product with U per column."""
    from pglearn.propagation import compiled

    given = P.indptr, P.indices, P.data, mu, U, result
    return result, summed(lambda start, stop, sums: compiled.product(start, stop, *given, sums), *U.shape)


def dense(B: Any) -> Array:
    return np.asarray(B.toarray() if sparse.issparse(B) else B)


def norms(B: Array) -> Array:
    """‖B‖ per column."""
    # Scaled before it is squared: the adjoint of a row that is barely reached may be too large for that.
    peak = np.abs(B).max(axis=0, initial=0)
    scaled = B / np.where(peak > 0, peak, 1)
    return np.asarray(peak * np.sqrt(np.einsum("nc,nc->c", scaled, scaled)))


def goal_of(tolerance: float, B: Array) -> Array:
    """‖R‖ per column that the iterations aim for."""
    # Rounding makes the recurrence drift from the true residual: aim a little below what was asked for.
    return np.asarray(0.5 * tolerance * norms(B))
