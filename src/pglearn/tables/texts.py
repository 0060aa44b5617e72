"""Text in a column: its distinct values, and the numbers and dates that are written in it.

White space around a text says nothing, and a text of nothing else is a missing value. A file may hold millions
of rows and few distinct texts, so everything here looks at the distinct ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]

# Not all that fromisoformat takes: weeks (2024-W18) and bare digits (20240501) are rather codes.
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].+)?")


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
