"""When do columns of numbers have to be standardised before distances between rows mean anything?

    r_m    range (largest minus smallest) of column m, over the columns that are not constant
    q      5th percentile of the r_m, the range of an actual column: the smallest up to 20 columns

The columns are on a common scale when max_m r_m <= 20 q: pixels, spectra, answers to one questionnaire.
There the spread of a column is information, and standardising would blow up the noise of quiet columns.
Otherwise (age beside income) the units decide the distance, and they should not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

LARGEST_RATIO = 20.0


def on_common_scale(X: npt.NDArray[Any]) -> bool:
    """Whether the columns of X have ranges that can be compared as they are; NaN and infinities are ignored.

    >>> on_common_scale(np.array([[0.0, 1.0], [1.0, 5.0]]))
    True
    >>> on_common_scale(np.array([[31.0, 48_000.0], [54.0, 26_000.0]]))
    False
    """
    return ranges_alike(half_ranges(X))


def half_ranges(X: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Half the range of each column of X, 0 for a column with a single number or none.

    Halves, because the whole range of a column that spans all of float64 is infinite. Only ratios matter.
    """
    X = np.asarray(X, dtype=np.float64)
    present = np.isfinite(X)
    # Not nanmax/nanmin, which warn about a column without a single number.
    largest = np.max(X, axis=0, where=present, initial=-np.inf)
    smallest = np.min(X, axis=0, where=present, initial=np.inf)
    return np.where(largest > smallest, largest / 2 - smallest / 2, 0)


def ranges_alike(r: npt.NDArray[np.float64]) -> bool:
    """The rule itself, on the ranges of the columns or any multiple of them."""
    r = r[r > 0]
    # "lower", because a percentile between two columns leans on the larger one: of two columns with ranges
    # r_1 < r_2 it is at least r_2 / 20, and any pair whatsoever would pass.
    return r.size == 0 or bool(r.max() / LARGEST_RATIO <= np.percentile(r, 5, method="lower"))
