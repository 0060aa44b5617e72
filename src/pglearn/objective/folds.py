"""Which labels are hidden and compared: `loo`, `kfold` and `holdout` are one rule.

Every labelled point belongs to a *fold*, and a scored point is judged by the labels of the other folds alone. `loo`
makes every point its own fold; `holdout` has two and scores one. Of more than 100 labels `loo` scores 100, each class
its share of them, by all the other labels.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pglearn.arrays import Array
from pglearn.errors import InputError

KFOLDS = 5
MOST_SCORED = 100  # of leave-one-out: each costs up to two solves, and more tell the search little


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
        message = "Leave-one-out hides %d of %d labels, one after another; all of them spread."
        logging.getLogger("pglearn").info(message, MOST_SCORED, len(codes))
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
