"""Fits, side by side.

A learner is given features and the labels shown, never a test label; what it answers is scored here, after the clock
has stopped.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from pglearn.paper.traces import Trace
from pglearn.search import Event

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
    calls = (delayed(_outcome)(cell, data[cell.data], files, watch) for cell in cells)
    for outcome in Parallel(jobs, return_as="generator_unordered", pre_dispatch="n_jobs")(calls):
        if outcome.interrupted:
            raise KeyboardInterrupt
        yield outcome


def _outcome(cell: Cell, data: Benchmark, files: Sequence[Path], watch: bool) -> Outcome:
    """One fit on one thread; only the fit is timed."""
    X, y = data.features(cell.noise, cell.split), data.shown(cell.percent, cell.split)
    test = ~data.labelled(cell.percent, cell.split)

    def accuracy(labels: Array) -> float:
        return float((labels == data.y)[test].mean())

    events: list[Event] = []
    started = time.perf_counter()
    try:
        model = methods_with(files)[cell.method](cell.budget, cell.split)
        with threadpool_limits(limits=1), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The search was interrupted")  # the run stops, and says so
            started = time.perf_counter()
            model.fit(X, y, listeners=(events.append,)) if watch else model.fit(X, y)
            seconds = time.perf_counter() - started
            return Outcome(
                cell,
                seconds,
                accuracy(_labels(model, len(X))),
                _validation_accuracy(model),
                interrupted=getattr(model, "stop_reason_", "finished") == "interrupted",
                trace=Trace.from_events(events, model, X, y, accuracy) if watch else None,
            )
    except Exception as error:  # noqa: BLE001  whatever a method does, the row says so and the others are fitted
        return Outcome(cell, time.perf_counter() - started, failure=f"{type(error).__name__}: {error}")


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
    results = getattr(model, "search_results_", {})
    if not {"accuracy", "selected"} <= set(results):
        return NAN
    chosen = np.asarray(results["selected"], dtype=bool)
    return float(np.mean(np.asarray(results["accuracy"])[chosen])) if chosen.any() else NAN
