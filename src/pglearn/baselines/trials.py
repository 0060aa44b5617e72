"""What all baselines share: trials one after another until the budget ends, the best of which is the answer.

A *trial* is a configuration judged on the scored labels. A method is a stream of them, and the clock is read after
each: a search can end after any trial with the best so far.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from pglearn.graph import Graph
from pglearn.problem import Array, Problem
from pglearn.propagation import Solution
from pglearn.search.events import VERSION, Listener, Stream


@dataclass(frozen=True, eq=False)
class Trial:
    """A configuration and how it was judged."""

    candidate: int
    """Which draw or start it belongs to."""
    step: int
    """Evaluations since that draw."""
    k: int
    a: Array
    """Feature weights of the graph, as the method has them."""
    accuracy: float
    """On the scored labels."""
    loss: float = float("nan")
    """What the method itself minimises, if anything."""
    settings: dict[str, float] = field(default_factory=dict)
    """What else was drawn for it."""
    guesses: Array | None = None
    """Classes that self-training gave to rows, -1 for the others."""
    tie_break: float = 0.0
    """Among trials of the same accuracy the lowest wins, and the first where that is the same, too."""

    @property
    def merit(self) -> tuple[float, float]:
        """By which trials are compared."""
        return self.accuracy, -self.tie_break


@dataclass(eq=False)
class Clock:
    """Counts evaluations, or seconds if there are any to count, up to what a search may use.

    `units` is the budget; a unit is `unit_steps` evaluations, or `unit_seconds` seconds if given. `max_time` ends the
    search early, however much of the budget is left.
    """

    units: int
    unit_steps: int = 1
    unit_seconds: float | None = None
    max_time: float | None = None
    evaluations: int = 0
    stopped: bool = False
    begun: float = field(default_factory=time.monotonic)

    def tick(self) -> None:
        """One evaluation was made."""
        self.evaluations += 1

    def stop(self) -> None:
        """Someone wants the search to end."""
        self.stopped = True

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    @property
    def spent(self) -> float:
        """Units used so far."""
        if self.unit_seconds is not None:
            return self.seconds / self.unit_seconds
        return self.evaluations / self.unit_steps

    @property
    def reason(self) -> str | None:
        """Why the search is over, if it is."""
        if self.stopped:
            return "interrupted"
        if self.max_time is not None and self.seconds >= self.max_time:
            return "out of time"
        return "finished" if self.spent >= self.units else None


class Method(Protocol):
    """A way to look for a configuration, and what to make of the best one."""

    @property
    def name(self) -> str: ...

    def trials(self, problem: Problem, clock: Clock) -> Iterator[Trial]:
        """Trials without end, or until there is nothing more to try; the clock is told of every evaluation."""
        ...

    def answer(self, problem: Problem, trial: Trial) -> tuple[Graph, Solution]:
        """The graph of a trial and F (n × c) on it, with every label shown."""
        ...


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A scale: as likely between 1 and 2 as between 2 and 4."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


@dataclass(frozen=True, eq=False)
class Record:
    """What is kept of a trial: O(1) numbers."""

    candidate: int
    step: int
    k: int
    loss: float
    accuracy: float
    spent: float
    seconds: float
    settings: dict[str, float]
    merit: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Found:
    """The best trial, a record of all, and why the search ended."""

    best: Trial
    records: list[Record]
    reason: str


def search(
    method: Method, problem: Problem, clock: Clock, listeners: Iterable[Listener] = (), **about: object
) -> Found:
    """Trials until the clock says stop; the highest validation accuracy wins (`Trial.tie_break`)."""
    emit = Stream(listeners)
    emit("search_started", version=VERSION, method=method.name, **about, budget=clock.units)
    best: Trial | None = None
    records: list[Record] = []
    for trial in method.trials(problem, clock):
        names = ("candidate", "step", "k", "loss", "accuracy")
        told: dict[str, Any] = {name: getattr(trial, name) for name in names}
        told["spent"] = min(clock.spent, float(clock.units))
        records.append(Record(**told, seconds=clock.seconds, settings=trial.settings, merit=trial.merit))
        if best is None or trial.merit > best.merit:
            best = trial
        emit("trial_ended", **told)
        if clock.reason:
            break
    assert best is not None
    reason = clock.reason or "finished"
    emit("search_ended", reason=reason, best=best.candidate, loss=best.loss, accuracy=best.accuracy)
    return Found(best, records, reason)
