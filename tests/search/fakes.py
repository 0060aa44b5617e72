"""Engines that stand in for the real one, at module level so that worker processes can import them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from pglearn.engine import Configuration, CPUEngine, Evaluation
from pglearn.loss import Yardstick
from pglearn.problem import Problem
from pglearn.search import Candidate, Descent, Listener, Schedule, Search, SearchResult
from pglearn.search.candidate import Draws, Space
from pglearn.search.pool import Pool, Task
from pglearn.search.workers import workers_for

NEVER_ENOUGH = Descent(Yardstick(perfect=0.0, chance=1.0), enough=-np.inf)  # no loss is low enough to stop


def small_problem() -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    X[:12, 0] += 2
    y = np.repeat([0, 1], 12)
    return Problem.of(X, np.where(rng.random(24) < 0.5, y, -1))


def small_search() -> Search:
    draws = Draws((Space(3, 2.0),), k_range=(3, 8), bandwidth_range=(0.1, 10.0), seed=7)
    return Search(Schedule(budget=4, rate=2, population=4), draws, unit_steps=2)


class Fake:
    """An engine of one configuration at a time; subclasses say what a configuration is worth."""

    together = 1

    def value_and_gradient(self, problem: Problem, configurations: Sequence[Configuration]) -> list[Evaluation]:
        return [self.judged(problem, configuration) for configuration in configurations]

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        raise NotImplementedError


@dataclass(frozen=True)
class Scripted(Fake):
    """The loss of a candidate is what the script says of its k, wherever its a stands."""

    loss_of: Callable[[int], float]

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        return Evaluation(self.loss_of(configuration.k), 0.5, np.ones_like(configuration.a))


@dataclass(frozen=True)
class NumberedDraws:
    """Candidates whose k is their number, so that a script can tell them apart; views take turns."""

    views: int = 1

    def candidate(self, id: int, born: float = 0.0, view: int | None = None) -> Candidate:
        view = id % self.views if view is None else view
        return Candidate(id, k=id, a=np.ones(2 + view), view=view, born=born)


@dataclass(frozen=True)
class Bowl(Fake):
    """g(a) = Σ (a − centre)²."""

    centre: float = 1.0

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        away = configuration.a - self.centre
        return Evaluation(float(away @ away), 0.5, 2 * away)


@dataclass(frozen=True)
class Sleepy(Fake):
    seconds: float

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        time.sleep(self.seconds)
        return Evaluation(1.0, 0.5, np.ones_like(configuration.a))


@dataclass(frozen=True)
class KillsItsWorker(CPUEngine):
    """Kills the process it runs in: once if there is a marker to leave behind, else every time."""

    parent: int = 0
    marker: str | None = None

    def value_and_gradient(self, problem: Problem, configurations: Sequence[Configuration]) -> list[Evaluation]:
        if os.getpid() != self.parent and self._first():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().value_and_gradient(problem, configurations)

    def _first(self) -> bool:
        if self.marker is None:
            return True
        try:
            Path(self.marker).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def most_threads() -> int:
    """What the numerical libraries of this process may use."""
    return max(library["num_threads"] for library in threadpool_info())


class CountsThreads(Fake):
    """The loss is the largest number of threads that a numerical library may use."""

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        return Evaluation(float(most_threads()), 0.5, np.zeros_like(configuration.a))


class SeesWritablePoints(Fake):
    """The loss is 1 if the points could be changed by mistake."""

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        return Evaluation(float(problem.X.flags.writeable), 0.5, np.zeros_like(configuration.a))


class Overlapping(Fake):
    """Two tasks on two threads that start together; that of k = 1 runs on after the other has ended."""

    def __init__(self) -> None:
        self._both_run = threading.Barrier(2)
        self.threads_when_alone = 0

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        self._both_run.wait(10)
        if configuration.k == 1:
            time.sleep(0.3)
            self.threads_when_alone = most_threads()
        return Evaluation(1.0, 0.5, np.zeros_like(configuration.a))


class Fails(Fake):
    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        raise ZeroDivisionError("a bug")


def serial_pool(engine: object, descent: Descent = NEVER_ENOUGH) -> Pool:
    return Pool(small_problem(), Task(engine, descent), workers_for("serial", 1))


def worked_example(loss_of: Callable[[int], float], listeners: Iterable[Listener] = (), **options: Any) -> SearchResult:
    """The paper's T = 8, r = 2, B = 16 on a scripted engine, one step per unit."""
    search = Search(Schedule(budget=16, rate=2, population=8), NumberedDraws(), unit_steps=1, **options)
    with serial_pool(Scripted(loss_of)) as pool:
        return search.run(pool, listeners)
