"""Text files with a separator (.csv, .tsv, gzipped or not) to data frames.

pandas pads a short row with missing values without a word and names the second of two equal columns `a.1`. So
the file is first streamed through the `csv` module, which checks its shape, and only then read by pandas. And pandas
takes `01` for the number 1 where a file has no other text in that column: what names a class or a level is read as
text.
"""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from collections.abc import Collection, Iterator
from io import BufferedReader, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pglearn.errors import InputError
from pglearn.tables.frames import refuse_duplicates
from pglearn.tables.texts import coded, numbers_in

SEPARATORS = (",", ";", "\t", "|")

# pandas' default list, spelled out because it can only be varied for one column by giving it for all of them.
FEATURE_BLANKS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
    *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
# In the target a class called "None" (no disease, no defect) is common and losing it would be costly.
TARGET_BLANKS = ("", "NA", "NaN", "nan", "null")


def read_delimited(path: Path, target: str | None, as_text: Collection[str] = ()) -> pd.DataFrame:
    """Read a .csv or .tsv file, perhaps gzipped, after checking that it is a table.

    Values of the columns `as_text` stay as they are written.
    """
    try:
        with _open(path) as file:
            if b"\0" in file.read(4096):
                raise InputError(
                    f"{path} is not text: it holds binary data. Give a table, saved as CSV with UTF-8 encoding."
                )
        separator, names = _checked_header(path)
        frame = pd.read_csv(
            path,
            sep=separator,
            names=names,
            header=0,
            index_col=False,
            skipinitialspace=True,
            keep_default_na=False,
            na_values={name: list(TARGET_BLANKS if name == target else FEATURE_BLANKS) for name in names},
            dtype={name: str for name in names if name == target or name in as_text},
            low_memory=False,  # else a column's type is guessed piece by piece and may be mixed
        )
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InputError(
            f"{path} is not UTF-8 text (it holds the byte 0x{byte:02x}). "
            "Give a table, saved as CSV with UTF-8 encoding."
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a complete gzip file ({error}). Make or download it again.") from error
    except pd.errors.ParserError as error:
        raise InputError(f"{path} cannot be read as a table: {error}. Look for a quote that is not closed.") from error
    if target in frame.columns:
        codes, texts = coded(frame[target])
        # The last entry answers for code -1, a missing value.
        labels = np.array([*_labels(texts), np.nan], dtype=object)
        frame[target] = pd.Series(labels[codes], dtype=object)
    return frame


def _labels(texts: list[str]) -> list[Any]:
    """What the texts of a target say: numbers or truth values if none of them loses anything by it, else text.

    `01` would come out as 1, and become one class with it. Fractions are no classes: where there are any, these are
    quantities, however they are written. A -1 among names is the number, which no class may be.
    """
    present = [text for text in texts if text not in TARGET_BLANKS]  # pandas drops spaces before "NA ", not after it
    numbers, quantities = [_number(text) for text in present], numbers_in(present).tolist()
    values: list[Any] = [-1 if text == "-1" else text for text in present]
    if set(present) <= {"True", "False"}:
        values = [text == "True" for text in present]
    elif None not in numbers:
        values = numbers
    elif not any(map(math.isnan, quantities)) and not all(x.is_integer() for x in quantities):
        values = quantities
    meaning = dict(zip(present, values, strict=True))
    return [meaning.get(text) for text in texts]


def _number(text: str) -> int | float | None:
    """The number of 64 bits that is written like this; None where there is none, or it is written otherwise."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if str(number) == text and abs(number) < 2**63:
            return number
    return None


def _open(path: Path) -> gzip.GzipFile | BufferedReader:
    return gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb")


def _records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each record, blank lines skipped as pandas skips them."""
    with TextIOWrapper(_open(path), encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=separator, skipinitialspace=True)
        line = 1
        try:
            for record in reader:
                if len(record) > 1 or "".join(record).strip():
                    yield line, record
                line = reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f"{path} cannot be read from line {line} on: {error}. Look for a quote that is not closed."
            ) from error


def _checked_header(path: Path) -> tuple[str, list[str]]:
    """The separator, by which the header has most names, and these, after a look at the fields of every row."""
    is_tsv = path.name.lower().removesuffix(".gz").endswith(".tsv")
    headers = {separator: next(_records(path, separator), (1, [])) for separator in ("\t" if is_tsv else SEPARATORS)}
    separator = max(headers, key=lambda separator: len(headers[separator][1]))
    names = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(headers[separator][1])]
    if not names:
        raise InputError(f"{path} is empty. Give a table with a line of column names and one line per row.")
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
        raise InputError(f"{path} has column names but no rows. Give a table with at least one row.")
    return separator, names
