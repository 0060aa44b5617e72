"""Which of the points that are equally far from another are its neighbours: the first, as many as make k.

Distances come from products, ‖z_i‖² + ‖z_j‖² − 2 z_i·z_j, and those of equally far points may differ in their last
bits: by some roundings of ‖z_i‖² + ‖z_j‖². In float64 that is next to nothing. In float32 it is not, where near points
lie far from the middle of all: there fewer roundings must do, and with a hundred columns of even weights a tie may be
missed.

The torch engine, which has other ways to count, takes from here what is nearer and what is as far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pglearn.arrays import Array

LAST_BITS = {"float32": 2, "float64": 8}
"""Roundings that make no difference, by the precision of the products."""
EXACT = LAST_BITS["float64"] * float(np.finfo(np.float64).eps)


def nearer_and_as_far(D2: Any, tau: Any, alike: Any) -> tuple[Any, Any]:
    """Booleans: what is nearer than τ, and what is as far but for its last bits."""
    nearer = tau - alike > D2
    return nearer, (tau + alike >= D2) & ~nearer


def first_nearest(D2: Array, k: int, tau: Array, alike: Array) -> Array:
    """Columns of the k nearest of each row, of which τ is the farthest; nearest first.

    A row that has more than k nearer, or fewer than k as near as τ, is filled with −1.
    """
    nearer, as_far = nearer_and_as_far(D2, tau, alike)
    found = np.flatnonzero(nearer | as_far)  # few of all: what follows is about them alone
    row, column = np.divmod(found, D2.shape[1])
    is_far = as_far.ravel()[found]
    counted = np.cumsum(is_far)
    before = np.append(0, counted)[np.searchsorted(row, np.arange(len(D2)))]
    kept = ~is_far | (counted - before[row] <= (k - nearer.sum(axis=1))[row])
    whole = np.bincount(row[kept], minlength=len(D2)) == k
    kept &= whole[row]
    nearest_first = D2.ravel()[found[kept]].reshape(-1, k).argsort(axis=1, kind="stable")
    nearest = np.full((len(D2), k), -1)
    nearest[whole] = np.take_along_axis(column[kept].reshape(-1, k), nearest_first, axis=1)
    return nearest
