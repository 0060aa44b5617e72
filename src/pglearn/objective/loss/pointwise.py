"""Losses that judge every validation point by the score p = S_v,c_v of its own class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pglearn.arrays import Array
from pglearn.errors import InputError
from pglearn.objective.loss.base import Loss

LEAST = 1e-6  # a class that has no score costs −log of this, and pulls no harder than that


class Pointwise(Loss, ABC):
    """g = Σ_v f(p_v)."""

    def __call__(self, S: Array, codes: Array) -> tuple[float, Array]:
        rows = np.arange(len(codes))
        f, df_dp = self.of(S[rows, codes])
        dg_dS = np.zeros_like(S)
        dg_dS[rows, codes] = df_dp
        return float(f.sum()), dg_dS

    @abstractmethod
    def of(self, p: Array) -> tuple[Array, Array]:
        """f(p) and its derivative."""


@dataclass(frozen=True)
class Error(Pointwise):
    """1 − p."""

    name: ClassVar[str] = "error"

    def of(self, p: Array) -> tuple[Array, Array]:
        return 1 - p, np.full_like(p, -1)


@dataclass(frozen=True)
class Log(Pointwise):
    """−log p, with p no smaller than 1e-6."""

    name: ClassVar[str] = "log"

    def of(self, p: Array) -> tuple[Array, Array]:
        clipped = np.maximum(p, LEAST)
        return -np.log(clipped), np.where(p > LEAST, -1 / clipped, 0)


@dataclass(frozen=True)
class Power(Pointwise):
    """(1 − p)^x, x > 1."""

    name: ClassVar[str] = "power"

    x: float = 2.0

    def __post_init__(self) -> None:
        _check_above_one(self.x)

    def of(self, p: Array) -> tuple[Array, Array]:
        rest = np.maximum(1 - p, 0)
        return rest**self.x, -self.x * rest ** (self.x - 1)


@dataclass(frozen=True)
class Exponential(Pointwise):
    """x^−p, x > 1."""

    name: ClassVar[str] = "exponential"

    x: float = 2.0

    def __post_init__(self) -> None:
        _check_above_one(self.x)

    def of(self, p: Array) -> tuple[Array, Array]:
        f = self.x**-p
        return f, -np.log(self.x) * f


def _check_above_one(x: float) -> None:
    if not x > 1:
        raise InputError(f"x={x!r} is not above 1: the paper's power and exponential losses need x > 1.")
