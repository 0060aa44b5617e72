"""The file of results: one row per fit, appended as it finishes, so that a run can be stopped, resumed and added to."""

from __future__ import annotations

import csv
import hashlib
import os
import platform
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pglearn.errors import InputError, OutputError
from pglearn.reproduction.experiments import Cell
from pglearn.reproduction.methods import Budget

Row: TypeAlias = dict[str, Any]
"""The columns of a fit by name."""


def _number(text: str) -> float:
    return float(text or "nan")


def _number_or_none(text: str) -> float | None:
    return float(text) if text else None


COLUMNS: dict[str, Callable[[str], Any]] = {
    "method": str,
    "data": str,
    "percent": int,
    "split": int,
    "noise": str,
    "accuracy": _number,
    "validation_accuracy": _number,
    "seconds": _number,
    "budget": int,
    "candidates": int,
    "unit_steps": int,
    "unit_seconds": _number_or_none,
    "seed": int,
    "failure": str,
    "finished": str,
    "versions": str,
    "machine": str,
    "command": str,
}
"""What a row has, and how its text is read."""
FIGURES = ("accuracy", "validation_accuracy", "seconds")


def row_of(cell: Cell, figures: dict[str, float], failure: str, circumstances: dict[str, str]) -> Row:
    """The result of a fit: accuracy on the test rows, or why there is none, and where it comes from."""
    budget = cell.budget
    return {
        "method": cell.method,
        "data": cell.data,
        "percent": cell.percent,
        "split": cell.split,
        "noise": cell.noise,
        **figures,
        "budget": budget.units,
        "candidates": budget.candidates,
        "unit_steps": budget.unit_steps,
        "unit_seconds": budget.unit_seconds,
        "seed": cell.seed,
        "failure": " ".join(failure.split()),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        **circumstances,
    }


def cell_of(row: Row) -> Cell:
    budget = Budget(row["budget"], row["candidates"], row["unit_steps"], row["unit_seconds"])
    return Cell(row["method"], row["data"], row["percent"], row["split"], row["noise"], budget)


class Rows:
    """The rows of a file by cell, and those added, which the file takes in at once.

    Of two rows for one cell the later counts. A last line that a crash has torn is cut off before anything is added.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[Cell, Row] = {}
        if path.is_file():
            _cut_torn_line(path)
            self._rows = {cell_of(row): row for row in _read(path)}

    def __len__(self) -> int:
        return len(self._rows)

    def has(self, cell: Cell) -> bool:
        """Whether there is a result; a fit that failed is tried again."""
        return cell in self._rows and not self._rows[cell]["failure"]

    def frame(self, cells: Iterable[Cell]) -> pd.DataFrame:
        """The results that there are of these cells, in their order."""
        return pd.DataFrame([self._rows[cell] for cell in cells if self.has(cell)], columns=list(COLUMNS))

    def add(self, row: Row) -> None:
        self._rows[cell_of(row)] = row
        text = row | {name: "" if np.isnan(row[name]) else f"{row[name]:.6f}" for name in FIGURES}
        try:
            with self.path.open("a", newline="", encoding="utf-8") as file:
                lines = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                if file.tell() == 0:
                    lines.writeheader()
                lines.writerow(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OutputError(
                f"{self.path} cannot be added to ({error.strerror}): make room and run the same command again; "
                "it goes on from the rows that are there."
            ) from error


def _cut_torn_line(path: Path) -> None:
    """A row is whole if its line ends; what comes after the last end was being written when the run died."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


def _read(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as lines:
        reader = csv.DictReader(lines)
        if reader.fieldnames is not None and list(reader.fieldnames) != list(COLUMNS):
            raise InputError(f"{path} is no file of rows of this version of `pglearn reproduce`: name another with -o.")
        try:
            return [_row(line) for line in reader]
        except ValueError as error:
            raise InputError(
                f"Line {reader.line_num} of {path} is no row of `pglearn reproduce` ({error}): take it out."
            ) from error


def _row(line: dict[str, str]) -> Row:
    if None in line or None in line.values():
        raise ValueError("it has not as many cells as the head")
    return {name: read(line[name]) for name, read in COLUMNS.items()}


def circumstances(command: str) -> dict[str, str]:
    """What every row says of where it comes from."""
    return {"versions": _versions(), "machine": _machine(), "command": " ".join(command.split())}


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


def _machine() -> str:
    """Kind of machine, processor and cores, without a name."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError):  # only Linux tells it this way
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), processor)
    return f"{platform.system()} {platform.machine()}, {processor}, {os.cpu_count()} cores"
