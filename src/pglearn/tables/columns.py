"""One column of a table to numbers: what fit takes it for and learns from it, and how it is encoded afterwards.

A number x becomes (x − center) / scale; a missing one (also ±inf) first takes the median. A date is a number of
seconds, whether it came as a date or as ISO text. A category becomes one 0/1 feature per level. What fit learns is
frozen, small, and made of plain values, so that it can be stored. What fit guesses where the type of a column does not
say it (row numbers, dates, numbers among stray words) is said in a note, and transform keeps to it.

White space around a text says nothing, and a text of nothing else is a missing value. A file may hold millions of rows
and few distinct texts, so all that is asked of texts is asked of the distinct ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype, is_float_dtype, is_integer_dtype

from pglearn.errors import InputError

Floats = npt.NDArray[np.float64]
Kind = Literal["number", "date", "category", "missing"]

FREE_TEXT_LEVELS = 50  # more levels, and more than half of the values distinct: a name or a comment, not a category
MIN_ROWS_TO_COUNT = 20  # fewer may well be 1, 2, 3 by chance
NAMELESS_FIRST = "Unnamed: 0"  # for pandas and `read_table` the first column without a name: an index that was written
MAX_STRAY_VALUES = 0.2  # of the distinct values of text that is meant as numbers: the share that are none
MAX_STRAY_ROWS = 0.05  # and the share of the rows that these may fill, which are given up then

# Not all that fromisoformat takes: weeks (2024-W18) and bare digits (20240501) are rather codes.
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].+)?")
_WHOLE_AS_FLOAT = re.compile(r"\A(-?[0-9]+)\.0\Z")
_INFERRED: dict[str, Kind] = {
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal", "boolean"), "number"),
    **dict.fromkeys(("timedelta64", "timedelta"), "number"),
    **dict.fromkeys(("datetime64", "datetime", "date"), "date"),
}


def coded(column: pd.Series[Any]) -> tuple[npt.NDArray[np.intp], list[str]]:
    """For each row an index into the distinct texts, in order of appearance; -1 where missing."""
    try:
        codes, distinct = pd.factorize(column)
    except TypeError:  # values that cannot be hashed, such as lists
        codes, distinct = pd.factorize(column.map(_text, na_action="ignore"))
    written = [_text(value) or None for value in np.asarray(distinct, dtype=object)]
    merged, texts = pd.factorize(np.array(written, dtype=object))
    # The last entry answers for code -1, a missing value.
    return np.append(merged, -1)[codes], list(texts)


def _text(value: Any) -> str:
    # Levels 1, 2, x are read as text, 1 and 2 alone as integers, or with a blank as floats: one name for all.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def numbers_in(texts: Sequence[str]) -> Floats:
    """The number that each text is, NaN where it is none."""
    x: Floats = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(dtype=np.float64)
    return x


def dates_in(texts: Sequence[str]) -> Floats:
    """The ISO date or date-time that each text is, in seconds since 1970; NaN where it is none.

    Without an offset it is taken as UTC, as datetime64 is. Not pandas.to_datetime, as pandas 2 ends in 2262 and
    an open end is often written 9999-12-31.

    >>> dates_in(["1970-01-02", "1970-01-01 01:00", "1970-01-01T01:00:00.5+01:00", "2 January"])
    array([8.64e+04, 3.60e+03, 5.00e-01,      nan])
    """
    return np.array([_seconds(text) for text in texts], dtype=np.float64)


def _seconds(text: str) -> float:
    if not _ISO_DATE.fullmatch(text):
        return np.nan
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:  # 30 February
        return np.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


READERS = {"number": numbers_in, "date": dates_in}


@dataclass(frozen=True)
class Column:
    """How a column is encoded: one of numbers (of durations, seconds) or dates (seconds since 1970), or of categories.

    A category has one 0/1 feature per level, perhaps a last one for missing values. These are not standardised: rows
    with different levels then differ by 2 in squared distance, which is the mean squared difference of a standardised
    number between two rows, so both kinds start out with equal say.
    """

    name: str
    kind: Kind
    median: float = 0.0
    center: float = 0.0
    scale: float = 1.0  # infinite for a constant column, which makes it 0 wherever it is encoded
    has_missing: bool = False  # whether a category has a feature for missing values
    words: Sequence[str] = ()  # levels of a category; of numbers, texts that count as missing, as they did in fit

    @property
    def feature_names(self) -> list[str]:
        if self.kind != "category":
            return [self.name]
        return [f"{self.name}={level}" for level in (*self.words, *["(missing)"] * self.has_missing)]

    def encode(self, column: pd.Series[Any]) -> Floats:
        if self.kind == "category":
            return self._levels(column)
        kind, x = typed(column)
        if kind == "category":  # one stray word makes a whole column text: those that are numbers still count as such
            codes, texts = coded(column)
            numbers = READERS[self.kind](texts)
            bad = [text for text, number in zip(texts, numbers, strict=True) if np.isnan(number)]
            if bad := [text for text in bad if text not in self.words]:
                raise InputError(
                    f"Column {self.name!r} held a {self.kind} in fit and now holds {bad[0]!r}. Correct that value (a "
                    "date is written as 2024-05-31), or leave it blank to have it filled in."
                )
            x = np.append(numbers, np.nan)[codes]
        elif kind != self.kind and np.isfinite(x).any():
            raise InputError(f"Column {self.name!r} held a {self.kind} in fit and now holds a {kind}. Convert it.")
        x = np.where(np.isfinite(x), x, self.median)
        return ((x - self.center) / self.scale)[:, None]

    def _levels(self, column: pd.Series[Any]) -> Floats:
        codes, texts = coded(column)
        place = {level: j for j, level in enumerate(self.words)}
        # A level 1 is 1.0 to pandas where a blank is among whole numbers.
        # The last entry answers for code -1, a missing value; -1 here means no level at all.
        known = [place.get(text, place.get(_WHOLE_AS_FLOAT.sub(r"\1", text), -1)) for text in texts]
        feature = np.array([*known, len(self.words) if self.has_missing else -1])
        hot: npt.NDArray[np.bool_] = feature[codes, None] == np.arange(len(self.feature_names))
        return hot.astype(np.float64)


@dataclass(frozen=True)
class Reading:
    """A column as fit takes it."""

    name: str
    kind: Kind
    x: Floats | None = None  # for numbers and dates
    blanks: tuple[str, ...] = ()  # texts among numbers that count as missing
    category: Column | None = None  # for categories, but for free text
    note: str = ""


def typed(column: pd.Series[Any]) -> tuple[Kind, Floats]:
    """What a column holds by its type, for Python objects by what the values are; and its numbers, NaN where missing.

    A "category" may be text of any kind.
    """
    inferred = infer_dtype(column, skipna=True)
    if inferred == "complex":
        raise InputError(f"Complex data not supported: column {column.name!r}. Give real and imaginary parts.")
    kind = _INFERRED.get(inferred, "category")
    if kind == "date":
        moments = pd.to_datetime(column, utc=True).dt.tz_localize(None).to_numpy()
        return kind, (moments - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    if inferred.startswith("timedelta"):
        return kind, pd.to_timedelta(column).to_numpy() / np.timedelta64(1, "s")
    if kind == "number":
        return kind, column.to_numpy(dtype=np.float64, na_value=np.nan)
    return kind, np.full(len(column), np.nan)


def numbers_the_rows(column: pd.Series[Any]) -> bool:
    """Whether the column only numbers the rows: whole numbers, one more (or one less) in each row than before.

    The nameless first column that pandas writes counts in any order, and however few rows.
    """
    if not (is_integer_dtype(column.dtype) or is_float_dtype(column.dtype)):
        return False
    x = typed(column)[1]
    if column.name == NAMELESS_FIRST:
        x = np.sort(x)
    elif len(x) < MIN_ROWS_TO_COUNT:
        return False
    steps = np.diff(x)
    return bool((steps == 1).all() or (steps == -1).all())


def reading_of(column: pd.Series[Any], max_levels: int) -> Reading:
    """What a column holds: numbers, or the levels of a category."""
    name = str(column.name)
    kind, x = typed(column)
    if kind != "category":
        return Reading(name, kind, x) if np.isfinite(x).any() else Reading(name, "missing")
    codes, texts = coded(column)
    if not texts:
        return Reading(name, "missing")
    if not isinstance(column.dtype, pd.CategoricalDtype):
        dates, numbers = dates_in(texts), numbers_in(texts)
        if np.isfinite(dates).all():
            return Reading(name, "date", np.append(dates, np.nan)[codes], note=f"Text of column {name!r} is dates.")
        stray = ~np.isfinite(numbers)
        rows = int(np.append(stray, False)[codes].sum())
        if 0 < stray.sum() <= MAX_STRAY_VALUES * len(texts) and rows <= MAX_STRAY_ROWS * len(column):
            strays = tuple(text for text, is_stray in zip(texts, stray, strict=True) if is_stray)
            missing = f"what is none counts as missing, in {rows} row{'s' * (rows > 1)} (first {strays[0]!r})"
            note = f"Column {name!r} is taken as numbers: {missing}. Correct what should be a number."
            return Reading(name, "number", np.append(numbers, np.nan)[codes], strays, note=note)
        if stray.any() and np.isfinite(numbers_in([text.replace(",", "") for text in texts])).all():
            reading = _category(name, codes, texts, max_levels)
            hint = f"Numbers of column {name!r} have commas, and count as text: write them with decimal points."
            return replace(reading, note=f"{reading.note} {hint}".strip())
    return _category(name, codes, texts, max_levels)


def number_column(reading: Reading, standardise: bool) -> Column:
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
    return Column(reading.name, reading.kind, median, center, scale, words=reading.blanks)


def _category(name: str, codes: npt.NDArray[np.intp], texts: list[str], max_levels: int) -> Reading:
    """The levels of a category, or free text."""
    counts = dict(zip(texts, np.bincount(codes[codes >= 0]).tolist(), strict=True))
    present = sum(counts.values())
    note = ""
    if len(counts) > max(FREE_TEXT_LEVELS, present / 2):
        words = f"{len(counts)} different values in {present} rows, more a name than a category"
        return Reading(name, "category", note=f"Column {name!r} is left out: {words}.")
    kept = sorted(counts, key=lambda text: (-counts[text], text))[:max_levels]
    if len(kept) < len(counts):
        rows = present - sum(counts[text] for text in kept)
        note = (
            f"Column {name!r} has {len(counts)} levels: the {len(kept)} most frequent are kept, "
            f"the rest ({rows} rows) count as no level."
        )
    category = Column(name, "category", has_missing=bool(np.any(codes < 0)), words=sorted(kept))
    return Reading(name, "category", category=category, note=note)
