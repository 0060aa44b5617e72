"""Text files with a separator (.csv, .tsv, gzipped or not) to data frames.

pandas pads a short row with missing values without a word and names the second of two equal columns `a.1`. So
the file is first streamed through the `csv` module, which checks its shape, and only then read by pandas. And pandas
takes `01` for the number 1 where a file has no other text in that column: what names a class or a level is read as
text.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from pglearn.errors import InputError
from pglearn.tables.frames import refuse_duplicates

SEPARATORS = (",", ";", "\t", "|")

# In the target a class called "None" (no disease, no defect) is common and losing it would be costly.
TARGET_BLANKS = ("", "NA", "NaN", "nan", "null")


def read_delimited(path: Path, target: str | None, as_text: Collection[str] = ()) -> pd.DataFrame:
    """Read a .csv or .tsv file, perhaps gzipped, after checking that it is a table.

    Values of the columns `as_text` stay as they are written.
    """
    try:
        separator, names = _checked_header(path)
        options: Any = {"sep": separator, "names": names, "header": 0, "index_col": False, "skipinitialspace": True}
        kept = {name: str for name in names if name in as_text}
        # In one piece, else a column's type is guessed piece by piece and may be mixed.
        frame: pd.DataFrame = pd.read_csv(path, dtype=kept, low_memory=False, **options)
        if target in names:  # again, for pandas has other blanks for it only if it is given those of all columns
            texts = pd.read_csv(path, dtype=str, keep_default_na=False, usecols=[target], **options)
            frame[target] = _labels(texts[target])
        return frame
    except (UnicodeDecodeError, csv.Error, pd.errors.ParserError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} cannot be read as a table ({error}). Give all of the file, with UTF-8 encoding, and look "
            "for a quote that is not closed."
        ) from error


def _labels(column: pd.Series[Any]) -> pd.Series[Any]:
    """A target in text: numbers if written out they are what the file holds, else text.

    `01` would come out as 1, and become one class with it. Fractions are no classes: where there are any, these are
    quantities, however they are written.
    """
    texts = column.astype(object).str.strip()  # pandas drops spaces before "NA ", not after it
    texts = texts[~texts.isin(TARGET_BLANKS)]
    numbers = pd.to_numeric(texts, errors="coerce")
    if numbers.notna().all() and ((numbers.astype(str) == texts).all() or (numbers % 1 > 0).any()):
        texts = numbers.astype(object)
    return texts.reindex(column.index)


def _records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each record, blank lines skipped as pandas skips them."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=separator, skipinitialspace=True)
        for record in reader:
            if len(record) > 1 or "".join(record).strip():
                yield reader.line_num, record


def _checked_header(path: Path) -> tuple[str, list[str]]:
    """The separator, by which the header has most names, and these, after a look at the fields of every row."""
    is_tsv = path.name.lower().removesuffix(".gz").endswith(".tsv")
    headers = {separator: next(_records(path, separator), (1, [])) for separator in ("\t" if is_tsv else SEPARATORS)}
    separator = max(headers, key=lambda separator: len(headers[separator][1]))
    names = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(headers[separator][1])]
    refuse_duplicates(path, names)
    line = 0
    for line, record in islice(_records(path, separator), 1, None):
        if len(record) != len(names):
            fields = f"{len(record)} field{'s' if len(record) > 1 else ''}"
            raise InputError(
                f"{path} is ragged: line {line} has {fields}, the header has {len(names)}. "
                "Correct that line; a text that holds the separator must be quoted."
            )
    if line == 0:
        raise InputError(f"{path} is empty. Give a table with a line of column names and one line per row.")
    return separator, names
