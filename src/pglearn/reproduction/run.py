"""Fits, side by side.

The labels of test rows stay with the harness: a learner is given features and the labels shown, and what it answers is
scored here, after the clock has stopped.
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

from pglearn.datasets import Benchmark
from pglearn.errors import InputError
from pglearn.problem import Array
from pglearn.reproduction.experiments import Cell
from pglearn.reproduction.methods import methods_with
from pglearn.reproduction.traces import Seen, Trace, Watcher

NAN = float("nan")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What comes back from a fit: a label for every row, or why there is none."""

    cell: Cell
    seconds: float
    labels: Array | None = None
    validation_accuracy: float = NAN
    failure: str = ""
    interrupted: bool = False
    seen: Seen | None = None

    def figures(self, data: Benchmark) -> dict[str, float]:
        """As a row has them."""
        right = NAN if self.labels is None else accuracy(data, self.cell, self.labels)
        return {"accuracy": right, "validation_accuracy": self.validation_accuracy, "seconds": self.seconds}

    def trace(self, data: Benchmark) -> Trace | None:
        """Of a fit that was watched."""
        if self.seen is None:
            return None
        right = [accuracy(data, self.cell, labels) for labels in self.seen.labels]
        return Trace(self.seen.rows.assign(test=right), self.seen.weights)


def accuracy(data: Benchmark, cell: Cell, labels: Array) -> float:
    """On the test rows: those whose label was not shown."""
    test = ~data.labelled(cell.percent, cell.split)
    return float((labels == data.y)[test].mean())


def outcomes(
    cells: Sequence[Cell], data: Mapping[str, Benchmark], files: Sequence[Path] = (), jobs: int = 1, watch: bool = False
) -> Iterator[Outcome]:
    """Of all cells, `jobs` at a time, in whatever order they finish. A fit that Ctrl-C has cut short ends them all."""
    calls = (delayed(fitted)(cell, *_shown(cell, data[cell.data]), files, watch) for cell in cells)
    for outcome in Parallel(jobs, return_as="generator_unordered", pre_dispatch="n_jobs")(calls):
        if outcome.interrupted:
            raise KeyboardInterrupt
        yield outcome


def _shown(cell: Cell, data: Benchmark) -> tuple[Array, Array]:
    """All that a learner may see: `y` is −1 wherever the label is not shown."""
    return data.features(cell.noise, cell.split), data.shown(cell.percent, cell.split)


def fitted(cell: Cell, X: Array, y: Array, files: Sequence[Path] = (), watch: bool = False) -> Outcome:
    """One fit on one thread; only the fit is timed. A search that is watched is told to, and seen afterwards."""
    started = time.perf_counter()
    watcher = Watcher()
    try:
        model = methods_with(files)[cell.method](cell.budget, cell.seed)
        with threadpool_limits(limits=1), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The search was interrupted")  # the run stops, and says so
            started = time.perf_counter()
            model.fit(X, y, listeners=(watcher,)) if watch else model.fit(X, y)
            seconds = time.perf_counter() - started
            return Outcome(
                cell,
                seconds,
                _labels(model, len(X)),
                validation_accuracy(model),
                interrupted=getattr(model, "stop_reason_", "finished") == "interrupted",
                seen=watcher.seen(model, X, y) if watch else None,
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


def validation_accuracy(model: Any) -> float:
    """Mean of what the selected configurations reached on hidden labels; NaN where the method does not tell."""
    results = getattr(model, "search_results_", None)
    if results is None or not {"accuracy", "selected"} <= set(results):
        return NAN
    chosen = np.asarray(results["selected"], dtype=bool)
    return float(np.mean(np.asarray(results["accuracy"])[chosen])) if chosen.any() else NAN
