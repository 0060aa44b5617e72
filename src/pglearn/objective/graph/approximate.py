"""Approximate neighbours for large tables: inverted lists, with recall measured on a sample of rows.

Rows are put into lists, each around a centre that k-means finds; the neighbours of a row are looked for in the lists
whose centres are nearest to it. How many lists that takes is found on the sample. Where recall stays low, neighbours of
up to 100,000 rows are found exactly after all; of more rows those of the most lists are taken, and a warning says so.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pglearn.arrays import Array, Points
from pglearn.errors import warn
from pglearn.objective.graph.differences import differences
from pglearn.objective.graph.neighbours import (
    ROWS,
    faiss,
    k_nearest,
    length_power,
    one_faiss_thread,
    single_precision,
    without_own,
)
from pglearn.runtime.threads import each

APPROXIMATE_FROM = 10_000  # rows from which neighbors="auto" is approximate: there both take as long
EXACT_AT_MOST = 100_000  # rows that are searched exactly where lists do not do
LEAST_RECALL = 0.95
LOOKED_AT = (8, 12, 16, 24, 32, 64, 128)  # lists, the fewest that reach it
ROWS_PER_LIST, ITERATIONS = 40, 8  # that k-means learns from
SAMPLE = 200  # rows whose neighbours are also searched for exactly


def find_neighbours(Z: Points, k: int, how: str) -> tuple[Array, float]:
    """The k nearest other rows of each, "exact" or "approximate", and the share of the exact ones that was found."""
    return (k_nearest(Z, k), 1.0) if how == "exact" else k_near(Z, k)


def k_near(Z: Array, k: int) -> tuple[Array, float]:
    """Like :func:`pglearn.objective.graph.k_nearest`, approximately; and the share of the exact neighbours found."""
    n = len(Z)
    k = int(min(k, n - 1))
    largest = np.einsum("ij,ij->i", Z, Z, dtype=np.float64).max()
    if not Z.shape[1] or not np.isfinite(largest):
        return k_nearest(Z, k), 1.0  # which says what is wrong
    single = single_precision(Z, -length_power(largest))
    rows = np.sort(np.random.default_rng(0).choice(n, min(SAMPLE, n), replace=False))
    exact = exact_of(Z, rows, k)
    index = _lists(single)
    for index.nprobe in LOOKED_AT:
        recall = share_found(Z, rows, _looked_up(index, single, rows, k), exact)
        if recall >= LEAST_RECALL:
            break
    else:
        if n <= EXACT_AT_MOST:
            return k_nearest(Z, k), 1.0
    found = np.empty((n, k), dtype=np.int64)
    by_list = _by_list(index)  # rows of a list look at the same ones, which then stay in a core's cache

    def look_up(block: int) -> None:
        part = by_list[block * ROWS : (block + 1) * ROWS]
        found[part] = _looked_up(index, single, part, k)

    each(look_up, -(-n // ROWS))
    lacking = np.flatnonzero(found[:, -1] < 0)  # whose lists have too few
    if len(lacking):
        found[lacking] = exact_of(Z, lacking, k)
    return found, recall


def warn_of_recall(recall: float) -> None:
    if recall < LEAST_RECALL:
        warn(
            f"Approximate neighbours have a recall of {recall:.2f} only, below {LEAST_RECALL}: choose "
            "neighbors='exact', or a view of fewer features."
        )


def exact_of(Z: Array, rows: Array, k: int) -> Array:
    """The k nearest other rows of Z to some of them."""
    nearest = k_nearest(Z, k + 1, Z[rows])
    return without_own(nearest, nearest, rows)[0]


def share_found(Z: Array, rows: Array, found: Array, exact: Array) -> float:
    """Share of the neighbours found that are no farther than the k-th nearest.

    Without ties that is the share of the exact neighbours that were found; among duplicates, any of them will do.
    """
    k, asking, weights = found.shape[1], np.repeat(rows, found.shape[1]), np.ones(Z.shape[1])
    there, farthest = (
        differences(Z, Z, asking, columns.ravel()).distances(weights).reshape(-1, k) for columns in (found, exact)
    )
    return float(((there <= farthest.max(axis=1, keepdims=True)) & (found >= 0)).mean())


def _lists(Z: Array) -> Any:
    """An index of the rows; the same for the same rows, for one thread makes it."""
    with one_faiss_thread() as library:
        index = library.IndexIVFFlat(library.IndexFlatL2(Z.shape[1]), Z.shape[1], max(1, 2 * math.isqrt(len(Z))))
        clustering = index.cp
        clustering.niter, clustering.max_points_per_centroid = ITERATIONS, ROWS_PER_LIST
        clustering.min_points_per_centroid = 1  # of which it would warn
        index.train(Z)
        index.add(Z)
    return index


def _by_list(index: Any) -> Array:
    """The rows in an index, list by list."""
    lists, array = index.invlists, faiss().rev_swig_ptr
    sizes = [lists.list_size(at) for at in range(index.nlist)]
    return np.concatenate([array(lists.get_ids(at), size) for at, size in enumerate(sizes) if size])


def _looked_up(index: Any, Z: Array, rows: Array, k: int) -> Array:
    """The k nearest others in the lists around some rows; −1 where there are no more."""
    with one_faiss_thread():
        D2, found = index.search(Z[rows], k + 1)
    return without_own(found, D2, rows)[0]
