"""`pglearn.ties` for tensors: of points that are equally far, the first are neighbours."""

from __future__ import annotations

import torch

from pglearn.engine.torch.placed import Tensor
from pglearn.ties import LAST_BITS


def rounding(squared_norms: Tensor) -> Tensor:
    """What distances² may differ by and be the same, from ‖z_i‖² + ‖z_j‖²."""
    precision = torch.finfo(squared_norms.dtype)
    return LAST_BITS[precision.dtype] * precision.eps * squared_norms


def nearer_and_as_far(D2: Tensor, tau: Tensor, rounding: Tensor) -> tuple[Tensor, Tensor]:
    """Booleans: what is nearer than τ, and what is as far but for its last bits."""
    nearer = tau - rounding > D2
    return nearer, (tau + rounding >= D2) & ~nearer


def first_of(as_far: Tensor, nearer: Tensor, k: Tensor | int) -> Tensor:
    """Of those that are as far the first of each row, as many as make k with those that are nearer."""
    return as_far & (as_far.cumsum(-1, dtype=torch.int32) <= k - nearer.sum(-1, keepdim=True))
