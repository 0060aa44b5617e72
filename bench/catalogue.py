"""All data sets that are not the paper's, by name, and what is drawn from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from common import few_labels
from fresh_data import FRESH
from keel_data import EVEN, ODD
from newest_data import NEWEST
from other_data import IMBALANCED, LAST, LATER, MADE, NAMES, REAL, Rows
from r_data import R_EVEN, R_ODD
from seen_data import SEEN
from tasks import Draw, Task
from unseen_data import UNSEEN

MADE_UP = MADE | LATER | LAST | SEEN | NEWEST | EVEN | ODD | FRESH | R_EVEN | R_ODD | UNSEEN
OTHERS = (*NAMES, *LATER, *LAST, *SEEN, *NEWEST, *EVEN, *ODD, *FRESH, *R_EVEN, *R_ODD, *UNSEEN)
LABELS_OF_EACH = 5


def other_task(name: str, percent: int) -> Task:
    """The share of labels in each class, or five of each for a name that ends so."""
    shown = some_of_each if name.endswith("-5") else partial(few_labels, fraction=percent / 100)
    make = MADE_UP.get(name) or partial(real, name.removesuffix("-5"))
    return Task(name, partial(drawn, make, shown), imbalanced=name in IMBALANCED)


def real(name: str, seed: int) -> Rows:
    """One of scikit-learn's, whatever the seed."""
    return REAL[name](return_X_y=True)


def drawn(make: Callable[[int], Rows], shown: Callable[..., np.ndarray], split: int) -> Draw:
    X, y = make(split)
    return Draw(X, y, shown(y, seed=split))


def some_of_each(y: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shown = np.zeros(len(y), dtype=bool)
    for c in np.unique(y):
        shown[rng.permutation(np.flatnonzero(y == c))[:LABELS_OF_EACH]] = True
    return shown
