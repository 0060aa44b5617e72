"""How wrong the scores of the validation points are."""

from __future__ import annotations

from pglearn.objective.loss.base import Loss, Yardstick, row_normalised, share_right
from pglearn.objective.loss.entropy import Entropy
from pglearn.objective.loss.pointwise import Error, Exponential, Log, Power
from pglearn.objective.loss.ranking import Ranking

LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (Log, Ranking, Error, Power, Exponential, Entropy)}

__all__ = [
    "LOSSES",
    "Entropy",
    "Error",
    "Exponential",
    "Log",
    "Loss",
    "Power",
    "Ranking",
    "Yardstick",
    "row_normalised",
    "share_right",
]
