"""How wrong the scores of the validation points are."""

from __future__ import annotations

from pglearn.loss.base import Loss, row_normalised, share_of_chance
from pglearn.loss.pointwise import Error, Exponential, Log, Power
from pglearn.loss.ranking import Ranking

LOSSES: dict[str, type[Loss]] = {
    "log": Log,
    "ranking": Ranking,
    "error": Error,
    "power": Power,
    "exponential": Exponential,
}

__all__ = [
    "LOSSES",
    "Error",
    "Exponential",
    "Log",
    "Loss",
    "Power",
    "Ranking",
    "row_normalised",
    "share_of_chance",
]
