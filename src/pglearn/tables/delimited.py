"""Text files with a separator (.csv, .tsv, gzipped or not) to data frames.

pandas pads a short row with missing values without a word and names the second of two equal columns `a.1`. So
the file is first streamed through the `csv` module, which checks its shape, and only then read by pandas.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pandas as pd

from pglearn.errors import InputError

SEPARATORS = (",", ";", "\t", "|")

# pandas' default list, spelled out because it can only be varied for one column by giving it for all of them.
FEATURE_BLANKS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
    *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
# In the target a class called "None" (no disease, no defect) is common and losing it would be costly.
TARGET_BLANKS = ("", "NA", "NaN", "nan", "null")


def read_delimited(path: Path, target: str | None) -> pd.DataFrame:
    """Read a .csv or .tsv file, perhaps gzipped, after checking that it is a table."""
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
            encoding="utf-8",
            compression="gzip" if _gzipped(path) else None,
            low_memory=False,  # else a column's type is guessed piece by piece and may be mixed
        )
    except pd.errors.ParserError as error:
        raise InputError(f"{path} cannot be read as a table: {error}. Look for a quote that is not closed.") from error
    if target in frame.columns:
        # pandas drops spaces before a value only, and "NA " would become a class.
        padded = [text for text in frame[target].unique() if isinstance(text, str) and text.strip() in TARGET_BLANKS]
        frame[target] = frame[target].where(~frame[target].isin(padded))
    return frame


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


def refuse_duplicates(path: Path, names: list[str]) -> None:
    """Raise when a column name occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{path} has two columns called {name!r}. Rename one of them.")
        seen.add(name)
