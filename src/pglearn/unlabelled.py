"""Linear models that the rows without a label teach, too: a handful of labels says which way, all rows how far.

Both look at the rows along the principal axes of the standardised columns. What they find is linear in the columns, and
is kept as such (`pglearn.logistic.Lines`). Neither knows how sure it may be; that is told by hidden labels
(`pglearn.estimators.rehearsal`).

**Clouds.** The discriminant analysis of `pglearn.discriminant`, whose classes are clouds of one shape, but every row is
in one of the clouds: the mixture of Gaussians with a common covariance that makes labels and rows most likely, by
expectation maximisation (Dempster, Laird and Rubin 1977; O'Neill 1978).

| symbol | meaning                                                                          | shape |
|--------|----------------------------------------------------------------------------------|-------|
| Z      | rows along the first 50 principal axes, with a mean of zero                      | n × q |
| R      | how likely a row is of a class: of labelled rows that is known                   | n × c |
| N, M   | Σ_i R_ic, and the means Σ_i R_ic z_i / N_c                                       | c, c×q|
| S      | (ZᵀZ − Σ_c N_c m_c m_cᵀ) / n, drawn a tenth of the way to its diagonal           | q × q |

The logits m_cᵀS⁻¹z − ½ m_cᵀS⁻¹m_c + log N_c make the next R.

**A line that teaches itself.** Logistic regression takes what it is sure of for labels and learns again, up to ten
times (Yarowsky 1995; scikit-learn's `SelfTrainingClassifier`). With a strong penalty: what few labels say in many
columns is mostly chance.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import softmax

from pglearn.basis import principal_axes
from pglearn.discriminant import UNKNOWN, discriminant
from pglearn.logistic import Lines
from pglearn.problem import Array

MOST_ROWS = 2_000  # without a label, that are learned from
AXES_OF_CLOUDS = 50
ROUNDS = 15
DRAWN = 0.1
LEAST_VARIANCE = 1e-3  # added to every one, of columns that have a variance of one
LEAST_ROWS = 1e-9  # in a cloud: a class without a label has none
SURENESS = 0.7  # of clouds: rows are not as Gaussian as they would have it
PENALTY, SURE = 0.3, 0.75  # C of the logistic regression, and how likely a label must be to be taken for one


@dataclass(frozen=True, eq=False)
class Scatter:
    """Rows of a table, those with a label and at most so many of the others, along its principal axes."""

    at: Array
    """Where they are in the table, in order."""
    rows: Array
    middle: Array
    axes: Array
    """q × d: a row x of the table is at axes (x − middle)."""

    @classmethod
    def of_table(cls, X: Array, columns: Array, labelled: Array, seed: int) -> Self | None:
        """Of a table times `columns`, which make variances one; None where all rows are alike."""
        axes = principal_axes(X, columns, seed)
        if not len(axes):
            return None
        others = np.setdiff1d(np.arange(len(X)), labelled)
        if len(others) > MOST_ROWS:
            others = np.random.default_rng(seed).choice(others, MOST_ROWS, replace=False)
        at = np.union1d(labelled, others)
        rows = X[at].astype(np.float64, copy=False)
        middle = rows.mean(axis=0)
        axes = axes * columns
        return cls(at, (rows - middle) @ axes.T, middle, axes)

    def clouds(self, labelled: Array, Y: Array) -> Lines | None:
        """By labelled rows of the table and their classes, one-hot; None where no row is without a label."""
        known = np.isin(self.at, labelled)
        if known.all():
            return None
        Z = self.rows[:, :AXES_OF_CLOUDS]
        first, _ = discriminant(np.ones(Z.shape[1]), Z[known], Y)
        R = first.of(Z)
        squares = Z.T @ Z
        for _ in range(ROUNDS):
            R[known] = Y
            axes, intercept = _clouds(Z, R, squares)
            R = softmax(Z @ axes.T + intercept, axis=1)
        return self._lines(SURENESS * axes, SURENESS * intercept)

    def self_taught(self, labelled: Array, Y: Array) -> Lines | None:
        """By labelled rows of the table and their classes, one-hot; None where no row is without a label, or but one
        class has any."""
        from sklearn.exceptions import ConvergenceWarning  # all of which take long to import
        from sklearn.linear_model import LogisticRegression
        from sklearn.semi_supervised import SelfTrainingClassifier

        known = np.isin(self.at, labelled)
        if known.all() or (Y.sum(axis=0) > 0).sum() < 2:
            return None
        codes = np.full(len(self.at), -1)
        codes[known] = Y.argmax(axis=1)
        model = SelfTrainingClassifier(LogisticRegression(C=PENALTY, max_iter=300), threshold=SURE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            line = model.fit(self.rows, codes).estimator_
        axes, intercept = np.zeros((Y.shape[1], self.rows.shape[1])), np.full(Y.shape[1], UNKNOWN)
        intercept[line.classes_] = 0
        told = line.classes_[-len(line.intercept_) :]  # of two classes the second
        axes[told], intercept[told] = line.coef_, line.intercept_
        return self._lines(axes, intercept)

    def _lines(self, axes: Array, intercept: Array) -> Lines:
        """Logits of the classes along the principal axes, in terms of the columns."""
        of_columns = axes @ self.axes[: axes.shape[1]]
        alone, no_pairs = np.ones(1), np.empty((0, len(axes)))
        return Lines((intercept - of_columns @ self.middle)[None], no_pairs, alone, alone, of_columns[None])


def _clouds(Z: Array, R: Array, squares: Array) -> tuple[Array, Array]:
    """What rows are multiplied with and what is added, for every class, if they are of the classes as likely as R."""
    N = R.sum(axis=0) + LEAST_ROWS
    means = R.T @ Z / N[:, None]
    S = (squares - (means * N[:, None]).T @ means) / len(Z)
    S = (1 - DRAWN) * S + np.diag(DRAWN * np.diag(S) + LEAST_VARIANCE)
    axes = np.linalg.solve(S, means.T).T
    return axes, np.log(N / len(Z)) - (axes * means).sum(axis=1) / 2
