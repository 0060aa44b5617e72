"""Standardised features, when they are not on a common scale already.

Those of a sparse table are divided by their range instead, and nothing is taken from them: zeros stay zeros, and a word
that is in one document of a thousand does not count a thousand times as much as one that is in all.

Counts are another matter: the longest documents and the commonest words would decide all distances. They become what
text is usually given as, TF-IDF: logarithms, less of what is in many rows, and rows of length one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pglearn.errors import InputError
from pglearn.graph.weights import blocks
from pglearn.problem import Array, Points, column_medians
from pglearn.sparse import is_sparse, ranges, times_columns, unit_rows
from pglearn.tables.scaling import on_common_scale, ranges_alike

MOST_NON_ZERO = 0.1  # of the numbers of a table of counts


@dataclass(frozen=True, eq=False)
class Scaling:
    """x → (x − centre) / spread, column by column; of counts log(1 + x) / spread, then every row to length one."""

    centre: Array
    spread: Array
    of_counts: bool = False

    @classmethod
    def for_points(cls, X: Points, scale: str | bool) -> Scaling:
        if not isinstance(scale, (bool, np.bool_)) and scale != "auto":
            raise InputError(f"scale={scale!r} is not known: choose 'auto', True or False.")
        if is_sparse(X):
            return cls._for_sparse(X, scale)
        if isinstance(scale, str):
            scale = not on_common_scale(X)
        if not scale:
            return cls(np.zeros(X.shape[1]), np.full(X.shape[1], _unit(X)))
        unit = _unit(X)
        in_units = X / unit
        spread = in_units.std(axis=0, dtype=np.float64) * unit
        varied = _varied(in_units) & (spread > 0)
        return cls(in_units.mean(axis=0, dtype=np.float64) * unit, np.where(varied, spread, unit))

    @classmethod
    def _for_sparse(cls, X: Points, scale: str | bool) -> Scaling:
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
            scaled[part] = (X[part] - self.centre) / self.spread
        return scaled

    def weights(self, a: Array) -> Array:
        """Feature weights in units of the given features; for counts, of their logarithms in a row of length one."""
        with np.errstate(over="ignore", under="ignore"):  # a weight may be beyond what floats hold
            return np.asarray(a / self.spread / self.spread)


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
