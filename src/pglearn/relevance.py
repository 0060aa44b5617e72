"""Which columns tell the classes apart, by how likely a Gaussian process makes the labels.

| symbol | meaning                                                                      | shape  |
|--------|------------------------------------------------------------------------------|--------|
| Z      | labelled rows, less their mean and times `columns`                           | l × d  |
| T      | their classes, one-hot, less the class shares, with a variance of c − 1      | l × c  |
| a      | weights of the columns                                                       | d      |
| k_ij   | s exp(−Σ_m a_m (z_im − z_jm)²)                                               | l × l  |
| K      | k + ν I: what is not in the columns is noise                                 | l × l  |
| A      | K⁻¹T                                                                         | l × c  |

The classes are taken for numbers, so that −log p(T) = ½ ⟨T, A⟩ + ½ (c − 1) log |K| needs no integral. The determinant
charges for whatever else the same weights could have explained (MacKay 1994, Neal 1996), which no loss on hidden labels
does: a graph that learns two of ten columns from sixty labels fits them by some of the other eight as well. With
B = ½ (c − 1) K⁻¹ − ½ AAᵀ and b = (B ∘ k)·1

    ∂/∂log a_m = −a_m Σ_ij B_ij k_ij (z_im − z_jm)² = −2 a_m [ Σ_i b_i z_im² − Σ_i z_im ((B ∘ k) Z)_im ],

as in the gradient of a graph. log a, log s and log ν are normal beforehand, around a width of the usual distance, 1 and
0.3; a may be nearly anything, and ν not next to nothing, for a class is no number that columns could tell exactly. The
labels of a table with as many columns would choose some at random, so there must be two per column (docs/defaults.md).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from sklearn.metrics import euclidean_distances

from pglearn.basis import vary
from pglearn.logistic import mean_square
from pglearn.problem import Array

LABELS_PER_COLUMN = 2
STEPS = 40
SPREAD_OF_WEIGHTS, SPREAD_OF_SCALE, SPREAD_OF_NOISE = 3.0, 1.0, 0.5  # beforehand, of logarithms
USUAL_NOISE = 0.3
LEAST, MOST = -12.0, 6.0  # of the logarithms, from the usual


def tells_of_columns(columns: Array, n_labels: int) -> bool:
    """Whether there are labels enough to look for those that are relevant."""
    return bool(n_labels >= LABELS_PER_COLUMN * (columns > 0).sum())


def relevant(columns: Array, rows: Array, Y: Array) -> Array | None:
    """What to multiply columns with so that those that tell classes apart count; None where there is nothing to tell.

    `columns` is what labelled `rows` are multiplied with beforehand, `Y` their classes, one-hot.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 4))
    >>> near = np.hypot(X[:, 0], X[:, 2]) < 1.2
    >>> relevant(np.ones(4), X, np.column_stack([near, ~near]).astype(float)).round(1).tolist()
    [0.6, 0.1, 1.0, 0.1]
    """
    used = np.flatnonzero((columns > 0) & vary(rows))
    contrasts = int((Y.sum(axis=0) > 0).sum()) - 1
    if not (len(used) and contrasts):
        return None
    Z = (rows[:, used] - rows[:, used].mean(axis=0)) * columns[used]
    wide = -np.log(mean_square(euclidean_distances(Z, squared=True)))
    usual = np.array([wide] * len(used) + [0.0, np.log(USUAL_NOISE)])
    spread = np.array([SPREAD_OF_WEIGHTS] * len(used) + [SPREAD_OF_SCALE, SPREAD_OF_NOISE])
    T = Y - Y.mean(axis=0)
    T *= np.sqrt(contrasts * len(T) / (T**2).sum())

    def surprise(logs: Array) -> tuple[float, Array]:
        value, gradient = _minus_log_likelihood(logs, Z, T, contrasts)
        away = (logs - usual) / spread
        return value + away @ away / 2, gradient + away / spread

    bounds = np.column_stack([usual + LEAST, usual + MOST])
    found = minimize(surprise, usual, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})
    weighted = np.zeros(len(columns))
    weighted[used] = columns[used] * np.exp(found.x[:-2] / 2)
    return weighted


def _minus_log_likelihood(logs: Array, Z: Array, T: Array, contrasts: int) -> tuple[float, Array]:
    """−log p(T) but for a constant, and its derivatives, by log a, log s and log ν."""
    a, scale, noise = np.exp(logs[:-2]), np.exp(logs[-2]), np.exp(logs[-1])
    k = scale * np.exp(-euclidean_distances(Z * np.sqrt(a), squared=True))
    K = k.copy()
    K.flat[:: len(K) + 1] += noise
    factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
    inverse = cho_solve(factor, np.eye(len(Z)), check_finite=False)
    A = inverse @ T
    value = (T * A).sum() / 2 + contrasts * np.log(np.diag(factor[0])).sum()
    B = (contrasts * inverse - A @ A.T) / 2
    of_k = B * k
    by_weight = -2 * a * ((of_k.sum(axis=1) @ Z**2) - (Z * (of_k @ Z)).sum(axis=0))
    return float(value), np.append(by_weight, (of_k.sum(), noise * np.trace(B)))
