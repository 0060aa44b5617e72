"""What all baselines share: trials one after another until the budget ends, the best of which is the answer.

A *trial* is a configuration judged on the scored labels. A method is a stream of them, and the clock is read after
each: a search can end after any trial with the best so far.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from pglearn.arrays import Array
from pglearn.engine import CPUEngine
from pglearn.objective.graph import Graph, weighted_graph
from pglearn.objective.loss import share_right
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC, Solution
from pglearn.search.events import VERSION, Listener, Stream

# Which class scores highest needs no more than this; the final labels are solved to LGC's own tolerance.
TOLERANCE, PRECISION = 1e-8, 1e-2


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

    def better_than(self, other: Trial) -> bool:
        return (self.accuracy, -self.tie_break) > (other.accuracy, -other.tie_break)


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


class Method(ABC):
    """A way to look for a configuration, and what to make of the best one."""

    name: ClassVar[str]

    @abstractmethod
    def trials(self, problem: Problem, clock: Clock) -> Iterator[Trial]:
        """Trials without end, or until there is nothing more to try; the clock is told of every evaluation."""

    @abstractmethod
    def answer(self, problem: Problem, trial: Trial) -> tuple[Graph, Solution]:
        """The graph of a trial and F (n × c) on it, with every label shown."""

    def graph(self, problem: Problem, k: int, a: Array) -> Graph:
        return weighted_graph(problem.X, a, k, problem.centre)


@dataclass(frozen=True)
class SpreadingMethod(Method):
    """A method that spreads labels with LGC."""

    alpha: float

    def __post_init__(self) -> None:
        LGC(self.alpha)  # which refuses one that is no good

    def accuracy(self, problem: Problem, graph: Graph) -> float:
        """On the scored labels, from the others."""
        lgc = LGC(self.alpha, tolerance=TOLERANCE, precision=PRECISION)
        scores = lgc.system(graph, problem).validation_scores()
        return share_right(scores.S, scores.least, problem.scored_codes)

    def spread(self, problem: Problem, graph: Graph, beliefs: Array | None = None) -> Solution:
        """F with every label shown, and `beliefs` (n × c) in place of the labels that are not given."""
        return CPUEngine(propagation=LGC(self.alpha)).propagate(problem, graph, beliefs)

    def answer(self, problem: Problem, trial: Trial) -> tuple[Graph, Solution]:
        graph = self.graph(problem, trial.k, trial.a)
        return graph, self.spread(problem, graph)


@dataclass(frozen=True, eq=False)
class Found:
    """The best trial, O(1) numbers of every trial in columns, and why the search ended."""

    best: Trial
    trials: dict[str, Array]
    reason: str


def search(
    method: Method, problem: Problem, clock: Clock, listeners: Iterable[Listener] = (), **about: object
) -> Found:
    """Trials until the clock says stop; the highest validation accuracy wins (`Trial.tie_break`)."""
    emit = Stream(listeners)
    emit("search_started", version=VERSION, method=method.name, **about, budget=clock.units)
    best: Trial | None = None
    rows: list[dict[str, Any]] = []
    selected = 0
    for trial in method.trials(problem, clock):
        told = {name: getattr(trial, name) for name in ("candidate", "step", "k", "loss", "accuracy")}
        told["spent"] = min(clock.spent, float(clock.units))
        if best is None or trial.better_than(best):
            best, selected = trial, len(rows)
        rows.append({**told, "seconds": clock.seconds, **trial.settings})
        emit("trial_ended", **told)
        if clock.reason:
            break
    assert best is not None
    reason = clock.reason or "finished"
    emit("search_ended", reason=reason, best=best.candidate, loss=best.loss, accuracy=best.accuracy)
    trials = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return Found(best, {**trials, "selected": np.arange(len(rows)) == selected}, reason)


def mass_normalised(F: Array, masses: Array | None = None) -> Array:
    """F with its columns divided by the classes' masses, by default their sums, then rows that sum to one.

    No class is then favoured because its labels spread further. A class without mass and rows of zeros stay as they
    are.
    """
    masses = F.sum(axis=0) if masses is None else masses
    F = F / np.where(masses > 0, masses, 1)
    sums = F.sum(axis=1, keepdims=True)
    return np.asarray(F / np.where(sums > 0, sums, 1))


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A scale: as likely between 1 and 2 as between 2 and 4."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
