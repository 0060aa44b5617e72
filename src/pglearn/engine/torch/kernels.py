"""What the dense batch does on CUDA by kernels of its own.

Operations are those of `eager.py`, which has the mathematics, function by function. Row kernels handle one row of one
candidate. D² is made again from G in each, so that of the n × n arrays only G and M ever exist, and each is read once
per kernel: they are bound by memory, not by arithmetic. The gradient needs edges alone, and every row has a list of its
neighbours. `inverse_factor` is for `cholesky.py`.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from pglearn.engine.torch.eager import Cut
from pglearn.engine.torch.placed import Tensor
from pglearn.objective.graph.ties import LAST_BITS

ROUNDING = tl.constexpr(LAST_BITS["float32"] * torch.finfo(torch.float32).eps)
INFINITY_BITS = tl.constexpr(0x7F800000)
SLOTS, LABELS = 32, 64  # that a program takes at once
FEATURES, ROWS = 128, 8  # the same of the contraction


def gram(Z: Tensor) -> tuple[Tensor, Tensor]:
    G = torch.bmm(Z, Z.mT)  # symmetric but for the last bits, which `_edges` allows for
    return G, G.diagonal(dim1=1, dim2=2).contiguous()


def cut(G: Tensor, h: Tensor, k: Tensor, slots: int) -> Cut:
    T, n = h.shape
    # Zeros, for where there is no distance, there is no neighbour, and what is read must be one.
    found = Cut(
        torch.empty_like(h), torch.empty_like(h, dtype=torch.int32), h.new_zeros(T, n, slots, dtype=torch.int32)
    )
    _cut[_grid(h)](G, h, k.int(), *found, n, slots, **_block(h))
    return found


def log_degrees(G: Tensor, h: Tensor, cut: Cut) -> Tensor:
    log_d = torch.empty_like(h)
    _log_degrees[_grid(h)](G, h, cut.tau, cut.last, log_d, h.shape[1], **_block(h))
    return log_d


def systems(G: Tensor, h: Tensor, cut: Cut, log_d: Tensor, mu: float) -> Tensor:
    M = torch.empty_like(G)
    _systems[_grid(h)](G, h, cut.tau, cut.last, log_d, M, mu, h.shape[1], **_block(h) | {"num_warps": 8})
    return M


def inverse_factor(A: Tensor, most: int) -> Tensor:
    """For A of at most `most` rows, a power of two."""
    inverse = torch.empty_like(A, memory_format=torch.contiguous_format)
    _inverse_factor[(len(A),)](A, inverse, A.stride(0), A.stride(1), A.shape[1], BLOCK=most, num_warps=4)
    return inverse


def gradient(
    X: Tensor, E: Tensor, Z: Tensor, A: Tensor, G: Tensor, h: Tensor, k: Tensor, cut: Cut, log_d: Tensor, mu: float
) -> Tensor:
    assert cut.neighbours is not None
    (T, n), (d, labels), slots = h.shape, (X.shape[1], Z.shape[2]), cut.neighbours.shape[2]
    q = (A * (Z - E)).sum(2) / mu  # Σ_j S_ij P_ij = A_i (PZ)_i, and Z − μPZ = E
    B = torch.empty_like(cut.neighbours, dtype=h.dtype)
    each = (Z.contiguous(), A.contiguous(), G, h, k.int(), *cut, log_d, q, B)
    grid = (*_grid(h), triton.cdiv(slots, SLOTS))
    _coefficients[grid](*each, n, labels, slots, SLOTS=SLOTS, LABELS=LABELS, num_warps=1)
    blocks = triton.cdiv(n, ROWS)
    sums = h.new_empty(T, blocks, d)
    grid = (triton.cdiv(d, FEATURES), blocks, T)
    _contracted[grid](X, B, cut.neighbours, k.int(), sums, n, d, slots, ROWS=ROWS, FEATURES=FEATURES, num_warps=1)
    return -2 * sums.sum(1)


def _grid(h: Tensor) -> tuple[int, int]:
    return h.shape[1], h.shape[0]


def _block(h: Tensor) -> dict[str, int]:
    width = triton.next_power_of_2(h.shape[1])
    return {"BLOCK": width, "num_warps": 4 if width <= 2048 else 8}


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
def _is_neighbour(d2, rounding, tau, last, j):
    """Whether j is one of those at which a row is cut."""
    return (d2 < tau - rounding) | ((d2 <= tau + rounding) & (j <= last))


@triton.jit
def _edges(d2, rounding, tau, last, i, base, j, real):
    """D²_ij and D²_ji may differ in their last bits, and τ is one of them."""
    tau_j = tl.load(tau + base + j, mask=real, other=0.0)
    last_j = tl.load(last + base + j, mask=real, other=0)
    of_i = _is_neighbour(d2, rounding, tl.load(tau + base + i), tl.load(last + base + i), j)
    return (of_i | _is_neighbour(d2, rounding, tau_j, last_j, i)) & (d2 < float("inf"))


@triton.jit
def _cut(G, h, k, tau, last, neighbours, n, slots, BLOCK: tl.constexpr):
    """Bisection over the bit patterns, which are ordered as the distances are, until k of them are below; of those that
    are as far as the k-th the first are counted until there are k."""
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
    nearer = d2 < k_th - rounding
    as_far = (d2 <= k_th + rounding) & (d2 < float("inf")) & (nearer == 0)
    missing = wanted - tl.sum(nearer.to(tl.int32), 0)
    # Two counts in the halves of one number, for one pass: rows have fewer than 2¹⁶ points.
    counts = tl.cumsum(tl.where(nearer, 65536, as_far.to(tl.int32)), 0)
    number_as_far = counts & 65535
    as_far = as_far & (number_as_far <= missing)
    place = (counts >> 16) + tl.minimum(number_as_far, missing) - 1
    tl.store(tau + base + i, k_th)
    tl.store(last + base + i, tl.max(tl.where(as_far, j, 0), 0))
    tl.store(neighbours + (base + i).to(tl.int64) * slots + place, j, mask=(nearer | as_far) & (place < slots))


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
def _coefficients(
    Z, A, G, h, k, tau, last, neighbours, log_d, q, B, n, labels, slots, SLOTS: tl.constexpr, LABELS: tl.constexpr
):
    """B of a row and some of its neighbours; half of it where the row is one of theirs, and comes to the edge again."""
    i = tl.program_id(0)
    t = tl.program_id(1)
    base = t * n
    row = (base + i).to(tl.int64)
    slot = tl.program_id(2) * SLOTS + tl.arange(0, SLOTS)
    there = slot < tl.load(k + t)
    j = tl.load(neighbours + row * slots + slot, mask=there, other=0)

    s = tl.zeros((SLOTS,), dtype=tl.float32)
    for first in range(0, labels, LABELS):
        label = first + tl.arange(0, LABELS)
        real = label < labels
        z = tl.load(
            Z + (base + j).to(tl.int64)[:, None] * labels + label[None, :],
            mask=there[:, None] & real[None, :],
            other=0.0,
        )
        s += tl.sum(z * tl.load(A + row * labels + label, mask=real, other=0.0)[None, :], 1)

    h_i = tl.load(h + base + i)
    h_j = tl.load(h + base + j)
    d2 = tl.maximum(h_i + h_j - 2 * tl.load(G + row * n + j), 0.0)
    log_d_i = tl.load(log_d + base + i)
    log_d_j = tl.load(log_d + base + j)
    of_i = tl.load(q + base + i) * tl.exp(-d2 - log_d_i)
    of_j = tl.load(q + base + j) * tl.exp(-d2 - log_d_j)
    value = s * tl.exp(-d2 - 0.5 * (log_d_i + log_d_j)) - 0.5 * (of_i + of_j)
    mutual = _is_neighbour(d2, ROUNDING * (h_i + h_j), tl.load(tau + base + j), tl.load(last + base + j), i)
    tl.store(B + row * slots + slot, tl.where(mutual, 0.5 * value, value), mask=there)


@triton.jit
def _contracted(X, B, neighbours, k, sums, n, d, slots, ROWS: tl.constexpr, FEATURES: tl.constexpr):
    """Σ B_ij (x_im − x_jm)² over some rows and their neighbours, for some features."""
    m = tl.program_id(0) * FEATURES + tl.arange(0, FEATURES)
    block = tl.program_id(1)
    t = tl.program_id(2)
    real = m < d
    wanted = tl.load(k + t)
    total = tl.zeros((FEATURES,), dtype=tl.float32)
    for i in range(block * ROWS, tl.minimum(block * ROWS + ROWS, n)):
        x_i = tl.load(X + i * d + m, mask=real, other=0.0)
        start = (t.to(tl.int64) * n + i) * slots
        for slot in range(wanted):
            j = tl.load(neighbours + start + slot)
            apart = x_i - tl.load(X + j * d + m, mask=real, other=0.0)
            total += tl.load(B + start + slot) * apart * apart
    tl.store(sums + (t * tl.num_programs(1) + block).to(tl.int64) * d + m, total, mask=real)


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
