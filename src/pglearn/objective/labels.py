"""Labels as they are given, to classes as numbers. The only reader of -1 (or None, NaN) as "unlabelled"."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from pglearn.arrays import Array
from pglearn.errors import InputError

UNLABELLED = -1


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
