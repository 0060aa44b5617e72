"""Points, the rows of a table: an array, or in CSR form a table of which most numbers are zero (text, categories).

Whatever takes points takes either, and asks here where the two differ. The zeros of a sparse table are never written
down.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.preprocessing import normalize

Array: TypeAlias = npt.NDArray[Any]
Points: TypeAlias = Any  # an array, or a sparse table

BLOCK = 1 << 16  # numbers of a block: it stays in a core's cache


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


def column_medians(X: Points) -> Array:
    """A point in the middle of X. It is subtracted before products are formed, where only differences count, so that
    neither an offset (a time stamp) nor an outlier costs the other rows their digits.

    A column of a sparse table has the median zero unless most of it is something else: what is subtracted at most
    doubles the non-zeros.
    """
    if is_sparse(X):
        medians = np.zeros(X.shape[1])
        full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) > X.shape[0] / 2)
        if len(full):
            medians[full] = np.median(X[:, full].toarray(), axis=0)
        return medians
    parts = np.array_split(X, -(-X.shape[1] // 64), axis=1)  # np.median copies what it is given
    return np.concatenate([np.median(part, axis=0) for part in parts])


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


def _repeated(row: Array, n: int) -> sparse.csr_array:
    """n rows that are all alike."""
    columns = np.flatnonzero(row)
    starts = np.arange(n + 1) * len(columns)
    return sparse.csr_array((np.tile(row[columns], n), np.tile(columns, n), starts), shape=(n, len(row)))


def blocks(n: int, width: int) -> list[slice]:
    """Slices that cover n rows of `width` numbers, `BLOCK` numbers at a time."""
    step = max(1, BLOCK // max(1, width))
    return [slice(start, start + step) for start in range(0, n, step)]
