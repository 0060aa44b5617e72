"""Loss, accuracy and gradient of one configuration with sparse graphs: for any number of points that fits the device.

The steps are those of `pglearn.objective.graph`, `pglearn.objective.scores` and `pglearn.objective.adjoint`; look there
for the names. Neighbours and the contraction with X are in the precision of the points; logarithms and solves are
float64.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace

import torch

from pglearn.arrays import Array
from pglearn.engine.torch.dense import judged
from pglearn.engine.torch.placed import Placed, Tensor
from pglearn.objective.graph import Graph
from pglearn.objective.loss import Loss
from pglearn.objective.propagation import LGC, Solution, is_blurred
from pglearn.objective.propagation.lgc_scores import Factored
from pglearn.objective.propagation.linear_system import FINEST

COLUMNS = 64  # right-hand sides or features that one sparse product takes


@dataclass(frozen=True, eq=False)
class DeviceEdges:
    """Undirected edges i < j, and how their values fill a symmetric CSR matrix."""

    n: int
    i: Tensor
    j: Tensor
    indptr: Tensor
    indices: Tensor
    order: Tensor

    @classmethod
    def between_neighbours(cls, neighbours: Tensor) -> DeviceEdges:
        n, k = neighbours.shape
        p = torch.arange(n, device=neighbours.device).repeat_interleave(k)
        q = neighbours.flatten()
        pairs = torch.unique(torch.minimum(p, q) * n + torch.maximum(p, q))
        i, j = pairs // n, pairs % n
        row, column = torch.cat([i, j]), torch.cat([j, i])
        order = torch.argsort(row * n + column)
        indptr = torch.nn.functional.pad(torch.bincount(row, minlength=n).cumsum(0), (1, 0))
        return cls(n, i, j, indptr.int(), column[order].int(), order)

    def matrix(self, values: Tensor) -> Tensor:
        data = torch.cat([values, values])[self.order]
        return _csr(self.indptr, self.indices, data, self.n)

    def sums(self, at_i: Tensor, at_j: Tensor) -> Tensor:
        # Not index_add_, which adds in whatever order the device likes: the same search must give the same sums.
        return torch.segment_reduce(torch.cat([at_i, at_j])[self.order], "sum", offsets=self.indptr.long())


@dataclass(frozen=True, eq=False)
class DeviceGraph:
    """A weighted graph on the device."""

    edges: DeviceEdges
    log_w: Tensor
    log_d: Tensor
    P: Tensor

    @classmethod
    def weighted(cls, Z: Tensor, edges: DeviceEdges, block: int) -> DeviceGraph:
        log_w = torch.empty(len(edges.i), dtype=torch.float64, device=Z.device)
        for part in _parts(len(log_w), block // Z.shape[1]):
            log_w[part] = -(Z[edges.i[part]] - Z[edges.j[part]]).square().sum(1).double()
        low = torch.full((edges.n,), -torch.inf, dtype=torch.float64, device=Z.device)
        for end in (edges.i, edges.j):
            low.scatter_reduce_(0, end, log_w, "amax")
        log_d = low + edges.sums((log_w - low[edges.i]).exp(), (log_w - low[edges.j]).exp()).log()
        p = (log_w - 0.5 * (log_d[edges.i] + log_d[edges.j])).exp()
        return cls(edges, log_w, log_d, edges.matrix(p))


def evaluated(placed: Placed, graph: DeviceGraph, loss: Loss, lgc: LGC, block: int) -> tuple[Tensor, Tensor, Tensor]:
    """g, accuracy and ∂g/∂a of one configuration."""
    form = {"by label": _by_label, "by row": _by_row, "by fold": _by_fold}[placed.form]
    scores = form(placed, graph, lgc)
    if is_blurred(scores.S.sum(2), scores.least) and lgc.tolerance > FINEST:
        scores = form(placed, graph, replace(lgc, tolerance=FINEST))
    g, accuracy, dg_dS, lift = judged(placed, scores.S, loss, scores.least)
    adjoint, F = scores.factors(dg_dS[0])
    return g[0], accuracy[0], lift[0] * gradient(placed.X, graph, lgc.alpha, adjoint, F, block)


def _by_fold(placed: Placed, graph: DeviceGraph, lgc: LGC) -> Factored:
    n, c = len(placed.X), placed.n_classes
    B = torch.zeros(n, len(placed.shown_to_fold), c, dtype=torch.float64, device=placed.X.device)
    B[placed.labelled] = lgc.source * (placed.shown_to_fold.T[:, :, None] * placed.Y[:, None, :]).double()
    F, _ = solved(graph.P, lgc, B.flatten(1))
    rows, fold = placed.labelled[placed.scored], placed.fold_of_scored

    def factors(dg_dS: Tensor) -> tuple[Tensor, Tensor]:
        G = torch.zeros_like(B)
        G[rows, fold] = dg_dS
        return solved(graph.P, lgc, G.flatten(1))[0], F

    return Factored(F.view_as(B)[rows, fold][None], c * _doubt(lgc) * float(B.flatten(1).norm(dim=0).max()), factors)


def _by_label(placed: Placed, graph: DeviceGraph, lgc: LGC) -> Factored:
    labels = placed.n_labels
    Z, _ = solved(graph.P, lgc, _ones_at(placed.labelled, len(placed.X)))
    shown, Y = lgc.source * placed.shown.double(), placed.Y.double()

    def factors(dg_dS: Tensor) -> tuple[Tensor, Tensor]:
        dg_dH = torch.zeros(labels, labels, dtype=torch.float64, device=Z.device)
        dg_dH[placed.scored] = shown * (dg_dS @ Y.T)
        return Z @ ((dg_dH + dg_dH.T) / 2), Z

    S = (shown * Z[placed.labelled[placed.scored]]) @ Y
    return Factored(S[None], lgc.source * math.sqrt(labels) * _doubt(lgc), factors)


def _by_row(placed: Placed, graph: DeviceGraph, lgc: LGC) -> Factored:
    Z, _ = solved(graph.P, lgc, _ones_at(placed.labelled[placed.scored], len(placed.X)))
    shown, Y = lgc.source * placed.shown.double(), placed.Y.double()

    def factors_of_points_alone(dg_dS: Tensor) -> tuple[Tensor, Tensor]:
        B = torch.zeros(len(Z), placed.n_classes, dtype=torch.float64, device=Z.device)
        B[placed.labelled] = lgc.source * Y
        F, _ = solved(graph.P, lgc, B)
        own = lgc.source * (dg_dS * Y[placed.scored]).sum(1)
        return (F @ dg_dS.T).addcmul_(Z, own, value=-1), Z

    def factors(dg_dS: Tensor) -> tuple[Tensor, Tensor]:
        B = torch.zeros_like(Z)
        B[placed.labelled] = (shown * (dg_dS @ Y.T)).T
        return solved(graph.P, lgc, B)[0], Z

    S = (shown * Z[placed.labelled].T) @ Y
    chosen = factors_of_points_alone if placed.left_out_alone else factors
    return Factored(S[None], lgc.source * math.sqrt(placed.n_labels) * _doubt(lgc), chosen)


def _ones_at(rows: Tensor, n: int) -> Tensor:
    E = torch.zeros(n, len(rows), dtype=torch.float64, device=rows.device)
    E[rows, torch.arange(len(rows), device=E.device)] = 1
    return E


def propagated(sources: Array, graph: Graph, lgc: LGC, device: torch.device) -> Solution:
    """F of what spreads from each point, on a graph that is on the host."""
    matrix = graph.P
    indptr, indices, data = (torch.as_tensor(part).to(device) for part in (matrix.indptr, matrix.indices, matrix.data))
    P = _csr(indptr, indices, data, len(sources))
    B = lgc.source * torch.as_tensor(sources, dtype=torch.float64).to(device)
    F, iterations = solved(P, replace(lgc, tolerance=FINEST), B)
    R = B - F + lgc.alpha * (P @ F)
    residual = float((R.norm(dim=0) / B.norm(dim=0)).max())
    return Solution(
        F.cpu().numpy(), iterations, residual, residual <= lgc.tolerance, float(R.norm(dim=0).max()) / (1 - lgc.alpha)
    )


def _doubt(lgc: LGC) -> float:
    """What a row must exceed, per unit of ‖B‖, to be known to the precision wanted (`pglearn.objective.scores`)."""
    return lgc.tolerance / (1 - lgc.alpha) / lgc.precision


def solved(P: Tensor, lgc: LGC, B: Tensor) -> tuple[Tensor, int]:
    """F with (I − μP) F = B by conjugate gradients, a batch of columns at a time, and the most iterations it took."""
    F, most = torch.empty_like(B), 0
    for columns in _parts(B.shape[1], COLUMNS):
        F[:, columns], iterations = _conjugate_gradients(P, lgc.alpha, B[:, columns].contiguous(), lgc.tolerance)
        most = max(most, iterations)
    return F, most


def _conjugate_gradients(P: Tensor, mu: float, B: Tensor, tolerance: float) -> tuple[Tensor, int]:
    F, R = torch.zeros_like(B), B.clone()
    direction = R.clone()
    rho = (R * R).sum(0)
    goal = (0.5 * tolerance) ** 2 * rho
    iteration, most = 0, 10 * len(B)
    while iteration < most:
        active = rho > goal
        # Asking the device whether to go on makes it wait: once in eight iterations is often enough.
        if iteration % 8 == 0 and not bool(active.any()):
            break
        product = direction - mu * (P @ direction)
        curvature = (direction * product).sum(0)
        step = torch.where(active & (curvature > 0), rho / curvature, 0)
        F += step * direction
        R -= step * product
        previous, rho = rho, (R * R).sum(0)
        direction = R + torch.where(active & (previous > 0), rho / previous, 0) * direction
        iteration += 1
    return F, iteration


def gradient(X: Tensor, graph: DeviceGraph, mu: float, adjoint: Tensor, F: Tensor, block: int) -> Tensor:
    """∂g/∂a by the sparse contraction."""
    edges = graph.edges
    S = torch.empty_like(graph.log_w)
    for part in _parts(len(S), block // F.shape[1]):
        i, j = edges.i[part], edges.j[part]
        S[part] = (adjoint[i] * F[j]).sum(1) + (adjoint[j] * F[i]).sum(1)
    SP = 0.5 * mu * S * (graph.log_w - 0.5 * (graph.log_d[edges.i] + graph.log_d[edges.j])).exp()
    q = edges.sums(SP, SP)
    t_ij, t_ji = (graph.log_w - graph.log_d[edges.i]).exp(), (graph.log_w - graph.log_d[edges.j]).exp()
    B = SP - 0.5 * (q[edges.i] * t_ij + q[edges.j] * t_ji)
    b, matrix = edges.sums(B, B).to(X.dtype), edges.matrix(B.to(X.dtype))
    dg_da = torch.empty(X.shape[1], dtype=torch.float64, device=X.device)
    for columns in _parts(X.shape[1], COLUMNS):
        x = X[:, columns].contiguous()
        dg_da[columns] = -2 * (b @ (x * x) - (x * (matrix @ x)).sum(0)).double()
    return dg_da


def _csr(indptr: Tensor, indices: Tensor, data: Tensor, n: int) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Sparse (CSR tensor support is in beta|invariant checks are implicitly disabled)"
        )
        return torch.sparse_csr_tensor(indptr, indices, data, (n, n), check_invariants=False)


def _parts(n: int, step: int) -> list[slice]:
    step = max(1, step)
    return [slice(start, start + step) for start in range(0, n, step)]
