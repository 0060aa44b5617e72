"""Exact nearest neighbours under the metric diag(a): plain Euclidean neighbours of X·√a.

scikit-learn's brute-force search works in small blocks of rows and keeps a heap per row, so no n × n array is made. Of
points that are equally far it takes some; here the first are taken, as by every engine.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from pglearn import sparse
from pglearn.problem import Array, Points, column_medians
from pglearn.threads import in_parts
from pglearn.ties import EXACT, LAST_BITS, first_nearest

SAMPLE_FOR_MEAN_DISTANCE = 2000
NUMBERS_AT_ONCE, ROWS_AT_ONCE = 1 << 20, 1 << 12  # where there are ties


def scaled_points(X: Points, a: Array, centre: Array) -> Points:
    """(X − centre)·√a: Euclidean distances between its rows are those of `X` under diag(a).

    The centre changes no distance; without it, a column such as a time stamp would lose its digits in the products.
    """
    if sparse.is_sparse(X):
        return sparse.scaled_rows(X, a, centre)
    Z = X - centre.astype(X.dtype, copy=False)
    Z *= np.sqrt(a).astype(X.dtype, copy=False)
    return np.asarray(Z)


def k_nearest(Z: Points, k: int, queries: Points | None = None) -> Array:
    """Indices of the k nearest rows of `Z` to each query; by default to each row of `Z`, itself excluded.

    A point is not its own neighbour, even among duplicates, and duplicates are neighbours like any others. Where there
    are fewer than k points to choose from, all of them are neighbours; where some are equally far, the first of them.
    """
    others = Z.shape[0] - (queries is None)
    k = min(k, others)
    if sparse.is_sparse(Z):
        return sparse.k_nearest(Z, k, queries)
    if not np.isfinite(np.einsum("ij,ij->i", Z, Z, dtype=np.float64)).all():
        raise OverflowError("Distances between rows are beyond all numbers: scale X, or give smaller weights.")
    search = NearestNeighbors(n_neighbors=min(k + 1, others), algorithm="brute").fit(Z)
    distances, nearest = search.kneighbors(queries)
    if k == others:
        return np.asarray(nearest)
    return _with_first_of_equals(nearest, np.square(distances[:, -2:]), Z, queries)


def _with_first_of_equals(nearest: Array, last_two: Array, Z: Array, queries: Array | None) -> Array:
    """The k nearest of k + 1; where the last two are equally far, the first of all that are as far as the k-th."""
    k = nearest.shape[1] - 1
    asking = Z if queries is None else queries
    squares, squares_asking = (np.einsum("ij,ij->i", points, points, dtype=np.float64) for points in (Z, asking))
    # Products are in float64, but points of float32 were rounded before.
    of_points = float(np.finfo(np.float32).eps) * LAST_BITS["float32"] if Z.dtype == np.float32 else 0.0
    norms = squares_asking + squares[nearest[:, -2:]].max(axis=1)
    alike = 2 * (EXACT * norms + of_points * np.sqrt(last_two[:, 0] * norms))
    tied = np.flatnonzero(last_two[:, 1] <= last_two[:, 0] + alike)
    nearest = np.ascontiguousarray(nearest[:, :k])

    def take(start: int, stop: int) -> None:
        for rows in np.split(tied[start:stop], range(at_once, stop - start, at_once)):
            D2 = _products(asking[rows], Z)
            D2 *= -2
            norms = squares_asking[rows, None] + squares
            D2 += norms
            if queries is None:
                D2[np.arange(len(rows)), rows] = np.nan
            tau = np.take_along_axis(D2, nearest[rows], 1).max(axis=1, keepdims=True)
            alike = EXACT * norms
            if of_points:
                alike += of_points * np.sqrt(np.maximum(tau, 0) * norms)
            found = first_nearest(D2, k, tau, alike)
            nearest[rows] = np.where(found < 0, nearest[rows], found)

    at_once = max(1, NUMBERS_AT_ONCE // len(Z))
    in_parts(take, len(tied))
    return nearest


def _products(few: Array, Z: Array) -> Array:
    """In float64 whatever the points have, of which no whole copy is made."""
    few = few.astype(np.float64, copy=False)
    if Z.dtype == np.float64:
        return np.asarray(few @ Z.T)
    products = np.empty((len(few), len(Z)))
    for start in range(0, len(Z), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        products[:, part] = few @ Z[part].astype(np.float64).T
    return products


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
