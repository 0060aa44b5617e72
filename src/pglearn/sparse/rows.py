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

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.preprocessing import normalize

from pglearn.threads import each
from pglearn.ties import EXACT, first_nearest

Array = npt.NDArray[Any]

BLOCK = 1 << 18  # numbers of a block of products or of differences


def is_sparse(X: Any) -> bool:
    return bool(sparse.issparse(X))


def sparse_rows(X: Any, dtype: Any = np.float64) -> sparse.csr_array:
    """X in the form that all else here expects: CSR with sorted columns, no zeros and nothing twice.

    What was given is never changed.
    """
    X = sparse.csr_array(X, dtype=dtype)
    if not (X.has_canonical_format and X.data.all()):
        X = X.copy()  # what there is may be the data given
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def scaled_rows(X: sparse.csr_array, a: Array, centre: Array) -> sparse.csr_array:
    """(X − centre)·√a, where the centre is zero in all columns but those that are mostly non-zero."""
    if centre.any():
        X = X - _repeated(centre.astype(X.dtype, copy=False), X.shape[0])
    return times_columns(X, np.sqrt(a).astype(X.dtype, copy=False))


def times_columns(X: sparse.csr_array, columns: Array, data: Array | None = None) -> sparse.csr_array:
    """Every column times its number, of X or with `data` in place of the non-zeros of X."""
    data = X.data if data is None else data
    return sparse.csr_array((data * columns[X.indices], X.indices, X.indptr), shape=X.shape)


def unit_rows(X: Any) -> Any:
    """Every row, of a sparse table or an array, divided by its length; rows of zeros stay so."""
    return normalize(X)


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
    """As `pglearn.graph.differences` has them, of sparse rows: they are made again each time."""

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


def ranges(X: sparse.csr_array) -> Array:
    """Largest minus smallest number of every column, the zeros included."""
    return np.asarray((X.max(axis=0) - X.min(axis=0)).toarray().ravel())


def parts_of(X: Any, name: str = "X") -> dict[str, Array]:
    """A table, sparse or not, as arrays that can be written, hashed or frozen one by one."""
    if not is_sparse(X):
        return {name: X}
    return {
        f"{name}_data": X.data,
        f"{name}_indices": X.indices,
        f"{name}_indptr": X.indptr,
        f"{name}_shape": np.array(X.shape),
    }


def table_of(parts: Mapping[str, Array], name: str = "X") -> Any:
    """The table that :func:`parts_of` took apart; KeyError where something is missing."""
    if name in parts or f"{name}_data" not in parts:
        return parts[name]
    data, indices, indptr = (parts[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    X = sparse.csr_array((data, indices, indptr), shape=tuple(parts[f"{name}_shape"].tolist()))
    X.has_canonical_format = True  # it was before; looking again would read a file as large as the table
    return X


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


def _repeated(row: Array, n: int) -> sparse.csr_array:
    """n rows that are all alike."""
    columns = np.flatnonzero(row)
    starts = np.arange(n + 1) * len(columns)
    return sparse.csr_array((np.tile(row[columns], n), np.tile(columns, n), starts), shape=(n, len(row)))
