"""Row operations of the dense batch in plain torch: what `kernels.py` fuses on CUDA, and what it is tested against.

| symbol | meaning                                                          | shape     |
|--------|------------------------------------------------------------------|-----------|
| G      | Gram matrix of the scaled points                                 | T × n × n |
| h      | squared norms of the scaled points                               | T × n     |
| D²_ij  | h_i + h_j − 2 G_ij                                               | never kept |
| τ_i    | distance² to the k-th neighbour                                  | T × n     |
| l_i    | the last of the points as far as that which is a neighbour: the first are, as many as make k | T × n |
| λ_i    | log of the degree                                                | T × n     |

i–j is an edge if j is a neighbour of i, or i one of j.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from pglearn.engine.torch.placed import Tensor
from pglearn.objective.graph.ties import LAST_BITS, nearer_and_as_far


class Cut(NamedTuple):
    """Where the neighbours of each point end: τ and l. Kernels list them, too, as many as a candidate's k."""

    tau: Tensor
    last: Tensor
    neighbours: Tensor | None = None


def gram(Z: Tensor) -> tuple[Tensor, Tensor]:
    """G and h; G symmetric to the last bit, for i–j and j–i must be the same edge, and a threshold is one's length."""
    G = torch.bmm(Z, Z.mT)
    G = (G + G.mT) / 2
    return G, G.diagonal(dim1=1, dim2=2).contiguous()


def cut(G: Tensor, h: Tensor, k: Tensor, slots: int) -> Cut:
    """Of the k nearest of each row, itself excluded; no k is above `slots`."""
    D2 = _squared_distances(G, h)
    tau = D2.topk(slots, largest=False, sorted=True).values
    tau = tau.gather(2, (k - 1)[:, None, None].expand(-1, G.shape[1], 1))
    nearer, as_far = nearer_and_as_far(D2, tau, rounding(h[:, :, None] + h[:, None, :]))
    del D2
    positions = torch.arange(G.shape[1], dtype=torch.int32, device=G.device)
    last = torch.where(first_of(as_far, nearer, k[:, None, None]), positions, 0).amax(2)
    return Cut(tau[:, :, 0], last)


def log_degrees(G: Tensor, h: Tensor, cut: Cut) -> Tensor:
    return _log_weights(G, h, cut).logsumexp(2)


def systems(G: Tensor, h: Tensor, cut: Cut, log_d: Tensor, mu: float) -> Tensor:
    """M = I − μP."""
    M = -mu * _P(_log_weights(G, h, cut), log_d)
    M.diagonal(dim1=1, dim2=2).add_(1)
    return M


def gradient(
    X: Tensor, E: Tensor, Z: Tensor, A: Tensor, G: Tensor, h: Tensor, k: Tensor, cut: Cut, log_d: Tensor, mu: float
) -> Tensor:
    """∂g/∂a from Z = M⁻¹E and A, of which ∂g/∂P is S = AZᵀ (see `pglearn.objective.adjoint` for the names).

    E, k and μ are for the kernels, which have no S to sum.
    """
    log_w = _log_weights(G, h, cut)
    SP = (A @ Z.mT) * _P(log_w, log_d)
    half = SP.sum(2)[:, :, None] * torch.exp(log_w - log_d[:, :, None])
    B = SP - 0.5 * (half + half.mT)
    return -2 * (B.sum(2) @ (X * X) - (X * (B @ X)).sum(1))


def _squared_distances(G: Tensor, h: Tensor) -> Tensor:
    D2 = (h[:, :, None] + h[:, None, :] - 2 * G).clamp_(min=0)
    D2.diagonal(dim1=1, dim2=2).fill_(torch.inf)
    return D2


def rounding(norms: Tensor) -> Tensor:
    """What distances² may differ by and be the same, from ‖z_i‖² + ‖z_j‖²."""
    precision = torch.finfo(norms.dtype)
    return LAST_BITS[precision.dtype] * precision.eps * norms


def first_of(as_far: Tensor, nearer: Tensor, k: Tensor | int) -> Tensor:
    """Of those that are as far the first of each row, as many as make k with those that are nearer."""
    return as_far & (as_far.cumsum(-1, dtype=torch.int32) <= k - nearer.sum(-1, keepdim=True))


def _log_weights(G: Tensor, h: Tensor, cut: Cut) -> Tensor:
    D2 = _squared_distances(G, h)
    neighbour, as_far = nearer_and_as_far(D2, cut.tau[:, :, None], rounding(h[:, :, None] + h[:, None, :]))
    neighbour |= as_far & (torch.arange(G.shape[1], device=G.device) <= cut.last[:, :, None])
    return torch.where(neighbour | neighbour.mT, -D2, -torch.inf)


def _P(log_w: Tensor, log_d: Tensor) -> Tensor:
    return torch.exp(log_w - 0.5 * (log_d[:, :, None] + log_d[:, None, :]))
