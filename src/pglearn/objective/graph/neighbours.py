"""Exact nearest neighbours under the metric diag(a): plain Euclidean neighbours of X·√a.

faiss finds them from products in float32, and some more than are asked for. Where the k-th and the next are too close
for float32 to tell them apart, those found are ranked again in float64, or the whole row is if they may not be enough.
Of points that are equally far the first are taken, as by every engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from pglearn.arrays import Array, Points, column_medians, is_sparse, scaled_rows
from pglearn.errors import DistanceError
from pglearn.objective.graph import sparse
from pglearn.objective.graph.ties import EXACT, LAST_BITS, first_nearest
from pglearn.runtime.threads import each

SAMPLE_FOR_MEAN_DISTANCE = 2000
SPARE = 3  # more than asked for, to be ranked again
ROWS = 1024  # that are searched for at once
NUMBERS_AT_ONCE = 1 << 20  # where rows are ranked again
ROOMY = 20  # powers of two, up to which lengths and their squares are far from the ends of float32
SINGLE, LEAST = float(np.finfo(np.float32).eps), float(np.finfo(np.float32).tiny)


@cache
def faiss() -> Any:
    """The library, which is imported when the first neighbours are searched for."""
    import faiss

    # Products by BLAS for small tables, too, as in its earlier versions: twice as fast there.
    faiss.cvar.distance_compute_blas_threshold = 20
    return faiss


@contextmanager
def one_faiss_thread() -> Iterator[Any]:
    """The library with one thread for what this thread asks of it: rows are shared among threads by those who call."""
    library = faiss()
    usual = library.omp_get_max_threads()
    library.omp_set_num_threads(1)
    try:
        yield library
    finally:
        library.omp_set_num_threads(usual)


def scaled_points(X: Points, a: Array, centre: Array) -> Points:
    """(X − centre)·√a: Euclidean distances between its rows are those of `X` under diag(a).

    The centre changes no distance; without it, a column such as a time stamp would lose its digits in the products.
    """
    if is_sparse(X):
        return scaled_rows(X, a, centre)
    Z = X - centre.astype(X.dtype, copy=False)
    Z *= np.sqrt(a).astype(X.dtype, copy=False)
    return np.asarray(Z)


def k_nearest(Z: Points, k: int, queries: Points | None = None) -> Array:
    """Indices of the k nearest rows of `Z` to each query; by default to each row of `Z`, itself excluded.

    A point is not its own neighbour, even among duplicates, and duplicates are neighbours like any others. Where there
    are fewer than k points to choose from, all of them are neighbours; where some are equally far, the first of them.
    """
    n, exclude_own = Z.shape[0], queries is None
    k = int(min(k, n - exclude_own))
    if is_sparse(Z):
        return sparse.k_nearest(Z, k, queries)
    asking = Z if queries is None else queries
    if not asking.size:  # no columns, in which all are as far, or nobody asks
        Z, asking = np.zeros((n, 1)), np.zeros((len(asking), 1))
    squares, squares_asking = (np.einsum("ij,ij->i", points, points, dtype=np.float64) for points in (Z, asking))
    if not (np.isfinite(squares).all() and np.isfinite(squares_asking).all()):
        raise DistanceError("Distances between rows are beyond all numbers: scale X, or give smaller weights.")
    if k == n - exclude_own:
        others = np.tile(np.arange(n), (len(asking), 1))
        return others[~np.eye(n, dtype=bool)].reshape(n, n - 1) if exclude_own else others
    power = -length_power(max(squares.max(), squares_asking.max(initial=0)))
    single = single_precision(Z, power)
    single_asking = single if queries is None else single_precision(asking, power)
    nearest = np.empty((len(asking), k), dtype=np.int64)

    def search(block: int) -> None:
        rows = np.arange(block * ROWS, min((block + 1) * ROWS, len(asking)))
        found, D2 = searched(single, k + SPARE, single_asking[rows], rows if exclude_own else None)
        nearest[rows] = found[:, :k]
        D2 = np.ldexp(D2.astype(np.float64), -2 * power)
        farthest = np.maximum(D2[:, k - 1], 0)
        norms = squares_asking[rows] + np.square(np.sqrt(squares_asking[rows]) + np.sqrt(farthest))
        rounding = SINGLE * (4 + 2 * np.sqrt(Z.shape[1])) * norms + np.ldexp(Z.shape[1] * LEAST, -2 * power)
        limit = farthest + 2 * rounding
        doubtful = D2[:, k] <= limit
        enough = (D2[:, -1] > limit) | (found.shape[1] == n - exclude_own)
        for known in (True, False):
            some = np.flatnonzero(doubtful & (enough == known))
            at_once = max(1, NUMBERS_AT_ONCE // (found.shape[1] * Z.shape[1] if known else n))
            for start in range(0, len(some), at_once):
                part = some[start : start + at_once]
                others = np.sort(found[part], axis=1) if known else None
                ranked = _ranked(Z, asking, rows[part], others, k, exclude_own, squares, squares_asking)
                nearest[rows[part]] = np.where(ranked < 0, nearest[rows[part]], ranked)

    each(search, -(-len(asking) // ROWS))
    return nearest


def searched(Z: Array, k: int, queries: Array, own: Array | None = None) -> tuple[Array, Array]:
    """The k nearest rows of Z or all there are, nearest first, and their distances², from products in float32.

    `own` are the rows that the queries are, which are left out.
    """
    with one_faiss_thread() as library:
        D2, found = library.knn(queries, Z, min(k + (own is not None), len(Z)))
    return without_own(found, D2, own) if own is not None else (found, D2)


def without_own(found: Array, D2: Array, own: Array) -> tuple[Array, Array]:
    """Rows less the query itself; among many duplicates of it, where it was not found, less the last."""
    kept = found != own[:, None]
    kept[kept.all(axis=1), -1] = False
    return found[kept].reshape(len(own), -1), D2[kept].reshape(len(own), -1)


def length_power(square: float) -> int:
    """Of two, the length of a vector whose square that is; 0 where float32 has room for it."""
    power = int(np.frexp(np.sqrt(square))[1])
    return power if abs(power) > ROOMY else 0


def single_precision(Z: Array, power: int = 0) -> Array:
    """Z in float32, times a power of two: it rounds nothing, and makes room where the numbers are large or small."""
    if power == 0:
        return np.ascontiguousarray(Z, dtype=np.float32)  # which may be Z itself
    single = np.empty(Z.shape, dtype=np.float32)
    np.ldexp(Z, power, out=single, casting="same_kind")  # without a copy in between
    return single


def _ranked(
    Z: Array,
    asking: Array,
    rows: Array,
    others: Array | None,
    k: int,
    exclude_own: bool,
    squares: Array,
    squares_asking: Array,
) -> Array:
    """The k nearest of the `others` to some of the queries, or of all points, by distances² in float64; of equally far
    ones the first. −1 where rounding leaves more or fewer than k."""
    queries = asking[rows].astype(np.float64, copy=False)
    norms = squares_asking[rows, None] + (squares if others is None else squares[others])
    if others is None:
        D2 = norms - 2 * _products(queries, Z)
        if exclude_own:
            D2[np.arange(len(rows)), rows] = np.nan
    else:
        D2 = norms - 2 * np.einsum("qm,qom->qo", queries, Z[others].astype(np.float64, copy=False))
    farthest = np.partition(D2, k - 1, axis=1)[:, k - 1 : k]
    alike = EXACT * norms
    if Z.dtype == np.float32:  # the points were rounded before
        alike = alike + SINGLE * LAST_BITS["float32"] * np.sqrt(np.maximum(farthest, 0) * norms)
    found = first_nearest(D2, k, farthest, alike)
    if others is None:
        return found
    return np.where(found < 0, -1, np.take_along_axis(others, np.maximum(found, 0), axis=1))


def _products(few: Array, Z: Array) -> Array:
    """In float64 whatever the points have, of which no whole copy is made."""
    if Z.dtype == np.float64:
        return np.asarray(few @ Z.T)
    return np.hstack([few @ Z[start : start + 4096].astype(np.float64).T for start in range(0, len(Z), 4096)])


def mean_distance(X: Points, seed: int = 0) -> float:
    """d̄, the mean Euclidean distance over all pairs; over pairs of a sample of 2,000 rows if there are more.

    Identical points have no scale of their own: 1.
    """
    if X.shape[0] > SAMPLE_FOR_MEAN_DISTANCE:
        rows = np.random.default_rng(seed).choice(X.shape[0], SAMPLE_FOR_MEAN_DISTANCE, replace=False)
        X = X[np.sort(rows)]
    n = X.shape[0]
    Z = scaled_points(X, np.ones(X.shape[1]), column_medians(X))
    mean = float(pairwise_distances(Z).sum() / (n * (n - 1)))
    return mean if mean > 0 else 1.0
