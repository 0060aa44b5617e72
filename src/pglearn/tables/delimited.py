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
from pathlib import Path
from typing import IO, Any

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
        _refuse_binary(path)
        separator = _separator(path)
        header = _checked_header(path, separator)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InputError(
            f"{path} is not UTF-8 text (it holds the byte 0x{byte:02x}). "
            "Give a table, saved as CSV with UTF-8 encoding."
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a complete gzip file ({error}). Make or download it again.") from error
    try:
        frame = pd.read_csv(
            path,
            sep=separator,
            names=header,
            header=0,
            index_col=False,
            skipinitialspace=True,
            keep_default_na=False,
            na_values={name: list(TARGET_BLANKS if name == target else FEATURE_BLANKS) for name in header},
            dtype={name: str for name in header if name == target or name in as_text},
            encoding="utf-8",
            compression="gzip" if _gzipped(path) else None,
            low_memory=False,  # else a column's type is guessed piece by piece and may be mixed
        )
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


def _gzipped(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def _open(path: Path) -> IO[str]:
    if _gzipped(path):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _refuse_binary(path: Path) -> None:
    with gzip.open(path) if _gzipped(path) else path.open("rb") as file:
        if b"\0" in file.read(4096):
            raise InputError(
                f"{path} is not text: it holds binary data. Give a table, saved as CSV with UTF-8 encoding."
            )


def _records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each record, blank lines skipped as pandas skips them."""
    with _open(path) as file:
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


def _separator(path: Path) -> str:
    if path.name.lower().removesuffix(".gz").endswith(".tsv"):
        return "\t"
    return max(SEPARATORS, key=lambda separator: len(_header(path, separator)))


def _header(path: Path, separator: str) -> list[str]:
    for _, record in _records(path, separator):
        return record
    raise InputError(f"{path} is empty. Give a table with a line of column names and one line per row.")


def _checked_header(path: Path, separator: str) -> list[str]:
    """The column names, after a look at every row: each must have as many fields as there are names."""
    records = _records(path, separator)
    _, header = next(records)
    names = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(header)]
    refuse_duplicates(path, names)
    rows = 0
    for line, record in records:
        if len(record) != len(names):
            raise InputError(
                f"{path} is ragged: line {line} has {_fields(len(record))}, the header has {len(names)}. "
                "Correct that line; a text that holds the separator must be quoted."
            )
        rows += 1
    if rows == 0:
        raise InputError(f"{path} has column names but no rows. Give a table with at least one row.")
    return names


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"
