"""Fits what the file of rows lacks.

The labels of test rows stay with the harness: a learner is given features and the labels shown, and what it answers is
scored here (a watched search's in `traces`), after the clock has stopped.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from pglearn.datasets import Benchmark
from pglearn.errors import InputError
from pglearn.problem import Array
from pglearn.reproduction.methods import Budget, methods_with
from pglearn.reproduction.rows import Cell, Circumstances, Row, Rows, now


@dataclass(frozen=True, eq=False)
class Outcome:
    """What comes back from a fit: a label for every row, or why there is none."""

    labels: Array | None
    validation_accuracy: float
    seconds: float
    failure: str = ""
    interrupted: bool = False


def fitted(method: str, files: Sequence[Path], budget: Budget, seed: int, X: Array, y: Array) -> Outcome:
    """One fit on one thread; only the fit is timed. `y` is −1 wherever the label is not shown."""
    started = time.perf_counter()
    try:
        return timed(methods_with(files)[method](budget, seed), X, y)
    except Exception as error:  # noqa: BLE001  whatever a method does, the row says so and the others are fitted
        return failed(error, time.perf_counter() - started)


def failed(error: Exception, seconds: float) -> Outcome:
    return Outcome(None, np.nan, seconds, f"{type(error).__name__}: {error}")


def timed(model: Any, X: Array, y: Array, **options: Any) -> Outcome:
    """The same with a model that was made before and options for its fit; what it raises is the caller's to handle."""
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The search was interrupted")  # the run stops, and says so
        started = time.perf_counter()
        model.fit(X, y, **options)
        seconds = time.perf_counter() - started
    interrupted = getattr(model, "stop_reason_", "finished") == "interrupted"
    return Outcome(_answer(model, len(X)), validation_accuracy(model), seconds, interrupted=interrupted)


def _answer(model: Any, points: int) -> Array:
    """The label of every row."""
    if not hasattr(model, "transduction_"):
        raise InputError("the estimator has no transduction_ after fit: set it to an array with a label for every row.")
    labels = np.asarray(model.transduction_)
    if labels.shape != (points,):
        raise InputError(f"transduction_ has the shape {labels.shape}: make it one label for each of {points:,} rows.")
    return labels


def validation_accuracy(model: Any) -> float:
    """Mean of what the selected configurations reached on hidden labels; NaN where the method does not tell."""
    results = getattr(model, "search_results_", None)
    if results is None or not {"accuracy", "selected"} <= set(results):
        return float("nan")
    chosen = np.asarray(results["selected"], dtype=bool)
    return float(np.mean(np.asarray(results["accuracy"])[chosen])) if chosen.any() else float("nan")


def accuracy(data: Benchmark, percent: int, split: int, labels: Array) -> float:
    """On the test rows: those whose label was not shown."""
    test = ~data.labelled(percent, split)
    return float((labels == data.y)[test].mean())


def run(
    cells: Iterable[Cell],
    data: Mapping[str, Benchmark],
    rows: Rows,
    circumstances: Circumstances,
    files: Sequence[Path] = (),
    jobs: int = 1,
    done: Callable[[Row], None] = lambda row: None,
) -> None:
    """Fit every cell that has no row yet, `jobs` at a time, and add each row as it comes."""
    missing = [cell for cell in cells if not rows.has(cell)]
    for cell, outcome in outcomes(missing, data, files, jobs):
        row = row_of(cell, outcome, data[cell.data], circumstances)
        rows.add(row)
        done(row)


def outcomes(
    cells: Sequence[Cell], data: Mapping[str, Benchmark], files: Sequence[Path], jobs: int
) -> Iterator[tuple[Cell, Outcome]]:
    """In whatever order they finish. A fit that Ctrl-C has cut short ends them all."""
    calls = (delayed(_numbered)(number, *_task(cell, data[cell.data], files)) for number, cell in enumerate(cells))
    for number, outcome in Parallel(jobs, return_as="generator_unordered", pre_dispatch="n_jobs")(calls):
        if outcome.interrupted:
            raise KeyboardInterrupt
        yield cells[number], outcome


def _task(cell: Cell, data: Benchmark, files: Sequence[Path]) -> tuple[Any, ...]:
    X, y = data.features(cell.noise, cell.split), data.shown(cell.percent, cell.split)
    return cell.method, files, cell.budget, cell.seed, X, y


def _numbered(number: int, *task: Any) -> tuple[int, Outcome]:
    return number, fitted(*task)


def row_of(cell: Cell, outcome: Outcome, data: Benchmark, circumstances: Circumstances) -> Row:
    """An outcome, scored."""
    right = np.nan if outcome.labels is None else accuracy(data, cell.percent, cell.split, outcome.labels)
    figures = (float(right), outcome.validation_accuracy, outcome.seconds)
    return Row(cell, *figures, outcome.failure, now(), circumstances)
