"""Loss, accuracy and gradient of a batch of configurations, with n × n arrays: for a few thousand points.

The steps are those of `pglearn.objective.propagation.lgc_scores` (by label) and `pglearn.objective.adjoint`, with a
leading axis T for the candidates. Every candidate has its own k. Nothing mixes candidates, so a NaN stays with the one
it arose in.
"""

from __future__ import annotations

from types import ModuleType

import torch

from pglearn.engine.torch import cholesky, eager
from pglearn.engine.torch.losses import judged
from pglearn.engine.torch.placed import Placed, Tensor
from pglearn.objective.loss import Loss
from pglearn.objective.propagation import LGC


def evaluated(placed: Placed, slots: int, loss: Loss, propagation: LGC, a: Tensor, k: Tensor) -> Tensor:
    """g, accuracy and ∂g/∂a of configurations a (T × d), k (T) side by side, T × (2 + d); no k is above `slots`."""
    a, k = a.to(placed.X), k.to(placed.X.device)
    operations, E = _operations(placed.X), placed.one_per_label
    mu, others = propagation.alpha, len(placed.X) - 1
    k, slots = k.clamp(max=others), min(slots, others)
    G, h = operations.gram(placed.X * a.sqrt()[:, None, :])
    cut = operations.cut(G, h, k, slots)
    log_d = operations.log_degrees(G, h, cut)
    Z = cholesky.solved(operations.systems(G, h, cut, log_d, mu), E.expand(len(a), -1, -1).clone())
    g, accuracy, dg_dH, lift = _scored(placed, Z[:, placed.labelled], loss, propagation.source)
    # A comparison with NaN is false in a kernel, and what it leaves may look like a graph.
    g = torch.where(h.isfinite().all(1), g, torch.nan)
    dg_da = lift * operations.gradient(placed.X, E, Z, mu * (Z @ dg_dH), G, h, k, cut, log_d, mu)
    return torch.cat([g[:, None], accuracy[:, None], dg_da], dim=1)


def slots_for(k: Tensor) -> int:
    """As many as the largest k, filled up to 32, 64, …: a step is recorded for each."""
    return 1 << max(5, (int(k.max()) - 1).bit_length())


def bytes_per_candidate(placed: Placed, slots: int) -> int:
    """What a step holds at its peak, per candidate.

    One that is recorded is run once before, beside the memory of the recordings (`replay.py`): that is as much again.
    """
    (n, d), labels = placed.X.shape, len(placed.labelled)
    copies, runs = (2, 2) if is_fused(placed.X) else (7, 1)
    return int(runs * placed.X.element_size() * n * (copies * n + 2 * cholesky.BLOCK + 2 * d + 6 * labels + 2 * slots))


def _scored(placed: Placed, H: Tensor, loss: Loss, source: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """g, accuracy, the symmetrised ∂g/∂H, from H (T × l × l), and what that is to be multiplied with."""
    shown = source * placed.shown
    g, accuracy, dg_dS, lift = judged(placed, (shown * H[:, placed.scored]) @ placed.Y, loss)
    dg_dH = torch.zeros_like(H)
    dg_dH[:, placed.scored] = shown * (dg_dS @ placed.Y.mT)
    return g, accuracy, (dg_dH + dg_dH.mT) / 2, lift


def is_fused(X: Tensor) -> bool:
    """Whether the fused kernels apply: CUDA and float32. They hold a row in registers, up to some 8,000 points."""
    return bool(X.device.type == "cuda" and X.dtype == torch.float32)


def _operations(X: Tensor) -> ModuleType:
    if is_fused(X):
        from pglearn.engine.torch import kernels

        return kernels
    return eager
