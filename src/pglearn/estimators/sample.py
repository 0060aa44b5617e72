"""Which rows a search looks at: of a large table, all that are labelled and a sample of the others.

What the search learns, the weights of the features and k, is judged on the labelled rows; the others lay the paths
between them. The answer is on all rows. bench/sampled.py is there to measure whether the size is right.
"""

from __future__ import annotations

import numpy as np

from pglearn.problem import Array

ALL_UP_TO = 20_000  # rows without a label that are all searched on
SEARCHED_ROWS = 5_000  # of them, where there are more


def searched_rows(n: int, labelled: Array, seed: int) -> Array | None:
    """Positions of the rows to search on, in order; None for all."""
    others = np.setdiff1d(np.arange(n), labelled, assume_unique=True)
    if len(others) <= ALL_UP_TO:
        return None
    return np.sort(np.append(labelled, np.random.default_rng(seed).choice(others, SEARCHED_ROWS, replace=False)))
