"""TF-IDF of sparse tables that hold counts.

The longest documents and the commonest words would decide all distances between rows of counts. They become what text
is usually given as, TF-IDF: logarithms, less of what is in many rows, and rows of length one.
"""

from __future__ import annotations

import numpy as np

from pglearn.arrays import Array, Points, column_medians, times_columns, unit_rows

MAX_NON_ZERO = 0.1  # of the numbers of a table of counts


def holds_counts(X: Points) -> bool:
    """Whether sparse rows look like counts of words, or of anything else of which most rows have none.

    That is: few numbers are not zero, all of these are whole, from one up, and there are larger ones (so that these are
    no categories). A column that most rows have must hold a one: the word "the" does, an age or a year does not.
    """
    if not X.nnz or X.nnz > MAX_NON_ZERO * X.shape[0] * X.shape[1]:
        return False
    if X.data.min() != 1 or X.data.max() == 1 or (X.data != np.round(X.data)).any():
        return False
    once = np.bincount(X.indices[X.data == 1], minlength=X.shape[1]) > 0
    return bool(once[np.flatnonzero(column_medians(X))].all())


def commonness(X: Points) -> Array:
    """1/(1 + log((1 + n) / (1 + n_m))), n_m the rows that have a number in column m: the inverse of its idf."""
    n, d = X.shape
    return np.asarray(1 / (1 + np.log((1 + n) / (1 + np.bincount(X.indices, minlength=d)))))


def tf_idf(X: Points, commonness: Array) -> Points:
    """log(1 + x) / commonness, then every row to length one; rows to predict may hold negative numbers, too."""
    logs = np.copysign(np.log1p(np.abs(X.data)), X.data)
    return unit_rows(times_columns(X, 1 / commonness, logs))
