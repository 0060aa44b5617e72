"""Standardised features, when they are not on a common scale already.

Those of a sparse table are divided by their range instead, and nothing is taken from them: zeros stay zeros, and a word
that is in one document of a thousand does not count a thousand times as much as one that is in all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pglearn.errors import InputError
from pglearn.problem import Array, Points
from pglearn.sparse import is_sparse, ranges, times_columns
from pglearn.tables.scaling import on_common_scale, ranges_alike


@dataclass(frozen=True, eq=False)
class Scaling:
    """x → (x − centre) / spread, column by column."""

    centre: Array
    spread: Array

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
        spread = (X / unit).std(axis=0, dtype=np.float64) * unit
        return cls((X / unit).mean(axis=0, dtype=np.float64) * unit, np.where(spread > 0, spread, unit))

    @classmethod
    def _for_sparse(cls, X: Points, scale: str | bool) -> Scaling:
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
        if is_sparse(X):
            return X if (self.spread == 1).all() else times_columns(X, 1 / self.spread)
        if not self.standardises and self.spread[0] == 1:
            return X
        return ((X - self.centre) / self.spread).astype(X.dtype, copy=False)

    def weights(self, a: Array) -> Array:
        """Feature weights in units of the given features."""
        with np.errstate(over="ignore", under="ignore"):  # a weight may be beyond what floats hold
            return np.asarray(a / self.spread / self.spread)


def _unit(X: Array) -> float:
    """1, or the power of two nearest to the largest value where squares of it would over- or underflow."""
    peak = float(np.abs(X).max(initial=0))
    return 1.0 if peak == 0 or 1e-100 < peak < 1e100 else float(2.0 ** np.round(np.log2(peak)))
