"""The losses of `pglearn.objective.loss` for a batch of score matrices: S (T × s × c) → g (T) and ∂g/∂S."""

from __future__ import annotations

import math
from functools import singledispatch

import torch

from pglearn.engine.torch.placed import Placed, Tensor
from pglearn.errors import InputError
from pglearn.objective.loss import Error, Exponential, Log, Loss, Power, Ranking
from pglearn.objective.loss.base import LARGEST, LIFT
from pglearn.objective.loss.pointwise import LEAST


def judged(placed: Placed, S: Tensor, loss: Loss, least: Tensor = 0.0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """g, accuracy and ∂g/∂S of scores S (T × s × c) before their rows are normalised (`pglearn.objective.loss.base`).

    ∂g/∂S is divided by a power of two, the last of what is returned (T × 1), so that it is small enough for products.
    """
    S = S.clamp(min=0)
    sums = S.sum(2, keepdim=True)
    reached = sums > least
    safe = torch.where(reached, sums, 1)
    N = torch.where(reached, S / safe, 1 / S.shape[2])
    true = placed.Y[placed.scored].to(N.dtype)
    g, dg_dN = batched(loss, N, true)
    # A candidate whose solve failed has NaN in every row, none of which counts as "not reached".
    g = torch.where(sums.isfinite().all(1)[:, 0], g, torch.nan)
    right = (N.argmax(2) == true.argmax(1)) & reached[:, :, 0]
    pull = dg_dN - (dg_dN * N).sum(2, keepdim=True)
    precision = torch.finfo(S.dtype).dtype
    is_large = torch.where(reached, pull / safe, 0).abs().amax((1, 2), keepdim=True) > LARGEST[precision]
    lift = torch.where(is_large, LIFT[precision], 1.0).to(S.dtype)
    dg_dS = torch.where(reached, pull / (safe * lift), 0)
    return g, right.to(g.dtype).mean(1), dg_dS, lift[:, 0]


@singledispatch
def batched(loss: Loss, S: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    """g of every matrix of the batch and its gradient; Y (s × c) are the true classes, one-hot."""
    f, df_dp = of_own_class(loss, (S * Y).sum(2))
    return f.sum(1), df_dp[:, :, None] * Y


@batched.register
def _(loss: Ranking, S: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    """For each v, its class against every v' of another class: margins are s × s, whatever the number of classes."""
    scores = Y @ S.mT  # row v: the score of v's class at every v'
    own = (S * Y).sum(2)
    margin = own[:, :, None] - scores
    differ = 1 - Y @ Y.mT
    g = (torch.nn.functional.softplus(-margin) * differ).sum((1, 2))
    slope = -torch.sigmoid(-margin) * differ
    return g, slope.sum(2)[:, :, None] * Y - slope.mT @ Y


@singledispatch
def of_own_class(loss: Loss, p: Tensor) -> tuple[Tensor, Tensor]:
    """f(p) and its derivative, for a loss that adds up f of the scores p (T × s) of every row's own class."""
    raise InputError(
        f"The torch engine does not know the loss {loss!r}: register it in pglearn.engine.torch.losses, as the others "
        "are, or use engine='cpu'."
    )


@of_own_class.register
def _(loss: Error, p: Tensor) -> tuple[Tensor, Tensor]:
    return 1 - p, -torch.ones_like(p)


@of_own_class.register
def _(loss: Log, p: Tensor) -> tuple[Tensor, Tensor]:
    clipped = p.clamp(min=LEAST)
    return -clipped.log(), torch.where(p > LEAST, -1 / clipped, 0.0)


@of_own_class.register
def _(loss: Power, p: Tensor) -> tuple[Tensor, Tensor]:
    rest = (1 - p).clamp(min=0)
    return rest**2, -2 * rest


@of_own_class.register
def _(loss: Exponential, p: Tensor) -> tuple[Tensor, Tensor]:
    f = torch.exp(-p * math.log(2))
    return f, -math.log(2) * f
