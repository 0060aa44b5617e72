"""Which rows a search looks at: of a large table a sample, all labels being in it that are scored.

What the search learns, the weights of the features and k, is judged on the scored labels; the other labels and the rows
without one lay the paths between them. The answer is on all rows, and uses all labels.
"""

from __future__ import annotations

import numpy as np

from pglearn.arrays import Array
from pglearn.objective.folds import drawn_of_every_class
from pglearn.objective.problem import Problem

ALL_UP_TO = 20_000  # rows without a label that are all searched on
SEARCHED_ROWS = 5_000  # of them, where there are more, and of the labels that are not scored


def searched_rows(problem: Problem, seed: int) -> Array | None:
    """Positions of the rows to search on, in order; None for all."""
    others = np.setdiff1d(np.arange(problem.n), problem.labelled, assume_unique=True)
    if len(others) <= ALL_UP_TO:
        return None
    rng = np.random.default_rng(seed)
    unlabelled = rng.choice(others, SEARCHED_ROWS, replace=False)
    return np.sort(np.append(problem.labelled[_searched_labels(problem, rng)], unlabelled))


def _searched_labels(problem: Problem, rng: np.random.Generator) -> Array:
    """Positions among the labels: the scored ones and, of the others, each class its share, and one at least."""
    others = np.flatnonzero(~problem.scored)
    if len(others) > SEARCHED_ROWS:
        others = drawn_of_every_class(others, problem.codes, SEARCHED_ROWS, rng)
    return np.append(np.flatnonzero(problem.scored), others)
