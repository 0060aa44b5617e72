"""Approximate neighbours while the metric moves: near points are searched for once, and ranked anew at every step.

The pool of a point, more near points than neighbours are wanted, is found under one metric, the *anchor*
(`pglearn.graph.descent`). Its nearest under another metric are the neighbours under that one, as long as recall on a
sample of rows, against exact search, says so; where it does not, the present metric becomes the anchor.

A pool depends on the points, k and the anchor alone, so it may be forgotten and found again, by any process.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections import OrderedDict
from dataclasses import replace
from functools import partial

import numpy as np

from pglearn.graph.edges import Edges
from pglearn.graph.neighbours import k_nearest, scaled_points
from pglearn.graph.weights import Graph, graph_on_edges, squared_distances
from pglearn.problem import Array, Problem
from pglearn.threads import in_parts

EXACT_UP_TO = 20_000  # rows up to which neighbors="auto" searches exactly
LEAST_RECALL = 0.95
GOOD_RECALL = 0.97  # of a new search, so that the metric may move a little
EFFORTS = ((1, 12), (2, 36), (3, 72))  # times as many near points, and how many of them are tried
SPARE = 20  # near points that are kept beside k neighbours, or k if that is more
SAMPLE = 200  # rows whose neighbours are also searched for exactly
KEPT_BYTES = 256 << 20


def approximate_graph(view: Problem, a: Array, k: int, anchor: Array | None = None) -> Graph:
    """The graph under diag(a), with neighbours from the pool of `anchor` if that still serves."""
    Z = scaled_points(view.X, a, view.centre)
    anchor = a if anchor is None else anchor
    neighbours = nearest_in(pool_of(view, anchor, k), Z, k)
    recall = sampled_recall(Z, neighbours)
    if recall < LEAST_RECALL and anchor is not a:
        anchor, neighbours = a, nearest_in(pool_of(view, a, k), Z, k)
        recall = sampled_recall(Z, neighbours)
    return replace(graph_on_edges(Z, Edges.between_neighbours(neighbours)), recall=recall, anchor=anchor)


def warn_of_recall(recall: float) -> None:
    if recall < LEAST_RECALL:
        warnings.warn(
            f"Approximate neighbours have a recall of {recall:.2f} only, below {LEAST_RECALL}: choose "
            "neighbors='exact', or a view of fewer features.",
            stacklevel=3,
        )


def k_near(Z: Array, k: int, recall: float = LEAST_RECALL) -> Array:
    """Like :func:`pglearn.graph.k_nearest`, approximately: searched for until `recall` is reached, if it can be."""
    return nearest_in(_searched(Z, k, recall), Z, k)


def nearest_in(pool: Array, Z: Array, k: int) -> Array:
    """The k nearest of each row's near points; of all points for a row of which too few are known."""
    from pglearn.graph import compiled

    k = min(k, len(Z) - 1)
    neighbours = np.full((len(Z), k), -1, dtype=pool.dtype)
    in_parts(lambda start, stop: compiled.nearest_of(start, stop, Z, pool, neighbours), len(Z))
    lacking = np.flatnonzero(neighbours[:, -1] < 0)
    if len(lacking):
        neighbours[lacking] = exact_of(Z, lacking, k)
    return neighbours


def sampled_recall(Z: Array, neighbours: Array) -> float:
    """Share of the neighbours found that are no farther than the k-th nearest, on a sample that is always the same.

    Without ties that is the share of the exact neighbours that were found; among duplicates, any of them will do.
    """
    n, k = neighbours.shape
    rows = np.sort(np.random.default_rng(0).choice(n, min(SAMPLE, n), replace=False))
    each = np.repeat(rows, k)
    exact, found = (
        squared_distances(Z, Z, each, columns.ravel()).reshape(-1, k)
        for columns in (exact_of(Z, rows, k), neighbours[rows])
    )
    return float((found <= exact.max(axis=1, keepdims=True)).mean())


def exact_of(Z: Array, rows: Array, k: int) -> Array:
    """The k nearest other rows of Z to some of them."""
    nearest = k_nearest(Z, k + 1, Z[rows])
    own = nearest == rows[:, None]
    own[~own.any(axis=1), -1] = True  # among many duplicates: the last makes room
    return np.asarray(nearest[~own].reshape(len(rows), k))


def pool_of(view: Problem, anchor: Array, k: int) -> Array:
    """Near points of every point under diag(anchor), nearest first; those used last are kept."""
    key = (id(view), k, anchor.tobytes())
    with _lock:
        if key in _pools:
            _pools.move_to_end(key)
            return _pools[key]
    pool = _searched(scaled_points(view.X, anchor, view.centre), k)
    with _lock:
        if not any(of_view == key[0] for of_view, *_ in _pools):
            weakref.finalize(view, partial(_forget, key[0]))
        _pools[key] = pool
        while len(_pools) > 1 and sum(kept.nbytes for kept in _pools.values()) > KEPT_BYTES:
            _pools.popitem(last=False)
    return pool


def _searched(Z: Array, k: int, recall: float = GOOD_RECALL) -> Array:
    """Near points of which the k nearest are nearly all exact, with as little effort as that takes."""
    from pglearn.graph.descent import near_points

    for times, tried in EFFORTS:
        near = near_points(Z, min(times * max(2 * k, k + SPARE), len(Z) - 1), tried)
        if sampled_recall(Z, nearest_in(near, Z, k)) >= recall:
            break
    return near


def _forget(view: int) -> None:
    with _lock:
        for key in [key for key in _pools if key[0] == view]:
            del _pools[key]


_pools: OrderedDict[tuple[int, int, bytes], Array] = OrderedDict()
_lock = threading.RLock()  # a view may be collected, and forgotten, while the lock is held
