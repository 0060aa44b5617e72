"""Which of the points that are equally far from another are its neighbours: the first, as many as make k.

Distances come from products, ‖z_i‖² + ‖z_j‖² − 2 z_i·z_j, and those of equally far points may differ in their last
bits: by some roundings of ‖z_i‖² + ‖z_j‖². In float64 that is next to nothing. In float32 it is not, where near points
lie far from the middle of all: there fewer roundings must do, and with a hundred columns of even weights a tie may be
missed.

The rule is for arrays and for tensors of torch alike. Compiled loops and kernels, which look at one distance after
another, have it in their own words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

LAST_BITS = {"float32": 2, "float64": 8}
"""Roundings that make no difference, by the precision of the products."""
EXACT = LAST_BITS["float64"] * float(np.finfo(np.float64).eps)


def nearer_and_as_far(D2: Any, tau: Any, alike: Any) -> tuple[Any, Any]:
    """Booleans: what is nearer than τ, and what is as far but for its last bits."""
    nearer = tau - alike > D2
    return nearer, (tau + alike >= D2) & ~nearer


def first_of(as_far: Any, nearer: Any, k: Any) -> Any:
    """Of those that are as far the first of each row, as many as make k with those that are nearer."""
    return as_far & (as_far.cumsum(-1) <= k - nearer.sum(-1)[..., None])


def first_nearest(D2: Array, k: int, tau: Array, alike: Array) -> Array:
    """Columns of the k nearest of each row, of which τ is the farthest; nearest first.

    A row that has more than k nearer, or fewer than k as near as τ, is filled with −1.
    """
    nearer, as_far = nearer_and_as_far(D2, tau, alike)
    chosen = nearer | first_of(as_far, nearer, k)
    whole = chosen.sum(1) == k
    columns = chosen[whole].nonzero()[1].reshape(-1, k)
    nearest_first = np.take_along_axis(D2[whole], columns, 1).argsort(axis=1, kind="stable")
    nearest = np.full((len(D2), k), -1)
    nearest[whole] = np.take_along_axis(columns, nearest_first, axis=1)
    return nearest
