"""The file of results: one row per fit, appended as it finishes, so that a run can be stopped, resumed and added to."""

from __future__ import annotations

import csv
import hashlib
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pglearn.errors import InputError, OutputError
from pglearn.paper.experiments import Cell
from pglearn.paper.methods import Budget
from pglearn.paper.run import Outcome

Row: TypeAlias = dict[str, Any]
"""The columns of a fit by name."""

COLUMNS: dict[str, type] = {
    "method": str,
    "data": str,
    "percent": int,
    "split": int,
    "noise": str,
    "accuracy": float,
    "validation_accuracy": float,
    "seconds": float,
    "budget": int,
    "candidates": int,
    "unit_steps": int,
    "unit_seconds": float,
    "seed": int,
    "failure": str,
    "finished": str,
    "versions": str,
    "machine": str,
    "command": str,
}
"""What a row has; a number that is not known is left blank."""


def row_of(outcome: Outcome, circumstances: dict[str, str]) -> Row:
    """The result of a fit: accuracy on the test rows, or why there is none, and where it comes from."""
    cell, budget = outcome.cell, outcome.cell.budget
    return {
        "method": cell.method,
        "data": cell.data,
        "percent": cell.percent,
        "split": cell.split,
        "noise": cell.noise,
        "accuracy": outcome.accuracy,
        "validation_accuracy": outcome.validation_accuracy,
        "seconds": outcome.seconds,
        "budget": budget.units,
        "candidates": budget.candidates,
        "unit_steps": budget.unit_steps,
        "unit_seconds": np.nan if budget.unit_seconds is None else budget.unit_seconds,
        "seed": cell.seed,
        "failure": " ".join(outcome.failure.split()),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        **circumstances,
    }


def _cell_of(row: Row) -> Cell:
    unit_seconds = None if np.isnan(row["unit_seconds"]) else row["unit_seconds"]
    budget = Budget(row["budget"], row["candidates"], row["unit_steps"], unit_seconds)
    return Cell(row["method"], row["data"], row["percent"], row["split"], row["noise"], budget)


class Rows:
    """The rows of a file by cell, and those added, which the file takes in at once.

    Of two rows for one cell the later counts. A last line that a crash has torn is cut off before anything is added.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[Cell, Row] = {}
        if path.is_file() and _cut_torn_line(path):
            self._rows = {_cell_of(row): row for row in _read(path)}

    def __len__(self) -> int:
        return len(self._rows)

    def has(self, cell: Cell) -> bool:
        """Whether there is a result; a fit that failed is tried again."""
        return cell in self._rows and not self._rows[cell]["failure"]

    def frame(self, cells: Iterable[Cell]) -> pd.DataFrame:
        """The results that there are of these cells, in their order."""
        return _frame([self._rows[cell] for cell in cells if self.has(cell)])

    def add(self, row: Row) -> None:
        self._rows[_cell_of(row)] = row
        try:
            with self.path.open("a", newline="", encoding="utf-8") as file:
                _frame([row]).to_csv(file, header=file.tell() == 0, index=False, lineterminator="\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OutputError(
                f"{self.path} cannot be added to ({error.strerror}): make room and run the same command again; "
                "it goes on from the rows that are there."
            ) from error


def _frame(rows: list[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _cut_torn_line(path: Path) -> int:
    """What comes after the end of the last whole line was being written when the run died. Returns what is left."""
    whole = path.read_bytes().rfind(b"\n") + 1
    if whole < path.stat().st_size:
        os.truncate(path, whole)
    return whole


def _read(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.reader(file)
        try:
            if (head := next(lines)) != list(COLUMNS):
                raise ValueError(f"its columns are {', '.join(head)}")
            return [_row(line) for line in lines]
        except ValueError as error:
            raise InputError(
                f"Line {lines.line_num} of {path} is no row of this version of `pglearn reproduce` ({error}): "
                "take it out, or name another folder with -o."
            ) from error


def _row(line: list[str]) -> Row:
    cells = zip(COLUMNS.items(), line, strict=True)
    return {name: kind(text or "nan") if kind is float else kind(text) for (name, kind), text in cells}


def circumstances(command: str) -> dict[str, str]:
    """What every row says of where it comes from."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return {"versions": _versions(), "machine": machine, "command": " ".join(command.split())}


def _versions() -> str:
    import scipy
    import sklearn

    import pglearn

    # A short checksum of pglearn's own source, because what has one version number may differ between two days.
    paths = sorted(Path(pglearn.__file__).parent.rglob("*.py"))
    source = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:8]
    return (
        f"pglearn {pglearn.__version__} {source}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    )
