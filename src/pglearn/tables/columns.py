"""One column of a table to numbers: what fit takes it for and learns from it, and how it is encoded afterwards.

A number x becomes (x − center) / scale; a missing one (also ±inf) first takes the median. A date is a number of
seconds, whether it came as a date or as ISO text. A category becomes one 0/1 feature per level. Both are frozen,
small, and made of plain values, so that they can be stored. What fit guesses where the type of a column does not say it
(row numbers, dates, numbers among stray words) is said in a note, and transform keeps to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype, is_float_dtype, is_integer_dtype

from pglearn.errors import InputError
from pglearn.tables.texts import Floats, coded, dates_in, have_commas, numbers_in

Kind = Literal["number", "date", "duration", "category", "missing"]

NUMERIC: tuple[Kind, ...] = ("number", "date", "duration")

FREE_TEXT_LEVELS = 50  # more levels, and more than half of the values distinct: a name or a comment, not a category
MIN_ROWS_TO_COUNT = 20  # fewer may well be 1, 2, 3 by chance
NAMELESS_FIRST = "Unnamed: 0"  # for pandas and `read_table` the first column without a name: an index that was written
MAX_STRAY_VALUES = 0.2  # of the distinct values of text that is meant as numbers: the share that are none
MAX_STRAY_ROWS = 0.05  # and the share of the rows that these may fill, which are given up then

_WHOLE_AS_FLOAT = re.compile(r"\A(-?[0-9]+)\.0\Z")
_INFERRED: dict[str, Kind] = {
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal", "boolean"), "number"),
    **dict.fromkeys(("datetime64", "datetime", "date"), "date"),
    **dict.fromkeys(("timedelta64", "timedelta"), "duration"),
    "empty": "missing",
}


@dataclass(frozen=True)
class Reading:
    """A column as fit takes it."""

    kind: Kind
    x: Floats | None = None  # for numbers, dates and durations
    blanks: tuple[str, ...] = ()  # texts among numbers that count as missing
    note: str = ""


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers, dates (seconds since 1970) or durations (seconds)."""

    name: str
    kind: Kind
    median: float
    center: float
    scale: float  # infinite for a constant column, which makes it 0 wherever it is encoded
    blanks: Sequence[str] = ()  # texts that count as missing, as they did in fit

    @property
    def feature_names(self) -> list[str]:
        return [self.name]

    def encode(self, column: pd.Series[Any]) -> Floats:
        kind, x = kind_and_numbers(column)
        if kind == "category":
            x = self._numbers_in_text(column)
        elif kind not in (self.kind, "missing"):
            raise InputError(f"Column {self.name!r} held a {self.kind} in fit and now holds a {kind}. Convert it.")
        x = np.where(np.isfinite(x), x, self.median)
        return ((x - self.center) / self.scale)[:, None]

    def _numbers_in_text(self, column: pd.Series[Any]) -> Floats:
        # One stray word makes a whole column text: the words that are numbers still count as numbers.
        codes, texts = coded(column)
        readers = {"number": numbers_in, "date": dates_in}
        x = readers[self.kind](texts) if self.kind in readers else np.full(len(texts), np.nan)
        blanks = set(self.blanks)
        bad = [texts[place] for place in np.flatnonzero(np.isnan(x)) if texts[place] not in blanks]
        if bad:
            correct = "Write it as 2024-05-31" if self.kind == "date" else "Correct that value"
            raise InputError(
                f"Column {self.name!r} held a {self.kind} in fit and now holds {bad[0]!r}. "
                f"{correct}, or leave it blank to have it filled in."
            )
        return np.append(x, np.nan)[codes]


@dataclass(frozen=True)
class CategoryColumn:
    """A column of categories: one 0/1 feature per level, perhaps a last one for missing values.

    Plain 0/1, not standardised: rows with different levels then differ by 2 in squared distance, which is the
    mean squared difference of a standardised number between two rows, so both kinds start out with equal say.
    """

    name: str
    levels: Sequence[str]
    has_missing: bool

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}={level}" for level in (*self.levels, *["(missing)"] * self.has_missing)]

    def encode(self, column: pd.Series[Any]) -> Floats:
        codes, texts = coded(column)
        place = {level: j for j, level in enumerate(self.levels)}
        # A level 1 is 1.0 to pandas where a blank is among whole numbers.
        # The last entry answers for code -1, a missing value; -1 here means no level at all.
        known = [place.get(text, place.get(_WHOLE_AS_FLOAT.sub(r"\1", text), -1)) for text in texts]
        feature = np.array([*known, len(self.levels) if self.has_missing else -1])
        hot: npt.NDArray[np.bool_] = feature[codes, None] == np.arange(len(self.feature_names))
        return hot.astype(np.float64)


def kind_and_numbers(column: pd.Series[Any]) -> tuple[Kind, Floats]:
    """What a column holds, "missing" if it has no value, for Python objects what the values are; and its numbers, which
    are NaN where it has none."""
    kind = _declared_kind(column)
    x = _numbers(column, kind)
    has_values = coded(column)[1] if kind == "category" else np.isfinite(x).any()
    return (kind if has_values else "missing"), x


