"""The paper's loss (eq. 5): every point of a class should score higher for it than every point of another class.

g = Σ_c' Σ_{v ∈ V_c', v' ∉ V_c'} −log σ(S_vc' − S_v'c')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from pglearn.arrays import Array
from pglearn.objective.loss.base import Loss


@dataclass(frozen=True)
class Ranking(Loss):
    """Pairwise learning to rank."""

    name: ClassVar[str] = "ranking"

    def __call__(self, S: Array, codes: Array) -> tuple[float, Array]:
        g = 0.0
        dg_dS = np.zeros_like(S)
        for c in range(S.shape[1]):
            inside = codes == c
            margin = S[inside, c][:, None] - S[~inside, c]
            g += float(np.logaddexp(0, -margin).sum())
            slope = -expit(-margin)  # d/dx of −log σ(x)
            dg_dS[inside, c] += slope.sum(axis=1)
            dg_dS[~inside, c] -= slope.sum(axis=0)
        return g, dg_dS
