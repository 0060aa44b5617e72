"""Logistic regression between pairs of classes, on products or Gaussian kernels of rows.

| symbol | meaning                                                                        | shape     |
|--------|--------------------------------------------------------------------------------|-----------|
| k      | products xᵀx' or kernels exp(−γ ‖x − x'‖²) of the labelled rows                | l × l     |
| K      | s k + b: how alike the logits of rows are beforehand, and their common part    | m × m     |
| t      | the side of a row: 1 for one class, −1 for the other                           | m         |
| f = Ka | logits, at the a with the largest −Σ log(1 + exp(−t f)) − ½ aᵀKa               | m         |
| p, W   | probabilities 1 / (1 + exp(−f)) of the first class, and p (1 − p)              | m         |

a is found by Newton's steps, with B = I + √W K √W, b = Wf + y − p and y = (1 + t) / 2 to a ← b − √W B⁻¹ √W K b
(Rasmussen and Williams 2006, algorithm 3.1). A row without its own label has the logit f − (y − p) v / (1 − W v),
v = diag(K − K √W B⁻¹ √W K), one step away from those with all labels. That costs no further fit, and on the tables of
docs/defaults.md the loss on such logits is that on other rows but for a few per cent.

Of two classes the logit speaks by itself. Of more, a row hears all pairs: those of which it has neither class say what
they like, so every pair has but half a vote for one and against the other, ½ tanh(f/2). Votes times the slope that
makes hidden labels most likely are the logits of the classes.

No one width γ and scale s is chosen: few labels do not tell which is best. All of a grid answer together, each with the
weight exp(−½ loss in nats) on labels that it has not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.metrics import euclidean_distances

from pglearn.problem import Array

SCALES_OF_PRODUCTS = (0.3, 3.0, 30.0, 1e3, 1e5)  # s, rows having a mean squared length of one
SCALES_OF_KERNELS = (1.0, 10.0, 100.0, 1e3)
GAMMAS = (0.125, 0.5, 2.0, 8.0)  # over the mean squared distance
COMMON_OF_PRODUCTS = 4.0  # b
COMMON_OF_KERNELS = 10.0  # b / s: what is inside of something else is below or above all of it
NEWTON_STEPS, GAIN = 60, 1e-6  # at most, and what the last one gains at most
LEAST_SLOPE, MOST_SLOPE, MOST_SLOPE_OF_TWO = 0.1, 8.0, 3.0
WORTH = 0.5  # of a nat that one is ahead of another by
LEAST = 0.01  # weight: below it is not kept


@dataclass(frozen=True, eq=False)
class Grid:
    """Σ_g weight_g softmax(slope_g · votes(· + intercept_g)): probabilities of the classes."""

    intercepts: Array
    """Of every member of the grid, for every pair: g × pairs."""
    pairs: Array
    """pairs × classes, 1 and −1; none if there is a logit for each class."""
    slopes: Array
    weights: Array

    def _check(self, n_classes: int) -> tuple[int, int]:
        """That it is about so many classes, of what was read from a file; how many members and logits it has."""
        if self.pairs.ndim != 2 or self.pairs.shape[1] != n_classes:
            raise ValueError("a regression is about other classes")
        shape = len(self.weights), len(self.pairs) or n_classes
        if not self.weights.shape == self.slopes.shape == shape[:1] or self.intercepts.shape != shape:
            raise ValueError("a regression is not complete")
        return shape

    def averaged(self, logits: Iterable[Array]) -> Array:
        """Of logits that each member has, rows × pairs, before the intercepts."""
        parts = zip(logits, self.intercepts, self.slopes, self.weights, strict=True)
        said = (
            weight * softmax(slope * votes(f + intercept, self.pairs), axis=1) for f, intercept, slope, weight in parts
        )
        return np.asarray(sum(said))


@dataclass(frozen=True, eq=False)
class Lines(Grid):
    """x → axes_g x."""

    axes: Array
    """g × pairs × d."""

    def check(self, n_columns: int, n_classes: int) -> None:
        """That it is about a table with so many columns and classes, of what was read from a file."""
        if self.axes.shape != (*self._check(n_classes), n_columns):
            raise ValueError("a regression is about other columns")

    def of(self, X: Array) -> Array:
        X = X.astype(np.float64, copy=False)
        return self.averaged(X @ axes.T for axes in self.axes)


@dataclass(frozen=True, eq=False)
class Kernels(Grid):
    """x → Σᵢ exp(−γ_g ‖(x − middle) ∘ columns − xᵢ‖²) dual_gi."""

    middle: Array
    columns: Array
    rows: Array
    """The labelled ones, less `middle` and times `columns`."""
    gammas: Array
    duals: Array
    """g × rows × pairs."""

    def check(self, n_columns: int, n_classes: int) -> None:
        """That it is about a table with so many columns and classes, of what was read from a file."""
        members, logits = self._check(n_classes)
        of_columns = self.middle.shape == self.columns.shape == self.rows.shape[1:] == (n_columns,)
        if not of_columns or self.gammas.shape != (members,) or self.duals.shape != (members, len(self.rows), logits):
            raise ValueError("a regression is about other columns")

    def of(self, X: Array) -> Array:
        placed = (X.astype(np.float64, copy=False) - self.middle) * self.columns
        squares = euclidean_distances(placed, self.rows, squared=True)
        return self.averaged(
            np.exp(-gamma * squares) @ dual for gamma, dual in zip(self.gammas, self.duals, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Fitted:
    """One member of a grid."""

    dual: Array
    intercept: Array
    slope: float
    nats: float
    """Its loss on labels that it has not seen."""


def lines(columns: Array, rows: Array, Y: Array) -> tuple[Lines, float]:
    """On products of labelled rows times `columns`, and its loss on labels that it has not seen."""
    rows = rows.astype(np.float64, copy=False) * columns
    middle = rows.mean(axis=0)
    rows = rows - middle
    unit = (rows**2).sum(axis=1).mean()
    pairs = pairs_of(Y.shape[1])
    common = [(s, COMMON_OF_PRODUCTS) for s in SCALES_OF_PRODUCTS]
    grid = list(_at_scales(rows @ rows.T / unit, Y, pairs, common))
    kept, weights, nats = _kept([one for _, one in grid])
    axes = np.array([(grid[g][0] / unit) * grid[g][1].dual.T @ rows for g in kept])
    intercepts = np.array([grid[g][1].intercept for g in kept]) - axes @ middle
    slopes = np.array([grid[g][1].slope for g in kept])
    return Lines(intercepts, pairs, slopes, weights, axes * columns), nats


def kernels(columns: Array, rows: Array, Y: Array) -> tuple[Kernels, float]:
    """On Gaussian kernels of labelled rows times `columns`, and its loss on labels that it has not seen."""
    middle = rows.mean(axis=0, dtype=np.float64)
    rows = (rows - middle) * columns
    squares = euclidean_distances(rows, squared=True)
    usual = mean_square(squares)
    pairs = pairs_of(Y.shape[1])
    common = [(s, COMMON_OF_KERNELS * s) for s in SCALES_OF_KERNELS]
    grid = [
        (gamma / usual, s, one)
        for gamma in GAMMAS
        for s, one in _at_scales(np.exp(-gamma / usual * squares), Y, pairs, common)
    ]
    kept, weights, nats = _kept([one for _, _, one in grid])
    gammas = np.array([grid[g][0] for g in kept])
    duals = np.array([grid[g][1] * grid[g][2].dual for g in kept])
    intercepts = np.array([grid[g][2].intercept for g in kept])
    slopes = np.array([grid[g][2].slope for g in kept])
    return Kernels(intercepts, pairs, slopes, weights, middle, columns, rows, gammas, duals), nats


def mean_square(squares: Array) -> float:
    """Mean squared distance of two different rows."""
    return float(squares.sum() / (len(squares) * (len(squares) - 1)))


def pairs_of(n_classes: int) -> Array:
    """For every pair of classes 1 for one and −1 for the other.

    >>> pairs_of(3).astype(int).tolist()
    [[1, -1, 0], [1, 0, -1], [0, 1, -1]]
    """
    found = list(combinations(range(n_classes), 2))
    pairs = np.zeros((len(found), n_classes))
    for number, (one, other) in enumerate(found):
        pairs[number, [one, other]] = 1, -1
    return pairs


def votes(logits: Array, pairs: Array) -> Array:
    """What is said of each class (rows × classes) by logits of pairs, or by those of the classes if there are none."""
    if not len(pairs):
        return logits
    if len(pairs) == 1:
        return np.asarray(logits @ pairs / 2)
    return np.asarray(np.tanh(logits / 2) @ pairs / 2)


def fitted_slope(
    votes: Array, Y: Array, most: float, beforehand: Array | float = 0.0, spread: float = np.inf
) -> tuple[float, float]:
    """The slope, at most so much, with the lowest log loss on votes that have not seen the labels; that loss in nats.

    `beforehand` are logits that the votes, times the slope, are added to; `spread` is that of the logarithm of the
    slope, beforehand, around a slope of one.
    """

    def loss(log_slope: float) -> float:
        return -float((log_softmax(np.exp(log_slope) * votes + beforehand, axis=1) * Y).sum())

    def with_prior(log_slope: float) -> float:
        return loss(log_slope) + (log_slope / spread) ** 2 / 2

    best = minimize_scalar(with_prior, bounds=np.log([LEAST_SLOPE, most]), method="bounded")
    return float(np.exp(best.x)), loss(best.x)


def _kept(grid: list[Fitted]) -> tuple[Array, Array, float]:
    """Positions of those that count, how much, and the mean loss of all, each counted so."""
    nats = np.array([one.nats for one in grid])
    weights = softmax(-WORTH * nats)
    kept = np.flatnonzero(weights >= LEAST)
    return kept, weights[kept] / weights[kept].sum(), float(weights @ nats)


def _at_scales(
    k: Array, Y: Array, pairs: Array, scales: Iterable[tuple[float, float]]
) -> Iterator[tuple[float, Fitted]]:
    """The regression with K = s k + b for every scale s and b, each found from the one before."""
    together = [_Pairs(k, Y, pairs, numbers) for numbers in _of_like_size((Y @ pairs.T != 0).sum(axis=0))]
    most = MOST_SLOPE_OF_TWO if len(pairs) == 1 else MOST_SLOPE
    last = 1.0
    for s, common in scales:
        dual = np.zeros((len(Y), len(pairs)))
        for some in together:
            some.fit(s, common, last)
            dual[some.at] = some.a[some.own]
        intercept = common * dual.sum(axis=0)
        logits = s * k @ dual + intercept
        for some in together:
            logits[some.at] = some.hidden[some.own]
        yield s, Fitted(dual, intercept, *fitted_slope(votes(logits, pairs), Y, most))
        last = s


class _Pairs:
    """Regressions that are fitted together, each with its rows; rows that only fill up have the side 0."""

    def __init__(self, k: Array, Y: Array, pairs: Array, numbers: Array) -> None:
        sides = Y @ pairs[numbers].T
        most = int((sides != 0).sum(axis=0).max())
        self.among = np.argsort(sides == 0, axis=0, kind="stable")[:most].T
        self.sides = np.take_along_axis(sides.T, self.among, axis=1)
        self.k = k[self.among[:, :, None], self.among[:, None, :]]
        self.own = np.where(self.sides != 0)
        self.at = self.among[self.own], numbers[self.own[0]]
        self.a = self.hidden = np.zeros(self.sides.shape)

    def fit(self, s: float, common: float, last: float) -> None:
        """From the a of the scale `last`; `hidden` are then the logits of rows without their label."""
        self.a, self.hidden = newton(s * self.k + common, self.sides, self.a * last / s)


def _of_like_size(sizes: Array) -> list[Array]:
    """Positions, those together that differ by less than a factor of two: others would have much to fill up.

    >>> [together.tolist() for together in _of_like_size(np.array([3, 40, 2, 33]))]
    [[0, 2], [1, 3]]
    """
    powers = np.floor(np.log2(sizes))
    return [np.flatnonzero(powers == power) for power in np.unique(powers)]


def newton(K: Array, t: Array, a: Array) -> tuple[Array, Array]:
    """a of every regression (B × m), and the logits of its rows without their labels; K is B × m × m.

    Rows of side 0 have no part in it. `a` is where to begin.
    """
    there, y = t != 0, (t + 1) / 2
    f = _times(K, a)
    value = _objective(a, f, t)
    for _ in range(NEWTON_STEPS):
        p, root = _weights(f, there)
        b = root**2 * f + np.where(there, y - p, 0)
        full = b - root * np.linalg.solve(_B(K, root), (root * _times(K, b))[..., None])[..., 0]
        step = np.ones((len(a), 1))
        while True:
            a_next = a + step * (full - a)
            f_next = _times(K, a_next)
            value_next = _objective(a_next, f_next, t)
            worse = value_next < value - GAIN
            if not worse.any() or step[worse].max() < 1e-6:
                break
            step[worse] /= 2
        done = (value_next - value).max() < GAIN
        a, f, value = a_next, f_next, value_next
        if done:
            break
    p, root = _weights(f, there)
    scaled = root[..., None] * K
    v = np.einsum("bii->bi", K) - np.einsum("bij,bij->bj", scaled, np.linalg.solve(_B(K, root), scaled))
    v = np.maximum(v, 0)
    return a, f - (y - p) * v / np.maximum(1 - root**2 * v, 1e-6)


def _times(K: Array, a: Array) -> Array:
    return np.asarray((K @ a[..., None])[..., 0])


def _weights(f: Array, there: Array) -> tuple[Array, Array]:
    """p and √W, which is 0 for rows that have no part."""
    p = expit(f)
    return p, np.where(there, np.sqrt(p * (1 - p)), 0)


def _B(K: Array, root: Array) -> Array:
    return np.asarray(np.eye(K.shape[-1]) + root[..., None] * K * root[:, None, :])


def _objective(a: Array, f: Array, t: Array) -> Array:
    """Of every regression."""
    likelihood = np.where(t != 0, np.logaddexp(0, -t * f), 0).sum(axis=1)
    return np.asarray(-likelihood - (a * f).sum(axis=1) / 2)
