"""Whether PG-learn is better than a method, split by split: the paper's paired Wilcoxon signed-rank tests.

The paper marks a method with ▲ where PG-learn is better at p < 0.005 and with △ at p < 0.01. It does not say whether
its tests have one side or two; these have two, which is the stricter reading (ten splits won of ten: p = 2/1024).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import wilcoxon

MARKS = ((0.005, "▲"), (0.01, "△"))
LEVEL = 0.01
"""At which the paper speaks of a significant difference."""
DIGITS = 12
"""Equal shares of test rows differ in later ones, and are ties."""


@dataclass(frozen=True)
class Comparison:
    """PG-learn beside a method on the same splits: mean difference (PG-learn less the method) and p of the test."""

    pairs: int
    advantage: float
    p: float

    @property
    def mark(self) -> str:
        """The paper's, where PG-learn is the better one."""
        return next((mark for level, mark in MARKS if self.advantage > 0 and self.p < level), "")


def compared(reference: ArrayLike, other: ArrayLike) -> Comparison:
    """Accuracies of PG-learn and of a method, paired by position."""
    differences = np.subtract(reference, other).round(DIGITS)
    if not len(differences):
        return Comparison(0, float("nan"), float("nan"))
    p = 1.0
    if differences.any():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sample size too small")  # few splits cannot reach a mark anyway
            warnings.filterwarnings("ignore", "Exact p-value calculation does not work")
            p = float(wilcoxon(differences).pvalue)
    return Comparison(len(differences), float(differences.mean()), p)
