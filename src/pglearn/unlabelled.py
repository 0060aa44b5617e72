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

The logits m_cᵀS⁻¹z − ½ m_cᵀS⁻¹m_c + log N_c make the next R, and the last ones, times .7, the answer. A little is added
to the diagonal of S, so that a faint axis does not decide.

**A line that teaches itself.** Logistic regression takes what it is sure of for labels and learns again, up to ten
times (Yarowsky 1995; scikit-learn's `SelfTrainingClassifier`). With a strong penalty: what few labels say in many
columns is mostly chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import softmax

from pglearn.basis import principal_axes
from pglearn.discriminant import discriminant, with_unknown
from pglearn.few_labels import of_few_labels
from pglearn.logistic import Lines
from pglearn.problem import Array

MOST_ROWS = 2_000  # without a label, that are learned from
AXES_OF_CLOUDS = 50
ROUNDS = 15
DRAWN = 0.1
LEAST_VARIANCE = 1e-3  # added to that of every axis, columns having a variance of one
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
        """By labelled rows of the table and their classes, one-hot; None where there are no others.

        Rows whose label is not among these are rows without one.
        """
        at = np.searchsorted(self.at, labelled)
        if len(at) == len(self.at):
            return None
        there = Y.sum(axis=0) > 0
        Y = Y[:, there]
        Z = self.rows[:, :AXES_OF_CLOUDS]
        first, _ = discriminant(np.ones(Z.shape[1]), Z[at], Y)
        R = first.of(Z)
        squares = Z.T @ Z
        for _ in range(ROUNDS):
            R[at] = Y
            axes, intercept = _clouds(Z, R, squares)
            R = softmax(Z @ axes.T + intercept, axis=1)
        return self._lines(SURENESS * axes, SURENESS * intercept, there)

    def self_taught(self, labelled: Array, Y: Array) -> Lines | None:
        """By labelled rows of the table and their classes, one-hot; None without others, or of but one class."""
        from sklearn.linear_model import LogisticRegression  # which take long to import
        from sklearn.semi_supervised import SelfTrainingClassifier

        at, there = np.searchsorted(self.at, labelled), Y.sum(axis=0) > 0
        if len(at) == len(self.at) or there.sum() < 2:
            return None
        codes = np.full(len(self.at), -1)
        codes[at] = Y.argmax(axis=1)
        model = SelfTrainingClassifier(LogisticRegression(C=PENALTY, max_iter=300), threshold=SURE)
        with of_few_labels():
            line = model.fit(self.rows, codes).estimator_
        axes, intercept = line.coef_, line.intercept_
        if len(axes) == 1:  # of two classes, for the second
            axes, intercept = np.vstack([0 * axes, axes]), np.append(0, intercept)
        return self._lines(axes, intercept, there)

    def _lines(self, axes: Array, intercept: Array, there: Array) -> Lines:
        """Logits along the principal axes of the classes that are `there`, in terms of the columns, of all classes."""
        known = np.zeros((len(there), axes.shape[1])), np.zeros(len(there))
        known[0][there], known[1][there] = axes, intercept
        axes, intercept = with_unknown(*known, there)
        of_columns = axes @ self.axes[: axes.shape[1]]
        alone, no_pairs = np.ones(1), np.empty((0, len(axes)))
        return Lines((intercept - of_columns @ self.middle)[None], no_pairs, alone, alone, of_columns[None])


def _clouds(Z: Array, R: Array, squares: Array) -> tuple[Array, Array]:
    """What rows are multiplied with and what is added, for every class, if they are of the classes as likely as R."""
    N = R.sum(axis=0)
    means = R.T @ Z / N[:, None]
    S = (squares - (means * N[:, None]).T @ means) / len(Z)
    S = (1 - DRAWN) * S + np.diag(DRAWN * np.diag(S) + LEAST_VARIANCE)
    axes = np.linalg.solve(S, means.T).T
    return axes, np.log(N / len(Z)) - (axes * means).sum(axis=1) / 2
