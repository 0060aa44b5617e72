"""One search of PG-learn watched from outside: what each candidate would have answered at the end of each round.

The search tells its listeners where its candidates stand (`pglearn.search.events`). Their labels are worked out and
scored when the fit is over, so that looking costs the search no time and no test label comes near it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from pglearn.datasets import Benchmark
from pglearn.engine import CPUEngine
from pglearn.files import whole_file
from pglearn.graph import weighted_graph
from pglearn.problem import Array, Problem
from pglearn.propagation import LGC
from pglearn.reproduction.methods import METHODS, REFERENCE
from pglearn.reproduction.rows import Cell
from pglearn.reproduction.run import Outcome, accuracy, failed, timed
from pglearn.search import Event


@dataclass(frozen=True, eq=False)
class Trace:
    """One entry per candidate and round, in the order of the rounds, and the learned weights.

    `until` is the end of the round in units; `loss` and `validation` are of the best point that the candidate has seen
    by then, on the hidden labels, and `test` is the accuracy of its answer on the test rows.
    """

    candidate: Array
    until: Array
    loss: Array
    validation: Array
    test: Array
    weights: Array

    @property
    def best(self) -> Trace:
        """At the end of each round, the candidate with the lowest loss of those that were alive."""
        rounds = [np.flatnonzero(self.until == until) for until in np.unique(self.until)]
        chosen = np.array([entries[self.loss[entries].argmin()] for entries in rounds])
        return self._only(chosen)

    def of(self, candidate: int) -> Trace:
        return self._only(self.candidate == candidate)

    def _only(self, entries: Array) -> Trace:
        return replace(self, **{name: getattr(self, name)[entries] for name in PER_ENTRY})

    def save(self, path: Path) -> None:
        with whole_file(path) as file:
            np.savez(file, **{field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def load(cls, path: Path) -> Trace:
        with np.load(path, allow_pickle=False) as arrays:
            return cls(**{field.name: arrays[field.name] for field in fields(cls)})


PER_ENTRY = ("candidate", "until", "loss", "validation", "test")


class Watcher:
    """A listener that keeps where the candidates stood at the end of each round."""

    def __init__(self) -> None:
        self.entries: list[tuple[float, Event]] = []
        self._until = 0.0

    def __call__(self, event: Event) -> None:
        if event["event"] == "round_started":
            self._until = float(event["until"])
        elif event["event"] == "candidate_advanced" and np.isfinite(event["loss"]):
            self.entries.append((self._until, event))


def watched(
    cells: Sequence[Cell], data: Mapping[str, Benchmark], jobs: int
) -> Iterator[tuple[Cell, Trace | None, Outcome]]:
    """Searches, `jobs` at a time, in whatever order they finish. One that fails has no trace, and an outcome that says
    so; one that Ctrl-C has cut short ends them all."""
    calls = (delayed(_numbered)(number, cell, data[cell.data]) for number, cell in enumerate(cells))
    for number, trace, outcome in Parallel(jobs, return_as="generator_unordered", pre_dispatch="n_jobs")(calls):
        if outcome.interrupted:
            raise KeyboardInterrupt
        yield cells[number], trace, outcome


def _numbered(number: int, cell: Cell, data: Benchmark) -> tuple[int, Trace | None, Outcome]:
    started = time.perf_counter()
    try:
        with threadpool_limits(limits=1):
            return number, *traced(cell, data)
    except Exception as error:  # noqa: BLE001  whatever it is, its row says so and the others are watched
        return number, None, failed(error, time.perf_counter() - started)


def traced(cell: Cell, data: Benchmark) -> tuple[Trace, Outcome]:
    """A fit of the paper's PG-learn, watched, and its outcome, as of any other fit.

    Its candidates weigh the features as they are given, in one basis.
    """
    X, y = data.features(cell.noise, cell.split), data.shown(cell.percent, cell.split)
    model = METHODS[REFERENCE](cell.budget, cell.seed)
    watcher = Watcher()
    outcome = timed(model, X, y, listeners=(watcher,))
    problem = Problem.of(X, y)
    right = [
        accuracy(data, cell.percent, cell.split, _labels(problem, event, model.alpha)) for _, event in watcher.entries
    ]
    trace = Trace(
        candidate=np.array([event["candidate"] for _, event in watcher.entries]),
        until=np.array([until for until, _ in watcher.entries]),
        loss=np.array([event["loss"] for _, event in watcher.entries]),
        validation=np.array([event["accuracy"] for _, event in watcher.entries]),
        test=np.array(right),
        weights=np.asarray(model.feature_weights_),
    )
    return trace, outcome


def _labels(problem: Problem, event: dict[str, Any], alpha: float) -> Array:
    """With all labels shown, over the graph of the candidate."""
    engine = CPUEngine(propagation=LGC(alpha))
    F = engine.propagate(problem, weighted_graph(problem.X, event["a"], event["k"])).F
    return np.asarray(problem.classes[F.argmax(axis=1)])
