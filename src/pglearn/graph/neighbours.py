"""Exact nearest neighbours under the metric diag(a): plain Euclidean neighbours of X·√a.

scikit-learn's brute-force search works in small blocks of rows and keeps a heap per row, so no n × n array is made.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from pglearn import sparse
from pglearn.problem import Array, Points, column_medians

SAMPLE_FOR_MEAN_DISTANCE = 2000


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
    are fewer than k points to choose from, all of them are neighbours.
    """
    k = min(k, Z.shape[0] - (queries is None))
    if sparse.is_sparse(Z):
        return sparse.k_nearest(Z, k, queries)
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(Z)
    return np.asarray(search.kneighbors(queries, return_distance=False))


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