def _declared_kind(column: pd.Series[Any]) -> Kind:
    inferred = infer_dtype(column, skipna=True)
    if inferred == "complex":
        raise InputError(f"Complex data not supported: column {column.name!r}. Give real and imaginary parts.")
    return _INFERRED.get(inferred, "category")


def is_text(column: pd.Series[Any]) -> bool:
    """Whether the column holds text that was not declared to be categories."""
    return not isinstance(column.dtype, pd.CategoricalDtype) and _declared_kind(column) == "category"


def _numbers(column: pd.Series[Any], kind: Kind) -> Floats:
    if kind == "number":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind == "date":
        moments = pd.to_datetime(column, utc=True).dt.tz_localize(None).to_numpy()
        return (moments - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    if kind == "duration":
        return pd.to_timedelta(column).to_numpy() / np.timedelta64(1, "s")
    return np.full(len(column), np.nan)


def numbers_the_rows(column: pd.Series[Any]) -> bool:
    """Whether the column only numbers the rows: whole numbers, one more (or one less) in each row than before.

    The nameless first column that pandas writes counts in any order, if from 0 or 1, and however few rows.
    """
    if not (is_integer_dtype(column.dtype) or is_float_dtype(column.dtype)):
        return False
    x = _numbers(column, "number")
    if column.name == NAMELESS_FIRST:
        x = np.sort(x)
        return bool(x[0] in (0, 1)) and np.array_equal(x, x[0] + np.arange(len(x)))
    if len(x) < MIN_ROWS_TO_COUNT or not float(x[0]).is_integer() or abs(x[0]) > 2**52:
        return False
    step = 1 if x[1] > x[0] else -1
    return np.array_equal(x, x[0] + step * np.arange(len(x)))


def reading_of(column: pd.Series[Any]) -> Reading:
    """What a column holds and, if numbers, which."""
    if is_text(column):
        return _reading_of_text(column)
    kind, x = kind_and_numbers(column)
    return Reading(kind, x if kind in NUMERIC else None)


def _reading_of_text(column: pd.Series[Any]) -> Reading:
    codes, texts = coded(column)
    if not texts:
        return Reading("missing")
    dates = dates_in(texts)
    if np.isfinite(dates).all():
        return Reading("date", np.append(dates, np.nan)[codes])
    x = numbers_in(texts)
    stray = ~np.isfinite(x)
    strays = tuple(text for text, is_stray in zip(texts, stray, strict=True) if is_stray)
    if not strays or (len(strays) > MAX_STRAY_VALUES * len(texts) and not have_commas(texts)):
        return Reading("category")
    rows = int(np.sum(np.append(stray, False)[codes]))
    if len(strays) <= MAX_STRAY_VALUES * len(texts) and rows <= MAX_STRAY_ROWS * len(column):
        values = "1 value that is none counts" if rows == 1 else f"{rows} values that are none count"
        note = f"numbers: {values} as missing (first {strays[0]!r}). Correct what should be a number."
        return Reading("number", np.append(x, np.nan)[codes], strays, f"Column {column.name!r} is taken as {note}")
    return Reading(
        "category",
        note=f"Column {column.name!r} is taken as text, for not all of its values are numbers (first {strays[0]!r}). "
        "Write numbers with decimal points, and leave others blank, to have the column count as numbers.",
    )


def number_column(name: str, reading: Reading, standardise: bool) -> NumberColumn:
    """Learn the median, center and scale of a column with at least one finite number."""
    assert reading.x is not None
    present = np.isfinite(reading.x)
    median = float(np.median(reading.x[present]))
    x = np.where(present, reading.x, median)
    center, scale = 0.0, 1.0
    if x.min() == x.max():
        center, scale = median, np.inf
    elif standardise:
        # Squares of numbers beyond 1e154 overflow, so the spread is taken in units of the largest one.
        unit = np.abs(x).max()
        center, scale = float(unit * np.mean(x / unit)), float(unit * np.std(x / unit)) or np.inf
    return NumberColumn(name, reading.kind, median, center, scale, reading.blanks)


def category_column(name: str, column: pd.Series[Any], max_levels: int) -> tuple[CategoryColumn | None, str]:
    """Learn the levels of a column that has values, None if it is free text; and say what is cut."""
    codes, texts = coded(column)
    counts = dict(zip(texts, np.bincount(codes[codes >= 0], minlength=len(texts)).tolist(), strict=True))
    present = sum(counts.values())
    if len(counts) > max(FREE_TEXT_LEVELS, present / 2):
        return None, (
            f"Column {name!r} is left out: {len(counts)} different values in {present} rows, "
            "more a name than a category."
        )
    kept = sorted(counts, key=lambda text: (-counts[text], text))[:max_levels]
    note = ""
    if len(kept) < len(counts):
        rows = present - sum(counts[text] for text in kept)
        note = (
            f"Column {name!r} has {len(counts)} levels: the {len(kept)} most frequent are kept, "
            f"the rest ({rows} rows) count as no level."
        )
    return CategoryColumn(name, sorted(kept), has_missing=bool(np.any(codes < 0))), note
