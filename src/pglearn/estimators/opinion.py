"""What a regression says of the rows, heard where the graphs are in doubt.

Where each of many columns says a little and the classes overlap, or where one class lies around another in many
dimensions, near rows are often of different classes and no graph fits the labels well. Zhu, Ghahramani and Lafferty
(2003) let labels spread from the answers of another classifier; here these are averaged with those of the graphs. The
classifier is the ridge regression of `pglearn.basis`, which is there anyway, or one on Gaussian kernels if its loss is
clearly lower and it labels hidden rows better than the graphs do, by a standard error (for each class or, if that is
clearly lower again, for each pair of classes): p ∝ π exp(βz), z what the regression says of a row, π the class shares
of the labels, β the slope that predicts best each label that the regression has not seen.

It counts e, the loss that the graphs are left with, as a share of what chance would lose. If its own share t is higher,
it counts exp(−5 (t/e − 1)) of that, and nothing if it does no better than chance (docs/defaults.md has the
measurements).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.metrics import euclidean_distances

from pglearn.basis import Basis, standardising
from pglearn.problem import Array, Points
from pglearn.ridge import KernelRidge
from pglearn.sparse import is_sparse

BEHIND = 0.2  # what its loss may be above that of the graphs, as a share of theirs: it then counts a third as much
SLOPES = (0.1, 50.0)
ASIDE = 0.5  # labels that each class has beforehand: a class whose only label is hidden is not impossible
GAMMAS = (0.125, 0.5, 2.0, 8.0)  # over the mean squared distance of labelled rows
CLEARLY = 0.8  # times the loss of the linear regression: what the other has to be below, which may bend at will
CLEARLY_BY_PAIRS = 0.9  # times the loss of kernels for each class: what those for each pair have to be below
MOST_LABELS = 1_000  # for the kernels, of which four matrices of that size are factored


@dataclass(frozen=True, eq=False)
class Opinion:
    """Class probabilities from what a regression says, and how much they count against the graphs'."""

    regression: int | KernelRidge
    """The position of a basis whose coordinates are the classes, or a regression on kernels."""
    slope: float
    log_shares: Array
    weight: float

    @property
    def kind(self) -> str:
        return "kernel" if isinstance(self.regression, KernelRidge) else "linear"

    def mixed(self, probabilities: Array, X: Points, bases: Sequence[Basis]) -> Array:
        """The graphs' probabilities of some rows, averaged with what this says of them."""
        regression = self.regression if isinstance(self.regression, KernelRidge) else bases[self.regression]
        said = softmax(self.slope * regression.of(X) + self.log_shares, axis=1)
        return np.asarray((1 - self.weight) * probabilities + self.weight * said)


def opinion_beside(X: Points, bases: Sequence[Basis], Y: Array, doubt: float, accuracy: float) -> Opinion | None:
    """What is heard beside graphs whose loss is the share `doubt` of chance; None if nothing is.

    `accuracy` is that of the graphs on hidden labels.
    """
    for position, basis in enumerate(bases if doubt > 0 else ()):
        if basis.own is not None:
            rows, coordinates = basis.own
            linear = position, *_fitted(coordinates, Y)
            regression, slope, share = _on_kernels(X, rows, Y, CLEARLY * linear[2], accuracy) or linear
            if share >= 1:
                return None
            weight = min(doubt, 1.0) * float(np.exp(-max(share / doubt - 1, 0) / BEHIND))
            return Opinion(regression, slope, _log_shares(Y.sum(axis=0)), weight)
    return None


def _on_kernels(
    X: Points, labelled: Array, Y: Array, least: float, accuracy: float
) -> tuple[KernelRidge, float, float] | None:
    """The regression with the lowest loss, its slope and that loss, if it is below `least` and it is right more often
    than `accuracy`, by the standard error of a half. One for pairs of classes has to be clearly below the others."""
    enough = accuracy + 0.5 / np.sqrt(len(Y))
    if is_sparse(X) or len(labelled) > MOST_LABELS or enough > 1:
        return None
    columns = standardising(X)
    rows = X[labelled].astype(np.float64, copy=False) * columns
    usual = euclidean_distances(rows, squared=True).sum() / (len(rows) * (len(rows) - 1))
    best = None
    for fitted in (KernelRidge.fitted, KernelRidge.fitted_to_pairs) if Y.shape[1] > 2 else (KernelRidge.fitted,):
        found = [_judged(*fitted(columns, rows, Y, gamma / usual), Y) for gamma in GAMMAS]
        lowest = min(found, key=lambda judged: judged[2])
        if lowest[2] < least and lowest[3] >= enough:
            best = lowest[:3]
        least = min(CLEARLY_BY_PAIRS * lowest[2], least)
    return best


def _judged(regression: KernelRidge, own: Array, Y: Array) -> tuple[KernelRidge, float, float, float]:
    """The regression, its slope, its loss, and the share of hidden labels that it is right about."""
    slope, share = _fitted(own, Y)
    right = _logits(own, slope, Y).argmax(axis=1) == Y.argmax(axis=1)
    return regression, slope, share, float(right.mean())


def _fitted(coordinates: Array, Y: Array) -> tuple[float, float]:
    """The slope with the lowest log loss on coordinates that have not seen their label; that loss, chance being 1."""

    def loss(log_slope: float) -> float:
        return -float((log_softmax(_logits(coordinates, np.exp(log_slope), Y), axis=1) * Y).sum())

    best = minimize_scalar(loss, bounds=np.log(SLOPES), method="bounded")
    return float(np.exp(best.x)), float(best.fun) / (len(Y) * np.log(Y.shape[1]))


def _logits(coordinates: Array, slope: float, Y: Array) -> Array:
    """Of rows whose own label is not counted among the class shares either."""
    return np.asarray(slope * coordinates + _log_shares(Y.sum(axis=0) - Y))


def _log_shares(counts: Array) -> Array:
    counts = counts + ASIDE
    return np.asarray(np.log(counts / counts.sum(axis=-1, keepdims=True)))
