"""Regression of one-hot classes on products of rows, by what it says of rows whose label it has not seen.

With K = UΛUᵀ the products of the centred labelled rows, the fitted values are HY, H = 1/l + UΛ(Λ + λ)⁻¹Uᵀ, and those
without the row's own label (HY − hY) / (1 − h), h the diagonal of H. Their intercept, the mean of the other labels, is
taken away: it is lower for the row's own class, and would give that away.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel

from pglearn.problem import Array

PENALTIES = np.logspace(-3, 2, 11)  # in units of the mean eigenvalue
ALL_THE_SAME = 1e-12  # mean eigenvalue of centred kernels, which are at most 1


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
class LinearRidge:
    """x → axes x − middle: a number for each class, on columns that are multiplied with something first."""

    axes: Array
    """One row per class, in terms of the columns as they are."""
    middle: Array
    """The mean of axes x over the labelled rows."""

    @classmethod
    def fitted(cls, columns: Array, rows: Array, Y: Array) -> tuple[LinearRidge, Array]:
        """The regression, and what it says of its own rows, given times `columns`, without their labels."""
        mean = rows.mean(axis=0)
        rows = rows - mean
        own, dual = ridge(rows @ rows.T, Y)
        axes = dual.T @ rows
        return cls(axes * columns, axes @ mean), own

    def of(self, X: Array) -> Array:
        """What it says of any rows."""
        return np.asarray(X.astype(np.float64, copy=False) @ self.axes.T - self.middle)


@dataclass(frozen=True, eq=False)
class KernelRidge:
    """x → Σᵢ exp(−γ ‖x ∘ columns − xᵢ‖²) dualᵢ − middle, the sum over the labelled rows: a number for each class.

    Between classes that lie around each other no number rises where the class is and falls on both of its sides, if
    labels are few. A regression for each pair of classes may: its number, from −1 to 1, speaks for one and against the
    other, and `pairs` (pairs × classes, entries ±1) adds them up. No pairs: a regression for each class.
    """

    columns: Array
    rows: Array
    """The labelled rows, times `columns`."""
    gamma: float
    dual: Array
    middle: Array
    """The mean of the sum over the labelled rows themselves."""
    pairs: Array

    @classmethod
    def fitted(cls, columns: Array, rows: Array, Y: Array, gamma: float) -> tuple[KernelRidge, Array]:
        """The regression, and what it says of its own rows without their labels."""
        own, dual, middle = _fitted(rbf_kernel(rows, gamma=gamma), Y)
        return cls(columns, rows, gamma, dual, middle, np.empty((0, Y.shape[1]))), own

    @classmethod
    def fitted_to_pairs(cls, columns: Array, rows: Array, Y: Array, gamma: float) -> tuple[KernelRidge, Array]:
        """The same by pairs of classes."""
        K = rbf_kernel(rows, gamma=gamma)
        chosen = list(combinations(range(Y.shape[1]), 2))
        pairs, middle = np.zeros((len(chosen), Y.shape[1])), np.zeros(len(chosen))
        dual = np.zeros((len(rows), len(chosen)))
        said = np.empty_like(dual)
        for number, (one, other) in enumerate(chosen):
            pairs[number, [one, other]] = 1, -1
            among = Y[:, [one, other]].any(axis=1)
            sides = (Y[among, one] - Y[among, other])[:, None]
            own, of_rows, mean = _fitted(K[np.ix_(among, among)], sides)
            dual[among, number], middle[number] = of_rows[:, 0], mean[0]
            said[:, number] = K @ dual[:, number] - middle[number]
            said[among, number] = own[:, 0]
        return cls(columns, rows, gamma, dual, middle, pairs), _added_up(said, pairs)

    def of(self, X: Array) -> Array:
        """What it says of any rows, a number for each class."""
        products = rbf_kernel(X.astype(np.float64, copy=False) * self.columns, self.rows, self.gamma)
        said = np.asarray(products @ self.dual - self.middle)
        return _added_up(said, self.pairs) if len(self.pairs) else said


def _fitted(K: Array, Y: Array) -> tuple[Array, Array, Array]:
    """What is said of the rows without their labels, the rows' weights in it, and the mean of what they add up to.

    Of rows that are all the same, as two of a pair may be, nothing is said.
    """
    mean = K.mean(axis=0)
    centred = K - mean - mean[:, None] + mean.mean()
    if centred.trace() < ALL_THE_SAME * len(K):
        return np.zeros(Y.shape), np.zeros(Y.shape), np.zeros(Y.shape[1])
    own, dual = ridge(centred, Y)
    return own, dual, mean @ dual


def _added_up(said: Array, pairs: Array) -> Array:
    return np.asarray(said.clip(-1, 1) @ pairs / (pairs.shape[1] - 1))
