"""What is said about a table that was encoded: each note is a sentence on something decided for the user."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pglearn.tables.columns import CategoryColumn, NumberColumn, is_text
from pglearn.tables.guess import Reading

MOST_NAMES_SHOWN = 10


def notes_on(
    frame: pd.DataFrame,
    numbering: list[str],
    readings: dict[str, Reading],
    learned: dict[str, NumberColumn | CategoryColumn],
) -> list[str]:
    """What was left out, filled in or taken for something else: the columns that number the rows, and those read."""
    notes = []
    if numbering:
        they = "it only numbers" if len(numbering) == 1 else "they only number"
        notes.append(f"Left out because {they} the rows: {listed(numbering)}.")
    empty = [name for name, reading in readings.items() if reading.kind == "missing"]
    if empty:
        notes.append(f"Left out for want of a single value: {listed(empty)}.")
    constant = [c.name for c in learned.values() if isinstance(c, NumberColumn) and np.isinf(c.scale)]
    if constant:
        notes.append(f"Of one value only, and so encoded as 0: {listed(constant)}.")
    dates = [name for name, reading in readings.items() if reading.kind == "date" and is_text(frame[name])]
    if dates:
        notes.append(f"Dates written as text count as dates: {listed(dates)}.")
    filled = {name: int(np.sum(~np.isfinite(r.x))) for name, r in readings.items() if r.x is not None}
    filled = {name: count for name, count in filled.items() if count}
    if filled:
        counts = listed(list(filled), [f" ({count})" for count in filled.values()])
        notes.append(f"Missing or infinite numbers take the median of their column: {counts}.")
    return [*notes, *(reading.note for reading in readings.values() if reading.note)]


def listed(names: Sequence[str], after: Sequence[str] | None = None) -> str:
    """The names in quotes, the first ten of them, each with what is to stand after it."""
    shown = [f"{name!r}{tail}" for name, tail in zip(names, after or [""] * len(names), strict=True)]
    more = f" and {len(names) - MOST_NAMES_SHOWN} more" if len(names) > MOST_NAMES_SHOWN else ""
    return ", ".join(shown[:MOST_NAMES_SHOWN]) + more
