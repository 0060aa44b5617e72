"""Neighbours found approximately, in about n log n: leaves of random trees, then neighbours of neighbours.

Points that fall into the same leaf of a tree of random cuts (Dasgupta & Freund 2008) are tried as neighbours; after a
few trees, a neighbour of a neighbour is likely a neighbour, so these are tried until hardly any is one that was not
known (NN-descent: Dong, Moses, Li 2011). All of it is compiled once per machine, runs on one thread without the GIL,
and is a function of the points and the seed. pynndescent does the same on several threads, but compiles most of itself
anew in every process (docs/scaling.md).
"""

from __future__ import annotations

import numpy as np

from pglearn.compiled import compiled
from pglearn.problem import Array

TREES, LEAF, MOST_ROUNDS, TRIED = 6, 48, 10, 24
ENOUGH = 0.002  # changed entries of all, below which another round is not worth it


def near_points(Z: Array, m: int, seed: int = 0) -> Array:
    """m points near each row of Z, itself excluded, nearest first; distances are compared in float32."""
    Z = np.ascontiguousarray(Z, dtype=np.float32)
    n = len(Z)
    near = np.full((n, m), -1, dtype=np.int32)
    d2 = np.full((n, m), np.inf, dtype=np.float32)
    fresh = np.zeros((n, m), dtype=np.bool_)
    for tree in range(TREES):
        points = np.arange(n, dtype=np.int32)
        ends = _cut(Z, points, max(LEAF, m + 1), seed + tree)
        _join_leaves(Z, points, ends, near, d2, fresh)
    for round in range(MOST_ROUNDS):
        if _round(Z, near, d2, fresh, TRIED, seed + round) <= ENOUGH * n * m:
            break
    return near


@compiled
def _distance(u, v):
    total = np.float32(0)
    for m in range(len(u)):
        difference = u[m] - v[m]
        total += difference * difference
    return total


@compiled
def _push(p, q, distance, near, d2, fresh):
    """Note q as a neighbour of p, if it is nearer than the last; 1 if that was news."""
    last = near.shape[1] - 1
    if not distance < d2[p, last]:
        return 0
    for at in range(last + 1):
        if near[p, at] == q:
            return 0
    at = last
    while at > 0 and d2[p, at - 1] > distance:
        d2[p, at], near[p, at], fresh[p, at] = d2[p, at - 1], near[p, at - 1], fresh[p, at - 1]
        at -= 1
    d2[p, at], near[p, at], fresh[p, at] = distance, q, True
    return 1


@compiled
def _introduce(Z, u, v, near, d2, fresh):
    if u == v:
        return 0
    distance = _distance(Z[u], Z[v])
    return _push(u, v, distance, near, d2, fresh) + _push(v, u, distance, near, d2, fresh)


@compiled
def _cut(Z, points, leaf, seed):
    """Reorder `points` so that leaves lie together; where each of them ends."""
    np.random.seed(seed)
    ends = [0]
    stack = [(0, len(points))]
    side = np.empty(len(points), dtype=np.bool_)
    normal = np.empty(Z.shape[1], dtype=np.float32)
    while len(stack) > 0:
        start, end = stack.pop()
        if end - start <= leaf:
            ends.append(end)
            continue
        u, v = Z[points[np.random.randint(start, end)]], Z[points[np.random.randint(start, end)]]
        offset = np.float32(0)
        for m in range(len(normal)):
            normal[m] = u[m] - v[m]
            offset += normal[m] * (u[m] + v[m]) / np.float32(2)
        left = 0
        for at in range(start, end):
            z, projection = Z[points[at]], np.float32(0)
            for m in range(len(normal)):
                projection += normal[m] * z[m]
            side[at] = projection < offset
            left += side[at]
        if min(left, end - start - left) < (end - start) // 16:  # duplicates, or a cut at the rim
            for at in range(start, end):
                side[at] = np.random.random() < 0.5
        middle = start
        for at in range(start, end):
            if side[at]:
                points[at], points[middle] = points[middle], points[at]
                side[at], side[middle] = side[middle], side[at]
                middle += 1
        stack.append((middle, end))  # the left part comes first, so that leaves end in order
        stack.append((start, middle))
    return np.array(ends)


@compiled
def _join_leaves(Z, points, ends, near, d2, fresh):
    for leaf in range(len(ends) - 1):
        for at in range(ends[leaf], ends[leaf + 1]):
            p = points[at]
            for other in range(at + 1, ends[leaf + 1]):
                q = points[other]
                distance = _distance(Z[p], Z[q])
                _push(p, q, distance, near, d2, fresh)
                _push(q, p, distance, near, d2, fresh)


@compiled
def _sample(p, q, lists, counts):
    """Put q into p's list; where that is full, in place of another or not at all, all with the same probability."""
    counts[p] += 1
    size = lists.shape[1]
    at = counts[p] - 1 if counts[p] <= size else np.random.randint(0, counts[p])
    if at < size:
        lists[p, at] = q


@compiled
def _round(Z, near, d2, fresh, tried, seed):
    """Introduce to each other the neighbours of every point, and those that have it as one, if either is new to it.

    The number of neighbours that were found.
    """
    np.random.seed(seed)
    n, m = near.shape
    new, old = np.empty((n, tried), dtype=np.int32), np.empty((n, tried), dtype=np.int32)
    new_counts, old_counts = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    for p in range(n):
        for at in range(m):
            q = near[p, at]
            if q < 0:
                continue
            if fresh[p, at]:
                _sample(p, q, new, new_counts)
                _sample(q, p, new, new_counts)
            else:
                _sample(p, q, old, old_counts)
                _sample(q, p, old, old_counts)
    for p in range(n):
        for at in range(m):
            if fresh[p, at]:
                for other in range(min(new_counts[p], tried)):
                    if new[p, other] == near[p, at]:
                        fresh[p, at] = False
                        break
    found = 0
    for p in range(n):
        for at in range(min(new_counts[p], tried)):
            u = new[p, at]
            for other in range(at + 1, min(new_counts[p], tried)):
                found += _introduce(Z, u, new[p, other], near, d2, fresh)
            for other in range(min(old_counts[p], tried)):
                found += _introduce(Z, u, old[p, other], near, d2, fresh)
    return found
