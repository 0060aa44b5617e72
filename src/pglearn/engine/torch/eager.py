"""Row operations of the dense batch in plain torch: what `kernels.py` fuses on CUDA, and what it is tested against.

| symbol | meaning                                                          | shape     |
|--------|------------------------------------------------------------------|-----------|
| G      | Gram matrix of the scaled points                                 | T × n × n |
| h      | squared norms of the scaled points                               | T × n     |
| D²_ij  | h_i + h_j − 2 G_ij                                               | never kept |
| τ_i    | distance² to the k-th neighbour; i–j is an edge if D²_ij ≤ max(τ_i, τ_j) | T × n |
| λ_i    | log of the degree                                                | T × n     |
"""

from __future__ import annotations

import torch

from pglearn.engine.torch.placed import Tensor


def gram(Z: Tensor) -> tuple[Tensor, Tensor]:
    """G and h; G symmetric to the last bit, for i–j and j–i must be the same edge, and a threshold is one's length."""
    G = torch.bmm(Z, Z.mT)
    G = (G + G.mT) / 2
    return G, G.diagonal(dim1=1, dim2=2).contiguous()


def thresholds(G: Tensor, h: Tensor, k: Tensor) -> Tensor:
    """τ: the k-th smallest distance² of each row, itself excluded."""
    nearest = _squared_distances(G, h).topk(int(k.max()), largest=False, sorted=True).values
    return nearest.gather(2, (k - 1)[:, None, None].expand(-1, G.shape[1], 1))[:, :, 0]


def edges(G: Tensor, h: Tensor, tau: Tensor) -> Tensor:
    """T × n × n booleans."""
    return _log_weights(G, h, tau) > -torch.inf


def log_degrees(G: Tensor, h: Tensor, tau: Tensor) -> Tensor:
    return _log_weights(G, h, tau).logsumexp(2)


def systems(G: Tensor, h: Tensor, tau: Tensor, log_d: Tensor, mu: float) -> Tensor:
    """M = I − μP."""
    M = -mu * _P(_log_weights(G, h, tau), log_d)
    M.diagonal(dim1=1, dim2=2).add_(1)
    return M


def coefficients(S: Tensor, G: Tensor, h: Tensor, tau: Tensor, log_d: Tensor) -> tuple[Tensor, Tensor]:
    """B and its row sums b, from ∂g/∂P (see `pglearn.engine.adjoint`)."""
    log_w = _log_weights(G, h, tau)
    SP = S * _P(log_w, log_d)
    q = SP.sum(2)
    T = torch.exp(log_w - log_d[:, :, None])
    half = q[:, :, None] * T
    B = SP - 0.5 * (half + half.mT)
    return B, B.sum(2)


def contracted(B: Tensor, b: Tensor, X: Tensor) -> Tensor:
    """∂g/∂a = −2 [Σ_i b_i x_im² − Σ_i x_im (BX)_im]."""
    return -2 * (b @ (X * X) - (X * (B @ X)).sum(1))


def _squared_distances(G: Tensor, h: Tensor) -> Tensor:
    D2 = (h[:, :, None] + h[:, None, :] - 2 * G).clamp_(min=0)
    D2.diagonal(dim1=1, dim2=2).fill_(torch.inf)
    return D2


def _log_weights(G: Tensor, h: Tensor, tau: Tensor) -> Tensor:
    D2 = _squared_distances(G, h)
    return torch.where(torch.maximum(tau[:, :, None], tau[:, None, :]) >= D2, -D2, -torch.inf)


def _P(log_w: Tensor, log_d: Tensor) -> Tensor:
    return torch.exp(log_w - 0.5 * (log_d[:, :, None] + log_d[:, None, :]))
