"""A file to a data frame, and a data frame to features and labels."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pglearn.errors import InputError
from pglearn.tables.delimited import read_delimited
from pglearn.tables.frames import array_names, listed, refuse_duplicates


def read_table(path: str | os.PathLike[str], target: str | None = None, as_text: Collection[str] = ()) -> pd.DataFrame:
    """Read a table from `.csv` or `.tsv` (either with `.gz` after it), `.parquet` or `.npz`.

    In text files (UTF-8; the separator `,` `;` tab or `|` is found from the header) a blank is a missing value. So are,
    in feature columns, `NA`, `N/A`, `null`, `NaN`, `None` and the rest of pandas' default list; in the column `target`
    only a blank, `NA`, `NaN`, `nan` and `null` mark a row to label: a class called `None` stays a class. What is really
    called `NA` (Namibia) is lost in CSV; use Parquet, where text is taken as it stands. A target is numbers if these,
    written out, are what the file holds (1 and 2, not `01` and `02`); values of the columns `as_text` stay as they are
    written. Spaces after a separator are dropped. A column without a name is called `Unnamed: 0` if it is the first.

    An `.npz` holds `X`, a 2-D array of numbers; perhaps `feature_names`, strings (else `x0`, `x1`, ...); perhaps
    labels, called `target` (default `y`), in which -1 (integers), NaN (floats) or an empty string marks a row to
    label. Nothing is unpickled.

    A file that is missing, empty, ragged, binary or damaged is an InputError.
    """
    path = Path(path)
    readers = [reader for ending, reader in _READERS.items() if path.name.lower().endswith(ending)]
    if not readers:
        raise InputError(f"{path} has an ending that is not known. Convert it to one of {', '.join(_READERS)}.")
    try:
        frame = readers[0](path, target, as_text)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}). Check the path and the file.") from error
    refuse_duplicates(path, list(frame.columns))
    return frame


def _read_parquet(path: Path, target: str | None, as_text: Collection[str]) -> pd.DataFrame:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise InputError(
            f'Reading {path} needs pyarrow, which is not installed. Run: pip install "pglearn[parquet]"'
        ) from error
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except pa.ArrowException as error:
        raise InputError(f"{path} cannot be read as a Parquet file ({error}). Write it again.") from error
    # Other tools show an index that has a name as a column, and an unnamed one only counts the rows.
    frame = frame.reset_index(level=[level for level in frame.index.names if level is not None])
    return frame.reset_index(drop=True).set_axis([str(name) for name in frame.columns], axis=1)


def _read_npz(path: Path, target: str | None, as_text: Collection[str]) -> pd.DataFrame:
    label_name = "y" if target is None else target
    try:
        # numpy leaves a file open that it cannot read
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            X = file["X"]
            names = file["feature_names"] if "feature_names" in file else array_names(X.shape[1])
            frame = pd.DataFrame(X, columns=np.asarray(names, dtype=str))
            if label_name in file:
                y = file[label_name]
                labels = y.astype(str) if y.dtype.kind == "S" else y
                # Integers have no other way to say that a row is to be labelled.
                labels = np.where(y == -1, np.array(None), y) if y.dtype.kind == "i" else labels
                frame = pd.concat([frame, pd.Series(labels, frame.index, name=label_name)], axis=1)
    except OSError:
        raise
    except Exception as error:
        raise InputError(
            f"{path} cannot be read as a table ({error}). Write it with numpy.savez: X in two dimensions, if need be "
            f"feature_names and {label_name}, arrays of numbers or of text of fixed width, for example by .astype(str)."
        ) from error
    return frame


_READERS: dict[str, Callable[[Path, str | None, Collection[str]], pd.DataFrame]] = {
    ".csv": read_delimited,
    ".csv.gz": read_delimited,
    ".tsv": read_delimited,
    ".tsv.gz": read_delimited,
    ".parquet": _read_parquet,
    ".npz": _read_npz,
}


def split_target(frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, npt.NDArray[np.object_]]:
    """The features, and the labels of the column `target`: whole numbers as int, other numbers as float, text as str
    without white space around it, truth values as bool; None in the rows to label (a missing value or blank text).

    >>> features, labels = split_target(pd.DataFrame({"x": [1, 2, 3], "y": [0, 1, None]}), "y")
    >>> labels
    array([0, 1, None], dtype=object)
    """
    if target not in frame.columns:
        names = [str(name) for name in frame.columns]
        close = [f" Did you mean {name!r}?" for name in difflib.get_close_matches(target, names, n=1)]
        raise InputError(
            f"There is no column {target!r} in the table.{''.join(close)} Its columns are {listed(names)}."
        )
    # Work on the distinct labels, which are few. Code -1 is a missing value and picks the last entry, None.
    codes, distinct = pd.factorize(frame[target])
    classes = [_plain(value) for value in distinct]
    if -1 in classes or "-1" in classes:
        raise InputError(
            f"The target {target!r} holds -1, which means unlabelled to pglearn. "
            "Leave the rows to label blank; if -1 is a class, give it another name."
        )
    return frame.drop(columns=target), np.array([*classes, None], dtype=object)[codes]


def _plain(value: Any) -> Any:
    """A Python value for a NumPy scalar, None for blank text, text for what is no usual label (a date)."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, float) and value.is_integer():
        return int(value)  # pandas reads whole numbers with a blank among them as floats
    return value if isinstance(value, bool | int | float | str) else str(value)
