"""What regressions say of the rows, heard as far as they find hidden labels that the graphs do not.

Where each of many columns says a little and the classes overlap, or where one class lies around another, near rows are
often of different classes and no graph fits the labels well. Zhu, Ghahramani and Lafferty (2003) let labels spread from
the answers of another classifier; here these are averaged with those of the graphs. There are several: a discriminant
analysis of the standardised columns, and logistic regressions between pairs of classes, on products of rows and on
Gaussian kernels, at distances that the table has and at those that the graphs have learned; kernels also at the
distances of columns that are found to be relevant (`pglearn.relevance`). Where rules make the classes there are trees
(`pglearn.trees`). And a few labels bend what is learned from them, so the graph of the table's own distances is heard
as well (`pglearn.laplace`).

All are believed for how likely they make labels that none of them has learned from (`pglearn.estimators.rehearsal`):
each counts exp(−.4 s), s its loss in nats, the learned graphs three tenths beforehand, the plain one a tenth and the
regressions equal parts of the rest. Were one of them the truth, and the labels many, it would be exp(−s). Shares of
what has spread to a row are not probabilities, and are raised to the power that makes those labels most likely, as
regressions have a slope; to be judged by the same labels then flatters graphs by some half a nat (docs/defaults.md has
the measurements).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import softmax

from pglearn.basis import Basis, standardising, vary
from pglearn.discriminant import discriminant
from pglearn.estimators.members import sharpened
from pglearn.laplace import PlainSpread
from pglearn.logistic import Kernels, Lines, fitted_slope, kernels, lines
from pglearn.problem import Array, Points
from pglearn.relevance import relevant
from pglearn.sparse import is_sparse
from pglearn.trees import Forest

GRAPHS, PLAIN, FOREST, TABLE = "graphs", "plain graph", "trees", "the table"
BEFOREHAND = {GRAPHS: 0.3, PLAIN: 0.1}  # what they count; regressions have the rest
WORTH = 0.4  # of a nat that one is ahead of another by
MOST_POWER = 2.0  # of the graphs: more is luck with the hidden labels
LEAST_PROBABLE = 1e-3  # a label that was thought to be less likely costs no more
LEAST_WEIGHT = 1e-3  # against the graphs: less is not heard
LEAST_VOICE = 0.01  # the same among the others
ASIDE = 0.5  # labels that each class has beforehand: a class whose only label is hidden is not impossible
MOST_CLASSES = 30  # of which there are 435 pairs
MOST_SLOPE = 50.0  # of the line of a sparse table


@dataclass(frozen=True, eq=False)
class Line:
    """Of a sparse table: the ridge regression of `pglearn.basis`, a basis whose coordinates are the classes.

    p ∝ π exp(βz), z the coordinates less the middle of the labelled rows, π the class shares of the labels.
    """

    basis: int
    middle: Array
    slope: float
    log_shares: Array


Regression: TypeAlias = Line | Lines | Kernels | Forest | PlainSpread
Regressions: TypeAlias = dict[str, tuple[Regression, float]]
"""By name, each with its loss in nats on labels that it has not seen."""


def said_by(regression: Regression, X: Points, bases: Sequence[Basis]) -> Array:
    """Its probabilities of the classes (rows × classes)."""
    if not isinstance(regression, Line):
        return regression.of(X)
    coordinates = bases[regression.basis].of(X) - regression.middle
    return np.asarray(softmax(regression.slope * coordinates + regression.log_shares, axis=1))


def _said_of_table(regression: Regression, X: Points, bases: Sequence[Basis], rows: Array) -> Array:
    return regression.F[rows] if isinstance(regression, PlainSpread) else said_by(regression, X[rows], bases)


@dataclass(frozen=True, eq=False)
class Voice:
    """A regression and how much it counts among the others."""

    regression: Regression
    weight: float


@dataclass(frozen=True, eq=False)
class Opinion:
    """What regressions say together, and how much they count against the graphs."""

    voices: list[Voice]
    weight: float
    power: float = 1.0
    """What the graphs' probabilities are raised to."""

    @property
    def kind(self) -> str:
        """Of the regression that counts most."""
        most = max(self.voices, key=lambda voice: voice.weight)
        kinds = {Kernels: "kernel", Forest: "trees", PlainSpread: "graph"}
        return kinds.get(type(most.regression), "linear")

    def of_table(self, X: Points, bases: Sequence[Basis], rows: Array) -> Array:
        """Probabilities of the classes of some rows of the table X, without the graphs."""
        return np.asarray(sum(voice.weight * _said_of_table(voice.regression, X, bases, rows) for voice in self.voices))

    def of(self, X: Points, bases: Sequence[Basis]) -> Array:
        """Probabilities of the classes, without the graphs."""
        return np.asarray(sum(voice.weight * said_by(voice.regression, X, bases) for voice in self.voices))

    def afresh(self) -> Opinion:
        """The same without what was made on the way to say something."""
        voices = [
            Voice(one.regression.afresh(), one.weight) if isinstance(one.regression, PlainSpread) else one
            for one in self.voices
        ]
        return Opinion(voices, self.weight, self.power)

    def mixed(self, probabilities: Array, said: Array) -> Array:
        """The graphs' probabilities of some rows, averaged with what this has said of them."""
        return np.asarray((1 - self.weight) * sharpened(probabilities, self.power) + self.weight * said)


