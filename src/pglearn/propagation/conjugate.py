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

import math
from typing import Any

import numpy as np
from scipy import sparse

from pglearn.problem import Array
from pglearn.threads import each, in_parts, summed, threads

BATCH = 64  # right-hand sides that move together
MOST_NUMBERS = 1 << 25  # in a batch: beyond 500,000 points batches are narrower, for memory
PER_LINE = 16  # numbers in float32 that memory is fetched by at once
SHARED_FROM = 20_000  # points from which threads share the rows of a batch, instead of taking a batch each
COARSE = 1e-9  # tolerance from which on solutions for many points are kept in float32, and solved for in it
BEYOND_FLOAT32 = 1e25  # right-hand sides whose solutions may be
FLOAT32_GOAL = 3e-5  # residual that float32 surely reaches, as a share of the first
MOST_REFINEMENTS = 6
SAFETY = 5  # times as many products as exact arithmetic may take: rounding delays


def conjugate_gradients(P: sparse.csr_matrix, mu: float, tolerance: float, B: Array) -> tuple[Array, int]:
    """F, and the most products with P that a batch took. The work space is a few batches wide."""
    F = np.empty_like(B)
    products = 0
    for start in range(0, B.shape[1], BATCH):
        batch = slice(start, start + BATCH)
        b = np.ascontiguousarray(B[:, batch], dtype=np.float64)
        passes = NumPyPasses(P, mu, b)
        # Rounding makes the recurrence drift from the true residual: aim a little below what was asked for.
        goal = 0.5 * tolerance * norms(b)
        products = max(products, _iterated(passes, goal, _most_products(len(b), mu, tolerance)))
        F[:, batch] = passes.F
    return F, products


