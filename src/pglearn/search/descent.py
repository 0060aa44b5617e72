"""Algorithm 1 (Gradient): follow −∂g/∂a from where a candidate stands.

a ← max(0, a − γ ∂g/∂a),  γ = rate · mean(a) / rms(∂g/∂a)

The step is measured in units of the candidate's own weights, so one rate serves all data and all losses. A candidate
has converged when its loss is within `enough` of perfect scores, as a share of what uniform scores would cost: what
remains could only be gained by over-fitting the few labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pglearn.arrays import Array
from pglearn.engine import Engine, Evaluation
from pglearn.objective.loss import Yardstick
from pglearn.objective.problem import Problem
from pglearn.search.candidate import Candidate


@dataclass(frozen=True)
class Stint:
    """How far to run: until a candidate has spent so many steps, or seconds, not past `deadline` (as of time.time()).

    A step is never cut short. What one runs over by is spent already when the next stint begins, also by the one that
    takes its place: however short the stints, their sum runs over by one step.
    """

    until: float
    in_seconds: bool = False
    deadline: float | None = None

    def is_over(self, candidate: Candidate) -> bool:
        return candidate.spent >= self.until

    def part(self, candidates: Sequence[Candidate], most: float) -> Stint:
        """The next part of it for those that run side by side, no more than `most`."""
        return replace(self, until=min(self.until, most + min(candidate.spent for candidate in candidates)))


@dataclass(frozen=True)
class Descent:
    """The update rule and when to stop."""

    yardstick: Yardstick
    rate: float = 0.5
    enough: float = 0.05

    def step(self, a: Array, dg_da: Array) -> Array:
        """The next weights of a candidate."""
        direction = dg_da / np.abs(dg_da).max()  # first, because the square of a very large or small one is no float
        rms = np.sqrt(np.mean(direction**2))
        return np.asarray(np.maximum(a - self.rate * a.mean() / rms * direction, 0))

    def converged(self, candidate: Candidate) -> bool:
        if candidate.dg_da is None or not candidate.dg_da.any():
            return True  # no direction to follow
        return self.yardstick.share_of_chance(candidate.loss) <= self.enough


def advance(
    engine: Engine,
    problem: Problem,
    candidates: Sequence[Candidate],
    descent: Descent,
    stint: Stint,
    stopped: Callable[[], bool] = lambda: False,
) -> list[Candidate]:
    """Run every candidate for a stint, side by side. The clock is read before every step, so it overruns by one.

    What the engine carries from a candidate's step to its next begins with the stint, so that whoever runs the stint
    again, wherever it is, comes to the same numbers.
    """
    last = time.monotonic()
    carried: dict[int | None, Any] = {}

    def is_ended() -> bool:
        return stopped() or (stint.deadline is not None and time.time() >= stint.deadline)

    def evaluate(running: Sequence[Candidate]) -> None:
        nonlocal last
        for candidate, evaluation in zip(running, _evaluations(engine, problem, running, carried), strict=True):
            if evaluation is not None:
                candidate.record(evaluation)
                candidate.converged = candidate.failure is None and descent.converged(candidate)
        before, last = last, time.monotonic()
        for candidate in running:
            candidate.seconds += (last - before) / len(running)
            candidate.spent += last - before if stint.in_seconds else 0

    newborn = [c for c in candidates if not c.started and not (stint.in_seconds and stint.is_over(c))]
    if newborn and not is_ended():
        evaluate(newborn)
    while not is_ended():
        running = [c for c in candidates if c.started and not c.finished and not stint.is_over(c)]
        if not running:
            for candidate in candidates:
                candidate.spent = max(candidate.spent, stint.until)  # what is left of it is not saved up
            break
        for candidate in running:
            assert candidate.dg_da is not None
            candidate.a = descent.step(candidate.a, candidate.dg_da)
            candidate.steps += 1
            candidate.spent += 0 if stint.in_seconds else 1
        evaluate(running)
    for candidate in candidates:
        candidate.whole = stint.in_seconds or candidate.finished or stint.is_over(candidate)
    return list(candidates)


def _evaluations(
    engine: Engine, problem: Problem, running: Sequence[Candidate], carried: dict[int | None, Any]
) -> list[Evaluation | None]:
    """The evaluation of every candidate; None for one that raises, which is noted as its failure.

    Where several are evaluated at once and something raises, each is tried by itself: one must not take the others
    with it.
    """
    try:
        return list(engine.value_and_gradient(problem, [candidate.here for candidate in running], carried))
    except Exception as error:  # noqa: BLE001  whatever it is, the search goes on without this candidate
        if len(running) > 1:
            return [one for candidate in running for one in _evaluations(engine, problem, [candidate], carried)]
        (candidate,) = running
        candidate.failure = f"{type(error).__name__} at step {candidate.steps}: {error}"
        return [None]
