"""Conjugate gradients on M = I − μP for many right-hand sides, a batch of columns at a time.

| symbol | meaning                                   | shape |
|--------|-------------------------------------------|-------|
| B, F   | right-hand sides and solutions            | n × q |
| R      | what is left: B − M F                     | n × q |
| ρ      | ‖R‖² per column                           | q     |

Every column takes steps of its own; a product with P serves the whole batch. Threads share the batches, which depend on
n alone, so that a solution has the same bits on any number of them. R drifts from what is left of B by rounding, so of
close solutions it is computed anew, and if it is not small enough the iterations begin again from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from scipy import sparse

from pglearn.arrays import Array
from pglearn.objective.propagation.base import RightSides
from pglearn.runtime.threads import each

Product: TypeAlias = Callable[[Array], Array]

BATCH = 64  # right-hand sides that move together
MOST_NUMBERS = 1 << 24  # in a batch: of many points fewer columns are taken at a time, for memory
SHARED_FROM, SHARES = 20_000, 8  # points from which threads share the rows of a product, and not the batches
RENEWALS = 4
DRIFT = 1e-3  # tolerance above which R does not drift by as much
BELOW = 0.9  # of the tolerance, where iterations stop
SAFETY = 5  # times as many products as exact arithmetic may take: rounding delays


def conjugate_gradients(
    P: sparse.csr_matrix,
    mu: float,
    tolerance: float,
    B: RightSides,
    start: Array | None = None,
    modes: sparse.csr_matrix | None = None,
) -> tuple[Array, Array, Array, int]:
    """F and R in the precision of P, iterated from `start`. `modes` are orthonormal vectors that P leaves as they are,
    with which no iteration is lost; ‖B‖ of every column, 1 for zeros; and the most products
    with P that a batch took."""
    (n, columns), dtype = B.shape, P.dtype
    B, scale = _unit_columns(sparse.csc_array(B))
    times_P = _product_with(P)
    width = max(1, min(BATCH, MOST_NUMBERS // n))
    F, R = np.empty((n, columns), dtype=dtype), np.empty((n, columns), dtype=dtype)

    def solve(number: int) -> int:
        batch = slice(number * width, (number + 1) * width)
        b, size = B[:, batch].toarray().astype(dtype, order="C"), scale[batch]
        with np.errstate(over="ignore", invalid="ignore"):  # of a start that is of no use
            f = b.copy() if start is None else (start[:, batch] / size).astype(dtype)
            r, products = _solved(times_P, mu, b, f, tolerance, modes)
        np.multiply(f, size, out=F[:, batch], casting="same_kind")
        np.multiply(r, size, out=R[:, batch], casting="same_kind")
        return products

    batches = range(-(-columns // width))
    solved = [solve(number) for number in batches] if n > SHARED_FROM else each(solve, len(batches))
    return F, R, scale, max(solved, default=0)


def _solved(
    times_P: Product, mu: float, B: Array, F: Array, tolerance: float, modes: sparse.csr_matrix | None = None
) -> tuple[Array, int]:
    """R, and the products that it took, for columns of norm one. F is where to begin, and is moved."""
    products, most = 0, _most_products(len(B), mu, tolerance)
    for renewal in range(RENEWALS):
        R = B - F + mu * times_P(F)
        if renewal == 0 and (far := ~(np.einsum("nc,nc->c", R, R) < np.einsum("nc,nc->c", B, B))).any():
            F[:, far] = B[:, far]  # where it is no better than zeros
            R = B - F + mu * times_P(F)
        if modes is not None:
            part = modes @ (modes.T @ R)
            R -= part
            F += part / (1 - mu)
        if not (np.einsum("nc,nc->c", R, R) > tolerance**2).any():  # nor where it is no number
            return R, products
        products += _iterated(times_P, mu, F, R, (BELOW * tolerance) ** 2, most)
        if tolerance > DRIFT:
            return R, products
    return B - F + mu * times_P(F), products


def _iterated(times_P: Product, mu: float, F: Array, R: Array, goal: float, most: int) -> int:
    """Move F, and R with it, until ρ is within the goal in all columns, with so many products at most; how many."""
    direction, rho, iterations = R.copy(), np.einsum("nc,nc->c", R, R), 0
    while (active := rho > goal).any() and iterations < most:
        product = times_P(direction)
        product *= -mu
        product += direction
        curvature = np.einsum("nc,nc->c", direction, product)
        # A finished column has nothing left to move along: zero steps keep it as it is.
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=active & (curvature > 0))
        product *= step
        R -= product
        np.multiply(direction, step, out=product)
        F += product
        previous, rho = rho, np.einsum("nc,nc->c", R, R)
        direction *= np.divide(rho, previous, out=np.zeros_like(rho), where=active & (previous > 0))
        direction += R
        iterations += 1
    return iterations


def _product_with(P: sparse.csr_matrix) -> Product:
    """X → P X. Of many points threads share the rows."""
    n = P.shape[0]
    if n <= SHARED_FROM:
        return lambda X: np.asarray(P @ X)
    ends = [n * part // SHARES for part in range(SHARES + 1)]
    shares = [P[start:stop] for start, stop in pairwise(ends)]

    def times_P(X: Array) -> Array:
        product = np.empty_like(X)

        def fill(part: int) -> None:
            product[ends[part] : ends[part + 1]] = shares[part] @ X

        each(fill, SHARES)
        return product

    return times_P


def _most_products(n: int, mu: float, tolerance: float) -> int:
    """Products after which a column of n numbers that is not within its tolerance never will be.

    The eigenvalues of M are within [1−μ, 1+μ]; with κ their ratio, ‖R‖ after p products is at most
    2√κ ((√κ−1)/(√κ+1))^p ≤ 2√κ exp(−2p/√κ) of what it was. After n products nothing of it would be left.
    """
    root = math.sqrt((1 + mu) / (1 - mu))
    return SAFETY * min(2 * n, math.ceil(root / 2 * math.log(4 * root / tolerance)))


def _unit_columns(B: sparse.csc_array) -> tuple[sparse.csc_array, Array]:
    """B with columns of norm one, and what they were divided by; a column of zeros stays as it is."""
    column = np.repeat(np.arange(B.shape[1]), np.diff(B.indptr))
    # Scaled before it is squared: the adjoint of a row that is barely reached may be too large for that.
    peak = np.zeros(B.shape[1])
    with np.errstate(invalid="ignore"):  # NaN stays NaN
        np.maximum.at(peak, column, np.abs(B.data))
    peak[peak == 0] = 1
    scale = peak * np.sqrt(np.bincount(column, (B.data / peak[column]) ** 2, B.shape[1]))
    scale[scale == 0] = 1
    return sparse.csc_array((B.data / scale[column], B.indices, B.indptr), shape=B.shape), scale


def norms(B: Array) -> Array:
    """‖B‖ per column."""
    # Scaled before it is squared: the adjoint of a row that is barely reached may be too large for that.
    peak = np.abs(B).max(axis=0, initial=0)
    scaled = B / np.where(peak > 0, peak, 1)
    return np.asarray(peak * np.sqrt(np.einsum("nc,nc->c", scaled, scaled)))
