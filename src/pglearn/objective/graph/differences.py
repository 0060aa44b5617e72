"""(x_im − x_jm)² over pairs of rows: what distances under a metric and the gradient with respect to it are made of.

| symbol | meaning                                       | here                |
|--------|-----------------------------------------------|---------------------|
| Δ²     | (u_im − v_jm)², pairs × features              | never whole, if large |
| d²     | Δ² a, distances² under diag(a)                | `distances(a)`      |
| ∂g/∂a  | −2 Bᵀ Δ², for ∂g/∂d² = −B on either side      | `contracted(B)`     |

Differences do not cancel, as products of close points would. Small arrays of them are kept for the next weights or the
next B; of large ones, blocks are made again and shared among threads. Sums are over fixed blocks, so that they round
alike on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from pglearn.arrays import Array, Points, blocks, is_sparse
from pglearn.objective.graph import sparse
from pglearn.runtime.threads import each

KEPT_BYTES = 32 << 20
SUMS = 16  # partial ones of a contraction, whatever the number of threads


class Differences(Protocol):
    def distances(self, a: Array) -> Array: ...

    def contracted(self, B: Array) -> Array: ...


def differences(U: Points, V: Points, i: Array, j: Array) -> Differences:
    """Of the rows u_i and v_j."""
    return sparse.SparseDifferences(U, V, i, j) if is_sparse(U) else DenseDifferences(U, V, i, j)


class DenseDifferences:
    """In the precision of the rows."""

    def __init__(self, U: Array, V: Array, i: Array, j: Array) -> None:
        self._U, self._V, self._i, self._j = U, V, i, j
        self._blocks = blocks(len(i), U.shape[1])
        self._kept: Array | None = None

    def distances(self, a: Array) -> Array:
        a, power = self._within_range(a)
        d2 = np.empty(len(self._i))
        parts, squares = self._parts()

        def fill(number: int) -> None:
            d2[parts[number]] = squares(parts[number]) @ a

        each(fill, len(parts))
        return np.asarray(np.ldexp(d2, power))

    def contracted(self, B: Array) -> Array:
        B, power = self._within_range(B)
        sums = np.zeros((SUMS, self._U.shape[1]))
        parts, squares = self._parts()

        def add(number: int) -> None:  # parts of its own, in order
            for part in parts[number::SUMS]:
                sums[number] += B[part] @ squares(part)

        each(add, SUMS)
        return np.asarray(np.ldexp(-2 * sums.sum(axis=0), power))

    def _parts(self) -> tuple[list[slice], Callable[[slice], Array]]:
        """Which pairs are taken at once, and their squares."""
        kept = self._kept_squares()
        return (self._blocks, self._squares) if kept is None else ([slice(None)], kept.__getitem__)

    def _within_range(self, numbers: Array) -> tuple[Array, int]:
        """Divided by a power of two, so that they fit the precision of the rows, and that power."""
        power = int(np.frexp(np.abs(numbers).max(initial=0))[1])
        return np.ldexp(numbers, -power).astype(self._U.dtype, copy=False), power

    def _kept_squares(self) -> Array | None:
        shape = len(self._i), self._U.shape[1]
        if self._kept is None and shape[0] * shape[1] * self._U.itemsize <= KEPT_BYTES:
            self._kept = np.empty(shape, dtype=self._U.dtype)
            for part in self._blocks:
                self._squares(part, out=self._kept[part])
        return self._kept

    def _squares(self, part: slice, out: Array | None = None) -> Array:
        difference = np.subtract(self._U[self._i[part]], self._V[self._j[part]], out=out)
        difference *= difference
        return np.asarray(difference)
