"""What regressions say of the rows, heard where the graphs are in doubt.

Where each of many columns says a little and the classes overlap, or where one class lies around another, near rows are
often of different classes and no graph fits the labels well. Zhu, Ghahramani and Lafferty (2003) let labels spread from
the answers of another classifier; here these are averaged with those of the graphs. There are several: the ridge
regression of `pglearn.basis`, which is there anyway, and regressions on Gaussian kernels, for each class and for each
pair of classes, of rows at the distances that the table has and at those that the graphs have learned; at the latter a
ridge regression, too, for it penalises columns less that count more. Each says p ∝ π exp(βz), z what the regression
says of a row, π the class shares of the labels, β the slope that predicts best each label that the regression has not
seen.

One is believed for how likely it makes these labels, less what was chosen by them: among the others it counts
exp(−0.3 s), s its loss, plus three for the width of a kernel and three for learned distances, which is what these
losses are too low by. Were one of them the truth it would be exp(−s); but of two of which one is up to four nats ahead
on some fifty labels, either is as often ahead on the other rows. Together they count e, the loss that the graphs are
left with as a share of what chance would lose: e to the power (1 + t/e) / 2 if their own share t is lower, and
exp(−5 (t/e − 1)) of e if it is higher (docs/defaults.md has the measurements).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.metrics import euclidean_distances

from pglearn.basis import Basis, standardising
from pglearn.problem import Array, Points
from pglearn.ridge import KernelRidge, LinearRidge
from pglearn.sparse import is_sparse

BEHIND = 0.2  # what their loss may be above that of the graphs, as a share of theirs: they then count a third as much
SLOPES = (0.1, 50.0)
ASIDE = 0.5  # labels that each class has beforehand: a class whose only label is hidden is not impossible
GAMMAS = (0.125, 0.5, 2.0, 8.0)  # over the mean squared distance of labelled rows
CHARGE = 3.0  # nats of a choice that was made by the labels: of a width, and of distances
WORTH = 0.3  # of a nat that a regression is ahead of another by
FAR_BEHIND = 2.0  # times the loss of the graphs: from where pairs of classes are not looked at
LEAST_WEIGHT = 1e-3  # against the graphs: less is not heard
LEAST_VOICE = 0.01  # the same among the others
MOST_LABELS = 1_000  # for the kernels, of which a dozen matrices of that size are factored


@dataclass(frozen=True, eq=False)
class Line:
    """The linear regression at the table's own distances: a basis whose coordinates are the classes, and the middle of
    labelled rows in it, which says nothing of any class."""

    basis: int
    middle: Array


Regression: TypeAlias = Line | LinearRidge | KernelRidge


@dataclass(frozen=True, eq=False)
class Voice:
    """A regression, what the numbers that it says are multiplied with, and how much it counts among the others."""

    regression: Regression
    slope: float
    weight: float

    def of(self, X: Points, bases: Sequence[Basis]) -> Array:
        if isinstance(self.regression, Line):
            return np.asarray(self.slope * (bases[self.regression.basis].of(X) - self.regression.middle))
        return np.asarray(self.slope * self.regression.of(X))


@dataclass(frozen=True, eq=False)
class Opinion:
    """Class probabilities from what regressions say, and how much they count against the graphs'."""

    voices: list[Voice]
    log_shares: Array
    weight: float

    @property
    def kind(self) -> str:
        """Of the regression that counts most."""
        most = max(self.voices, key=lambda voice: voice.weight)
        return "kernel" if isinstance(most.regression, KernelRidge) else "linear"

    def mixed(self, probabilities: Array, X: Points, bases: Sequence[Basis]) -> Array:
        """The graphs' probabilities of some rows, averaged with what this says of them."""
        mixed = (1 - self.weight) * probabilities
        for voice in self.voices:
            mixed += self.weight * voice.weight * softmax(voice.of(X, bases) + self.log_shares, axis=1)
        return np.asarray(mixed)


@dataclass(frozen=True, eq=False)
class Judged:
    """A regression by what it says of labels that it has not seen."""

    regression: Regression
    slope: float
    share: float
    """Its loss and what its choices are charged, as a share of what chance would lose."""

    @classmethod
    def of(cls, regression: Regression, coordinates: Array, Y: Array, charge: float = 0.0) -> Judged:
        slope, share = _fitted(coordinates, Y)
        return cls(regression, slope, share + charge / _of_chance(Y))


