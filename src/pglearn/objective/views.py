"""Views of a table: the coordinates in which a search weighs features.

| name                | coordinates of a row x                                                                 |
|---------------------|-----------------------------------------------------------------------------------------|
| `given`             | the features as they are                                                                |
| `components`        | principal components v_jᵀx / √σ_j, σ_j their standard deviations: half-way to whitened   |
| `shared`            | the features, each times the share of its variance that it has in common with others    |
| `shared components` | principal components of those                                                           |
| `linear`            | what a ridge regression on the labels predicts for each class                           |
| `unit`              | the features, every row divided by its length                                           |
| `unit components`   | the components, every row divided by its length                                         |

A weight per principal component is a metric that no weight per feature can express, and half-whitening starts it where
neither the loudest components nor the faint ones decide alone. Features that vary on their own are most often noise:
`shared` starts with little of them, by a rule that looks at no label. `linear` is for tables in which many columns each
carry a little: neighbours there are rows for which a linear model predicts the same. A labelled row has the coordinates
of a model that has not seen its label, so that hiding the label remains a fair test. `unit` is for tables in which the
length of a row is nuisance: lighting, exposure, the length of a text.

"auto" is the first five; of a sparse table with more than 2,000 columns (text) the components, as they are
and as directions, and the linear view: a weight for each of many columns fits any labels, and tells nothing of the
other rows.

`given`, `shared` and `unit` of a sparse table are sparse, the others n × 100 numbers at most. Their axes have a number
for each column that occurs in the sample (`linear`: in the labelled rows), and nothing is subtracted that would fill
zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh

from pglearn.arrays import Array, Points, column_medians, is_sparse, scaled_rows, times_columns, unit_rows
from pglearn.errors import InputError
from pglearn.objective.ridge import ridge

AUTO = ("given", "components", "shared", "shared components", "linear")
AUTO_OF_WIDE = ("components", "unit components", "linear")  # of sparse tables
MAX_COLUMNS = 2_000  # of a sparse table, that have a weight each
NAMES = (*AUTO, "unit", "unit components")
MAX_COMPONENTS = 100
ROWS_TO_LEARN_FROM, SHORT_SIDE = 10_000, 2_000
MAX_LABELS_OF_LINEAR = 2_000  # it factors a matrix of that size
NOISE_MARGIN = 1.05  # times the largest eigenvalue that independent columns have


@dataclass(frozen=True, eq=False)
class View:
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

    def transform_table(self, X: Points, rows: Array | None = None) -> Points:
        """The table that the view was made for, or some rows of it, in order."""
        Z = self.transform(X if rows is None else X[rows])
        if self.own is not None:
            at, coordinates = self.own
            if rows is not None:
                there = np.isin(at, rows)
                at, coordinates = np.searchsorted(rows, at[there]), coordinates[there]
            Z[at] = coordinates
        return Z

    def transform(self, X: Points) -> Points:
        """Any rows."""
        if not (self.columns == 1).all():
            X = times_columns(X, self.columns) if is_sparse(X) else X * self.columns.astype(X.dtype, copy=False)
        X = X if self.used is None else X[:, self.used]
        Z = X if self.axes is None else X @ self.axes.T.astype(X.dtype, copy=False)
        return unit_rows(Z) if self.unit else Z

    def in_units_of(self, power: int) -> View:
        """The same with coordinates divided by that power of two, which rounds nothing."""
        own = None if self.own is None else (self.own[0], np.ldexp(self.own[1], -power))
        return replace(self, columns=np.ldexp(self.columns, -power), own=own)

    def feature_weights(self, a: Array) -> Array:
        """The weight of each feature by itself: the diagonal of the metric that weights `a` of the coordinates make.

        With `unit` that is the metric among rows of length one.
        """
        by_column = a if self.axes is None else a @ self.axes**2
        if self.used is not None:
            of_used, by_column = by_column, np.zeros(len(self.columns))
            by_column[self.used] = of_used
        return np.asarray(by_column * self.columns**2)


def given_view(X: Points) -> View:
    """The features as they are."""
    return View("given", np.ones(X.shape[1]))


def check_views(views: Any) -> tuple[str, ...] | None:
    """The names asked for; None for "auto"."""
    if isinstance(views, str) and views == "auto":
        return None
    if isinstance(views, str) or not isinstance(views, Sequence) or not views or len(set(views)) < len(views):
        raise InputError(f'views={views!r} must be "auto" or a list of different names among {", ".join(NAMES)}.')
    if unknown := [name for name in views if name not in NAMES]:
        raise InputError(f"views has {unknown[0]!r}, which is not known: choose among {', '.join(NAMES)}.")
    return tuple(views)


def views_for(
    X: Points, names: Sequence[str] | None, seed: int = 0, labels: tuple[Array, Array] | None = None
) -> list[View]:
    """The views that a search draws from; None for those of "auto" that this table has.

    `labels` are the positions of the labelled rows and their classes, one-hot; None where `linear` may not see them.
    """
    asked = names if names is not None else _auto(X)
    sample = _Sample(X, seed)
    found = {name: _view(name, X, sample, labels) for name in asked}
    if names is not None and (lacking := [name for name, view in found.items() if view is None]):
        raise InputError(f"The view {lacking[0]!r} cannot be had: {_WHY_NOT[lacking[0]]} Leave it out of views.")
    return [view for view in found.values() if view is not None] or [given_view(X)]  # all rows may be alike


_WHY_NOT = {
    "components": "all rows are alike.",
    "unit components": "all rows are alike.",
    "shared": "no feature has variance in common with another.",
    "shared components": "no feature has variance in common with another.",
    "linear": f"it needs validation='loo', at most {MAX_LABELS_OF_LINEAR:,} labels and labelled rows that differ.",
}


def _auto(X: Points) -> tuple[str, ...]:
    if X.shape[1] == 1:
        return ("given",)
    if is_sparse(X):
        return AUTO_OF_WIDE if X.shape[1] > MAX_COLUMNS else AUTO
    return AUTO


class _Sample:
    """Rows to learn axes from, so few that one side of the sample is short; what is common to two views, once."""

    def __init__(self, X: Points, seed: int) -> None:
        most = ROWS_TO_LEARN_FROM if X.shape[1] <= SHORT_SIDE else SHORT_SIDE
        if X.shape[0] > most:
            X = X[np.sort(np.random.default_rng(seed).choice(X.shape[0], most, replace=False))]
        self.X = X.astype(np.float64, copy=False)

    @cached_property
    def shared(self) -> Array | None:
        return shared_variance(self.X)


def _view(name: str, X: Points, sample: _Sample, labels: tuple[Array, Array] | None) -> View | None:
    """The view of that name; None where the table does not have it."""
    ones = np.ones(X.shape[1])
    if name == "linear":
        return linear_view(X, *labels) if labels is not None and len(labels[0]) <= MAX_LABELS_OF_LINEAR else None
    if name in ("components", "unit components"):
        components = _components(name, sample.X, ones)
        return components and replace(components, unit=name == "unit components")
    if name.startswith("shared"):
        if sample.shared is None:
            return None
        return View(name, sample.shared) if name == "shared" else _components(name, sample.X, sample.shared)
    return View(name, ones, unit=name == "unit")


def linear_view(X: Points, labelled: Array, Y: Array) -> View | None:
    """Ridge regression of one-hot classes on the standardised features (`pglearn.objective.ridge`).

    Sparse ones stay as they are: standardised, the rarest words would count most. None where the labelled rows are all
    alike.
    """
    if is_sparse(X):
        columns = np.ones(X.shape[1])
        used, rows, shift = _columns_in_use(X[labelled], columns)
        K, middle = _centred_product(rows)
        differ = K.trace() > 1e-9 * (rows.data @ rows.data)
    else:
        spread = _spread(X)
        columns, used = np.divide(1, spread, out=np.zeros_like(spread), where=spread > 0), None
        rows = X[labelled].astype(np.float64, copy=False) * columns
        middle = rows.mean(axis=0)
        rows, shift = rows - middle, np.zeros_like(middle)
        K, differ = rows @ rows.T, vary(X[labelled]).any()
    if not differ:
        return None
    own, dual = ridge(K, Y)
    axes = dual.T @ rows
    return View("linear", columns, axes, (labelled, own + axes @ (shift + middle)), used)


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
    n, all_columns = X.shape
    used = np.arange(all_columns)
    if is_sparse(X):
        used, X, _ = _columns_in_use(X, np.ones(all_columns))
    spread = _spread(X)
    varied = np.flatnonzero(spread)
    if len(varied) < 2:
        return None
    X, spread = X[:, varied], spread[varied]
    variances, components = _principal(times_columns(X, 1 / spread) if is_sparse(X) else X / spread)
    beyond = variances > NOISE_MARGIN * (1 + np.sqrt(len(varied) / n)) ** 2
    if not beyond.any():
        return None
    shared = np.zeros(all_columns)
    shared[used[varied]] = variances[beyond] @ components[beyond] ** 2
    return np.minimum(shared, 1)


def _spread(X: Points) -> Array:
    """Standard deviation of every column, 0 of those that are constant."""
    if is_sparse(X):
        return np.asarray(np.sqrt(np.maximum((X * X).mean(axis=0) - X.mean(axis=0) ** 2, 0)))
    return np.where(vary(X), X.std(axis=0, dtype=np.float64), 0)


def vary(X: Array) -> Array:
    """Columns that are not constant but for rounding."""
    return np.asarray(np.ptp(X, axis=0) > 1e-9 * np.abs(X).max(axis=0))


def _components(name: str, sample: Points, columns: Array) -> View | None:
    """Half-whitened principal components; of a sparse sample, axes about the columns in which it has something."""
    used = None
    if is_sparse(sample):
        used, sample, _ = _columns_in_use(sample, columns)
    else:
        sample = sample * columns
    if not sample.shape[1]:
        return None
    variances, components = _principal(sample)
    if not len(components):
        return None
    spread = np.sqrt(variances)
    # In units of the mean spread, so that the coordinates keep the scale of the features.
    return View(name, columns, components / np.sqrt(spread / spread.mean())[:, None], used=used)


def _columns_in_use(X: Points, columns: Array) -> tuple[Array, Points, Array]:
    """Positions of the columns in which sparse rows differ; these times `columns`, less their middle; and that."""
    X = times_columns(X, columns)
    middle = column_medians(X)
    X = scaled_rows(X, np.ones(X.shape[1]), middle)
    used = np.unique(X.indices[X.data != 0])
    return used, X[:, used], middle[used]


def _principal(X: Points) -> tuple[Array, Array]:
    """Variances and directions of the (at most 100) principal components, largest first, those of no variance left out.

    By the eigenvectors of the smaller of XᵀX and XXᵀ. Signs do not matter here: only squares of coordinates count.
    """
    n, d = X.shape
    wide = d > n
    if not is_sparse(X):
        middle, X = np.zeros(d), X - X.mean(axis=0)
        product = X @ X.T if wide else X.T @ X
    elif wide:
        product, middle = _centred_product(X)
    else:
        middle = X.mean(axis=0)
        product = (X.T @ X).toarray() - n * np.outer(middle, middle)
    least = max(0, len(product) - MAX_COMPONENTS)
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
