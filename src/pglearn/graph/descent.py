"""Neighbours found approximately, in about n log n: leaves of random trees, then neighbours of neighbours.

Points that fall into the same leaf of a tree of random cuts (Dasgupta & Freund 2008) are compared with each other; then
a neighbour of a neighbour is likely a neighbour, so these are tried until hardly any is one that was not known
(NN-descent: Dong, Moses, Li 2011). Points are renumbered as the first tree has them, so that rows of near points are
near in memory. A point's list is written by the one thread that has the point, from the lists of the round before: the
result is a function of the points. All of it is compiled once per machine; pynndescent compiles for half a
minute in every process (bench/neighbours.py; docs/scaling.md has the figures).
"""

from __future__ import annotations

import numpy as np

from pglearn.compiled import compiled
from pglearn.problem import Array
from pglearn.threads import each, in_parts

TREES, LEAF = 6, 128
MOST_ROUNDS = 8
ENOUGH = 0.01  # changed entries of the tried ones, below which another round is not worth it


def near_points(Z: Array, m: int, tried: int = 24) -> Array:
    """m points near each row of Z, itself excluded, nearest first; distances are compared in float32.

    In a round the neighbours of the `tried` nearest are looked at, and of as many that have the point among theirs:
    more of them find more, at a cost that grows with the square.
    """
    n = len(Z)
    leaf = max(LEAF, 2 * m + 2)
    trees = each(lambda tree: _cut(Z, leaf, tree), TREES)
    order, place = trees[0][0], np.empty(n, dtype=np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    Z = np.ascontiguousarray(Z[order], dtype=np.float32)
    near, fresh = np.full((n, m), -1, dtype=np.int32), np.ones((n, m), dtype=np.bool_)
    d2 = np.full((n, m), np.inf, dtype=np.float32)
    for points, ends in trees:
        members = place[points]
        in_parts(lambda start, stop: _join_leaves(start, stop, Z, members, ends, near, d2, fresh), len(ends) - 1)  # noqa: B023
    tried = min(tried, m)
    for round in range(MOST_ROUNDS):
        around, is_new = _around(near, fresh, tried, round)
        found = in_parts(lambda start, stop: _join(start, stop, Z, around, is_new, near, d2, fresh, tried), n)  # noqa: B023
        if sum(found) <= ENOUGH * n * tried:
            break
    result = np.empty_like(near)
    in_parts(lambda start, stop: _renumbered(start, stop, near, order, result), n)
    return result


@compiled
def _distance(u, v):
    total = np.float32(0)
    for m in range(len(u)):
        difference = u[m] - v[m]
        total += difference * difference
    return total


@compiled
def _push(p, q, distance, near, d2, fresh):
    """Note q as a neighbour of p, who has it not, and is nearer to it than to the last. Where it went."""
    at = near.shape[1] - 1
    while at > 0 and d2[p, at - 1] > distance:
        d2[p, at], near[p, at], fresh[p, at] = d2[p, at - 1], near[p, at - 1], fresh[p, at - 1]
        at -= 1
    d2[p, at], near[p, at], fresh[p, at] = distance, q, True
    return at


@compiled
def _cut(Z, leaf, seed):
    """Points in an order in which leaves lie together, and where each of them ends. Every cut halves what it cuts.

    Whatever lies on neither side of a cut is put between them: ties, and NaN where a product was beyond float32. So
    every point is in one leaf, whatever the values.
    """
    np.random.seed(seed)
    n = len(Z)
    points = np.arange(n).astype(np.int32)
    moved = np.empty(n, dtype=np.int32)
    along = np.empty(n, dtype=np.float32)
    normal = np.empty(Z.shape[1], dtype=np.float32)
    ends = [0]
    stack = [(0, n)]
    while len(stack) > 0:
        start, end = stack.pop()
        if end - start <= leaf:
            ends.append(end)
            continue
        u, v = Z[points[np.random.randint(start, end)]], Z[points[np.random.randint(start, end)]]
        for m in range(len(normal)):
            normal[m] = u[m] - v[m]
        for at in range(start, end):
            z, total = Z[points[at]], np.float32(0)
            for m in range(len(normal)):
                total += normal[m] * np.float32(z[m])
            along[at] = total
        middle = (start + end) // 2
        cut = np.partition(along[start:end], middle - start)[middle - start]
        left, right = start, end - 1
        for at in range(start, end):
            if along[at] < cut:
                moved[left] = points[at]
                left += 1
            elif along[at] > cut:
                moved[right] = points[at]
                right -= 1
        for at in range(start, end):
            if not (along[at] < cut or along[at] > cut):
                moved[left] = points[at]
                left += 1
        points[start:end] = moved[start:end]
        stack.append((middle, end))  # the left part comes first, so that leaves end in order
        stack.append((start, middle))
    return points, np.array(ends)


@compiled
def _join_leaves(first, last, Z, points, ends, near, d2, fresh):
    """Compare all points of a leaf with each other, feature after feature for all of them at once."""
    largest = 0
    for leaf in range(first, last):
        largest = max(largest, ends[leaf + 1] - ends[leaf])
    d = Z.shape[1]
    columns = np.empty((d, largest), dtype=np.float32)
    totals = np.empty(largest, dtype=np.float32)
    for leaf in range(first, last):
        start, size = ends[leaf], ends[leaf + 1] - ends[leaf]
        for at in range(size):
            row = Z[points[start + at]]
            for m in range(d):
                columns[m, at] = row[m]
        for at in range(size):
            p = points[start + at]
            row = Z[p]
            totals[:size] = 0
            for m in range(d):
                z, column = row[m], columns[m]
                for other in range(size):
                    difference = column[other] - z
                    totals[other] += difference * difference
            worst = d2[p, -1]
            for other in range(size):
                if totals[other] < worst and other != at:
                    _offer(p, points[start + other], totals[other], near, d2, fresh)
                    worst = d2[p, -1]


@compiled
def _offer(p, q, distance, near, d2, fresh):
    """Note q as a neighbour of p unless it is one. A distance may be a rounding away from what it was before."""
    for at in range(near.shape[1]):
        if near[p, at] == q:
            return
    _push(p, q, distance, near, d2, fresh)


@compiled
def _around(near, fresh, tried, seed):
    """The nearest neighbours of every point and as many of those that have it as one, and which of them are new.

    What is listed is not new any more.
    """
    np.random.seed(seed)
    n = len(near)
    around = np.full((n, 2 * tried), -1, dtype=np.int32)
    is_new = np.zeros((n, 2 * tried), dtype=np.bool_)
    counts = np.zeros(n, dtype=np.int32)
    for p in range(n):
        for at in range(tried):
            q = near[p, at]
            if q < 0:
                continue
            around[p, at], is_new[p, at] = q, fresh[p, at]
            counts[q] += 1
            there = counts[q] - 1
            if there >= tried:
                there = np.random.randint(0, counts[q])
            if there < tried:
                around[q, tried + there], is_new[q, tried + there] = p, fresh[p, at]
            fresh[p, at] = False
    return around, is_new


@compiled
def _join(start, stop, Z, around, is_new, near, d2, fresh, tried):
    """Try for every point those around the ones around it, if either is new to the other. How many were found."""
    n, m = near.shape
    seen_by = np.full(n, -1, dtype=np.int32)
    found = 0
    for p in range(start, stop):
        seen_by[p] = p
        for at in range(m):
            if near[p, at] >= 0:
                seen_by[near[p, at]] = p
        for at in range(around.shape[1]):
            q = around[p, at]
            if q < 0:
                continue
            for beyond in range(around.shape[1]):
                r = around[q, beyond]
                if r < 0 or seen_by[r] == p or not (is_new[p, at] or is_new[q, beyond]):
                    continue
                seen_by[r] = p
                distance = _distance(Z[p], Z[r])
                if distance < d2[p, m - 1] and _push(p, r, distance, near, d2, fresh) < tried:
                    found += 1
    return found


@compiled
def _renumbered(start, stop, near, order, result):
    for p in range(start, stop):
        for at in range(near.shape[1]):
            q = near[p, at]
            result[order[p], at] = order[q] if q >= 0 else -1