def opinion_beside(
    X: Points, bases: Sequence[Basis], Y: Array, doubt: float, learned: Sequence[Array] = ()
) -> Opinion | None:
    """What is heard beside graphs whose loss is the share `doubt` of chance; None if nothing is.

    `learned` are the distances to look at beside those of the table: what each column is multiplied with.
    """
    for position, basis in enumerate(bases if doubt > 0 else ()):
        if basis.own is not None:
            rows, coordinates = basis.own
            middle = basis.of(X[rows]).mean(axis=0)
            line = Judged.of(Line(position, middle), coordinates - middle, Y)
            judged = [line, *_at_distances(X, rows, Y, learned, FAR_BEHIND * doubt)]
            return _heard([one for one in judged if one.share < 1], Y, doubt)
    return None


def learned_distances(bases: Sequence[Basis], members: Iterable[tuple[int, Array, float]]) -> list[Array]:
    """What columns are multiplied with, by the mean weights of members (basis, a, weight): of those that weight columns
    as they are, and of all."""
    kinds: dict[bool, Array] = {}
    for basis, a, weight in members:
        by_column = weight * bases[basis].weights(a)
        for kind in (True, False) if bases[basis].name == "raw" else (False,):
            kinds[kind] = kinds.get(kind, 0) + by_column
    return [np.sqrt(total) for total in kinds.values()]


def _heard(judged: Sequence[Judged], Y: Array, doubt: float) -> Opinion | None:
    if not judged:
        return None
    shares = np.array([one.share for one in judged])
    weights = softmax(-WORTH * _of_chance(Y) * shares)
    behind = float(weights @ shares) / doubt
    weight = min(doubt, 1.0) ** ((1 + min(behind, 1)) / 2) * np.exp(-max(behind - 1, 0) / BEHIND)
    if weight < LEAST_WEIGHT:
        return None
    weights = np.where(weights < LEAST_VOICE, 0, weights)
    weights /= weights.sum()
    voices = [Voice(one.regression, one.slope, float(v)) for one, v in zip(judged, weights, strict=True) if v > 0]
    return Opinion(voices, _log_shares(Y.sum(axis=0)), float(weight))


def _at_distances(X: Points, labelled: Array, Y: Array, learned: Sequence[Array], far: float) -> Iterator[Judged]:
    """A line at each learned distance, and at every distance the regressions on kernels with the lowest loss of any
    width; for pairs of classes only if those for each class have a share below `far`."""
    if is_sparse(X) or len(labelled) > MOST_LABELS:
        return
    for columns, charge in ((standardising(X), 0.0), *((columns, CHARGE) for columns in learned)):
        rows = X[labelled].astype(np.float64, copy=False) * columns
        usual = euclidean_distances(rows, squared=True).sum() / (len(rows) * (len(rows) - 1))
        if not usual > 0:
            continue
        if charge:  # at the table's own distances there is one already
            yield Judged.of(*LinearRidge.fitted(columns, rows, Y), Y, charge)
        best: Judged | None = None
        for fitted in (KernelRidge.fitted, KernelRidge.fitted_to_pairs) if Y.shape[1] > 2 else (KernelRidge.fitted,):
            if best is None or best.share < far:
                found = (fitted(columns, rows, Y, gamma / usual) for gamma in GAMMAS)
                best = min((Judged.of(*one, Y, charge + CHARGE) for one in found), key=lambda one: one.share)
                yield best


def _of_chance(Y: Array) -> float:
    """What guessing would lose, in nats."""
    return len(Y) * float(np.log(Y.shape[1]))


def _fitted(coordinates: Array, Y: Array) -> tuple[float, float]:
    """The slope with the lowest log loss on coordinates that have not seen their label; that loss, chance being 1."""

    def loss(log_slope: float) -> float:
        return -float((log_softmax(_logits(coordinates, np.exp(log_slope), Y), axis=1) * Y).sum())

    best = minimize_scalar(loss, bounds=np.log(SLOPES), method="bounded")
    return float(np.exp(best.x)), float(best.fun) / _of_chance(Y)


def _logits(coordinates: Array, slope: float, Y: Array) -> Array:
    """Of rows whose own label is not counted among the class shares either."""
    return np.asarray(slope * coordinates + _log_shares(Y.sum(axis=0) - Y))


def _log_shares(counts: Array) -> Array:
    counts = counts + ASIDE
    return np.asarray(np.log(counts / counts.sum(axis=-1, keepdims=True)))
