"""A pandas or polars frame as a pandas frame with text for column names; a frame to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pglearn.errors import InputError
from pglearn.files import whole_file

MAX_NAMES_SHOWN = 10


def as_frame(X: Any) -> pd.DataFrame:
    """X, which has columns, as a pandas frame with at least one row and column."""
    if isinstance(X, pd.DataFrame):
        frame = X
    else:
        # Column by column, as polars' own to_pandas() needs pyarrow, which is an extra.
        frame = pd.DataFrame({name: pd.Series(X[name].to_numpy()) for name in X.columns})
    names = [str(name) for name in frame.columns]
    refuse_duplicates("The table", names)
    if frame.empty:
        raise InputError(f"The table has {len(names)} columns and {len(frame)} rows. Give at least one of each.")
    return frame.set_axis(names, axis=1)


def refuse_duplicates(table: object, names: Sequence[str]) -> None:
    """Raise when a column name occurs twice."""
    columns = pd.Index(names)
    if not columns.is_unique:
        twice = columns[columns.duplicated()][0]
        raise InputError(f"{table} has two columns called {twice!r}. Rename one of them.")


def array_names(d: int) -> list[str]:
    """What the d columns of an array are called."""
    return [f"x{m}" for m in range(d)]


def write_table(frame: pd.DataFrame, path: Path) -> None:
    with whole_file(path) as file:
        frame.to_csv(file, index=False, mode="wb")


def listed(names: Sequence[str], after: Sequence[str] | None = None) -> str:
    """The names in quotes, the first ten of them, each with what is to stand after it."""
    shown = [f"{name!r}{tail}" for name, tail in zip(names, after or [""] * len(names), strict=True)]
    more = f" and {len(names) - MAX_NAMES_SHOWN} more" if len(names) > MAX_NAMES_SHOWN else ""
    return ", ".join(shown[:MAX_NAMES_SHOWN]) + more
