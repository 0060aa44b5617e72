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

import numpy as np

from pglearn.engine import Engine, Evaluation
from pglearn.loss import Yardstick
from pglearn.problem import Array, Problem
from pglearn.search.candidate import Candidate


@dataclass(frozen=True)
class Stint:
    """How long to run: a number of steps or seconds, not past `deadline` (as of time.time()).

    A step is never cut short. What a stint of seconds runs over by is taken off the next one of the same candidate, or
    of the one that takes its place: however short the stints, their sum runs over by one step.
    """

    steps: int | None = None
    seconds: float | None = None
    deadline: float | None = None

    def is_over(self, candidate: Candidate) -> bool:
        """Whether a candidate has nothing left of it to run."""
        return candidate.finished or self._length - candidate.done < 1e-9  # sums of seconds are not exact

    def part(self, candidates: Sequence[Candidate], steps: int, seconds: float) -> Stint:
        """What is left of it for those that have run a part of it side by side, but no more than so much."""
        done = max(candidate.done for candidate in candidates)
        if self.steps is not None:
            return replace(self, steps=min(self.steps - int(done), steps))
        return replace(self, seconds=min(self._length - done, seconds))

    @property
    def _length(self) -> float:
        length = self.seconds if self.steps is None else self.steps
        assert length is not None
        return length


@dataclass(frozen=True)
class Descent:
    """The update rule and when to stop."""

    yardstick: Yardstick
    rate: float = 0.5
    enough: float = 0.05

    def step(self, a: Array, dg_da: Array) -> Array:
        """The next weights of a candidate (d), or of several (T × d)."""
        # First, because the square of a very large or small one is no float.
        direction = dg_da / np.abs(dg_da).max(axis=-1, keepdims=True)
        rms = np.sqrt(np.mean(direction**2, axis=-1, keepdims=True))
        return np.asarray(np.maximum(a - self.rate * a.mean(axis=-1, keepdims=True) / rms * direction, 0))

    def move(self, candidates: Sequence[Candidate]) -> None:
        """A step of every candidate, those of a view at once."""
        of_view: dict[int, list[Candidate]] = {}
        for candidate in candidates:
            of_view.setdefault(candidate.view, []).append(candidate)
        for together in of_view.values():
            moved = self.step(np.array([c.a for c in together]), np.array([c.dg_da for c in together]))
            for candidate, a in zip(together, moved, strict=True):
                candidate.a = a.copy()  # else it would keep those of all others alive
                candidate.steps += 1

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
    """Run every candidate for a stint, side by side. The clock is read before every step, so it overruns by one."""
    begun = time.monotonic()
    used: dict[int, float] = {}  # seconds, by the end of a candidate's last step

    def is_over() -> bool:
        return stopped() or (stint.deadline is not None and time.time() >= stint.deadline)

    def has_time(candidate: Candidate) -> bool:
        return stint.seconds is None or time.monotonic() - begun < stint.seconds - candidate.overrun

    def evaluate(running: Sequence[Candidate]) -> None:
        started = time.monotonic()
        for candidate, evaluation in zip(running, _evaluations(engine, problem, running), strict=True):
            if evaluation is not None:
                candidate.record(evaluation)
                candidate.converged = candidate.failure is None and descent.converged(candidate)
        for candidate in running:
            candidate.seconds += (time.monotonic() - started) / len(running)
            used[candidate.id] = time.monotonic() - begun

    newborn = [candidate for candidate in candidates if not candidate.started and has_time(candidate)]
    if newborn and not is_over():
        evaluate(newborn)
    done = 0
    while (stint.steps is None or done < stint.steps) and not is_over():
        running = [c for c in candidates if c.started and not c.finished and has_time(c)]
        if not running:
            break
        descent.move(running)
        for candidate in running:
            candidate.done += 1 if stint.seconds is None else 0
        evaluate(running)
        done += 1
    if stint.seconds is not None:
        for candidate in candidates:
            candidate.overrun = max(0.0, candidate.overrun + used.get(candidate.id, 0.0) - stint.seconds)
            candidate.done += stint.seconds
    return list(candidates)


def _evaluations(engine: Engine, problem: Problem, running: Sequence[Candidate]) -> list[Evaluation | None]:
    """The evaluation of every candidate; None for one that raises, which is noted as its failure.

    Where several are evaluated at once and something raises, each is tried by itself: one must not take the others
    with it.
    """
    try:
        return list(engine.value_and_gradient(problem, [candidate.here for candidate in running]))
    except Exception as error:  # noqa: BLE001  whatever it is, the search goes on without this candidate
        if len(running) > 1:
            return [evaluation for candidate in running for evaluation in _evaluations(engine, problem, [candidate])]
        (candidate,) = running
        candidate.failure = f"{type(error).__name__} at step {candidate.steps}: {error}"
        return [None]
