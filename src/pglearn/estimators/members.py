"""The candidates that answer together, and how much each counts.

All of them end near the same loss, because that is where they stop. What tells them apart is the way there: a basis in
which the labels fall into place after a few steps is more likely the right one than a basis that had to be bent until
they did. So a member counts exp(−(s − s_best) / τ), s the mean over its first 16 steps of its lowest loss so far, as a
share of what chance would lose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pglearn.loss import Yardstick
from pglearn.problem import Array, Points
from pglearn.propagation import Solution
from pglearn.propagation.inductive import spreading
from pglearn.search import Candidate

STEPS, TAU = 16, 0.2


@dataclass(frozen=True, eq=False)
class Member:
    """A learned configuration and what it says about every row of the table."""

    basis: int
    k: int
    a: Array
    weight: float
    F: Array
    """Class probabilities, n × c; zeros where no label reaches."""

    @classmethod
    def of(cls, candidate: Candidate, weight: float, solution: Solution) -> Member:
        F = np.maximum(solution.F, 0)
        sums = F.sum(axis=1, keepdims=True)
        reached = sums > F.shape[1] * solution.error
        probabilities = np.where(reached, F / np.where(reached, sums, 1), 0)
        return cls(candidate.view, candidate.k, candidate.answer.a, weight, probabilities)

    def spreading(self, X: Points) -> Callable[[Points], Array]:
        """What gives rows that need not be in the table X their class probabilities, both in the coordinates of the
        member's basis. They sum to the share of reached neighbours."""
        return spreading(X, self.a, self.k, self.F)


def weights_of(candidates: Sequence[Candidate], yardstick: Yardstick) -> tuple[Array, float]:
    """How much each of them counts, in all 1, and the mean loss that they are left with, as a share of chance."""
    shares = np.array([yardstick.share_of_chance(_mean_loss(candidate)) for candidate in candidates])
    weights = np.exp(-(shares - shares.min()) / TAU)
    weights /= weights.sum()
    left = [yardstick.share_of_chance(candidate.loss) for candidate in candidates]
    return weights, float(weights @ left)


def _mean_loss(candidate: Candidate) -> float:
    """Over the first steps, each with the lowest loss so far; one that stopped earlier stays at its last."""
    losses = np.minimum.accumulate([loss for _, loss, _ in candidate.history[: STEPS + 1]])
    return float(np.append(losses, np.full(STEPS + 1 - len(losses), losses[-1])).mean())


def averaged(opinions: Sequence[Array], weights: Sequence[float], prior: Array) -> tuple[Array, Array]:
    """Mean class probabilities over the members that reach a row, and which rows none of them reaches (the prior)."""
    total = np.zeros_like(opinions[0])
    for opinion, w in zip(opinions, weights, strict=True):
        total += w * opinion
    return shared_out(total, prior)


def shared_out(total: Array, prior: Array) -> tuple[Array, Array]:
    """Rows of a weighted sum, brought to a sum of one, and which of them have nothing in them (the prior)."""
    weight = total.sum(axis=1, keepdims=True)
    return np.where(weight > 0, total / np.where(weight > 0, weight, 1), prior), weight[:, 0] == 0


def sharpened(probabilities: Array, power: float) -> Array:
    """Rows to a power, summing to one again."""
    if power == 1:
        return probabilities
    raised = probabilities**power
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def mean_graph(graphs: Sequence[sparse.csr_matrix], weights: Sequence[float]) -> sparse.csr_matrix:
    total = weights[0] * graphs[0]
    for graph, w in zip(graphs[1:], weights[1:], strict=True):
        total = total + w * graph
    return total
