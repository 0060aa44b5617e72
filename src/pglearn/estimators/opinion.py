"""What regressions say of the rows, heard as far as they find hidden labels that the graphs do not.

Where each of many columns says a little and the classes overlap, or where one class lies around another, near rows are
often of different classes and no graph fits the labels well. Zhu, Ghahramani and Lafferty (2003) let labels spread from
the answers of another classifier; here these are averaged with those of the graphs. There are several: discriminant
analyses of the standardised columns, and logistic regressions between pairs of classes, on products of rows and on
Gaussian kernels, at distances that the table has and at those that the graphs have learned; kernels also at the
distances of columns that are found to be relevant (`pglearn.relevance`). Where rules make the classes there are trees
(`pglearn.trees`). Where labels are few there are linear models that all rows teach (`pglearn.unlabelled`). And a few
labels bend what is learned from them, so the graph of the table's own distances is heard as well (`pglearn.laplace`).

All are believed for how likely they make labels that none of them has learned from (`pglearn.estimators.rehearsal`):
each counts exp(−s/3), s its loss in nats. Were one of them the truth, and the labels many, it would be exp(−s).
Beforehand the learned graphs count three times as much as others, and with l hidden labels those that have little to
learn, discriminants and what all rows teach, 1 + 30/l times; regressions at learned distances, which have the most to
learn, count as much less.

None of them is the truth, and where labels are many the one that is ahead would be heard alone, though others are right
where it is wrong. So nats of more than a hundred labels count as those of a hundred, and weights move on to those whose
*mean* makes the hidden labels most likely, as far as the labels outweigh five that speak for the weights from before.

Logistic regressions and discriminants have a slope that makes labels most likely which they have not seen. What has
spread over a graph to a row, what trees say and what all rows teach is raised to a power for that, which is one
beforehand, give or take a half, and at most two; to be judged by the same labels then flatters them a little
(docs/defaults.md has the measurements).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
from pglearn.trees import Boosted, Forest

TABLE, LEARNED = "the table", "learned in"
GRAPHS, PLAIN, FOREST, BOOSTED = "graphs", "plain graph", "trees", "boosted trees"
DISCRIMINANT, BY_COLUMN, CLOUDS, SELF_TAUGHT = "discriminant", "discriminant, by column", "clouds", "self-taught line"
RAISED = {GRAPHS, PLAIN, FOREST, BOOSTED, CLOUDS, SELF_TAUGHT}  # to a power, having no slope
OF_GRAPHS = 3.0  # what they count beforehand
WITH_LITTLE_TO_LEARN, FEW = {DISCRIMINANT, BY_COLUMN, CLOUDS, SELF_TAUGHT}, 30.0
WORTH = 1 / 3  # of a nat that one is ahead of another by
MOST_COUNTED = 100  # hidden labels; nats of more count as those of so many
BY_LOSS = 5.0  # labels that the weights by loss count for among the hidden ones
ROUNDS = 300  # to the weights that make the mean most likely
SPREAD_OF_POWER = 0.5  # of its logarithm, beforehand
MOST_POWER = 2.0  # more is luck with the hidden labels
LEAST_PROBABLE = 1e-3  # a label that was thought to be less likely costs no more
LEAST_TOLD = 1e-6  # what is less likely is not told apart when powers are fitted
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


Regression: TypeAlias = Line | Lines | Kernels | Forest | Boosted | PlainSpread
Regressions: TypeAlias = dict[str, tuple[Regression, float]]
"""By name, each with its loss in nats on labels that it has not seen."""


def said_by(regression: Regression, X: Points, bases: Sequence[Basis]) -> Array:
    """Its probabilities of the classes (rows × classes)."""
    if not isinstance(regression, Line):
        return regression.of(X)
    coordinates = bases[regression.basis].of(X) - regression.middle
    return np.asarray(softmax(regression.slope * coordinates + regression.log_shares, axis=1))


@dataclass(frozen=True, eq=False)
class Voice:
    """A regression and how much it counts among the others."""

    regression: Regression
    weight: float
    power: float = 1.0
    """What its probabilities are raised to."""

    def of_table(self, X: Points, bases: Sequence[Basis], rows: Array) -> Array:
        if isinstance(self.regression, PlainSpread):
            return self._counted(self.regression.F[rows])
        return self.of(X[rows], bases)

    def of(self, X: Points, bases: Sequence[Basis]) -> Array:
        return self._counted(said_by(self.regression, X, bases))

    def afresh(self) -> Voice:
        """The same without what was made on the way to say something."""
        return replace(self, regression=self.regression.afresh()) if isinstance(self.regression, PlainSpread) else self

    def _counted(self, probabilities: Array) -> Array:
        return self.weight * sharpened(probabilities, self.power)


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
        kinds = {Kernels: "kernel", Forest: "trees", Boosted: "trees", PlainSpread: "graph"}
        return kinds.get(type(most.regression), "linear")

    def of_table(self, X: Points, bases: Sequence[Basis], rows: Array) -> Array:
        """Probabilities of the classes of some rows of the table X, without the graphs."""
        return np.asarray(sum(voice.of_table(X, bases, rows) for voice in self.voices))

    def of(self, X: Points, bases: Sequence[Basis]) -> Array:
        """Probabilities of the classes, without the graphs."""
        return np.asarray(sum(voice.of(X, bases) for voice in self.voices))

    def afresh(self) -> Opinion:
        """The same without what was made on the way to say something."""
        return replace(self, voices=[voice.afresh() for voice in self.voices])

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
                found[DISCRIMINANT] = discriminant(columns, rows, Y)
                found[BY_COLUMN] = discriminant(columns, rows, Y, by_themselves=True)
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
    return {f"{LEARNED} {kind}": np.sqrt(total) for kind, total in kinds.items()}


def likelihoods(probabilities: Array, codes: Array) -> Array:
    """Of labels that the probabilities (rows × classes) were not made from."""
    return np.asarray(np.maximum(probabilities[np.arange(len(codes)), codes], LEAST_PROBABLE))


def nats(likelihoods: Array) -> float:
    """The loss on labels of such likelihoods."""
    return float(np.log(1 / likelihoods).sum())


def fitted_power(probabilities: Array, codes: Array) -> float:
    """What to raise probabilities (rows × classes) to: it makes labels likely that they have not seen."""
    one_hot = np.eye(probabilities.shape[1])[codes]
    logits = np.log(np.maximum(probabilities, LEAST_TOLD))
    return fitted_slope(logits, one_hot, MOST_POWER, spread=SPREAD_OF_POWER)[0]


def weights_by(told: dict[str, Array], n_hidden: int) -> dict[str, float]:
    """How much the graphs and each of the others count, by the likelihoods of the hidden labels that they were asked
    for; there were `n_hidden`."""
    by_loss = weights_by_loss({name: nats(one) for name, one in told.items()}, n_hidden)
    weights = _most_likely_together(np.array(list(told.values())), np.array(list(by_loss.values())))
    return dict(zip(told, weights.tolist(), strict=True))


def weights_by_loss(losses: dict[str, float], n_hidden: int) -> dict[str, float]:
    """How much each counts, by its own loss in nats on so many hidden labels."""
    worth = WORTH * min(1.0, MOST_COUNTED / n_hidden)
    beforehand = np.log([_beforehand(name, n_hidden) for name in losses])
    weights = softmax(beforehand - worth * np.array(list(losses.values())))
    return dict(zip(losses, weights.tolist(), strict=True))


def _most_likely_together(told: Array, beforehand: Array) -> Array:
    """Weights w that maximise Σ_i log Σ_m w_m told_mi + BY_LOSS · Σ_m beforehand_m log w_m.

    Expectation maximisation: every hidden label is shared out among those that made it likely.
    """
    weights = beforehand
    for _ in range(ROUNDS):
        shares = weights[:, None] * told
        counts = (shares / shares.sum(axis=0)).sum(axis=1) + BY_LOSS * beforehand
        weights = counts / counts.sum()
    return weights


def _beforehand(name: str, n_hidden: int) -> float:
    if name == GRAPHS:
        return OF_GRAPHS
    if name in WITH_LITTLE_TO_LEARN:
        return 1 + FEW / n_hidden
    return 1 / (1 + FEW / n_hidden) if LEARNED in name else 1.0


def opinion_of(others: dict[str, Regression], weights: dict[str, float], powers: dict[str, float]) -> Opinion | None:
    """Those of the others that count enough beside the graphs, all raised to `powers`; None if together they do not."""
    together = sum(weight for name, weight in weights.items() if name != GRAPHS)
    if together < LEAST_WEIGHT:
        return None
    heard = {name: weights[name] / together for name in others if weights[name] >= LEAST_VOICE * together}
    total = sum(heard.values())
    voices = [Voice(others[name], weight / total, powers.get(name, 1.0)) for name, weight in heard.items()]
    return Opinion(voices, together, powers.get(GRAPHS, 1.0))


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
