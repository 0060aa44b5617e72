"""Regression of one-hot classes on products of rows, by what it says of rows whose label it has not seen.

With K = UΛUᵀ the products of the centred labelled rows, the fitted values are HY, H = 1/l + UΛ(Λ + λ)⁻¹Uᵀ, and those
without the row's own label (HY − hY) / (1 − h), h the diagonal of H. Their intercept, the mean of the other labels, is
taken away: it is lower for the row's own class, and would give that away.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

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
