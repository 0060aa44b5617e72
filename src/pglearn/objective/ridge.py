"""Ridge regression of one-hot classes on products of rows, with the predictions of a model that left each row out.

With K = UΛUᵀ the products of the centred labelled rows, the fitted values are HY, H = 1/l + UΛ(Λ + λ)⁻¹Uᵀ, and those
without the row's own label (HY − hY) / (1 − h), h the diagonal of H. Their intercept, the mean of the other labels, is
taken away: it is lower for the row's own class, and would give that away.

So would rows that equal others. Of two equal rows of different classes each is predicted to be what the other is, and
where a table has but a few different rows, as surveys do, that tells every label. So all rows that equal it are left
out with a row. With g of them, and S the sum of their labels, the prediction is (HY − hS) / (1 − gh), for which H is
the same between all of them.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from pglearn.arrays import Array

PENALTIES = np.logspace(-3, 2, 11)  # in units of the mean eigenvalue
EQUAL = 1e-10  # squared distance, in units of the mean squared length


def ridge(K: Array, Y: Array) -> tuple[Array, Array]:
    """Predictions for every labelled row by a model without it and its equals; and the dual weights of the full model.

    The penalty is the one with the smallest squared error of the former.
    """
    values, U = eigh(K)
    values = np.maximum(values, 0)
    mean, labels = Y.mean(axis=0), len(Y)
    lengths = np.diag(K)
    together = lengths[:, None] + lengths - 2 * K <= EQUAL * lengths.mean()  # which rows equal which
    g, S = together.sum(axis=1, keepdims=True), together @ Y
    mean_of_others = (labels * mean - S) / np.maximum(labels - g, 1)
    projected = U.T @ (Y - mean)
    best: tuple[float, Array, Array] | None = None
    for penalty in values.mean() * PENALTIES:
        shrink = values / (values + penalty)
        h = np.minimum(1 / labels + (U**2) @ shrink[:, None], (1 - 1e-9) / g)
        without = (mean + (U * shrink) @ projected - h * S) / (1 - g * h)
        error = float(((without - Y) ** 2).sum())
        if best is None or error < best[0]:
            best = error, without - mean_of_others, (U / (values + penalty)) @ projected
    assert best is not None
    return best[1:]
