"""Whatever holds columns (pandas, polars, an array) as a pandas frame with text for column names; a frame to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from pglearn.errors import InputError
from pglearn.files import whole_file

MAX_NAMES_SHOWN = 10


def has_column_names(X: Any) -> bool:
    """Whether X is a frame (pandas, polars or like them) rather than an array."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__")


def as_frame(X: Any, names: Sequence[str] | None = None) -> pd.DataFrame:
    """X as a pandas frame; the columns of an array get `names`, or x0, x1, ... if there are none."""
    if isinstance(X, pd.DataFrame):
        frame = X
    elif has_column_names(X):
        # Column by column, as polars' own to_pandas() needs pyarrow, which is an extra.
        frame = pd.DataFrame({str(name): pd.Series(X[name].to_numpy()) for name in X.columns})
    else:
        frame = _array_frame(X, names)
    columns = [str(name) for name in frame.columns]
    refuse_duplicates("The table", columns)
    if len(columns) == 0:
        raise InputError(f"The table has 0 feature(s) (shape={frame.shape}) while a minimum of 1 is required.")
    if len(frame) == 0:
        raise InputError("The table has no rows. Give at least one row.")
    return frame.set_axis(columns, axis=1)


def refuse_duplicates(table: object, names: Sequence[str]) -> None:
    """Raise when a column name occurs twice."""
    columns = pd.Index(names)
    if not columns.is_unique:
        twice = columns[columns.duplicated()][0]
        raise InputError(f"{table} has two columns called {twice!r}. Rename one of them.")


def array_names(d: int) -> list[str]:
    """What the d columns of an array are called."""
    return [f"x{m}" for m in range(d)]


def _array_frame(X: Any, names: Sequence[str] | None) -> pd.DataFrame:
    if issparse(X):
        raise InputError("TableEncoder does not take sparse matrices. Make it dense with X.toarray().")
    array = np.asarray(X)
    if array.ndim != 2:
        raise InputError(
            f"Expected a table or a 2-D array, got {array.ndim} dimension(s). Reshape your data: one row per "
            "example, X.reshape(-1, 1) for a single column, X.reshape(1, -1) for a single row."
        )
    columns = array_names(array.shape[1]) if names is None else list(names)
    if len(columns) != array.shape[1]:
        raise InputError(
            f"X has {array.shape[1]} features, but TableEncoder is expecting {len(columns)} features as "
            "input. Give the same columns as in fit."
        )
    # An array of objects may hold a column of numbers beside a column of text.
    return pd.DataFrame(array, columns=columns).infer_objects()


def write_table(frame: pd.DataFrame, path: Path) -> None:
    with whole_file(path) as file:
        frame.to_csv(file, index=False, mode="wb")


def listed(names: Sequence[str], after: Sequence[str] | None = None) -> str:
    """The names in quotes, the first ten of them, each with what is to stand after it."""
    shown = [f"{name!r}{tail}" for name, tail in zip(names, after or [""] * len(names), strict=True)]
    more = f" and {len(names) - MAX_NAMES_SHOWN} more" if len(names) > MAX_NAMES_SHOWN else ""
    return ", ".join(shown[:MAX_NAMES_SHOWN]) + more
