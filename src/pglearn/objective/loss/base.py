"""The contract of a loss, and the row normalisation that precedes every one.

| symbol | meaning                                       | here               |
|--------|-----------------------------------------------|--------------------|
| S      | scores of the validation points, rows sum to 1 | `S`     (s, c)    |
| c_v    | true class of validation point v              | `codes` (s,)       |
| g      | the loss, a sum over validation points or pairs | returned         |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from pglearn.arrays import Array


class Loss(Protocol):
    """Scores and true classes → g and ∂g/∂S."""

    name: ClassVar[str]
    """What parameters call it."""
    is_of_unlabelled: ClassVar[bool] = False
    """Whether it is of the rows without a label, and asks for no true class."""

    def __call__(self, S: Array, codes: Array) -> tuple[float, Array]: ...


LARGEST = {"float32": 2.0**96, "float64": 2.0**992}
"""The largest ∂g/∂S: 2³² times that is the largest number, and the products that it enters need the room."""
LIFT = {"float32": 2.0**75, "float64": 2.0**104}
"""What ∂g/∂S is divided by where it is larger: then it is small enough, however small the sum of a row."""


def row_normalised(
    S: Array, least: Array | float = 0.0, precision: str = "float64"
) -> tuple[Array, Array, Callable[[Array], tuple[Array, float]]]:
    """S with rows that sum to one, which rows are reached, and the map from ∂g/∂(normalised S) back to ∂g/∂S.

    A row whose sum is not above `least` says nothing: no label reaches it, or so little that the solve cannot tell.
    It becomes uniform and moves with nothing.

    The map divides by sums, which may be so small that ∂g/∂S is beyond all numbers. What ∂g/∂a is in the end is not,
    so ∂g/∂S is given divided by a power of two, which rounds nothing, together with that power: 1 almost always. The
    `precision` is that of the products that it enters.
    """
    S = np.maximum(S, 0)  # scores are sums of positive terms; an iterative solve may leave −1e-17
    sums = S.sum(axis=1, keepdims=True)
    reached = sums > np.reshape(least, (-1, 1))
    safe = np.where(reached, sums, 1)
    N = np.where(reached, S / safe, 1 / S.shape[1])

    def pullback(dg_dN: Array) -> tuple[Array, float]:
        pull = dg_dN - np.einsum("vc,vc->v", dg_dN, N)[:, None]
        with np.errstate(over="ignore"):
            dg_dS = np.where(reached, pull / safe, 0)
        if np.abs(dg_dS).max(initial=0) <= LARGEST[precision]:
            return dg_dS, 1.0
        return np.where(reached, pull / (safe * LIFT[precision]), 0), LIFT[precision]

    return N, reached[:, 0], pullback


def share_right(S: Array, least: Array | float, codes: Array) -> float:
    """Share of the points whose own class has the highest score."""
    N, reached, _ = row_normalised(S, least)
    # A row that no label reaches is uniform: its first class is no prediction.
    return float(((N.argmax(axis=1) == codes) & reached).mean())


@dataclass(frozen=True)
class Yardstick:
    """What a loss costs for perfect and for uniform scores: a scale on which all losses compare."""

    perfect: float
    chance: float

    @classmethod
    def from_loss(cls, loss: Loss, codes: Array, n_classes: int) -> Yardstick:
        perfect, _ = loss(np.eye(n_classes)[codes], codes)
        chance, _ = loss(np.full((len(codes), n_classes), 1 / n_classes), codes)
        return cls(perfect, chance)

    def share_of_chance(self, g: float) -> float:
        """Where g lies between perfect scores (0) and uniform ones (1)."""
        return (g - self.perfect) / (self.chance - self.perfect) if self.chance > self.perfect else 0.0
