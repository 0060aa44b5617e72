"""Results on disk, one CSV line each, so that a run can be stopped, taken up again and added to."""

from __future__ import annotations

import csv
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Cell:
    """One fit: a method on one draw of a data set."""

    data: str
    percent: int
    noise: str
    split: int
    method: str


@dataclass(frozen=True)
class Score:
    """On the test rows: accuracy and its mean over classes; and the seconds of the fit."""

    accuracy: float
    balanced: float
    seconds: float


class Record:
    """The scores by cell: those of the file, where one is given, and those added, which it takes in at once.

    Of two lines for one cell the later counts. Methods in `again` are not read; "pglearn" stands for all its settings.
    """

    def __init__(self, path: Path | None, again: Collection[str] = ()) -> None:
        self.path = path
        self.scores: dict[Cell, Score] = {}
        if path and path.is_file():
            with path.open(newline="") as lines:
                for line in csv.DictReader(lines):
                    if line["method"].split()[0] not in again:
                        self.scores[_cell(line)] = _score(line)

    def add(self, cell: Cell, score: Score) -> None:
        self.scores[cell] = score
        if not self.path:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="") as lines:
            writer = csv.DictWriter(lines, [field.name for field in (*fields(Cell), *fields(Score))])
            if lines.tell() == 0:
                writer.writeheader()
            writer.writerow(asdict(cell) | {name: f"{value:.6f}" for name, value in asdict(score).items()})


def _cell(line: dict[str, str]) -> Cell:
    return Cell(line["data"], int(line["percent"]), line["noise"], int(line["split"]), line["method"])


def _score(line: dict[str, str]) -> Score:
    return Score(float(line["accuracy"]), float(line["balanced"]), float(line["seconds"]))
