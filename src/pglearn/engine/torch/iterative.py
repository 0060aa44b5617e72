"""Loss, accuracy and gradient of one configuration, and the labels, by conjugate gradients on a sparse graph: for any
number of points that fits the device.

The steps are those of `pglearn.objective.propagation.lgc_scores` and `pglearn.objective.adjoint`; look there for the
names. Neighbours and the contraction with X are in the precision of the points; logarithms and solves are float64.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from pglearn.arrays import Array
from pglearn.engine.torch.device_graph import DeviceGraph, csr, parts
from pglearn.engine.torch.losses import judged
from pglearn.engine.torch.placed import Placed, Tensor
from pglearn.objective.graph import Graph
from pglearn.objective.loss import Loss
from pglearn.objective.propagation import LGC, Solution, is_blurred
from pglearn.objective.propagation.lgc_scores import Factored
from pglearn.objective.propagation.linear_system import FINEST

COLUMNS = 64  # right-hand sides or features that one sparse product takes


def evaluated(placed: Placed, graph: DeviceGraph, loss: Loss, lgc: LGC, memory: int) -> tuple[Tensor, Tensor, Tensor]:
    """g, accuracy and ∂g/∂a of one configuration, with blocks of about `memory` bytes."""
    form = {"by label": _by_label, "by row": _by_row, "by fold": _by_fold}[placed.form]
    scores = form(placed, graph.P, lgc)
    if is_blurred(scores.S.sum(2), scores.least) and lgc.tolerance > FINEST:
        scores = form(placed, graph.P, replace(lgc, tolerance=FINEST))
    g, accuracy, dg_dS, lift = judged(placed, scores.S, loss, scores.least)
    adjoint, F = scores.factors(dg_dS[0])
    return g[0], accuracy[0], lift[0] * _gradient(placed.X, graph, lgc.alpha, adjoint, F, memory)


def propagated(sources: Array, graph: Graph, lgc: LGC, device: torch.device) -> Solution:
    """F of what spreads from each point, on a graph that is on the host."""
    P = csr(*(torch.as_tensor(part).to(device) for part in (graph.P.indptr, graph.P.indices, graph.P.data)))
    B = lgc.source * torch.as_tensor(sources, dtype=torch.float64).to(device)
    F, iterations = solved(P, replace(lgc, tolerance=FINEST), B)
    left = (B - F + lgc.alpha * (P @ F)).norm(dim=0)
    residual = float((left / B.norm(dim=0)).max())
    error = float(left.max()) / (1 - lgc.alpha)
    return Solution(F.cpu().numpy(), iterations, residual, residual <= lgc.tolerance, error)


def _by_fold(placed: Placed, P: Tensor, lgc: LGC) -> Factored:
    folds, c = len(placed.shown_to_fold), placed.Y.shape[1]
    rows, fold = placed.labelled[placed.scored], placed.fold_of_scored
    B = placed.zeros(folds * c)
    shown = placed.shown_to_fold.T[:, :, None] * placed.Y[:, None, :]
    B[placed.labelled] = lgc.source * shown.flatten(1).double()
    F, _ = solved(P, lgc, B)

    def factors(dg_dS: Tensor) -> tuple[Tensor, Tensor]:
        G = placed.zeros(folds * c)
        G.view(-1, folds, c)[rows, fold] = dg_dS
        return solved(P, lgc, G)[0], F

    S = F.view(-1, folds, c)[rows, fold]
    return Factored(S[None], c * _doubt(lgc) * float(B.norm(dim=0).max()), factors)


def _by_label(placed: Placed, P: Tensor, lgc: LGC) -> Factored:
    Z, _ = solved(P, lgc, placed.ones_at(placed.labelled))
    shown, Y = lgc.source * placed.shown.double(), placed.Y.double()

    def factors(dg_dS: Tensor) -> tuple[Tensor, Tensor]:
        dg_dH = Z.new_zeros(len(Y), len(Y))
        dg_dH[placed.scored] = shown * (dg_dS @ Y.T)
        return Z @ ((dg_dH + dg_dH.T) / 2), Z

    S = (shown * Z[placed.labelled[placed.scored]]) @ Y
    return Factored(S[None], lgc.source * math.sqrt(len(Y)) * _doubt(lgc), factors)


def _by_row(placed: Placed, P: Tensor, lgc: LGC) -> Factored:
    Z, _ = solved(P, lgc, placed.ones_at(placed.labelled[placed.scored]))
    shown, Y = lgc.source * placed.shown.double(), placed.Y.double()

    def factors_of_points_alone(dg_dS: Tensor) -> tuple[Tensor, Tensor]:
        B = placed.zeros(Y.shape[1])
        B[placed.labelled] = lgc.source * Y
        own = lgc.source * (dg_dS * Y[placed.scored]).sum(1)
        return (solved(P, lgc, B)[0] @ dg_dS.T).addcmul_(Z, own, value=-1), Z

    def factors(dg_dS: Tensor) -> tuple[Tensor, Tensor]:
        B = torch.zeros_like(Z)
        B[placed.labelled] = (shown * (dg_dS @ Y.T)).T
        return solved(P, lgc, B)[0], Z

    S = (shown * Z[placed.labelled].T) @ Y
    chosen = factors_of_points_alone if placed.left_out_alone else factors
    return Factored(S[None], lgc.source * math.sqrt(len(Y)) * _doubt(lgc), chosen)


def _doubt(lgc: LGC) -> float:
    """What a row must exceed, per unit of ‖B‖, to be known to the precision wanted."""
    return lgc.tolerance / (1 - lgc.alpha) / lgc.precision


def solved(P: Tensor, lgc: LGC, B: Tensor) -> tuple[Tensor, int]:
    """F with (I − μP) F = B by conjugate gradients, a batch of columns at a time, and the most iterations it took."""
    F, most = torch.empty_like(B), 0
    for columns in parts(B.shape[1], COLUMNS):
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


def _gradient(X: Tensor, graph: DeviceGraph, mu: float, adjoint: Tensor, F: Tensor, memory: int) -> Tensor:
    """∂g/∂a by the sparse contraction."""
    i, j = graph.i, graph.j
    S = torch.empty_like(graph.log_w)
    for part in parts(len(S), memory // (8 * X.element_size() * F.shape[1])):
        S[part] = (adjoint[i[part]] * F[j[part]]).sum(1) + (adjoint[j[part]] * F[i[part]]).sum(1)
    SP = 0.5 * mu * S * graph.p
    q = graph.sums(SP, SP)
    t_ij, t_ji = (graph.log_w - graph.log_d[i]).exp(), (graph.log_w - graph.log_d[j]).exp()
    B = SP - 0.5 * (q[i] * t_ij + q[j] * t_ji)
    b, matrix = graph.sums(B, B).to(X.dtype), graph.matrix(B.to(X.dtype))
    dg_da = torch.empty(X.shape[1], dtype=torch.float64, device=X.device)
    for columns in parts(X.shape[1], COLUMNS):
        x = X[:, columns].contiguous()
        dg_da[columns] = -2 * (b @ (x * x) - (x * (matrix @ x)).sum(0)).double()
    return dg_da
