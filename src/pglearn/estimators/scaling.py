"""Standardised features, when they are not on a common scale already."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pglearn.errors import InputError
from pglearn.problem import Array
from pglearn.tables.scaling import on_common_scale


@dataclass(frozen=True, eq=False)
class Scaling:
    """x → (x − centre) / spread, column by column."""

    centre: Array
    spread: Array

    @classmethod
    def for_points(cls, X: Array, scale: str | bool) -> Scaling:
        if not isinstance(scale, (bool, np.bool_)) and scale != "auto":
            raise InputError(f"scale={scale!r} is not known: choose 'auto', True or False.")
        if not (not on_common_scale(X) if isinstance(scale, str) else scale):
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        spread = X.std(axis=0)
        return cls(X.mean(axis=0), np.where(spread > 0, spread, 1))

    @property
    def active(self) -> bool:
        return bool((self.spread != 1).any() or self.centre.any())

    def of(self, X: Array) -> Array:
        return (X - self.centre) / self.spread if self.active else X

    def weights(self, a: Array) -> Array:
        """Feature weights in units of the given features."""
        return np.asarray(a / self.spread**2)
