"""Fits, side by side.

The labels of test rows stay with the harness: a learner is given features and the labels shown, and what it answers is
scored here, after the clock has stopped.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from pglearn.arrays import Array
from pglearn.errors import InputError
from pglearn.paper.datasets import Benchmark
from pglearn.paper.experiments import Cell
from pglearn.paper.methods import methods_with
from pglearn.paper.traces import Trace, Watcher

NAN = float("nan")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What comes back from a fit: the accuracy on the test rows, or why there is none."""

    cell: Cell
    seconds: float
    accuracy: float = NAN
    validation_accuracy: float = NAN
    failure: str = ""
    interrupted: bool = False
    trace: Trace | None = None
    """Of a fit that was watched."""


def outcomes(
    cells: Sequence[Cell], data: Mapping[str, Benchmark], files: Sequence[Path] = (), jobs: int = 1, watch: bool = False
) -> Iterator[Outcome]:
    """Of all cells, `jobs` at a time, in whatever order they finish. A fit that Ctrl-C has cut short ends them all."""
    calls = (delayed(_fitted)(cell, *_shown(cell, data[cell.data]), files, watch) for cell in cells)
    for outcome, labels in Parallel(jobs, return_as="generator_unordered", pre_dispatch="n_jobs")(calls):
        if outcome.interrupted:
            raise KeyboardInterrupt
        yield _scored(outcome, data[outcome.cell.data], labels)


def _shown(cell: Cell, data: Benchmark) -> tuple[Array, Array]:
    """All that a learner may see: `y` is −1 wherever the label is not shown."""
    return data.features(cell.noise, cell.split), data.shown(cell.percent, cell.split)


def _fitted(cell: Cell, X: Array, y: Array, files: Sequence[Path], watch: bool) -> tuple[Outcome, Array | None]:
    """One fit on one thread, and its labels; only the fit is timed."""
    started = time.perf_counter()
    watcher = Watcher()
    try:
        model = methods_with(files)[cell.method](cell.budget, cell.seed)
        with threadpool_limits(limits=1), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The search was interrupted")  # the run stops, and says so
            started = time.perf_counter()
            model.fit(X, y, listeners=(watcher,)) if watch else model.fit(X, y)
            seconds = time.perf_counter() - started
            outcome = Outcome(
                cell,
                seconds,
                validation_accuracy=_validation_accuracy(model),
                interrupted=getattr(model, "stop_reason_", "finished") == "interrupted",
                trace=watcher.trace(model, X, y) if watch else None,
            )
            return outcome, _labels(model, len(X))
    except Exception as error:  # noqa: BLE001  whatever a method does, the row says so and the others are fitted
        return Outcome(cell, time.perf_counter() - started, failure=f"{type(error).__name__}: {error}"), None


def _scored(outcome: Outcome, data: Benchmark, labels: Array | None) -> Outcome:
    """With accuracies on the test rows, those whose label was not shown."""
    if labels is None:
        return outcome
    test = ~data.labelled(outcome.cell.percent, outcome.cell.split)

    def accuracy(labels: Array) -> float:
        return float((labels == data.y)[test].mean())

    trace = outcome.trace
    if trace is not None:
        trace = replace(trace, rows=trace.rows.assign(test=trace.rows["test"].map(accuracy)))
    return replace(outcome, accuracy=accuracy(labels), trace=trace)


def _labels(model: Any, points: int) -> Array:
    """The label of every row."""
    if not hasattr(model, "transduction_"):
        raise InputError("the estimator has no transduction_ after fit: set it to an array with a label for every row.")
    labels = np.asarray(model.transduction_)
    if labels.shape != (points,):
        raise InputError(f"transduction_ has the shape {labels.shape}: make it one label for each of {points:,} rows.")
    return labels


def _validation_accuracy(model: Any) -> float:
    """Mean of what the selected configurations reached on hidden labels; NaN where the method does not tell."""
    results = getattr(model, "search_results_", None)
    if results is None or not {"accuracy", "selected"} <= set(results):
        return NAN
    chosen = np.asarray(results["selected"], dtype=bool)
    return float(np.mean(np.asarray(results["accuracy"])[chosen])) if chosen.any() else NAN
