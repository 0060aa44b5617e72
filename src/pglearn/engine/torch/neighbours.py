"""Exact nearest neighbours on a device, in blocks of rows.

Selecting k of a million by `topk` costs far more than the distances. So distances are first reduced to the minimum of
every group of 64 columns, one pass over memory. The k + 1 groups with the smallest minima hold all k + 1 nearest: were
one of them in another group, those groups would each hold a point that is nearer. Where the last two are equally far,
the whole row is looked at, and the first of them are taken (`pglearn.objective.graph.ties`).
"""

from __future__ import annotations

import torch

from pglearn.engine.torch.eager import first_of, rounding
from pglearn.engine.torch.placed import Tensor
from pglearn.objective.graph.ties import nearer_and_as_far

GROUP = 64


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
