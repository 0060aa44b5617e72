"""M X = B for a batch of dense systems, by a blocked Cholesky factor.

On CUDA the library's batched solve takes longer than its factorisation. Here diagonal blocks are factored and inverted,
and everything else is products of matrices: M = L Lᵀ with the blocks of L below the diagonal in place, and L_ii⁻¹ kept.
"""

from __future__ import annotations

import torch

from pglearn.engine.torch.placed import Tensor

BLOCK = 256
LEAF = 64  # what one program factors; where blocks begin at multiples of it, products are the faster for it


def solved(M: Tensor, B: Tensor) -> Tensor:
    """X (T × n × q) with M X = B; both arguments are overwritten. A system that is not definite gives NaN, alone."""
    if M.device.type == "cpu":
        L, failed = torch.linalg.cholesky_ex(M)
        return torch.where((failed == 0)[:, None, None], torch.cholesky_solve(B, L), torch.nan)
    return by_blocks(M, B)


def by_blocks(M: Tensor, B: Tensor) -> Tensor:
    """As `solved`, by products on the device of M."""
    blocks = [slice(start, min(start + BLOCK, M.shape[1])) for start in range(0, M.shape[1], BLOCK)]
    return _substituted(M, blocks, _factored(M, blocks), B)


def _factored(M: Tensor, blocks: list[slice]) -> list[Tensor]:
    """The inverses of the diagonal blocks of L; the blocks below them are left in M."""
    inverses = []
    for block in blocks:
        inverse = _inverse_factor(M[:, block, block])
        inverses.append(inverse)
        below = slice(block.stop, None)
        if block.stop < M.shape[1]:
            panel = M[:, below, block] @ inverse.mT
            M[:, below, block] = panel
            _subtract_lower(M[:, below, below], panel)
    return inverses


def _inverse_factor(A: Tensor) -> Tensor:
    """L⁻¹ for A = L Lᵀ, which is overwritten: of two halves, [L₁ 0; L₂₁ L₂]⁻¹ = [L₁⁻¹ 0; −L₂⁻¹ L₂₁ L₁⁻¹  L₂⁻¹]."""
    size = A.shape[1]
    if size <= LEAF:
        return _inverse_of_leaf(A)
    half = -(-size // (2 * LEAF)) * LEAF
    first, second = slice(None, half), slice(half, None)
    inverse = torch.zeros_like(A, memory_format=torch.contiguous_format)
    inverse[:, first, first] = _inverse_factor(A[:, first, first])
    L = A[:, second, first] @ inverse[:, first, first].mT
    A[:, second, second].baddbmm_(L, L.mT, alpha=-1)
    inverse[:, second, second] = _inverse_factor(A[:, second, second])
    across = L @ inverse[:, first, first]
    inverse[:, second, first].baddbmm_(inverse[:, second, second], across, beta=0, alpha=-1)
    return inverse


def _inverse_of_leaf(A: Tensor) -> Tensor:
    if A.device.type == "cuda":
        from pglearn.engine.torch import kernels

        return kernels.inverse_factor(A, LEAF)
    L, failed = torch.linalg.cholesky_ex(A)
    eye = torch.eye(A.shape[1], dtype=A.dtype, device=A.device).expand_as(A)
    return torch.where((failed == 0)[:, None, None], torch.linalg.solve_triangular(L, eye, upper=False), torch.nan)


def _subtract_lower(A: Tensor, panel: Tensor) -> None:
    """A −= panel·panelᵀ where it is read again: on and below the diagonal, in two parts."""
    half = A.shape[1] // 2 if A.shape[1] > 2 * BLOCK else 0
    if half:
        A[:, :half, :half].baddbmm_(panel[:, :half], panel[:, :half].mT, alpha=-1)
    A[:, half:, :].baddbmm_(panel[:, half:], panel.mT, alpha=-1)


def _substituted(M: Tensor, blocks: list[slice], inverses: list[Tensor], B: Tensor) -> Tensor:
    for block, inverse in zip(blocks, inverses, strict=True):
        B[:, block] = inverse @ B[:, block]
        if block.stop < M.shape[1]:
            B[:, block.stop :].baddbmm_(M[:, block.stop :, block], B[:, block], alpha=-1)
    for block, inverse in zip(reversed(blocks), reversed(inverses), strict=True):
        B[:, block] = inverse.mT @ B[:, block]
        if block.start > 0:
            B[:, : block.start].baddbmm_(M[:, block, : block.start].mT, B[:, block], alpha=-1)
    return B
