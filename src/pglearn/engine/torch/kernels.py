"""What the dense batch does on CUDA by kernels of its own.

Row operations are those of `eager.py`, which has the mathematics, function by function. A program handles one row of
one candidate. D² is made again from G in each kernel, so that of the n × n arrays only G, M and S ever exist, and each
is read once per kernel: they are bound by memory, not by arithmetic. `inverse_factor` is for `cholesky.py`.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from pglearn.engine.torch.eager import Cut
from pglearn.engine.torch.placed import Tensor
from pglearn.engine.torch.precision import float32_products
from pglearn.ties import LAST_BITS

ROUNDING = tl.constexpr(LAST_BITS * torch.finfo(torch.float32).eps)
INFINITY_BITS = tl.constexpr(0x7F800000)
HALF_OF_LAST_BIT = 0x1000  # of a float32 that keeps ten bits of its mantissa


def gram(Z: Tensor) -> tuple[Tensor, Tensor]:
    G = torch.bmm(Z, Z.mT)  # symmetric but for the last bits, which `_edges` allows for
    return G, G.diagonal(dim1=1, dim2=2).contiguous()


def cut(G: Tensor, h: Tensor, k: Tensor) -> Cut:
    found = Cut(torch.empty_like(h), torch.empty_like(h, dtype=torch.int32))
    _cut[_grid(h)](G, h, k.int(), *found, h.shape[1], **_block(h))
    return found


def log_degrees(G: Tensor, h: Tensor, cut: Cut) -> Tensor:
    log_d = torch.empty_like(h)
    _log_degrees[_grid(h)](G, h, *cut, log_d, h.shape[1], **_block(h))
    return log_d


def systems(G: Tensor, h: Tensor, cut: Cut, log_d: Tensor, mu: float) -> Tensor:
    M = torch.empty_like(G)
    _systems[_grid(h)](G, h, *cut, log_d, M, mu, h.shape[1], **_block(h))
    return M


def inverse_factor(A: Tensor, most: int) -> Tensor:
    """For A of at most `most` rows, a power of two."""
    inverse = torch.empty_like(A, memory_format=torch.contiguous_format)
    _inverse_factor[(len(A),)](A, inverse, A.stride(0), A.stride(1), A.shape[1], BLOCK=most, num_warps=4)
    return inverse


def coefficients(S: Tensor, G: Tensor, h: Tensor, cut: Cut, log_d: Tensor) -> tuple[Tensor, Tensor]:
    q, b = torch.empty_like(h), torch.empty_like(h)
    _weighted_sums[_grid(h)](S, G, h, *cut, log_d, q, h.shape[1], **_block(h))
    _coefficients[_grid(h)](S, G, h, *cut, log_d, q, b, h.shape[1], **_block(h))
    return S, b


def contracted(B: Tensor, b: Tensor, X: Tensor) -> Tensor:
    """On tensor cores, which read ten bits of each factor and sum in float32.

    b x² and x B x cancel, so both must see the same rounded numbers: B and b are rounded where they are made, X here.
    The result is then the gradient of points that are off by 2⁻¹¹, and loses no digits to the cancellation.
    """
    X = _rounded(X)
    with float32_products("high"):
        BX = B @ X
    return -2 * (b @ (X * X) - (X * BX).sum(1))


def _rounded(X: Tensor) -> Tensor:
    return ((X.view(torch.int32) + HALF_OF_LAST_BIT) & ~(2 * HALF_OF_LAST_BIT - 1)).view(torch.float32)


def _grid(h: Tensor) -> tuple[int, int]:
    return h.shape[1], h.shape[0]


def _block(h: Tensor) -> dict[str, int]:
    width = triton.next_power_of_2(h.shape[1])
    return {"BLOCK": width, "num_warps": 4 if width <= 2048 else 8}


@triton.jit
def _ten_bits(value):
    """Rounded to ten bits of the mantissa. One more than the bits of a NaN may be those of a zero."""
    rounded = ((value.to(tl.int32, bitcast=True) + 0x1000) & -0x2000).to(tl.float32, bitcast=True)
    return tl.where(value == value, rounded, value)


@triton.jit
def _row(G, h, n, BLOCK: tl.constexpr):
    """Row, offset of its vectors, columns, those that exist, offset of its matrices, D² (∞ at itself), its rounding."""
    i = tl.program_id(0)
    t = tl.program_id(1)
    j = tl.arange(0, BLOCK)
    real = j < n
    start = (t * n + i).to(tl.int64) * n
    g = tl.load(G + start + j, mask=real, other=0.0)
    h_j = tl.load(h + t * n + j, mask=real, other=0.0)
    h_i = tl.load(h + t * n + i)
    d2 = tl.maximum(h_i + h_j - 2 * g, 0.0)
    return i, t * n, j, real, start, tl.where(real & (j != i), d2, float("inf")), ROUNDING * (h_i + h_j)


@triton.jit
def _edges(d2, rounding, tau, last, i, base, j, real):
    """D²_ij and D²_ji may differ in their last bits, and τ is one of them."""
    tau_j = tl.load(tau + base + j, mask=real, other=0.0)
    last_j = tl.load(last + base + j, mask=real, other=0)
    tau_i = tl.load(tau + base + i)
    last_i = tl.load(last + base + i)
    of_i = (d2 < tau_i - rounding) | ((d2 <= tau_i + rounding) & (j <= last_i))
    of_j = (d2 < tau_j - rounding) | ((d2 <= tau_j + rounding) & (i <= last_j))
    return (of_i | of_j) & (d2 < float("inf"))


@triton.jit
def _cut(G, h, k, tau, last, n, BLOCK: tl.constexpr):
    """Bisection over the bit patterns, which are ordered as the distances are, until k of them are below; then, where
    more points are as far as the k-th than make k, over their positions."""
    i, base, j, _real, _start, d2, rounding = _row(G, h, n, BLOCK)
    bits = d2.to(tl.int32, bitcast=True)
    wanted = tl.load(k + tl.program_id(1))
    low = tl.zeros((), dtype=tl.int32)
    high = low + INFINITY_BITS
    while low < high:
        middle = low + (high - low) // 2
        count = tl.sum((bits <= middle).to(tl.int32), 0)
        high = tl.where(count >= wanted, middle, high)
        low = tl.where(count == wanted, high, tl.where(count >= wanted, low, middle + 1))
    high = tl.max(tl.where(bits <= high, bits, 0), 0)  # the k-th itself, not what parts it from the next
    k_th = high.to(tl.float32, bitcast=True)
    tl.store(tau + base + i, k_th)

    nearer = d2 < k_th - rounding
    as_far = (d2 <= k_th + rounding) & (d2 < float("inf")) & (nearer == 0)
    missing = wanted - tl.sum(nearer.to(tl.int32), 0)
    end = tl.max(tl.where(as_far, j, 0), 0)
    first = tl.where(tl.sum(as_far.to(tl.int32), 0) > missing, 0, end)
    while first < end:
        middle = first + (end - first) // 2
        enough = tl.sum((as_far & (j <= middle)).to(tl.int32), 0) >= missing
        end = tl.where(enough, middle, end)
        first = tl.where(enough, first, middle + 1)
    tl.store(last + base + i, end)


@triton.jit
def _log_degrees(G, h, tau, last, log_d, n, BLOCK: tl.constexpr):
    i, base, j, real, _start, d2, rounding = _row(G, h, n, BLOCK)
    edge = _edges(d2, rounding, tau, last, i, base, j, real)
    peak = tl.max(tl.where(edge, -d2, -float("inf")), 0)
    total = tl.sum(tl.where(edge, tl.exp(-d2 - peak), 0.0), 0)
    tl.store(log_d + base + i, peak + tl.log(total))


@triton.jit
def _systems(G, h, tau, last, log_d, M, mu, n, BLOCK: tl.constexpr):
    i, base, j, real, start, d2, rounding = _row(G, h, n, BLOCK)
    edge = _edges(d2, rounding, tau, last, i, base, j, real)
    log_d_j = tl.load(log_d + base + j, mask=real, other=0.0)
    log_d_i = tl.load(log_d + base + i)
    p = tl.where(edge, tl.exp(-d2 - 0.5 * (log_d_i + log_d_j)), 0.0)
    tl.store(M + start + j, tl.where(j == i, 1.0, -mu * p), mask=real)


@triton.jit
def _weighted_sums(S, G, h, tau, last, log_d, q, n, BLOCK: tl.constexpr):
    i, base, j, real, start, d2, rounding = _row(G, h, n, BLOCK)
    edge = _edges(d2, rounding, tau, last, i, base, j, real)
    log_d_j = tl.load(log_d + base + j, mask=real, other=0.0)
    log_d_i = tl.load(log_d + base + i)
    s = tl.load(S + start + j, mask=real, other=0.0)
    p = tl.exp(-d2 - 0.5 * (log_d_i + log_d_j))
    tl.store(q + base + i, tl.sum(tl.where(edge, s * p, 0.0), 0))


@triton.jit
def _coefficients(S, G, h, tau, last, log_d, q, b, n, BLOCK: tl.constexpr):
    """B takes the place of S."""
    i, base, j, real, start, d2, rounding = _row(G, h, n, BLOCK)
    edge = _edges(d2, rounding, tau, last, i, base, j, real)
    log_d_j = tl.load(log_d + base + j, mask=real, other=0.0)
    log_d_i = tl.load(log_d + base + i)
    q_j = tl.load(q + base + j, mask=real, other=0.0)
    q_i = tl.load(q + base + i)
    s = tl.load(S + start + j, mask=real, other=0.0)
    p = tl.exp(-d2 - 0.5 * (log_d_i + log_d_j))
    t_ij = tl.exp(-d2 - log_d_i)
    t_ji = tl.exp(-d2 - log_d_j)
    value = _ten_bits(tl.where(edge, s * p - 0.5 * (q_i * t_ij + q_j * t_ji), 0.0))  # see `contracted`
    tl.store(S + start + j, value, mask=real)
    tl.store(b + base + i, tl.sum(value, 0))


@triton.jit
def _inverse_factor(A, inverse, between, width, n, BLOCK: tl.constexpr):
    """A column of L after the other, and what takes it to that of the identity; both stay in registers."""
    t = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    row, column = j[:, None], j[None, :]
    real = (row < n) & (column < n)
    rest = tl.load(A + t * between + row * width + column, mask=real, other=0.0)
    one = (row == column).to(rest.dtype)
    rest = tl.where(real, rest, one)
    found = one
    for i in range(BLOCK):
        below = tl.sum(tl.where(column == i, rest, 0.0), 1)
        scale = 1.0 / tl.sqrt(tl.sum(tl.where(j == i, below, 0.0), 0))
        below = tl.where(j > i, below * scale, 0.0)
        done = tl.sum(tl.where(row == i, found, 0.0), 0) * scale
        found = tl.where(row == i, done[None, :], found - below[:, None] * done[None, :])
        rest -= below[:, None] * below[None, :]
    tl.store(inverse + t * n * n + row * n + column, found, mask=real)
