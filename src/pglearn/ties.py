"""Which of the points that are equally far from another are its neighbours: the first, as many as make k.

Distances come from products, ‖z_i‖² + ‖z_j‖² − 2 z_i·z_j, and those of equally far points may differ in their last
bits: by some roundings of ‖z_i‖² + ‖z_j‖². In float64 that is next to nothing. In float32 it is not, where near points
lie far from the middle of all: there fewer roundings must do, and with a hundred columns of even weights a tie may be
missed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

LAST_BITS = {"float32": 2, "float64": 8}
"""Roundings that make no difference, by the precision of the products."""
EXACT = LAST_BITS["float64"] * float(np.finfo(np.float64).eps)


def first_nearest(order: Array, k: int, nearer: Array, reached: Array) -> Array:
    """Columns of those that are nearer and of the others that are reached the first, as many as make k; nearest first.

    Rows are by `order`, what their columns are sorted by. One that has more than k nearer, or fewer than k reached, is
    filled with −1.
    """
    found = np.flatnonzero(reached)
    row, column = np.divmod(found, order.shape[1])
    as_far = ~nearer.ravel()[found]
    counted = np.cumsum(as_far)
    before = np.concatenate(([0], counted))[np.searchsorted(row, np.arange(len(order)))]
    kept = ~as_far | (counted - before[row] <= (k - nearer.sum(axis=1))[row])
    whole = np.bincount(row[kept], minlength=len(order)) == k
    kept &= whole[row]
    nearest_first = order.ravel()[found[kept]].reshape(-1, k).argsort(axis=1, kind="stable")
    nearest = np.full((len(order), k), -1)
    nearest[whole] = np.take_along_axis(column[kept].reshape(-1, k), nearest_first, axis=1)
    return nearest