def regressions(
    X: Points,
    bases: Sequence[Basis],
    labelled: Array,
    Y: Array,
    learned: dict[str, Array] | None = None,
    by_relevance: bool = False,
) -> Regressions:
    """All that can be fitted to the labels `Y` of the rows `labelled`.

    `learned` are the distances to look at beside those of the table: what each column is multiplied with, by name;
    `by_relevance` adds those of the columns that are found to be relevant.
    """
    if is_sparse(X):
        return _line(X, bases, labelled, Y)
    if Y.shape[1] > MOST_CLASSES:
        return {}
    found: Regressions = {}
    rows, standardised = X[labelled].astype(np.float64, copy=False), standardising(X)
    tells_apart = vary(rows)
    for name, columns in ((TABLE, standardised), *(learned or {}).items()):
        if (columns[tells_apart] > 0).any():
            found[f"lines, {name}"] = lines(columns, rows, Y)
            found[f"kernels, {name}"] = kernels(columns, rows, Y)
            if name == TABLE and (Y.sum(axis=0) > 1).any():
                found["discriminant"] = discriminant(columns, rows, Y)
    relevance = relevant(standardised, rows, Y) if by_relevance else None
    if relevance is not None:
        found["kernels, relevant columns"] = kernels(relevance, rows, Y)
    return found


def learned_distances(bases: Sequence[Basis], members: Iterable[tuple[int, Array, float]]) -> dict[str, Array]:
    """What columns are multiplied with, by the mean weights of members (basis, a, weight): of those that weight columns
    as they are, and of all."""
    kinds: dict[str, Array] = {}
    for basis, a, weight in members:
        by_column = weight * bases[basis].weights(a)
        for kind in ("given features", "all bases") if bases[basis].name == "raw" else ("all bases",):
            kinds[kind] = kinds.get(kind, 0) + by_column
    return {f"learned in {kind}": np.sqrt(total) for kind, total in kinds.items()}


def nats(probabilities: Array, codes: Array) -> float:
    """The loss of probabilities (rows × classes) on labels that they were not made from."""
    of_label = probabilities[np.arange(len(codes)), codes]
    return float(np.log(1 / np.maximum(of_label, LEAST_PROBABLE)).sum())


def fitted_power(probabilities: Array, codes: Array) -> float:
    """What to raise the graphs' probabilities (rows × classes) to: it makes labels they have not seen most likely."""
    one_hot = np.eye(probabilities.shape[1])[codes]
    return fitted_slope(np.log(np.maximum(probabilities, LEAST_PROBABLE)), one_hot, MOST_POWER)[0]


def weights_by(losses: dict[str, float]) -> dict[str, float]:
    """How much the graphs and each of the others count, by their losses in nats."""
    of_regression = (1 - sum(BEFOREHAND.values())) / max(len(losses.keys() - BEFOREHAND.keys()), 1)
    beforehand = np.log([BEFOREHAND.get(name, of_regression) for name in losses])
    weights = softmax(beforehand - WORTH * np.array(list(losses.values())))
    return dict(zip(losses, weights.tolist(), strict=True))


def opinion_of(others: dict[str, Regression], weights: dict[str, float], power: float = 1.0) -> Opinion | None:
    """Those of the others that count enough beside graphs raised to `power`; None if they do not, all together."""
    together = sum(weight for name, weight in weights.items() if name != GRAPHS)
    if together < LEAST_WEIGHT:
        return None
    heard = {name: weights[name] / together for name in others if weights[name] >= LEAST_VOICE * together}
    total = sum(heard.values())
    return Opinion([Voice(others[name], weight / total) for name, weight in heard.items()], together, power)


def _line(X: Points, bases: Sequence[Basis], labelled: Array, Y: Array) -> Regressions:
    for position, basis in enumerate(bases):
        if basis.own is not None:
            middle = basis.of(X[labelled]).mean(axis=0)
            coordinates = basis.own[1] - middle
            # Rows whose own label is not counted among the class shares either.
            slope, loss = fitted_slope(coordinates, Y, MOST_SLOPE, _log_shares(Y.sum(axis=0) - Y))
            return {"line": (Line(position, middle, slope, _log_shares(Y.sum(axis=0))), loss)}
    return {}


def _log_shares(counts: Array) -> Array:
    counts = counts + ASIDE
    return np.asarray(np.log(counts / counts.sum(axis=-1, keepdims=True)))
