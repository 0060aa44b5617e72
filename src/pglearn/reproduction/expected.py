"""How long the fits that are left will take, from rows that are there and, before a long run, from short fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pglearn.datasets import Benchmark
from pglearn.reproduction.methods import Budget
from pglearn.reproduction.rows import Cell
from pglearn.reproduction.run import outcomes

CALIBRATION = (Budget(2, 2), Budget(8, 2))
WORTH_CALIBRATING = 4 * sum(budget.total for budget in CALIBRATION)
"""Units of a fit below which a calibration would take a good part of the run itself."""


@dataclass(frozen=True)
class Timing:
    """The seconds that a fit took."""

    cell: Cell
    seconds: float


def expected_seconds(cell: Cell, timings: Iterable[Timing]) -> float | None:
    """Of one fit: what the same fit took on other splits, else along a line through those with other budgets.

    None where nothing like it was timed.
    """
    if cell.budget.unit_seconds is not None:
        return cell.budget.total * cell.budget.unit_seconds
    alike = [timing for timing in timings if _kind(timing.cell) == _kind(cell)]
    same = [timing.seconds for timing in alike if timing.cell.budget == cell.budget]
    same_share = [timing.seconds for timing in alike if replace(timing.cell, split=cell.split) == cell]
    if same_share or same:
        return float(np.mean(same_share or same))
    if not alike:
        return None
    steps = np.array([_steps(timing.cell.budget) for timing in alike])
    seconds = np.array([timing.seconds for timing in alike])
    per_step, start = seconds.mean() / steps.mean(), 0.0
    if np.ptp(steps) > 0:
        slope, intercept = np.polyfit(steps, seconds, 1)
        if slope > 0 and intercept > 0:
            per_step, start = slope, intercept
    return float(start + per_step * _steps(cell.budget))


def calibrated(
    cells: Sequence[Cell], timings: Sequence[Timing], data: Mapping[str, Benchmark], files: Sequence[Path]
) -> list[Timing]:
    """The timings, and two short fits of every kind that has none and is long enough to be worth them.

    The first fit of a method is made once more: what it loads and compiles no other does.
    """
    found = list(timings)
    warm = set()
    for cell in _one_of_each_kind(cells):
        long = cell.budget.unit_seconds is None and _steps(cell.budget) >= WORTH_CALIBRATING
        if long and expected_seconds(cell, found) is None:
            short = [replace(cell, budget=replace(budget, unit_steps=1)) for budget in CALIBRATION]
            warm_up = [] if cell.method in warm else short[:1]
            warm.add(cell.method)
            timed = list(outcomes([*warm_up, *short], data, files, jobs=1))[len(warm_up) :]
            found += [Timing(cell, outcome.seconds) for cell, outcome in timed]
    return found


def in_words(seconds: float) -> str:
    """
    >>> in_words(75), in_words(400), in_words(9000)
    ('75 s', '7 minutes', '2.5 hours')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 100 * 60 else f"{seconds / 3600:.1f} hours"


def _kind(cell: Cell) -> tuple[str, str, str]:
    return cell.method, cell.data, cell.noise


def _steps(budget: Budget) -> int:
    return budget.total * budget.unit_steps


def _one_of_each_kind(cells: Sequence[Cell]) -> list[Cell]:
    """With the share of labels in the middle of those asked for."""
    kinds: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        kinds.setdefault(_kind(cell), []).append(cell)
    return [sorted(alike, key=lambda cell: (cell.percent, -cell.split))[len(alike) // 2] for alike in kinds.values()]
