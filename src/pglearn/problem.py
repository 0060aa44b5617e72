"""The problem: points, the labels that are shown, and which of them are scored.

| symbol | meaning                                                        | here                |
|--------|----------------------------------------------------------------|---------------------|
| X      | features, rows are points                                      | `X`         (n, d)  |
| L      | labelled points                                                | `labelled`  (l,)    |
| y_L    | their classes, as numbers 0 … c−1                              | `codes`     (l,)    |
| V      | labelled points whose label is hidden once and then compared   | `scored`    (l,)    |

`holdout`, `kfold` and `loo` are one rule: every labelled point belongs to a *fold*, and a scored point is judged
by the labels of the other folds alone. `loo` makes every point its own fold; `holdout` has two and scores one. Of more
than 200 labels `loo` scores 200, each class its share of them, by all the other labels.

This module is the only reader of -1 (or None, NaN) as "unlabelled".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pglearn.errors import InputError
from pglearn.parameters import choice
from pglearn.sparse import is_sparse

Array: TypeAlias = npt.NDArray[Any]
Points: TypeAlias = Any  # an array, or a table of `pglearn.sparse`

UNLABELLED = -1
KFOLDS = 5
MOST_SCORED = 200  # of leave-one-out: each costs up to two solves, and more tell the search little


@dataclass(frozen=True, eq=False)
class Problem:
    """Points with some labels; built by :meth:`Problem.of`, never changed."""

    X: Points
    classes: Array
    labelled: Array
    codes: Array
    fold: Array
    scored: Array
    others: tuple[Points, ...] = ()
    """The same points in other coordinates (`pglearn.views`)."""
    held_out: bool = False
    """Whether the scored labels are kept from a method that hides none by itself (`shown`)."""

    @classmethod
    def of(cls, X: Points, y: Any, *, validation: str = "loo", seed: int = 0) -> Problem:
        """The problem of labelling the rows of `X` given `y`, scored by `validation`."""
        codes, classes = class_codes(y)
        if len(codes) != X.shape[0]:
            raise InputError(
                f"X has {X.shape[0]} rows but y has {len(codes)} entries: give one label per row, -1 where unknown."
            )
        labelled = np.flatnonzero(codes != UNLABELLED)
        codes = codes[labelled]
        if len(classes) == 0:
            raise InputError(
                "No row is labelled: give at least two rows of each class a label and leave the others unlabelled "
                "(blank in a table, -1 or None in Python)."
            )
        if len(classes) == 1:
            raise InputError(
                f"Only one class is labelled ({classes[0]}): there is nothing to tell apart. Label rows of at least "
                "two classes, and if -1 is one of yours, give it another name, for -1 means unlabelled."
            )
        fold, scored = choice(validation, VALIDATIONS, "validation")(codes, classes, np.random.default_rng(seed))
        if not scored.any():
            raise InputError(
                "Every class has a single labelled row, so no label can be checked against another of its class: "
                "label at least one more row of some class."
            )
        return cls(X, classes, labelled, codes, fold, scored, held_out=validation == "holdout")

    def among(self, rows: Array) -> Problem:
        """The problem with these rows alone, in order, and the labels that they have; in the first view."""
        kept = np.isin(self.labelled, rows)
        return replace(
            self,
            X=self.X[rows],
            labelled=np.searchsorted(rows, self.labelled[kept]),
            codes=self.codes[kept],
            fold=self.fold[kept],
            scored=self.scored[kept],
            others=(),
        )

    @cached_property
    def centre(self) -> Array:
        return column_medians(self.X)

    @cached_property
    def views(self) -> tuple[Problem, ...]:
        """The problem in each of its views, the first with `X` itself."""
        if not self.others:
            return (self,)
        return tuple(replace(self, X=X, others=()) for X in (self.X, *self.others))

    @property
    def n(self) -> int:
        """How many points there are."""
        return int(self.X.shape[0])

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def Y(self) -> Array:
        """One-hot classes of the labelled points, l × c."""
        return np.eye(self.n_classes)[self.codes]

    @property
    def shown(self) -> Array:
        """Positions among the labels that a method may learn from which never hides any.

        With `holdout` those that are not scored, so that the others remain a fair test; otherwise all, also where `loo`
        scores only some of them.
        """
        if not self.held_out:
            return np.arange(len(self.codes))
        never_scored = np.flatnonzero(~self.scored)
        every_class = len(np.unique(self.codes[never_scored])) == self.n_classes
        return never_scored if every_class else np.arange(len(self.codes))

    def sources(self, beliefs: Array | None = None) -> Array:
        """What spreads from each point, n × c: its label; where it has none, its row of `beliefs` or nothing."""
        sources = np.zeros((self.n, self.n_classes)) if beliefs is None else beliefs.copy()
        sources[self.labelled] = self.Y
        return sources

    @property
    def prior(self) -> Array:
        """Share of each class among the labels: the answer for a point that no label reaches."""
        return np.bincount(self.codes, minlength=self.n_classes) / len(self.codes)

    @property
    def scored_codes(self) -> Array:
        return self.codes[self.scored]


def class_codes(y: Any) -> tuple[Array, Array]:
    """Classes as numbers 0 … c−1 with -1 where `y` is -1, None or NaN, and the sorted classes.

    >>> codes, classes = class_codes(["b", None, "a"])
    >>> codes.tolist(), classes.tolist()
    ([1, -1, 0], ['a', 'b'])
    """
    has_numpy_type = isinstance(getattr(y, "dtype", None), np.dtype)
    # NumPy alone would make strings of ["a", nan] and floats of [1, NA].
    y = np.asarray(y) if has_numpy_type else np.asarray(y, dtype=object)
    if y.ndim != 1:
        raise InputError(f"y must be one column of labels, but has shape {y.shape}: pass a 1-d array.")
    missing = _missing(y)
    known = y[~missing]
    if y.dtype == object:
        known = _of_one_kind(known)
    if known.dtype.kind == "f":
        if not np.isfinite(known).all():
            raise InputError("y has infinite labels: use -1 or NaN for unlabelled rows and a class for the others.")
        if (known != np.round(known)).any():
            raise InputError(
                "Unknown label type: continuous. y holds numbers with fractions, but pglearn predicts classes: "
                "bin the target or use strings."
            )
    classes, inverse = np.unique(known, return_inverse=True)
    codes = np.full(len(y), UNLABELLED, dtype=np.int64)
    codes[~missing] = inverse
    return codes, classes


def _missing(y: Array) -> Array:
    """Where there is no label."""
    if y.dtype.kind in "iuf":
        return np.asarray((y == UNLABELLED) | (y != y))
    if y.dtype == object:
        import pandas as pd

        missing = [isinstance(value, Real) and value == UNLABELLED for value in y]
        return np.asarray(pd.isna(y) | np.array(missing, dtype=bool))
    if y.dtype.kind not in "bSU":
        raise InputError(f"y has type {y.dtype}, which is no label: use numbers or strings.")
    if y.dtype.kind != "b" and np.isin(y, np.array(["", "nan", "-1"], dtype=y.dtype.kind)).any():
        raise InputError(
            "y has the labels '', 'nan' or '-1', which is what NumPy makes of gaps and of -1 among strings: use "
            "None for them, in a list or an array with dtype=object."
        )
    return np.zeros(len(y), dtype=bool)


def _of_one_kind(known: Array) -> Array:
    """Labels that came as Python objects as an array of their kind: the only one that a model can hold."""
    kinds = sorted({_kind(value) for value in known})
    if len(kinds) > 1:
        raise InputError(
            f"y mixes {' and '.join(kinds)}: make all labels of one kind, for example "
            "[None if missing else str(label) for label in y]."
        )
    if not set(kinds) <= {"strings", "booleans", "numbers", "bytes objects"}:
        first = known[0]
        raise InputError(f"y holds {kinds[0]} (the first is {first!r}), which are no labels: use strings or numbers.")
    labels = np.array(known.tolist())
    whole = kinds == ["numbers"] and all(isinstance(value, (int, np.integer)) for value in known)
    if labels.dtype == object or (whole and labels.dtype.kind not in "iu"):
        raise InputError(f"y holds whole numbers beyond 64 bits (such as {max(known, key=abs)}): use strings.")
    return labels


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "strings"
    if isinstance(value, (bool, np.bool_)):
        return "booleans"
    if isinstance(value, (int, float, np.number)):
        return "numbers"
    return f"{type(value).__name__} objects"


def column_medians(X: Points) -> Array:
    """A point in the middle of X. It is subtracted before products are formed, where only differences count, so that
    neither an offset (a time stamp) nor an outlier costs the other rows their digits.

    A column of a sparse table has the median zero unless most of it is something else: what is subtracted at most
    doubles the non-zeros.
    """
    if is_sparse(X):
        medians = np.zeros(X.shape[1])
        full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) > X.shape[0] / 2)
        if len(full):
            medians[full] = np.median(X[:, full].toarray(), axis=0)
        return medians
    parts = np.array_split(X, -(-X.shape[1] // 64), axis=1)  # np.median copies what it is given
    return np.concatenate([np.median(part, axis=0) for part in parts])


def _holdout(codes: Array, classes: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    counts = np.bincount(codes)
    if (counts < 2).any():
        lonely = classes[np.argmin(counts)]
        raise InputError(
            f"Class {lonely} has a single labelled row, and validation='holdout' hides half of the labels of every "
            "class: label one more row of it, or use validation='loo'."
        )
    fold = dealt_by_class(codes, 2, rng)
    return fold, fold == 1


def _kfold(codes: Array, classes: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    fold = dealt_by_class(codes, min(KFOLDS, len(codes)), rng)
    return fold, np.bincount(codes)[codes] > 1


def _loo(codes: Array, classes: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    # A class with one label cannot be found when that label is hidden: its row helps the others, unscored.
    scored = np.bincount(codes)[codes] > 1
    if scored.sum() > MOST_SCORED:
        scored = np.isin(np.arange(len(codes)), drawn_by_class(np.flatnonzero(scored), codes, MOST_SCORED, rng))
    return np.arange(len(codes)), scored


def dealt_by_class(codes: Array, n_folds: int, rng: np.random.Generator) -> Array:
    """Folds dealt like cards, class after class: two labels of a class never share a fold if they need not."""
    fold = np.empty(len(codes), dtype=np.int64)
    fold[_by_class(np.arange(len(codes)), codes, rng)] = np.arange(len(codes)) % n_folds
    return fold


def drawn_by_class(rows: Array, codes: Array, count: int, rng: np.random.Generator) -> Array:
    """So many of the rows, at random, each class its share of them."""
    return np.asarray(_by_class(rows, codes, rng)[np.arange(count) * len(rows) // count])


def drawn_of_every_class(rows: Array, codes: Array, count: int, rng: np.random.Generator) -> Array:
    """The same, and of every class one at least."""
    drawn = drawn_by_class(rows, codes, count, rng)
    classes, first = np.unique(codes[rows], return_index=True)
    return np.append(drawn, rows[first[~np.isin(classes, codes[drawn])]])


def _by_class(rows: Array, codes: Array, rng: np.random.Generator) -> Array:
    """Rows class after class, in random order within each."""
    shuffled = rng.permutation(rows)
    return np.asarray(shuffled[np.argsort(codes[shuffled], kind="stable")])


Validation: TypeAlias = Callable[[Array, Array, np.random.Generator], tuple[Array, Array]]
VALIDATIONS: dict[str, Validation] = {"loo": _loo, "kfold": _kfold, "holdout": _holdout}
