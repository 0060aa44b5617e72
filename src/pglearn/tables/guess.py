"""What fit takes a column for when its type does not say so: row numbers, dates, numbers among stray words.

What is decided here is said in a note, and transform keeps to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from pglearn.tables.columns import NUMERIC, Kind, is_text, kind_of, numbers
from pglearn.tables.texts import Floats, coded, dates_in, first_with_comma, numbers_in

# Fewer rows than this may well be 1, 2, 3 by chance.
FEWEST_ROWS_TO_COUNT = 20
# What pandas and `read_table` call the first column when the header is blank there: an index that was written.
NAMELESS_FIRST = "Unnamed: 0"
# A text column is meant as numbers if at most this share of its distinct values are none ...
STRAY_VALUES = 0.2
# ... and these can be given up if they fill no more than this share of the rows.
STRAY_ROWS = 0.05


@dataclass(frozen=True)
class Reading:
    """A column as fit takes it."""

    kind: Kind
    x: Floats | None = None  # for numbers, dates and durations
    blanks: tuple[str, ...] = ()  # texts among numbers that count as missing
    note: str = ""


def numbers_the_rows(column: pd.Series[Any]) -> bool:
    """Whether the column only numbers the rows: whole numbers, one more (or one less) in each row than before.

    The nameless first column that pandas writes counts in any order, if from 0 or 1, and however few rows.
    """
    if not (types.is_integer_dtype(column.dtype) or types.is_float_dtype(column.dtype)):
        return False
    x = numbers(column, "number")
    if column.name == NAMELESS_FIRST:
        x = np.sort(x)
        return bool(x[0] in (0, 1)) and np.array_equal(x, x[0] + np.arange(len(x)))
    if len(x) < FEWEST_ROWS_TO_COUNT or not float(x[0]).is_integer() or abs(x[0]) > 2**52:
        return False
    step = 1 if x[1] > x[0] else -1
    return np.array_equal(x, x[0] + step * np.arange(len(x)))


def reading_of(column: pd.Series[Any]) -> Reading:
    """What a column holds and, if numbers, which."""
    if is_text(column):
        return _reading_of_text(column)
    kind = kind_of(column)
    return Reading(kind, numbers(column, kind) if kind in NUMERIC else None)


def _reading_of_text(column: pd.Series[Any]) -> Reading:
    codes, texts = coded(column)
    if not texts:
        return Reading("missing")
    dates = dates_in(texts)
    if np.isfinite(dates).all():
        return Reading("date", np.append(dates, np.nan)[codes])
    x = numbers_in(texts)
    stray = ~np.isfinite(x)
    if 0 < np.mean(stray) <= STRAY_VALUES:
        rows = int(np.sum(np.append(stray, False)[codes]))
        blanks = tuple(text for text, is_stray in zip(texts, stray, strict=True) if is_stray)
        if rows <= STRAY_ROWS * len(column):
            return Reading("number", np.append(x, np.nan)[codes], blanks, _given_up(column.name, blanks[0], rows))
        return Reading("category", note=_not_numbers(column.name, blanks[0], rows))
    comma = first_with_comma(texts)
    return Reading("category", note=_commas(column.name, comma) if comma else "")


def _given_up(name: Any, first: str, rows: int) -> str:
    values = "1 value that is none counts" if rows == 1 else f"{rows} values that are none count"
    return (
        f"Column {name!r} is taken as numbers: {values} as missing (first {first!r}). Correct what should be a number."
    )


def _not_numbers(name: Any, first: str, rows: int) -> str:
    return (
        f"Column {name!r} is taken as text, for of its values, most of them numbers, {rows} are none (first "
        f"{first!r}). Write these as numbers or leave them blank to have the column count as numbers."
    )


def _commas(name: Any, first: str) -> str:
    return (
        f"Column {name!r} is taken as text, for its numbers are written with commas (first {first!r}). "
        "Write decimal points, and nothing between thousands, to have it count as numbers."
    )
