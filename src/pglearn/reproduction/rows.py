"""The file of results: one row per fit, appended as it finishes, so that a run can be stopped, resumed and added to."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from pglearn.errors import InputError, OutputError
from pglearn.reproduction.methods import Budget


@dataclass(frozen=True)
class Cell:
    """One fit: a method with a budget on one split of a data set. The split is the seed, too."""

    method: str
    data: str
    percent: int
    split: int
    noise: str
    budget: Budget

    @property
    def seed(self) -> int:
        return self.split


@dataclass(frozen=True)
class Circumstances:
    """What every row says of where it comes from."""

    versions: str
    machine: str
    command: str

    @property
    def program(self) -> str:
        """pglearn's version and source."""
        return self.versions.split(",")[0]

    @classmethod
    def here(cls, command: str) -> Circumstances:
        return cls(versions(), machine(), " ".join(command.split()))


@dataclass(frozen=True)
class Row:
    """The result of a fit: accuracy on the test rows, or why there is none."""

    cell: Cell
    accuracy: float
    validation_accuracy: float
    seconds: float
    failure: str
    finished: str
    circumstances: Circumstances

    @property
    def ok(self) -> bool:
        return not self.failure


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


COLUMNS = (
    "method",
    "data",
    "percent",
    "split",
    "noise",
    "accuracy",
    "validation_accuracy",
    "seconds",
    "budget",
    "candidates",
    "unit_steps",
    "unit_seconds",
    "seed",
    "failure",
    "finished",
    *(field.name for field in fields(Circumstances)),
)


class Rows:
    """The rows of a file by cell, and those added, which the file takes in at once.

    Of two rows for one cell the later counts. A last line that a crash has torn is cut off before anything is added.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[Cell, Row] = {}
        if path.is_file():
            _cut_torn_line(path)
            for row in _read(path):
                self._rows[row.cell] = row

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def has(self, cell: Cell) -> bool:
        """Whether there is a result; a fit that failed is tried again."""
        return cell in self._rows and self._rows[cell].ok

    def add(self, row: Row) -> None:
        self._rows[row.cell] = row
        try:
            with self.path.open("ab") as file:
                lines = [_line(COLUMNS)] if file.tell() == 0 else []
                file.write("".join([*lines, _line(_texts(row))]).encode())
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
        if reader.fieldnames is not None and tuple(reader.fieldnames) != COLUMNS:
            raise InputError(f"{path} is no file of rows of this version of `pglearn reproduce`: name another with -o.")
        try:
            return [_row(line) for line in reader]
        except (TypeError, ValueError, KeyError) as error:
            raise InputError(
                f"Line {reader.line_num} of {path} is no row of `pglearn reproduce` ({error}): take it out."
            ) from error


def _row(line: dict[str, str]) -> Row:
    if None in line or None in line.values():
        raise ValueError("it has not as many cells as the head")
    seconds = float(line["unit_seconds"]) if line["unit_seconds"] else None
    budget = Budget(int(line["budget"]), int(line["candidates"]), int(line["unit_steps"]), seconds)
    cell = Cell(line["method"], line["data"], int(line["percent"]), int(line["split"]), line["noise"], budget)
    right, validation, took = (float(line[name] or "nan") for name in ("accuracy", "validation_accuracy", "seconds"))
    circumstances = Circumstances(*(line[field.name] for field in fields(Circumstances)))
    return Row(cell, right, validation, took, line["failure"], line["finished"], circumstances)


def _texts(row: Row) -> list[str]:
    cell, budget = row.cell, row.cell.budget
    unit_seconds = "" if budget.unit_seconds is None else repr(budget.unit_seconds)
    where = [cell.method, cell.data, str(cell.percent), str(cell.split), cell.noise]
    figures = ["" if np.isnan(x) else f"{x:.6f}" for x in (row.accuracy, row.validation_accuracy, row.seconds)]
    how = [str(budget.units), str(budget.candidates), str(budget.unit_steps), unit_seconds, str(cell.seed)]
    told = [" ".join(row.failure.split()), row.finished]
    return [*where, *figures, *how, *told, *(getattr(row.circumstances, field.name) for field in fields(Circumstances))]


def _line(cells: Iterable[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def versions() -> str:
    import scipy
    import sklearn

    import pglearn

    return (
        f"pglearn {pglearn.__version__} {source()}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    )


def source() -> str:
    """A short checksum of pglearn's own source, because what has one version number may differ between two days."""
    import pglearn

    paths = sorted(Path(pglearn.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:8]


def machine() -> str:
    """Kind of machine, processor and cores, without a name."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError):  # only Linux tells it this way
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), processor)
    return f"{platform.system()} {platform.machine()}, {processor}, {os.cpu_count()} cores"
