"""Regression of one-hot classes on products of rows, by what it says of rows whose label it has not seen.

With K = UΛUᵀ the products of the centred labelled rows, the fitted values are HY, H = 1/l + UΛ(Λ + λ)⁻¹Uᵀ, and those
without the row's own label (HY − hY) / (1 − h), h the diagonal of H. Their intercept, the mean of the other labels, is
taken away: it is lower for the row's own class, and would give that away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel

from pglearn.problem import Array

PENALTIES = np.logspace(-3, 2, 11)  # in units of the mean eigenvalue


def ridge(K: Array, Y: Array) -> tuple[Array, Array]:
    """What is said of every labelled row without its label, and the weights that the rows have in what is said.

    The penalty is the one with the smallest squared error on the former.
    """
    values, U = eigh(K)
    values = np.maximum(values, 0)
    mean, labels = Y.mean(axis=0), len(Y)
    mean_of_others = (labels * mean - Y) / (labels - 1)
    projected = U.T @ (Y - mean)
    best: tuple[float, Array, Array] | None = None
    for penalty in values.mean() * PENALTIES:
        shrink = values / (values + penalty)
        h = np.minimum(1 / labels + (U**2) @ shrink, 1 - 1e-9)[:, None]
        without = (mean + (U * shrink) @ projected - h * Y) / (1 - h)
        error = float(((without - Y) ** 2).sum())
        if best is None or error < best[0]:
            best = error, without - mean_of_others, (U / (values + penalty)) @ projected
    assert best is not None
    return best[1:]


@dataclass(frozen=True, eq=False)
class KernelRidge:
    """x → Σᵢ exp(−γ ‖x ∘ columns − xᵢ‖²) dualᵢ − middle, the sum over the labelled rows."""

    columns: Array
    rows: Array
    """The labelled rows, times `columns`."""
    gamma: float
    dual: Array
    middle: Array
    """The mean of the sum over the labelled rows themselves."""

    @classmethod
    def fitted(cls, columns: Array, rows: Array, Y: Array, gamma: float) -> tuple[KernelRidge, Array]:
        """The regression, and what it says of its own rows without their labels."""
        K = rbf_kernel(rows, gamma=gamma)
        mean = K.mean(axis=0)
        own, dual = ridge(K - mean - mean[:, None] + mean.mean(), Y)
        return cls(columns, rows, gamma, dual, mean @ dual), own

    def of(self, X: Array) -> Array:
        """What it says of any rows, a number for each class."""
        products = rbf_kernel(X.astype(np.float64, copy=False) * self.columns, self.rows, self.gamma)
        return np.asarray(products @ self.dual - self.middle)
