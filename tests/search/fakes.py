"""Engines that stand in for the real one, at module level so that worker processes can import them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from pglearn.engine import Configuration, Evaluation
from pglearn.objective.loss import Yardstick
from pglearn.objective.problem import Problem
from pglearn.runtime.threads import threads
from pglearn.search import (
    Descent,
    Draws,
    Limit,
    Listener,
    Pool,
    Run,
    Schedule,
    Search,
    SearchResult,
    Space,
    Workers,
    workers_for,
)
from pglearn.search.checkpoint import Checkpoint


def points(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Forty of two classes, every other one labelled."""
    X = np.random.default_rng(seed).normal(size=(40, 3))
    X[:20, 0] += 1
    return X, np.where(np.arange(40) % 2 == 0, np.repeat([0, 1], 20), -1)


def small_problem() -> Problem:
    return Problem.from_labels(*points())


def small_search() -> Search:
    draws = Draws((Space(3, 2.0),), k_range=(3, 8), bandwidth_range=(0.1, 10.0), seed=7)
    return Search(Schedule(budget=4, rate=2, population=4), draws, unit_steps=2)


def candidates(number: int = 4) -> list[Run]:
    return [small_search().draws.draw(id) for id in range(number)]


def ones(number: int) -> list[Run]:
    return [Run(id, k=id, a=np.ones(2)) for id in range(number)]


def never_enough(engine: object) -> Descent:
    """No loss is low enough to stop."""
    return Descent(engine, Yardstick(perfect=0.0, chance=1.0), enough=-np.inf)


def pool_of(engine: object, workers: Workers) -> Pool:
    return Pool(small_problem(), never_enough(engine), workers)


def serial_pool(engine: object) -> Pool:
    return pool_of(engine, workers_for("serial", 1))


def ran(pool: Pool, given: Iterable[Run], limit: Limit) -> list[Run]:
    """Where the runs stand that came in."""
    last = {run.id: run for group, _ in pool.advance(list(given), limit) for run in group}
    return [last[id] for id in sorted(last)]


def paper_search(
    pool: Pool, listeners: Iterable[Listener] = (), checkpoint: Checkpoint | None = None, **options: Any
) -> SearchResult:
    """The paper's T = 8, r = 2, B = 16 on candidates whose k is their number."""
    search = Search(Schedule(budget=16, rate=2, population=8), NumberedDraws(), **{"unit_steps": 1, **options})
    with pool:
        return search.run(pool, listeners, checkpoint)


def worked_example(loss_of: Callable[[int], float], listeners: Iterable[Listener] = (), **options: Any) -> SearchResult:
    """The same on a scripted engine, one step per unit."""
    return paper_search(serial_pool(Scripted(loss_of)), listeners, **options)


@dataclass(frozen=True)
class NumberedDraws:
    """Candidates whose k is their number, so that a script can tell them apart; views take turns."""

    views: int = 1

    def draw(self, id: int, view: int | None = None) -> Run:
        view = id % self.views if view is None else view
        return Run(id, k=id, a=np.ones(2 + view), view=view)


class Fake:
    """An engine of one configuration at a time; subclasses say what a configuration is worth."""

    together: int | None = 1

    def value_and_gradient(
        self, problem: Problem, configurations: Sequence[Configuration], carried: dict[int | None, Any] | None = None
    ) -> list[Evaluation]:
        return [self.judged(problem, configuration) for configuration in configurations]

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        raise NotImplementedError


@dataclass(frozen=True)
class Scripted(Fake):
    """The loss of a candidate is what the script says of its k, and so much more in every further view."""

    loss_of: Callable[[int], float]
    of_view: float = 0.0

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        loss = self.loss_of(configuration.k) + self.of_view * configuration.view
        return Evaluation(loss, 0.5, np.ones_like(configuration.a))


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
class RaisesFor(Fake):
    """The loss of a candidate is its number; some raise, or their loss is no number, after so many steps."""

    numbers: tuple[int, ...] = ()
    error: Exception | None = ZeroDivisionError("a bug")  # noqa: RUF009  it is only raised
    at_once: bool = True

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        loss = float(configuration.k)
        if configuration.k in self.numbers and (self.at_once or not (configuration.a == 1).all()):
            if self.error is not None:
                raise self.error
            loss = np.nan
        return Evaluation(loss, 0.5, np.ones_like(configuration.a))


@dataclass(frozen=True)
class KillsItsWorker(Fake):
    """Kills every process that evaluates a candidate, but for some; the loss of those is their number."""

    parent: int
    spared: int = 0
    """Those with lower numbers."""

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        if configuration.k >= self.spared:
            assert os.getpid() != self.parent
            os.kill(os.getpid(), signal.SIGKILL)
        return Evaluation(float(configuration.k), 0.5, np.ones_like(configuration.a))


def most_threads() -> int:
    """What the numerical libraries of this process may use."""
    return max(library["num_threads"] for library in threadpool_info())


class LooksAround(Fake):
    """The loss is the largest number of threads that a numerical library may use, ten for each thread that a step may
    use, and 1000 if X could be changed."""

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        loss = most_threads() + 10 * threads() + 1000.0 * problem.X.flags.writeable
        return Evaluation(loss, 0.5, np.zeros_like(configuration.a))


class Clock:
    """Time that passes only when someone works."""

    now = 1000.0

    def time(self) -> float:
        return self.now

    monotonic = time


@dataclass(frozen=True)
class Ticking(Fake):
    """Every evaluation takes a second of the clock."""

    clock: Clock
    loss_of: Callable[[int], float] = lambda k: 1.0

    def judged(self, problem: Problem, configuration: Configuration) -> Evaluation:
        self.clock.now += 1
        return Evaluation(self.loss_of(configuration.k), 0.5, np.ones_like(configuration.a))
