"""The loss of MinEnt: labels should fall clearly, wherever they fall.

g = −(1/u) Σ_i Σ_c S_ic log S_ic, a mean over the u rows that carry no label: their true classes are not asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import entr

from pglearn.arrays import Array
from pglearn.objective.loss.base import Loss

LEAST = 1e-12  # a class with less than this pulls no harder than with this


@dataclass(frozen=True)
class Entropy(Loss):
    """Mean entropy of the rows."""

    name: ClassVar[str] = "entropy"
    is_of_unlabelled: ClassVar[bool] = True

    def __call__(self, S: Array, codes: Array) -> tuple[float, Array]:
        if not len(S):
            return 0.0, np.zeros_like(S)
        return float(entr(S).sum() / len(S)), -(np.log(np.maximum(S, LEAST)) + 1) / len(S)
