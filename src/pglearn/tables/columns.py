"""One column of a table to numbers: what is learned from it in fit, and how it is encoded afterwards.

A number x becomes (x − center) / scale; a missing one (also ±inf) first takes the median. A date is a number of
seconds, whether it came as a date or as ISO text. A category becomes one 0/1 feature per level. Both are frozen,
small, and made of plain values, so that they can be stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype

from pglearn.errors import InputError
from pglearn.tables.texts import Floats, coded, dates_in, numbers_in, without_decimals

Kind = Literal["number", "date", "duration", "category", "missing"]

NUMERIC: tuple[Kind, ...] = ("number", "date", "duration")

# More levels than this, and more than half of the values distinct: a name or a comment, not a category.
MOST_LEVELS_OF_FREE_TEXT = 50

_INFERRED: dict[str, Kind] = {
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal", "boolean"), "number"),
    **dict.fromkeys(("datetime64", "datetime", "date"), "date"),
    **dict.fromkeys(("timedelta64", "timedelta"), "duration"),
    "empty": "missing",
}


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
        x = self._numbers(column)
        x = np.where(np.isfinite(x), x, self.median)
        return ((x - self.center) / self.scale)[:, None]

    def _numbers(self, column: pd.Series[Any]) -> Floats:
        kind = kind_of(column)
        if kind in (self.kind, "missing"):
            return numbers(column, kind)
        if kind != "category":
            raise InputError(f"Column {self.name!r} held a {self.kind} in fit and now holds a {kind}. Convert it.")
        return self._numbers_in_text(column)

    def _numbers_in_text(self, column: pd.Series[Any]) -> Floats:
        # One stray word makes a whole column text: the words that are numbers still count as numbers.
        codes, texts = coded(column)
        x = _in_texts(texts, self.kind)
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
        # The last entry answers for code -1, a missing value; -1 here means no level at all.
        known = [place.get(text, place.get(without_decimals(text), -1)) for text in texts]
        feature = np.array([*known, len(self.levels) if self.has_missing else -1])
        hot: npt.NDArray[np.bool_] = feature[codes, None] == np.arange(len(self.feature_names))
        return hot.astype(np.float64)


def kind_of(column: pd.Series[Any]) -> Kind:
    """What a column holds: "missing" if it has no value, for Python objects what the values are."""
    kind = _declared_kind(column)
    if kind == "category":
        empty = not coded(column)[1]
    elif kind == "number":
        empty = not np.isfinite(numbers(column, kind)).any()
    else:
        empty = bool(column.isna().all())
    return "missing" if empty else kind


def _declared_kind(column: pd.Series[Any]) -> Kind:
    inferred = infer_dtype(column, skipna=True)
    if inferred == "complex":
        raise InputError(f"Complex data not supported: column {column.name!r}. Give real and imaginary parts.")
    return _INFERRED.get(inferred, "category")


def is_text(column: pd.Series[Any]) -> bool:
    """Whether the column holds text that was not declared to be categories."""
    return not isinstance(column.dtype, pd.CategoricalDtype) and _declared_kind(column) == "category"


def numbers(column: pd.Series[Any], kind: Kind) -> Floats:
    """A column of numbers, dates or durations as floats, NaN where missing."""
    if kind == "missing":
        return np.full(len(column), np.nan)
    if kind == "date":
        moments = pd.to_datetime(column, utc=True).dt.tz_localize(None).to_numpy()
        return (moments - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    if kind == "duration":
        return pd.to_timedelta(column).to_numpy() / np.timedelta64(1, "s")
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _in_texts(texts: list[str], kind: Kind) -> Floats:
    if kind == "number":
        return numbers_in(texts)
    return dates_in(texts) if kind == "date" else np.full(len(texts), np.nan)


def number_column(name: str, kind: Kind, x: Floats, standardise: bool) -> NumberColumn:
    """Learn the median, center and scale of a column with at least one finite number."""
    present = np.isfinite(x)
    median = float(np.median(x[present]))
    x = np.where(present, x, median)
    if x.min() == x.max():
        return NumberColumn(name, kind, median, center=median, scale=np.inf)
    if not standardise:
        return NumberColumn(name, kind, median, center=0.0, scale=1.0)
    # Squares of numbers beyond 1e154 overflow, so the spread is taken in units of the largest one.
    unit = np.abs(x).max()
    spread = float(unit * np.std(x / unit))
    return NumberColumn(name, kind, median, center=float(unit * np.mean(x / unit)), scale=spread or np.inf)


def category_column(name: str, column: pd.Series[Any], max_levels: int) -> tuple[CategoryColumn | None, str]:
    """Learn the levels of a column that has values, None if it is free text; and say what is cut."""
    codes, texts = coded(column)
    counts = dict(zip(texts, np.bincount(codes[codes >= 0], minlength=len(texts)).tolist(), strict=True))
    present = sum(counts.values())
    if len(counts) > max(MOST_LEVELS_OF_FREE_TEXT, present / 2):
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
