"""When do columns of numbers have to be standardised before distances between rows mean anything?

    r_m    range (largest minus smallest) of column m, over the columns that are not constant
    q      5th percentile of the r_m, the range of an actual column: the smallest up to 20 columns

The columns are on a common scale when max_m r_m <= 20 q: pixels, spectra, answers to one questionnaire.
There the spread of a column is information, and standardising would blow up the noise of quiet columns.
Otherwise (age beside income) the units decide the distance, and they should not.

Features of a sparse table are divided by their range instead, and nothing is taken from them: zeros stay zeros, and a
word that is in one document of a thousand does not count a thousand times as much as one that is in all. The
longest documents and the commonest words would decide all distances between rows of counts: these become what text is
usually given as, TF-IDF: logarithms, less of what is in many rows, and rows of length one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pglearn.arrays import Array, Points, blocks, column_medians, is_sparse, ranges, times_columns, unit_rows
from pglearn.errors import InputError

MAX_RATIO = 20.0
MAX_NON_ZERO = 0.1  # of the numbers of a table of counts


def half_ranges(X: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Half the range of each column of X, 0 for a column with a single number or none; NaN and infinities are ignored.

    Halves, because the whole range of a column that spans all of float64 is infinite. Only ratios matter.
    """
    X = np.asarray(X, dtype=np.float64)
    present = np.isfinite(X)
    # Not nanmax/nanmin, which warn about a column without a single number.
    largest = np.max(X, axis=0, where=present, initial=-np.inf)
    smallest = np.min(X, axis=0, where=present, initial=np.inf)
    return np.where(largest > smallest, largest / 2 - smallest / 2, 0)


def on_common_scale(r: npt.NDArray[np.float64]) -> bool:
    """Whether columns of these ranges, or of any multiple of them, can be compared as they are.

    >>> on_common_scale(np.array([1.0, 4.0])), on_common_scale(np.array([23.0, 22_000.0]))
    (True, False)
    """
    r = r[r > 0]
    # "lower", because a percentile between two columns leans on the larger one: of two columns with ranges
    # r_1 < r_2 it is at least r_2 / 20, and any pair whatsoever would pass.
    return r.size == 0 or bool(r.max() / MAX_RATIO <= np.percentile(r, 5, method="lower"))


def is_automatic(scale: object) -> bool:
    """Whether `scale` is "auto" rather than True or False; a sentence where it is none of them."""
    if isinstance(scale, str) and scale == "auto":
        return True
    if isinstance(scale, bool | np.bool_):
        return False
    raise InputError(f"scale={scale!r} is not known: choose 'auto', True or False.")


@dataclass(frozen=True, eq=False)
class Scaling:
    """x → (x − centre) / spread, column by column; of counts TF-IDF, with `spread` the commonness of their columns."""

    centre: Array
    spread: Array
    of_counts: bool = False

    @classmethod
    def for_points(cls, X: Points, scale: str | bool) -> Scaling:
        is_auto = is_automatic(scale)
        if is_sparse(X):
            return cls._for_sparse(X, is_auto, bool(scale))
        standardise = not on_common_scale(half_ranges(X)) if is_auto else scale
        return cls._standardising(X) if standardise else cls(np.zeros(X.shape[1]), np.full(X.shape[1], _unit(X)))

    @classmethod
    def _standardising(cls, X: Array) -> Scaling:
        unit = _unit(X)
        in_units = X / unit
        spread = in_units.std(axis=0, dtype=np.float64) * unit
        varied = _varied(in_units) & (spread > 0)
        return cls(in_units.mean(axis=0, dtype=np.float64) * unit, np.where(varied, spread, unit))

    @classmethod
    def _for_sparse(cls, X: Points, is_auto: bool, scale: bool) -> Scaling:
        centre = np.zeros(X.shape[1])
        if is_auto and holds_counts(X):
            return cls(centre, commonness(X), of_counts=True)
        unit = _unit(X.data)
        spread = ranges(times_columns(X, np.full(X.shape[1], 1 / unit)))
        if on_common_scale(spread) if is_auto else not scale:
            spread = np.ones(X.shape[1])
        return cls(centre, np.where(spread > 0, spread, 1) * unit)

    @property
    def standardises(self) -> bool:
        """Whether columns are treated differently; a common unit for all is no standardisation."""
        return bool(np.ptp(self.spread) > 0 or self.centre.any())

    def transform(self, X: Points) -> Points:
        if self.of_counts:
            return tf_idf(X, self.spread)
        if is_sparse(X):
            return X if (self.spread == 1).all() else times_columns(X, 1 / self.spread)
        if not self.standardises and self.spread[0] == 1:
            return X
        scaled = np.empty_like(X)
        for part in blocks(*X.shape):  # in float64, whatever X is, but no second table of it
            scaled[part] = (X[part].astype(np.float64) - self.centre) / self.spread
        return scaled

    def feature_weights(self, a: Array) -> Array:
        """Weights in units of the given features; for counts, of their logarithms in a row of length one."""
        with np.errstate(over="ignore", under="ignore"):  # a weight may be beyond what floats hold
            return np.asarray(a / self.spread / self.spread)


def _varied(X: Array) -> Array:
    """Columns that are not constant but for rounding; the standard deviation of those that are need not be zero.

    Only that of float64: a time stamp with few digits left still tells rows apart, so `pglearn.objective.views`, which
    sees features near their middle, can allow for more.
    """
    return np.asarray(np.ptp(X, axis=0) > 4 * np.finfo(np.float64).eps * np.abs(X).max(axis=0))


def _unit(X: Array) -> float:
    """1, or the power of two below the largest value where squares of it would over- or underflow in X's own type."""
    peak = float(np.abs(X).max(initial=0))
    most = 1e12 if X.dtype == np.float32 else 1e100
    return 1.0 if peak == 0 or 1 / most < peak < most else float(2.0 ** np.floor(np.log2(peak)))


def holds_counts(X: Points) -> bool:
    """Whether sparse rows look like counts of words, or of anything else of which most rows have none.

    That is: few numbers are not zero, all of these are whole, from one up, and there are larger ones (so that these are
    no categories). A column that most rows have must hold a one: the word "the" does, an age or a year does not.
    """
    if not X.nnz or X.nnz > MAX_NON_ZERO * X.shape[0] * X.shape[1]:
        return False
    if X.data.min() != 1 or X.data.max() == 1 or (X.data != np.round(X.data)).any():
        return False
    once = np.bincount(X.indices[X.data == 1], minlength=X.shape[1]) > 0
    return bool(once[np.flatnonzero(column_medians(X))].all())


def commonness(X: Points) -> Array:
    """1/(1 + log((1 + n) / (1 + n_m))), n_m the rows that have a number in column m: the inverse of its idf."""
    n, d = X.shape
    return np.asarray(1 / (1 + np.log((1 + n) / (1 + np.bincount(X.indices, minlength=d)))))


def tf_idf(X: Points, commonness: Array) -> Points:
    """log(1 + x) / commonness, then every row to length one; rows to predict may hold negative numbers, too."""
    logs = np.copysign(np.log1p(np.abs(X.data)), X.data)
    return unit_rows(times_columns(X, 1 / commonness, logs))
