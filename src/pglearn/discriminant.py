"""Linear discriminant analysis: classes as clouds of one shape. Few labels go furthest with it where each column says a
little by itself.

| symbol | meaning                                                                       | shape |
|--------|-------------------------------------------------------------------------------|-------|
| Z_c    | labelled rows of class c less their mean m_c                                  | l_c×d |
| s_c    | how far their covariance is drawn to its diagonal: Ledoit and Wolf (2004), of  | scalar|
|        | columns with a variance of one                                                |       |
| ν_c    | their variances, times the share of columns that vary at all in the class     | d     |
| Σ      | Σ_c (l_c/l) [(1 − s_c) Z_cᵀZ_c/l_c + s_c ν_c] = UᵀU + Δ                       | d × d |

The logit of class c is m_cᵀΣ⁻¹x − ½ m_cᵀΣ⁻¹m_c + log(l_c/l). Σ is never formed: Σ⁻¹ = Δ⁻¹ − Δ⁻¹Uᵀ(I + UΔ⁻¹Uᵀ)⁻¹UΔ⁻¹. A
column that is constant in a class has a variance there, too, as if of other columns' size: few labels are no proof.

With s_c = 1 columns speak each for itself. That is wrong of most tables, and what can still be told from five labels of
a class (the naïve Bayes classifier).

It is too sure of itself, so the logits are multiplied by the slope, at most one, that makes labels most likely that it
has not seen, a fifth of them at a time. (scikit-learn's with `shrinkage="auto"` has the same Σ, and takes minutes for
wide tables.)
"""

from __future__ import annotations

import numpy as np

from pglearn.logistic import Lines, fitted_slope
from pglearn.problem import Array, dealt_by_class

PARTS = 5
CONSTANT = 1e-10  # variance in a class, of columns that have a variance of one in the table
LEAST_VARIANCE = 1e-3  # in Δ
UNKNOWN = -1e3  # added to the logit of a class that there is no label of


def discriminant(columns: Array, rows: Array, Y: Array, by_themselves: bool = False) -> tuple[Lines, float]:
    """Of labelled rows times `columns`, and its loss in nats on labels that it has not seen.

    `by_themselves`: as if columns had nothing to do with one another within a class.
    """
    middle = rows.mean(axis=0, dtype=np.float64)
    rows = (rows - middle) * columns
    codes, n_classes = Y.argmax(axis=1), Y.shape[1]
    part = dealt_by_class(codes, PARTS, np.random.default_rng(0))
    hidden = np.bincount(codes, minlength=n_classes)[codes] > 1  # a class cannot be found without its only label
    logits = np.zeros(Y.shape)
    for number in range(PARTS):
        now = hidden & (part == number)
        axes, intercept = _fitted(rows[~now], codes[~now], n_classes, by_themselves)
        logits[now] = rows[now] @ axes.T + intercept
    slope, nats = fitted_slope(logits[hidden], Y[hidden], most=1.0)
    axes, intercept = _fitted(rows, codes, n_classes, by_themselves)
    no_pairs, alone = np.empty((0, n_classes)), np.ones(1)
    axes = axes * columns
    found = Lines((intercept - axes @ middle)[None], no_pairs, slope * alone, alone, axes[None])
    return found, nats * len(Y) / max(int(hidden.sum()), 1)


def _fitted(rows: Array, codes: Array, n_classes: int, by_themselves: bool = False) -> tuple[Array, Array]:
    """What rows are multiplied with and what is added, for every class."""
    means, shares = np.zeros((n_classes, rows.shape[1])), np.bincount(codes, minlength=n_classes) / len(codes)
    parts, diagonal = [], np.zeros(rows.shape[1])
    for c in np.unique(codes):
        Z = rows[codes == c]
        means[c] = Z.mean(axis=0)
        Z = Z - means[c]
        drawn, variances = _shrinkage(Z)
        drawn = 1.0 if by_themselves else drawn
        parts.append(np.sqrt((1 - drawn) / len(rows)) * Z)
        diagonal += shares[c] * drawn * variances
    U, inverse = np.vstack(parts), 1 / np.maximum(diagonal, LEAST_VARIANCE)
    inner = np.linalg.solve(np.eye(len(U)) + (U * inverse) @ U.T, U @ (inverse * means).T)
    axes = inverse * (means - inner.T @ U)
    log_shares = np.log(shares, out=np.zeros(n_classes), where=shares > 0)
    return with_unknown(axes, log_shares - (axes * means).sum(axis=1) / 2, shares > 0)


def with_unknown(axes: Array, intercept: Array, known: Array) -> tuple[Array, Array]:
    """The same with logits for classes that there is no label of: wherever a row is, far below a class that is known.

    `known` says of which classes there are axes and intercepts.
    """
    first = int(np.flatnonzero(known)[0])
    return np.where(known[:, None], axes, axes[first]), np.where(known, intercept, intercept[first] + UNKNOWN)


def _shrinkage(Z: Array) -> tuple[float, Array]:
    """s and ν, from products of the rows alone."""
    of_class, d = Z.shape
    variances = (Z**2).mean(axis=0)
    varied = variances > CONSTANT
    if not varied.any():
        return 1.0, np.ones(d)
    products = (Z[:, varied] / variances[varied]) @ Z[:, varied].T
    mean = varied.mean()  # of the variances, which are one or nothing
    squares = (products**2).sum() / of_class**2
    noise = (np.diag(products) ** 2).sum() / of_class - squares
    apart = squares - d * mean**2
    drawn = min(max(noise / of_class, 0), apart) / apart if apart > 0 else 1.0
    return float(drawn), mean * np.where(varied, variances, 1)
