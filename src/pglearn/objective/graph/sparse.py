"""Neighbours, distances and the gradient's contraction for rows in CSR form.

| symbol      | meaning                          | computed from                                     |
|-------------|----------------------------------|---------------------------------------------------|
| Z           | (X − centre)·√a                  | as many non-zeros as X, at most twice             |
| neighbours  | by ‖z_j‖² − 2 ⟨z_i, z_j⟩         | blocks of rows                                    |
| d²_ij       | ‖z_i − z_j‖² on the edges        | differences of sparse rows, which do not cancel   |
| ∂g/∂a_m     | −2 Σ_edges B_ij (x_im − x_jm)²   | the same                                          |

Memory is proportional to the non-zeros and to n; nothing has n × d numbers, and only vectors have d.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pglearn.arrays import Array
from pglearn.objective.graph.ties import EXACT, first_nearest
from pglearn.runtime.threads import each

BLOCK = 1 << 18  # numbers of a block of products or of differences


def k_nearest(Z: sparse.csr_array, k: int, queries: sparse.csr_array | None = None) -> Array:
    """Indices of the k nearest rows of `Z` to each query, or to each row of `Z`, itself excluded; nearest first."""
    own = queries is None
    queries = Z if queries is None else queries
    squares, squares_asking = _squared_norms(Z), _squared_norms(queries)
    nearest = np.empty((queries.shape[0], k), dtype=np.int64)
    by_column = Z.T.tocsr()
    step = max(1, BLOCK // Z.shape[0])

    def search(block: int) -> None:
        rows = np.arange(block * step, min((block + 1) * step, len(nearest)))
        order = squares - 2 * (queries[rows] @ by_column).toarray()
        np.nan_to_num(order, copy=False, nan=np.inf, posinf=np.inf, neginf=-np.inf)
        if own:  # NaN comes after everything else
            order[np.arange(len(rows)), rows] = np.nan
        farthest = np.partition(order, k - 1, axis=1)[:, k - 1 : k]
        alike = np.nan_to_num(EXACT * (squares_asking[rows, None] + squares), posinf=0)
        nearest[rows] = first_nearest(order, k, farthest, alike)

    each(search, -(-len(nearest) // step))
    return nearest


def _squared_norms(Z: sparse.csr_array) -> Array:
    return np.bincount(_row_of_each(Z), weights=np.square(Z.data, dtype=np.float64), minlength=Z.shape[0])


class SparseDifferences:
    """As `pglearn.objective.graph.differences` has them, of sparse rows: they are made again each time."""

    def __init__(self, U: sparse.csr_array, V: sparse.csr_array, i: Array, j: Array) -> None:
        self._U, self._V, self._i, self._j = U, V, i, j
        self._parts = _parts(np.diff(U.indptr)[i] + np.diff(V.indptr)[j])

    def distances(self, a: Array) -> Array:
        d2 = np.empty(len(self._i))

        def fill(number: int) -> None:
            difference = self._of(self._parts[number])
            squares = np.square(difference.data, dtype=np.float64) * a[difference.indices]
            d2[self._parts[number]] = np.bincount(_row_of_each(difference), squares, minlength=difference.shape[0])

        each(fill, len(self._parts))
        return d2

    def contracted(self, B: Array) -> Array:
        total = np.zeros(self._U.shape[1])
        for part in self._parts:
            difference = self._of(part)
            pulls = B[part][_row_of_each(difference)] * np.square(difference.data, dtype=np.float64)
            total -= 2 * np.bincount(difference.indices, weights=pulls, minlength=len(total))
        return total

    def _of(self, part: slice) -> sparse.csr_array:
        return self._U[self._i[part]] - self._V[self._j[part]]


def _parts(sizes: Array) -> list[slice]:
    """Parts of some `BLOCK` numbers each, or of a single pair, that cover pairs of such sizes."""
    total = np.cumsum(sizes, dtype=np.int64)
    parts, start = [], 0
    while start < len(sizes):
        most = (total[start - 1] if start else 0) + BLOCK
        parts.append(slice(start, max(start + 1, int(np.searchsorted(total, most, side="right")))))
        start = parts[-1].stop
    return parts


def _row_of_each(X: sparse.csr_array) -> Array:
    """The row of every non-zero."""
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
