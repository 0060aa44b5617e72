"""The losses of `pglearn.objective.loss` for a batch of score matrices: S (T × s × c) → g (T) and ∂g/∂S.

Each takes the parameters of the loss it stands for from that loss, so the two cannot disagree on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch

import torch

from pglearn.engine.torch.placed import Tensor
from pglearn.errors import InputError
from pglearn.objective.loss import Error, Exponential, Log, Loss, Power, Ranking
from pglearn.objective.loss.pointwise import LEAST


@singledispatch
def batched(loss: Loss, S: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    """g of every matrix of the batch and its gradient; Y (s × c) are the true classes, one-hot."""
    raise InputError(
        f"The torch engine does not know the loss {loss!r}: register it with pglearn.engine.torch.losses.batched, "
        "or use engine='cpu'."
    )


def _pointwise(of: Callable[[Tensor], tuple[Tensor, Tensor]], S: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    f, df_dp = of((S * Y).sum(2))
    return f.sum(1), df_dp[:, :, None] * Y


@batched.register
def _(loss: Error, S: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    return _pointwise(lambda p: (1 - p, -torch.ones_like(p)), S, Y)


@batched.register
def _(loss: Log, S: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    def of(p: Tensor) -> tuple[Tensor, Tensor]:
        clipped = p.clamp(min=LEAST)
        return -clipped.log(), torch.where(p > LEAST, -1 / clipped, 0.0)

    return _pointwise(of, S, Y)


@batched.register
def _(loss: Power, S: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    def of(p: Tensor) -> tuple[Tensor, Tensor]:
        rest = (1 - p).clamp(min=0)
        return rest**loss.x, -loss.x * rest ** (loss.x - 1)

    return _pointwise(of, S, Y)


@batched.register
def _(loss: Exponential, S: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    def of(p: Tensor) -> tuple[Tensor, Tensor]:
        log_x = math.log(loss.x)
        f = torch.exp(-p * log_x)
        return f, -log_x * f

    return _pointwise(of, S, Y)


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
