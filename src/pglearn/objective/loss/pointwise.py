"""Losses that judge every validation point by the score p = S_v,c_v of its own class.

In the paper's power and exponential losses, (1 − p)^x and x^−p with x > 1, x is 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pglearn.arrays import Array
from pglearn.objective.loss.base import Loss

LEAST = 1e-6  # a class that has no score costs −log of this, and pulls no harder than that


class Pointwise(Loss, ABC):
    """g = Σ_v f(p_v)."""

    def __call__(self, S: Array, codes: Array) -> tuple[float, Array]:
        rows = np.arange(len(codes))
        f, df_dp = self.value_and_slope(S[rows, codes])
        dg_dS = np.zeros_like(S)
        dg_dS[rows, codes] = df_dp
        return float(f.sum()), dg_dS

    @abstractmethod
    def value_and_slope(self, p: Array) -> tuple[Array, Array]:
        """f(p) and its derivative."""


@dataclass(frozen=True)
class Error(Pointwise):
    """1 − p."""

    name: ClassVar[str] = "error"

    def value_and_slope(self, p: Array) -> tuple[Array, Array]:
        return 1 - p, np.full_like(p, -1)


@dataclass(frozen=True)
class Log(Pointwise):
    """−log p, with p no smaller than 1e-6."""

    name: ClassVar[str] = "log"

    def value_and_slope(self, p: Array) -> tuple[Array, Array]:
        clipped = np.maximum(p, LEAST)
        return -np.log(clipped), np.where(p > LEAST, -1 / clipped, 0)


@dataclass(frozen=True)
class Power(Pointwise):
    """(1 − p)²."""

    name: ClassVar[str] = "power"

    def value_and_slope(self, p: Array) -> tuple[Array, Array]:
        rest = np.maximum(1 - p, 0)
        return rest**2, -2 * rest


@dataclass(frozen=True)
class Exponential(Pointwise):
    """2^−p."""

    name: ClassVar[str] = "exponential"

    def value_and_slope(self, p: Array) -> tuple[Array, Array]:
        f = 2.0**-p
        return f, -np.log(2) * f
