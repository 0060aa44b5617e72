"""What a linear model says of the rows, heard where the graphs are in doubt.

Where each of many columns says a little and the classes overlap, near rows are often of different classes and no graph
fits the labels well. Zhu, Ghahramani and Lafferty (2003) let labels spread from the answers of another classifier;
here these are averaged with those of the graphs. The classifier is the ridge regression of `pglearn.basis`, which is
there anyway: p ∝ π exp(βz), z the coordinates of a row, π the class shares of the labels, β the slope that predicts
best each label that the regression has not seen.

It counts e, the loss that the graphs are left with, as a share of what chance would lose. If its own share t is higher,
it counts exp(−5 (t/e − 1)) of that, and nothing if it does no better than chance (docs/defaults.md has the
measurements).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from pglearn.basis import Basis
from pglearn.problem import Array

BEHIND = 0.2  # what its loss may be above that of the graphs, as a share of theirs: it then counts a third as much
SLOPES = (0.1, 50.0)
ASIDE = 0.5  # labels that each class has beforehand: a class whose only label is hidden is not impossible


@dataclass(frozen=True, eq=False)
class LinearOpinion:
    """Class probabilities from the coordinates of one basis, and how much they count against the graphs'."""

    basis: int
    slope: float
    log_shares: Array
    weight: float

    def mixed(self, probabilities: Array, coordinates: Array) -> Array:
        """The graphs' probabilities of some rows, averaged with what this says of them."""
        said = softmax(self.slope * coordinates + self.log_shares, axis=1)
        return np.asarray((1 - self.weight) * probabilities + self.weight * said)


def linear_opinion(bases: list[Basis], Y: Array, doubt: float) -> LinearOpinion | None:
    """The opinion to be heard beside graphs whose loss is the share `doubt` of chance; None if there is none."""
    for position, basis in enumerate(bases):
        if basis.own is not None:
            slope, share = _fitted(basis.own[1], Y)
            if share >= 1 or doubt <= 0:
                return None
            weight = min(doubt, 1.0) * float(np.exp(-max(share / doubt - 1, 0) / BEHIND))
            return LinearOpinion(position, slope, _log_shares(Y.sum(axis=0)), weight)
    return None


def _fitted(coordinates: Array, Y: Array) -> tuple[float, float]:
    """The slope with the lowest log loss on coordinates that have not seen their label; that loss, chance being 1."""
    without_own = _log_shares(Y.sum(axis=0) - Y)

    def loss(log_slope: float) -> float:
        logs = log_softmax(np.exp(log_slope) * coordinates + without_own, axis=1)
        return -float((logs * Y).sum())

    best = minimize_scalar(loss, bounds=np.log(SLOPES), method="bounded")
    return float(np.exp(best.x)), float(best.fun) / (len(Y) * np.log(Y.shape[1]))


def _log_shares(counts: Array) -> Array:
    counts = counts + ASIDE
    return np.asarray(np.log(counts / counts.sum(axis=-1, keepdims=True)))
