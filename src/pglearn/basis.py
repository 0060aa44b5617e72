"""Coordinates in which a search may weigh features.

| name          | coordinates of a row x                                                                 |
|---------------|----------------------------------------------------------------------------------------|
| `raw`         | the features as they are                                                               |
| `pca`         | principal components v_jᵀx / √σ_j, σ_j their standard deviations: half-way to whitened  |
| `shared`      | the features, each times the share of its variance that it has in common with others   |
| `shared pca`  | principal components of those                                                          |
| `unit pca`    | those of `pca`, every row divided by its length                                        |
| `linear`      | what a ridge regression on the labels says of each class                               |

A weight per principal component is a metric that no weight per feature can express, and half-whitening starts it where
neither the loudest components nor the faint ones decide alone. Features that vary on their own are most often noise:
`shared` starts with little of them, by a rule that looks at no label. `linear` is for tables in which many columns each
say a little: neighbours there are rows of which a linear model says the same. A labelled row has the coordinates that
a model gives it which has not seen its label, so that hiding the label remains a fair test.

`raw` and `shared` of a sparse table are sparse, the others n × 100 numbers at most. Their axes have a number for each
column that occurs in the sample (`linear`: in the labelled rows), and nothing is subtracted that would fill zeros.

Of a sparse table with more than 2,000 columns (text) the search has `pca`, `unit pca` and `linear` alone. A weight for
each of so many columns fits any labels, and says nothing of the other rows (docs/scaling.md has the measurements).
`unit pca` compares rows by their directions, as is usual for text: what a document is about, not how much of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from pglearn.problem import Array, Points, column_medians
from pglearn.ridge import ridge
from pglearn.sparse import is_sparse, scaled_rows, times_columns, unit_rows

MOST_COMPONENTS = 100
ROWS_TO_LEARN_FROM, SHORT_SIDE = 10_000, 2_000
MOST_LABELS = 2_000  # for `linear`, which factors a matrix of that size
MOST_SPARSE_COLUMNS = 2_000  # that have a weight each
COLUMNS_AT_ONCE = 64  # that are looked at as an array
BEYOND_NOISE = 1.05  # times the largest eigenvalue that independent columns have


@dataclass(frozen=True, eq=False)
class Basis:
    """x → axes (x ∘ columns), or x ∘ columns where there are no axes. Coordinates along axes are dense.

    With `unit` they are then divided by their length.
    """

    name: str
    columns: Array
    axes: Array | None = None
    """One coordinate per row, in terms of the (weighted) columns: q × d, or q × the columns in `used`."""
    own: tuple[Array, Array] | None = None
    """Positions of rows of the table that have coordinates of their own, and these."""
    used: Array | None = None
    """Positions of the columns that the axes are about, where that is not all of them."""
    unit: bool = False

    def of_table(self, X: Points, rows: Array | None = None) -> Points:
        """The table that the basis was made for, or some rows of it, in order."""
        Z = self.of(X if rows is None else X[rows])
        if self.own is not None:
            at, coordinates = self.own
            if rows is not None:
                there = np.isin(at, rows)
                at, coordinates = np.searchsorted(rows, at[there]), coordinates[there]
            Z[at] = coordinates
        return Z

    def of(self, X: Points) -> Points:
        """Any rows."""
        if not (self.columns == 1).all():
            X = times_columns(X, self.columns) if is_sparse(X) else X * self.columns.astype(X.dtype, copy=False)
        X = X if self.used is None else X[:, self.used]
        Z = X if self.axes is None else X @ self.axes.T.astype(X.dtype, copy=False)
        return unit_rows(Z) if self.unit else Z

    def weights(self, a: Array) -> Array:
        """The weight of each feature by itself: the diagonal of the metric that weights `a` of the coordinates make.

        With `unit` that is the metric among rows of length one.
        """
        by_column = a if self.axes is None else a @ self.axes**2
        if self.used is not None:
            of_used, by_column = by_column, np.zeros(len(self.columns))
            by_column[self.used] = of_used
        return np.asarray(by_column * self.columns**2)


def bases_for(X: Points, basis: str, seed: int = 0, labels: tuple[Array, Array] | None = None) -> list[Basis]:
    """The bases that a search draws from: one for `raw` and `pca`; for `both`, all.

    `labels` are the positions of the labelled rows and their classes, one-hot.
    """
    ones = np.ones(X.shape[1])
    if basis == "raw":
        return [Basis("raw", ones)]
    sample = _sample(X, seed)
    if basis == "pca":
        return [_pca("pca", sample, ones)]
    bases = _of_many_columns(sample) if is_sparse(X) and X.shape[1] > MOST_SPARSE_COLUMNS else _of_columns(sample)
    linear = linear_basis(X, *labels) if labels is not None and len(labels[0]) <= MOST_LABELS else None
    return bases if linear is None or X.shape[1] == 1 else [*bases, linear]


def tied_levels(X: Points, seed: int = 0) -> Array | None:
    """For every column the first of those that are levels of the same category, itself if of none; None without any.

    Levels lie side by side, have two values each, and in every row exactly one of them has its higher one. Of a large
    table a sample of the rows is looked at.

    >>> tied_levels(np.array([[0.5, 1, 0, 0], [0.1, 0, 0, 1], [0.7, 0, 1, 0]])).tolist()
    [0, 1, 1, 1]
    """
    X = _sample(X, seed)
    n, d = X.shape
    highs = np.zeros(d + 1, dtype=np.int64)  # rows that have the higher value, up to each column
    shared = np.full(d, -1)  # up to each column, the last one that has such a row in common with one after it
    seen_in = np.full(n, -1)
    for column, high in enumerate(_highs(X)):
        shared[column] = column if high is None else seen_in[high].max()
        highs[column + 1] = 0 if high is None else len(high)
        if high is not None:
            seen_in[high] = column
    highs, shared = highs.cumsum(), np.maximum.accumulate(shared)
    last = np.searchsorted(highs, highs[:-1] + n) - 1
    tied, first = np.arange(d), 0
    while first < d:
        end = int(last[first])
        is_category = end < d and highs[end + 1] == highs[first] + n and shared[end] < first < end
        tied[first : end + 1] = first if is_category else tied[first : end + 1]
        first = end + 1 if is_category else first + 1
    return tied if (tied != np.arange(d)).any() else None


def _highs(X: Points) -> Iterator[Array | None]:
    """For every column the rows with the higher of its two values; None if it has not just two."""
    columns = X.tocsc() if is_sparse(X) else X
    for part in range(0, X.shape[1], COLUMNS_AT_ONCE):
        values = columns[:, part : part + COLUMNS_AT_ONCE]
        values = values.toarray() if is_sparse(X) else values
        high = values == values.max(axis=0)
        two_values = (high != (values == values.min(axis=0))).all(axis=0)
        yield from (np.flatnonzero(rows) if two else None for rows, two in zip(high.T, two_values, strict=True))


def _of_columns(sample: Points) -> list[Basis]:
    ones = np.ones(sample.shape[1])
    bases = [Basis("raw", ones)]
    if sample.shape[1] > 1:
        bases.append(_pca("pca", sample, ones))
    shared = shared_variance(sample)
    if shared is not None:
        bases += [Basis("shared", shared), _pca("shared pca", sample, shared)]
    return bases


def _of_many_columns(sample: Points) -> list[Basis]:
    pca = _pca("pca", sample, np.ones(sample.shape[1]))
    return [pca, replace(pca, name="unit pca", unit=True)] if pca.axes is not None else [replace(pca, name="raw")]


def linear_basis(X: Points, labelled: Array, Y: Array) -> Basis | None:
    """Ridge regression of one-hot classes on the standardised features (`pglearn.ridge`).

    None where the labelled rows are all alike.
    """
    if is_sparse(X):
        return _sparse_linear_basis(X, labelled, Y)
    if not vary(X[labelled]).any():
        return None
    columns = standardising(X)
    rows = X[labelled].astype(np.float64, copy=False) * columns
    middle = rows.mean(axis=0)
    rows = rows - middle
    own, dual = ridge(rows @ rows.T, Y)
    axes = dual.T @ rows
    return Basis("linear", columns, axes, (labelled, own + axes @ middle))


def standardising(X: Array) -> Array:
    """What to multiply features with so that they have a standard deviation of one; 0 for those that are constant."""
    spread = X.std(axis=0, dtype=np.float64)
    return np.where(vary(X), 1 / np.where(spread > 0, spread, 1), 0)


def _sparse_linear_basis(X: Points, labelled: Array, Y: Array) -> Basis | None:
    """The same on features as they are: standardised, the rarest words would count most."""
    ones = np.ones(X.shape[1])
    shift = column_medians(X[labelled])
    rows = scaled_rows(X[labelled], ones, shift)
    used = np.unique(rows.indices)
    rows = rows[:, used]
    K, middle = _centred_product(rows)
    if not K.trace() > 1e-9 * (rows.data @ rows.data):
        return None
    own, dual = ridge(K, Y)
    axes = dual.T @ rows
    return Basis("linear", ones, axes, (labelled, own + axes @ (shift[used] + middle)), used)


def shared_variance(X: Points) -> Array | None:
    """Per feature, the share of its variance that it has in common with others; None where nothing is in common.

    That is its variance in those principal components of the standardised features that exceed what independent
    columns would have: (1 + √(d/n))², the edge of Marchenko and Pastur.

    >>> rng = np.random.default_rng(0)
    >>> common = rng.normal(size=(200, 1))
    >>> X = np.hstack([common + 0.1 * rng.normal(size=(200, 3)), rng.normal(size=(200, 2))])
    >>> shared_variance(X).round(1).tolist()
    [1.0, 1.0, 1.0, 0.0, 0.0]
    """
    varied, standardised = _standardised(X)
    n, d = X.shape[0], len(varied)
    if d < 2:
        return None
    shared = np.zeros(X.shape[1])
    variances, components = _principal(standardised)
    beyond = variances > BEYOND_NOISE * (1 + np.sqrt(d / n)) ** 2
    if not beyond.any():
        return None
    shared[varied] = variances[beyond] @ components[beyond] ** 2
    return np.minimum(shared, 1)


def _standardised(X: Points) -> tuple[Array, Points]:
    """Positions of the columns that are not constant, and these columns with a standard deviation of one."""
    if not is_sparse(X):
        varied = np.flatnonzero(vary(X))
        return varied, X[:, varied] / X.std(axis=0)[varied]
    used, X = _columns_in_use(X, np.ones(X.shape[1]))
    spread = np.sqrt(np.maximum((X * X).mean(axis=0) - X.mean(axis=0) ** 2, 0))
    varied = np.flatnonzero(spread > 0)
    return used[varied], times_columns(X[:, varied], 1 / spread[varied])


def vary(X: Array) -> Array:
    """Columns that are not constant but for rounding."""
    return np.asarray(np.ptp(X, axis=0) > 1e-9 * np.abs(X).max(axis=0))


def _pca(name: str, sample: Points, columns: Array) -> Basis:
    """Half-whitened principal components; of a sparse sample, axes about the columns in which it has something."""
    used, sample = _columns_in_use(sample, columns) if is_sparse(sample) else (None, sample * columns)
    variances, components = _principal(sample) if sample.shape[1] else (np.empty(0), np.empty((0, 0)))
    if not len(components):
        return Basis(name, columns)
    return Basis(name, columns, _half_whitened(variances, components), used=used)


def _columns_in_use(X: Points, columns: Array) -> tuple[Array, Points]:
    """Positions of the columns in which sparse rows differ, and these columns, times `columns`, near their middle."""
    X = times_columns(X, columns)
    X = scaled_rows(X, np.ones(X.shape[1]), column_medians(X))
    used = np.unique(X.indices[X.data != 0])
    return used, X[:, used]


def _half_whitened(variances: Array, components: Array) -> Array:
    spread = np.sqrt(variances)
    # In units of the mean spread, so that the coordinates keep the scale of the features.
    return np.asarray(components / np.sqrt(spread / spread.mean())[:, None])


def _principal(X: Points) -> tuple[Array, Array]:
    """Variances and directions of the (at most 100) principal components, largest first, those of no variance left out.

    By the eigenvectors of the smaller of XᵀX and XXᵀ. Signs do not matter here: only squares of coordinates count.
    """
    n, d = X.shape
    wide = d > n
    if is_sparse(X):
        product, middle = _centred_product(X) if wide else _centred_squares(X)
    else:
        middle, X = np.zeros(d), X - X.mean(axis=0)
        product = X @ X.T if wide else X.T @ X
    least = max(0, len(product) - MOST_COMPONENTS)
    values, vectors = eigh(product, subset_by_index=(least, len(product) - 1))
    there = values > 1e-12 * max(values.max(), np.finfo(float).tiny)
    values, vectors = values[there][::-1], vectors[:, there][:, ::-1]
    if wide:
        components = (vectors.T @ X - np.outer(vectors.sum(axis=0), middle)) / np.sqrt(values)[:, None]
    else:
        components = vectors.T
    return values / n, components


def _centred_product(X: Points) -> tuple[Array, Array]:
    """(X − m)(X − m)ᵀ and m, the mean of the sparse rows, which is never taken from them."""
    middle = X.mean(axis=0)
    with_middle = X @ middle
    return (X @ X.T).toarray() - with_middle[:, None] - with_middle + middle @ middle, middle


def _centred_squares(X: Points) -> tuple[Array, Array]:
    """(X − m)ᵀ(X − m) and m."""
    middle = X.mean(axis=0)
    return (X.T @ X).toarray() - X.shape[0] * np.outer(middle, middle), middle


def _sample(X: Points, seed: int) -> Points:
    """Rows to learn from, so few that one side of the sample is short."""
    most = ROWS_TO_LEARN_FROM if X.shape[1] <= SHORT_SIDE else SHORT_SIDE
    if X.shape[0] > most:
        X = X[np.sort(np.random.default_rng(seed).choice(X.shape[0], most, replace=False))]
    return X.astype(np.float64, copy=False)
