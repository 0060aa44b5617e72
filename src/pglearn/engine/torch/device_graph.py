"""Graphs of many points on a device: exact neighbours in blocks of rows, then edges and their weights.

Selecting k of a million by `topk` costs far more than the distances. So distances are first reduced to the minimum of
every group of 64 columns, one pass over memory. The k + 1 groups with the smallest minima hold all k + 1 nearest: were
one of them in another group, those groups would each hold a point that is nearer. Where the last two are equally far,
the whole row is looked at, and the first of them are taken (`pglearn.objective.graph.ties`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import torch

from pglearn.engine.torch.eager import first_of, rounding
from pglearn.engine.torch.placed import Tensor
from pglearn.objective.graph import Edges, Graph
from pglearn.objective.graph.ties import nearer_and_as_far

GROUP = 64


@dataclass(frozen=True, eq=False)
class DeviceGraph:
    """`pglearn.objective.graph.Edges` and `Graph` as tensors, with the same names. Weights are float64."""

    n: int
    i: Tensor
    j: Tensor
    indptr: Tensor
    indices: Tensor
    order: Tensor
    log_w: Tensor
    log_d: Tensor

    @classmethod
    def from_points(cls, Z: Tensor, k: int, memory: int) -> DeviceGraph:
        """The k-nearest-neighbour graph of scaled points, with blocks of about `memory` bytes."""
        # Where all points are infinitely far, the columns that pad a block of neighbours are as near as any.
        if not bool(Z.square().sum(1).isfinite().all()):
            raise OverflowError("Distances between rows are beyond all numbers: scale X, or give smaller weights.")
        n, neighbours = len(Z), k_nearest(Z, k, memory // 2)
        p, q = torch.arange(n, device=Z.device).repeat_interleave(neighbours.shape[1]), neighbours.flatten()
        pairs = torch.unique(torch.minimum(p, q) * n + torch.maximum(p, q))
        i, j = pairs // n, pairs % n
        del neighbours, p, q, pairs
        log_w = torch.empty(len(i), dtype=torch.float64, device=Z.device)
        for part in parts(len(i), memory // (8 * Z.element_size() * max(1, Z.shape[1]))):
            log_w[part] = -(Z[i[part]] - Z[j[part]]).square().sum(1).double()
        row, column = torch.cat([i, j]), torch.cat([j, i])
        order = torch.argsort(row * n + column)
        indptr = torch.nn.functional.pad(torch.bincount(row, minlength=n).cumsum(0), (1, 0))
        by_row = torch.cat([log_w, log_w])[order]
        peak = torch.segment_reduce(by_row, "max", offsets=indptr)
        shares = (by_row - peak.repeat_interleave(indptr.diff())).exp()
        log_d = peak + torch.segment_reduce(shares, "sum", offsets=indptr).log()
        return cls(n, i, j, indptr, column[order], order, log_w, log_d)

    @cached_property
    def p(self) -> Tensor:
        return (self.log_w - 0.5 * (self.log_d[self.i] + self.log_d[self.j])).exp()

    @cached_property
    def P(self) -> Tensor:
        return self.matrix(self.p)

    def matrix(self, values: Tensor) -> Tensor:
        return csr(self.indptr, self.indices, torch.cat([values, values])[self.order])

    def sums(self, at_i: Tensor, at_j: Tensor) -> Tensor:
        # Not index_add_, which adds in whatever order the device likes: the same search must give the same sums.
        return torch.segment_reduce(torch.cat([at_i, at_j])[self.order], "sum", offsets=self.indptr)

    def on_host(self) -> Graph:
        edges = (part.int().cpu().numpy() for part in (self.i, self.j, self.indptr, self.indices, self.order))
        return Graph(Edges(self.n, *edges), self.log_w.cpu().numpy(), self.log_d.cpu().numpy())


def k_nearest(Z: Tensor, k: int, memory: int) -> Tensor:
    """Indices of the k nearest other rows of every row of Z, n × min(k, n−1), using about `memory` bytes."""
    n = len(Z)
    k = min(k, n - 1)
    groups = -(-n // GROUP)
    points = torch.nn.functional.pad(Z, (0, 0, 0, groups * GROUP - n))
    # A distance less the part that all columns of a row share; a column that only pads is infinitely far.
    squares = (Z * Z).sum(1)
    offset = torch.nn.functional.pad(squares, (0, groups * GROUP - n), value=torch.inf)
    rows = max(1, memory // (2 * Z.element_size() * groups * GROUP))
    neighbours = torch.empty(n, k, dtype=torch.long, device=Z.device)
    for start in range(0, n, rows):
        block = Z[start : start + rows]
        own = torch.arange(len(block), device=Z.device)
        distances = torch.addmm(offset, block, points.T, alpha=-2)
        distances[own, start + own] = torch.inf
        by_group = distances.view(len(block), groups, GROUP)
        nearest_groups = by_group.amin(2).topk(min(k + 1, groups), largest=False, sorted=False).indices
        candidates = by_group.gather(1, nearest_groups[:, :, None].expand(-1, -1, GROUP)).flatten(1)
        nearest, position = candidates.topk(k + 1, largest=False, sorted=True)
        found = nearest_groups.gather(1, position // GROUP) * GROUP + position % GROUP
        either = rounding(squares[start : start + rows] + offset[found[:, -2:]].amax(1))
        found = found[:, :k]
        tied = (nearest[:, k] <= nearest[:, k - 1] + 2 * either).nonzero()[:, 0]
        for part in tied.split(max(1, rows // 8)):
            alike = rounding(squares[start + part, None] + squares)
            nearer, as_far = nearer_and_as_far(distances[part, :n], nearest[part, k - 1 : k], alike)
            found[part] = (nearer | first_of(as_far, nearer, k)).nonzero()[:, 1].view(-1, k)
        neighbours[start : start + rows] = found
    return neighbours


def csr(indptr: Tensor, indices: Tensor, values: Tensor) -> Tensor:
    """A square matrix in CSR form."""
    n = len(indptr) - 1
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Sparse (CSR tensor support is in beta|invariant checks are implicitly disabled)"
        )
        return torch.sparse_csr_tensor(indptr.int(), indices.int(), values, (n, n), check_invariants=False)


def parts(n: int, step: int) -> list[slice]:
    step = max(1, step)
    return [slice(start, start + step) for start in range(0, n, step)]
