"""scikit-learn's classifiers on a handful of labels, which it takes for a mistake."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def of_few_labels() -> Iterator[None]:
    """Fits in which half of the labels may be of different classes, and that need not converge to the last digit."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
