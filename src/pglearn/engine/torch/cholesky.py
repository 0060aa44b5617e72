"""M X = B for a batch of dense systems, by a blocked Cholesky factor.

On CUDA the library's batched solve takes longer than its factorisation. Here diagonal blocks are factored and inverted,
and everything else is products of matrices: M = L Lᵀ with the blocks of L below the diagonal in place, and L_ii⁻¹ kept.
"""

from __future__ import annotations

import torch

from pglearn.engine.torch.placed import Tensor

BLOCK = 256


def solved(M: Tensor, B: Tensor) -> Tensor:
    """X (T × n × q) with M X = B; both arguments are overwritten. A system that is not definite gives NaN, alone."""
    if M.device.type == "cpu":
        L, failed = torch.linalg.cholesky_ex(M)
        return torch.where((failed == 0)[:, None, None], torch.cholesky_solve(B, L), torch.nan)
    return _substituted(M, _factored(M), B)


def _blocks(n: int) -> list[slice]:
    # Blocks of equal size: a thin last one would cost as much time as a full one.
    count = max(1, round(n / BLOCK))
    ends = [round(n * (i + 1) / count) for i in range(count)]
    return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _factored(M: Tensor) -> list[Tensor]:
    """The inverses of the diagonal blocks of L; the blocks below them are left in M."""
    inverses = []
    for block in _blocks(M.shape[1]):
        L, failed = torch.linalg.cholesky_ex(M[:, block, block])
        L = torch.where((failed == 0)[:, None, None], L, torch.nan)
        eye = torch.eye(L.shape[1], dtype=M.dtype, device=M.device).expand_as(L)
        inverse = torch.linalg.solve_triangular(L, eye, upper=False)
        inverses.append(inverse)
        below = slice(block.stop, None)
        if block.stop < M.shape[1]:
            panel = M[:, below, block] @ inverse.mT
            M[:, below, block] = panel
            _subtract_lower(M[:, below, below], panel)
    return inverses


def _subtract_lower(A: Tensor, panel: Tensor) -> None:
    """A −= panel·panelᵀ where it is read again: on and below the diagonal, in two parts."""
    half = A.shape[1] // 2 if A.shape[1] > 2 * BLOCK else 0
    if half:
        A[:, :half, :half].baddbmm_(panel[:, :half], panel[:, :half].mT, alpha=-1)
    A[:, half:, :].baddbmm_(panel[:, half:], panel.mT, alpha=-1)


def _substituted(M: Tensor, inverses: list[Tensor], B: Tensor) -> Tensor:
    blocks = _blocks(M.shape[1])
    for block, inverse in zip(blocks, inverses, strict=True):
        B[:, block] = inverse @ B[:, block]
        if block.stop < M.shape[1]:
            B[:, block.stop :].baddbmm_(M[:, block.stop :, block], B[:, block], alpha=-1)
    for block, inverse in zip(reversed(blocks), reversed(inverses), strict=True):
        B[:, block] = inverse.mT @ B[:, block]
        if block.start > 0:
            B[:, : block.start].baddbmm_(M[:, block, : block.start].mT, B[:, block], alpha=-1)
    return B
