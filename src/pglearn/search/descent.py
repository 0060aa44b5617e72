"""Algorithm 1 (Gradient): follow −∂g/∂a from where a run stands.

a ← max(0, a − γ ∂g/∂a),  γ = rate · mean(a) / rms(∂g/∂a)

The step is measured in units of the run's own weights, so one rate serves all data and all losses. A run has converged
when its loss is within `enough` of perfect scores, as a share of what uniform scores would cost: what remains could
only be gained by over-fitting the few labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pglearn.arrays import Array
from pglearn.engine import Engine
from pglearn.objective.loss import Yardstick
from pglearn.objective.problem import Problem
from pglearn.search.runs import Run


@dataclass(frozen=True)
class Limit:
    """How far to run: until a run has spent so many steps, or seconds, not past `deadline` (as of time.time()).

    A step is never cut short. What one runs over by is spent already when the next round begins, also by the one that
    takes its place: however short the rounds, their sum runs over by one step.
    """

    until: float
    in_seconds: bool = False
    deadline: float | None = None

    def is_reached_by(self, run: Run) -> bool:
        return run.spent >= self.until

    def is_out_of_time(self) -> bool:
        return self.deadline is not None and time.time() >= self.deadline

    def of_part(self, runs: Sequence[Run], most: float) -> Limit:
        """That of the next part for runs that go side by side, no more than `most`."""
        return replace(self, until=min(self.until, most + min(run.spent for run in runs)))


@dataclass(frozen=True)
class Descent:
    """An engine, the update rule and when to stop."""

    engine: Engine
    yardstick: Yardstick
    rate: float = 0.5
    enough: float = 0.05

    def step(self, a: Array, dg_da: Array) -> Array:
        """The next weights."""
        direction = dg_da / np.abs(dg_da).max()  # first, because the square of a very large or small one is no float
        rms = np.sqrt(np.mean(direction**2))
        return np.asarray(np.maximum(a - self.rate * a.mean() / rms * direction, 0))

    def has_converged(self, run: Run) -> bool:
        if run.dg_da is None or not run.dg_da.any():
            return True  # no direction to follow
        return self.yardstick.share_of_chance(run.loss) <= self.enough

    def advance(
        self, problem: Problem, runs: Sequence[Run], limit: Limit, stopped: Callable[[], bool] = lambda: False
    ) -> list[Run]:
        """Take every run to a limit, side by side. The clock is read before every step, so it overruns by one.

        What the engine carries from a run's step to its next begins here, so that whoever takes the same runs to the
        same limit again, wherever it is, comes to the same numbers.
        """
        reached = {run.id: run for run in runs}
        carried: dict[int | None, Any] = {}
        last = time.monotonic()

        def is_ended() -> bool:
            return stopped() or limit.is_out_of_time()

        def evaluate(moved: Sequence[Run], steps: int) -> None:
            nonlocal last
            evaluated = self._evaluated(problem, moved, carried)
            before, last = last, time.monotonic()
            for run in evaluated:
                spent = run.spent + (last - before if limit.in_seconds else steps)
                seconds = run.seconds + (last - before) / len(moved)
                reached[run.id] = replace(run, spent=spent, seconds=seconds)

        newborn = [run for run in runs if not run.started and not (limit.in_seconds and limit.is_reached_by(run))]
        if newborn and not is_ended():
            evaluate(newborn, steps=0)
        while not is_ended():
            going = [r for r in reached.values() if r.started and not r.finished and not limit.is_reached_by(r)]
            if not going:  # what is left of the limit is not saved up
                return [replace(r, spent=max(r.spent, limit.until)) for r in reached.values()]
            evaluate([replace(run, a=self.step(run.a, run.dg_da)) for run in going if run.dg_da is not None], steps=1)
        return list(reached.values())

    def _evaluated(self, problem: Problem, runs: Sequence[Run], carried: dict[int | None, Any]) -> list[Run]:
        """The runs, evaluated where they stand. One that raises has failed.

        Where several are evaluated at once and something raises, each is tried by itself: one must not take the others
        with it.
        """
        try:
            evaluations = self.engine.value_and_gradient(problem, [run.here for run in runs], carried)
        except Exception as error:  # noqa: BLE001  whatever it is, the search goes on without this run
            if len(runs) > 1:
                return [one for run in runs for one in self._evaluated(problem, [run], carried)]
            return [run.failed(type(error).__name__, error) for run in runs]
        evaluated = [run.evaluated(evaluation) for run, evaluation in zip(runs, evaluations, strict=True)]
        return [replace(run, converged=run.failure is None and self.has_converged(run)) for run in evaluated]
