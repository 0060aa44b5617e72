"""Distances between given pairs of rows, each pair read once. Differences are in the precision of the rows, sums are
float64."""

from __future__ import annotations

import numpy as np

from pglearn.compiled import compiled


@compiled
def squared_distance(u, v):
    total = 0.0
    for m in range(len(u)):
        difference = np.float64(u[m] - v[m])
        total += difference * difference
    return total


@compiled
def squared_distances(start, stop, U, V, i, j, d2):
    """‖u_i − v_j‖² per pair (i, j)."""
    for e in range(start, stop):
        d2[e] = squared_distance(U[i[e]], V[j[e]])


@compiled
def nearest_of(start, stop, Z, candidates, nearest):
    """The nearest of each row's candidates, nearest first; as many as `nearest` has columns. A negative one is none."""
    k = nearest.shape[1]
    d2 = np.empty(k)
    for p in range(start, stop):
        found = 0
        for c in range(candidates.shape[1]):
            q = candidates[p, c]
            if q < 0:
                continue
            distance = squared_distance(Z[p], Z[q])
            if np.isnan(distance):  # what is beyond all floats is far, and no reason to drop another
                distance = np.inf
            if found == k and distance >= d2[k - 1]:
                continue
            at = found if found < k else k - 1
            found = min(found + 1, k)
            while at > 0 and d2[at - 1] > distance:
                d2[at] = d2[at - 1]
                nearest[p, at] = nearest[p, at - 1]
                at -= 1
            d2[at] = distance
            nearest[p, at] = q
