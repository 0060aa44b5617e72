"""Standardised features, when they are not on a common scale already, and logarithms of those with a long tail.

Incomes, areas, counts: a few rows lie far from all others, which lie close together, and distances between rows are
those of the few. Of features that are not on a common scale, or that were standardised by someone else (which makes one
of anything), those with a skewness of one or more become log(1 + (x − lowest) / width), width a tenth of the way from
the lowest to the median; of a tail to the left it is the same from the other side. Pixels and spectra stay as they are.

Those of a sparse table are divided by their range instead, and nothing is taken from them: zeros stay zeros, and a word
that is in one document of a thousand does not count a thousand times as much as one that is in all.

Counts are another matter: the longest documents and the commonest words would decide all distances. They become what
text is usually given as, TF-IDF: logarithms, less of what is in many rows, and rows of length one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pglearn.errors import InputError
from pglearn.graph.weights import blocks
from pglearn.problem import Array, Points, column_medians
from pglearn.sparse import is_sparse, ranges, times_columns, unit_rows
from pglearn.tables.scaling import on_common_scale, ranges_alike

MOST_NON_ZERO = 0.1  # of the numbers of a table of counts
SKEWED = 1.0
FEWEST_VALUES, MOST_ALIKE = 10, 0.25  # of a column with a tail: different values, and the share of the commonest
WIDTH = 0.1
ROWS_TO_LOOK_AT = 10_000
STANDARDISED = 0.05  # means and standard deviations that are so close to 0 and 1 were made so


@dataclass(frozen=True, eq=False)
class Scaling:
    """x → (x − centre) / spread, column by column; of counts log(1 + x) / spread, then every row to length one.

    In columns with a tail x is first brought to logarithms.
    """

    centre: Array
    spread: Array
    of_counts: bool = False
    tails: Array | None = None
    """3 × columns: to which side (1 right, −1 left, 0 no tail), the lowest value seen from there, and the width."""

    @classmethod
    def for_points(cls, X: Points, scale: str | bool) -> Scaling:
        if not isinstance(scale, (bool, np.bool_)) and scale not in ("auto", "tails"):
            raise InputError(f"scale={scale!r} is not known: choose 'auto', 'tails', True or False.")
        if is_sparse(X):
            return cls._for_sparse(X, scale)
        if isinstance(scale, str):
            if scale == "tails" or is_standardised(X):
                return cls._as_it_is(X).with_tails(X)
            return cls._as_it_is(X) if on_common_scale(X) else cls._standardising(X).with_tails(X)
        return cls._standardising(X) if scale else cls._as_it_is(X)

    @classmethod
    def _as_it_is(cls, X: Array) -> Scaling:
        return cls(np.zeros(X.shape[1]), np.full(X.shape[1], _unit(X)))

    @classmethod
    def _standardising(cls, X: Array) -> Scaling:
        unit = _unit(X)
        in_units = X / unit
        spread = in_units.std(axis=0, dtype=np.float64) * unit
        varied = _varied(in_units) & (spread > 0)
        return cls(in_units.mean(axis=0, dtype=np.float64) * unit, np.where(varied, spread, unit))

    def with_tails(self, X: Array) -> Scaling:
        """The same with columns that have a long tail in logarithms, standardised."""
        tails = long_tails(X)
        if not tails[0].any():
            return self
        centre, spread = self.centre.copy(), self.spread.copy()
        for column in np.flatnonzero(tails[0]):
            logs = _in_logs(X[:, column], tails[:, column])
            centre[column], spread[column] = logs.mean(), logs.std()
        return replace(self, centre=centre, spread=spread, tails=tails)

    @classmethod
    def _for_sparse(cls, X: Points, scale: str | bool) -> Scaling:
        if scale == "tails":
            raise InputError("scale='tails' is for arrays: of a sparse X choose 'auto', True or False.")
        if isinstance(scale, str) and holds_counts(X):
            return cls(np.zeros(X.shape[1]), _commonness(X), of_counts=True)
        unit = _unit(X.data)
        spread = ranges(times_columns(X, np.full(X.shape[1], 1 / unit)))
        if ranges_alike(spread) if isinstance(scale, str) else not scale:
            spread = np.ones(X.shape[1])
        return cls(np.zeros(X.shape[1]), np.where(spread > 0, spread, 1) * unit)

    @property
    def standardises(self) -> bool:
        """Whether columns are treated differently; a common unit for all is no standardisation."""
        return bool(np.ptp(self.spread) > 0 or self.centre.any())

    def of(self, X: Points) -> Points:
        if self.of_counts:
            logs = np.copysign(np.log1p(np.abs(X.data)), X.data)  # of rows to predict, whatever they hold
            return unit_rows(times_columns(X, 1 / self.spread, logs))
        if is_sparse(X):
            return X if (self.spread == 1).all() else times_columns(X, 1 / self.spread)
        if not self.standardises and self.spread[0] == 1:
            return X
        scaled = np.empty_like(X)
        for part in blocks(*X.shape):  # in float64, whatever X is, but no second table of it
            values = X[part].astype(np.float64)
            if self.tails is not None:
                for column in np.flatnonzero(self.logarithms):
                    values[:, column] = _in_logs(values[:, column], self.tails[:, column])
            scaled[part] = (values - self.centre) / self.spread
        return scaled

    @property
    def logarithms(self) -> Array:
        """Which columns are taken in logarithms."""
        return np.zeros(len(self.spread), dtype=bool) if self.tails is None else self.tails[0] != 0

    def weights(self, a: Array) -> Array:
        """Feature weights in units of the given features, or of their logarithms where these are taken; for counts, of
        their logarithms in a row of length one."""
        with np.errstate(over="ignore", under="ignore"):  # a weight may be beyond what floats hold
            return np.asarray(a / self.spread / self.spread)


def is_standardised(X: Array) -> bool:
    """Whether every column with more than two values has the mean 0 and the standard deviation 1, and there are some.

    >>> is_standardised(np.array([[-1.2247, 0.0], [0.0, 1.0], [1.2247, 1.0]]))
    True
    """
    n = X.shape[0]
    lowest, highest = X.min(axis=0), X.max(axis=0)
    if max(-lowest.min(), highest.max()) > n:  # a deviation of 1 leaves no room for that
        return False
    sums, squares, between = np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.zeros(X.shape[1], dtype=bool)
    for part in blocks(*X.shape):  # all rows: of a long tail a sample may have half the deviation
        values = X[part].astype(np.float64)
        sums += values.sum(axis=0)
        squares += (values**2).sum(axis=0)
        between |= ((values > lowest) & (values < highest)).any(axis=0)
    means = sums[between] / n
    deviations = np.sqrt(np.maximum(squares[between] / n - means**2, 0))
    return bool(
        between.any() and (np.abs(means) < STANDARDISED).all() and (np.abs(deviations - 1) < STANDARDISED).all()
    )


def long_tails(X: Array) -> Array:
    """`Scaling.tails` of a table.

    >>> X = np.column_stack([np.exp(np.linspace(-3, 3, 50)), np.linspace(0, 1, 50)])
    >>> long_tails(X)[0].tolist()
    [1.0, 0.0]
    """
    tails = np.zeros((3, X.shape[1]))
    rows = _some_rows(X) / _unit(X)
    for number, column in enumerate(rows.T.astype(np.float64)):
        skewness = _skewness(column)
        if abs(skewness) >= SKEWED and _commonest(column) <= MOST_ALIKE:
            side = np.sign(skewness)
            values = side * X[:, number].astype(np.float64)
            lowest = values.min()
            width = WIDTH * (np.median(values) - lowest)
            if 0 < width < np.inf:
                tails[:, number] = side, lowest, width
    return tails


def _some_rows(X: Array) -> Array:
    return X[:: max(1, X.shape[0] // ROWS_TO_LOOK_AT)]


def _skewness(column: Array) -> float:
    spread = column.std()
    return float((((column - column.mean()) / spread) ** 3).mean()) if spread > 0 else 0.0


def _commonest(column: Array) -> float:
    """The share of the value that most rows have; 1 if there are few values."""
    _, counts = np.unique(column, return_counts=True)
    return 1.0 if len(counts) < FEWEST_VALUES else float(counts.max() / len(column))


def _in_logs(x: Array, tail: Array) -> Array:
    """Values of a column with such a tail; new ones beyond the lowest are taken for it."""
    side, lowest, width = tail
    return np.asarray(side * np.log1p(np.maximum(side * x.astype(np.float64) - lowest, 0) / width))


def holds_counts(X: Points) -> bool:
    """Whether sparse rows look like counts of words, or of anything else of which most rows have none.

    That is: few numbers are not zero, all of these are whole, from one up, and there are larger ones (so that these are
    no categories). A column that most rows have must hold a one: the word "the" does, an age or a year does not.
    """
    if not X.nnz or X.nnz > MOST_NON_ZERO * X.shape[0] * X.shape[1]:
        return False
    if X.data.min() != 1 or X.data.max() == 1 or (X.data != np.round(X.data)).any():
        return False
    once = np.bincount(X.indices[X.data == 1], minlength=X.shape[1]) > 0
    return bool(once[np.flatnonzero(column_medians(X))].all())


def _commonness(X: Points) -> Array:
    """1/(1 + log((1 + n) / (1 + n_m))), n_m the rows that have a number in column m: the inverse of its idf."""
    n, d = X.shape
    return np.asarray(1 / (1 + np.log((1 + n) / (1 + np.bincount(X.indices, minlength=d)))))


def _varied(X: Array) -> Array:
    """Columns that are not constant but for rounding; the standard deviation of those that are need not be zero.

    Only that of float64: a time stamp with few digits left still tells rows apart, so `pglearn.basis`, which sees
    features near their middle, can allow for more.
    """
    return np.asarray(np.ptp(X, axis=0) > 4 * np.finfo(np.float64).eps * np.abs(X).max(axis=0))


def _unit(X: Array) -> float:
    """1, or the power of two below the largest value where squares of it would over- or underflow in X's own type."""
    peak = float(np.abs(X).max(initial=0))
    most = 1e12 if X.dtype == np.float32 else 1e100
    return 1.0 if peak == 0 or 1 / most < peak < most else float(2.0 ** np.floor(np.log2(peak)))
