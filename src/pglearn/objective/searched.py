"""What a search looks at: the rows in every view; of a large table a sample, all labels being in it that are scored.

What the search learns, the weights of the features and k, is judged on the scored labels; the other labels and the rows
without one lay the paths between them. The answer is on all rows, and uses all labels.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from pglearn.arrays import Array, Points, column_medians, is_sparse
from pglearn.objective.folds import drawn_of_every_class
from pglearn.objective.problem import Problem
from pglearn.objective.views import View

ALL_UP_TO = 20_000  # rows without a label that are all searched on
SEARCHED_ROWS = 5_000  # of them, where there are more, and of the labels that are not scored


MAX_POWER = 30  # of two, up to which coordinates are searched in float32 as they are


def searched_problem(problem: Problem, views: list[View], dtype: str, seed: int) -> tuple[list[View], Problem]:
    """The rows to search on in each view; and the views, some in other units.

    In float32 that is around their middle, and in other units where it has no numbers for their squares. Sparse ones
    stay as they are.
    """
    rows = searched_rows(problem, seed)
    searched = problem if rows is None else problem.among(rows)
    points: list[Points] = []
    for number, view in enumerate(views):
        Z = view.transform_table(problem.X, rows)
        if dtype == "float32" and not is_sparse(Z):
            middle = column_medians(Z)
            power = int(np.frexp(np.maximum(Z.max(axis=0) - middle, middle - Z.min(axis=0)).max(initial=0))[1])
            if abs(power) > MAX_POWER and not view.unit:
                views = [*views[:number], view.in_units_of(power), *views[number + 1 :]]
                Z, middle = np.ldexp(Z, -power), np.ldexp(middle, -power)
            Z = np.subtract(Z, middle, out=np.empty_like(Z, dtype=dtype), casting="same_kind")  # with no copy between
        points.append(Z)
    if rows is not None:
        message = "The search looks at %d of %d rows; all of them are labelled."
        logging.getLogger("pglearn").info(message, searched.n, problem.n)
    return views, replace(searched, X=points[0], others=tuple(points[1:]))


def searched_rows(problem: Problem, seed: int) -> Array | None:
    """Positions of the rows to search on, in order; None for all."""
    others = np.setdiff1d(np.arange(problem.n), problem.labelled, assume_unique=True)
    if len(others) <= ALL_UP_TO:
        return None
    rng = np.random.default_rng(seed)
    unlabelled = rng.choice(others, SEARCHED_ROWS, replace=False)
    # The scored labels and, of the others, each class its share, and one at least.
    unscored = np.flatnonzero(~problem.scored)
    if len(unscored) > SEARCHED_ROWS:
        unscored = drawn_of_every_class(unscored, problem.codes, SEARCHED_ROWS, rng)
    labels = np.append(np.flatnonzero(problem.scored), unscored)
    return np.sort(np.append(problem.labelled[labels], unlabelled))