def compiled_conjugate_gradients(
    rows: Array, P: sparse.csr_matrix, mu: float, tolerance: float, B: Array | sparse.csc_matrix
) -> tuple[Array, int, float, float]:
    """The same for many points: F, products with P, and the largest residual of a column, relative and absolute.

    P is that of the points in the order of `rows`. All threads there are share the batches, or the rows of each.
    Residuals are those before F is rounded: what rounding takes from a small row is small as well.
    """
    n, columns = B.shape
    shares_rows = n >= SHARED_FROM
    at_once = columns if shares_rows else max(BATCH // 4, -(-columns // threads()))
    width = min(BATCH, max(PER_LINE, MOST_NUMBERS // n // PER_LINE * PER_LINE), at_once)
    is_coarse = tolerance >= COARSE and 1 / BEYOND_FLOAT32 < abs(B).max() < BEYOND_FLOAT32
    working = sparse.csr_matrix((P.data.astype(np.float32), P.indices, P.indptr), P.shape) if is_coarse else P
    F = np.empty(B.shape, dtype=working.dtype)

    def solve(number: int) -> tuple[int, float, float]:
        batch = slice(number * width, (number + 1) * width)
        b = sparse.csr_matrix(B[:, batch])[rows]
        scale = _norms_of_sparse(b)
        b.data /= scale[b.indices]  # what is left of it squares to nothing that float32 does not hold
        solution, error, iterations = _refined(P, working, mu, b, 0.5 * tolerance)
        solution *= scale
        F[rows, batch] = solution
        return iterations, float(error.max()), float((error * scale).max())

    batches = -(-columns // width)
    solved = [solve(number) for number in range(batches)] if shares_rows else each(solve, batches)
    iterations, relative, absolute = zip(*solved, strict=True)
    return F, max(iterations), float(np.max(relative)), float(np.max(absolute))  # NaN if any is


def _refined(
    P: sparse.csr_matrix, working: sparse.csr_matrix, mu: float, B: sparse.csr_matrix, goal: float
) -> tuple[Array, Array, int]:
    """F for columns of norm 1, ‖R‖ per column, and the products with P.

    In float32, half the memory to go through, R drifts from what is left of B: every few digits it is computed anew, in
    float64, and the iterations begin again from there.
    """
    rounds, digits = (MOST_REFINEMENTS, FLOAT32_GOAL) if working.dtype == np.float32 else (1, 0.0)
    F, products, most = np.zeros(B.shape), 0, _most_products(B.shape[0], mu, 2 * goal)
    passes = CompiledPasses(working, mu, B.shape)
    error = passes.renew(P, B, F)
    for _ in range(rounds):
        if not (error > goal).any():
            break
        products += _iterated(passes, np.maximum(goal, digits * error), most)
        F += passes.F
        error = passes.renew(P, B, F)
    return F, error, products


def _iterated(passes: NumPyPasses | CompiledPasses, goal: Array, most: int) -> int:
    """Move a batch of columns until all of them are within their goals, with so many products with P at most; how many
    it took."""
    rho, iterations = passes.rho, 0
    while (active := np.sqrt(rho) > goal).any() and iterations < most:
        curvature = passes.product()
        # A finished column has nothing left to move along: zero steps keep it as it is.
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=active & (curvature > 0))
        previous, rho = rho, passes.reduce(step)
        passes.move(step, np.divide(rho, previous, out=np.zeros_like(rho), where=active & (previous > 0)))
        iterations += 1
    return iterations


def _most_products(n: int, mu: float, tolerance: float) -> int:
    """Products after which a column of n numbers that is not within its tolerance never will be.

    The eigenvalues of M are within [1−μ, 1+μ]; with κ their ratio, ‖R‖ after p products is at most
    2√κ ((√κ−1)/(√κ+1))^p ≤ 2√κ exp(−2p/√κ) of what it was. After n products nothing of it would be left.
    """
    root = math.sqrt((1 + mu) / (1 - mu))
    return SAFETY * min(2 * n, math.ceil(root / 2 * math.log(4 * root / tolerance)))


class NumPyPasses:
    """The work of an iteration on a batch of columns, for small problems."""

    def __init__(self, P: sparse.csr_matrix, mu: float, B: Array) -> None:
        self._P, self._mu = P, mu
        self.F, self._R = np.zeros_like(B), B.copy()
        self._direction = self._product = B.copy()
        self.rho: Array = np.einsum("nc,nc->c", B, B)

    def product(self) -> Array:
        """Multiply the direction by M; its curvature per column."""
        self._product = self._direction - self._mu * (self._P @ self._direction)
        return np.asarray(np.einsum("nc,nc->c", self._direction, self._product))

    def reduce(self, step: Array) -> Array:
        """Take that many of the products from R; the new ρ."""
        self._product *= step
        self._R -= self._product
        return np.asarray(np.einsum("nc,nc->c", self._R, self._R))

    def move(self, step: Array, turn: Array) -> None:
        """Go that far along the direction, and turn it: R + turn · direction."""
        self.F += step * self._direction
        self._direction *= turn
        self._direction += self._R


class CompiledPasses:
    """The same for large ones: three passes over memory, each of which reads every number once."""

    def __init__(self, P: sparse.csr_matrix, mu: float, shape: tuple[int, int]) -> None:
        from pglearn.propagation import compiled

        self._compiled = compiled
        self._P, self._mu = P, mu
        self.F, self._R, self._direction, self._product = (np.zeros(shape, P.dtype) for _ in range(4))
        self.rho: Array = np.zeros(shape[1])

    def renew(self, P: sparse.csr_matrix, B: sparse.csr_matrix, F: Array) -> Array:
        """Begin at F: R is what it leaves of B under this P. ‖R‖ per column."""
        given = P.indptr, P.indices, P.data, self._mu, B.indptr, B.indices, B.data, F, self._R
        self.rho = summed(lambda start, stop, rho: self._compiled.left(start, stop, *given, rho), *F.shape)
        self._direction[:] = self._R
        self.F[:] = 0
        return np.asarray(np.sqrt(self.rho))

    def product(self) -> Array:
        P = self._P
        given = P.indptr, P.indices, P.data, P.dtype.type(self._mu), self._direction, self._product
        return summed(lambda start, stop, sums: self._compiled.product(start, stop, *given, sums), *self.F.shape)

    def reduce(self, step: Array) -> Array:
        given = self._R, self._product, step.astype(self._R.dtype, copy=False)
        return summed(lambda start, stop, rho: self._compiled.reduced(start, stop, *given, rho), *self.F.shape)

    def move(self, step: Array, turn: Array) -> None:
        step, turn = (factor.astype(self._R.dtype, copy=False) for factor in (step, turn))
        given = self.F, self._direction, self._R, step, turn
        in_parts(lambda start, stop: self._compiled.moved(start, stop, *given), len(self.F))


def dense(B: Any) -> Array:
    return np.asarray(B.toarray() if sparse.issparse(B) else B)


def norms(B: Array) -> Array:
    """‖B‖ per column."""
    # Scaled before it is squared: the adjoint of a row that is barely reached may be too large for that.
    peak = np.abs(B).max(axis=0, initial=0)
    scaled = B / np.where(peak > 0, peak, 1)
    return np.asarray(peak * np.sqrt(np.einsum("nc,nc->c", scaled, scaled)))


def _norms_of_sparse(B: sparse.csr_matrix) -> Array:
    """The same, 1 for a column of zeros."""
    peak = abs(B).max(axis=0).toarray().ravel()
    peak[peak == 0] = 1
    sums = np.bincount(B.indices, (B.data / peak[B.indices]) ** 2, B.shape[1])
    return np.asarray(peak * np.sqrt(np.where(sums == 0, 1, sums)))
