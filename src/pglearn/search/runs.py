"""One run of Algorithm 1: everything it needs to go on, and nothing large; and which of several runs is ahead."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from pglearn.arrays import Array
from pglearn.engine import Configuration, Evaluation

NOT_FINITE = "loss or gradient is not finite"


@dataclass(frozen=True, eq=False)
class Run:
    """A candidate on its way through Algorithm 1, O(d) numbers. It never changes: whoever takes it on makes another."""

    id: int
    k: int
    a: Array
    """The weights where it stands."""
    view: int = 0
    dg_da: Array | None = None
    """The gradient there; None before the first evaluation."""
    best: Array | None = None
    """The weights where its loss was lowest, which is what it is judged by and what it leaves behind."""
    loss: float = math.inf
    accuracy: float = math.nan
    history: tuple[tuple[int, float, float], ...] = ()
    """(step, loss, accuracy) of every evaluation."""
    recall: float = 1.0
    """Lowest share of the exact neighbours that one of its graphs had."""
    converged: bool = False
    failure: str | None = None
    born: float = 0.0
    """The milestone of Algorithm 2 at which it was drawn, in units."""
    died: float | None = None
    """The milestone at which it was eliminated; None while it is alive."""
    spent: float = 0.0
    """Steps or seconds that it and those whose place it took have used; some that it had no use for count, too."""
    seconds: float = 0.0
    """Time of its worker that went into evaluations."""

    @property
    def steps(self) -> int:
        """Taken so far, the one that failed among them."""
        return max(len(self.history) - (self.failure is None), 0)

    @property
    def started(self) -> bool:
        return self.dg_da is not None or self.failure is not None

    @property
    def finished(self) -> bool:
        """Nothing more to gain, or only by over-fitting (converged), or to do (failed)."""
        return self.converged or self.failure is not None

    @property
    def here(self) -> Configuration:
        return Configuration(self.k, self.a, self.id, self.view)

    @property
    def answer(self) -> Configuration:
        """The best configuration that it has seen."""
        return Configuration(self.k, self.a if self.best is None else self.best, view=self.view)

    def comes_from(self, drawn: Run) -> bool:
        """Whether evaluations can have made this of what was drawn."""
        lowest = min((loss for _, loss, _ in self.history), default=math.inf)
        there = {self.dg_da is not None, self.best is not None, len(self.history) > 0}
        return len(there) == 1 and (self.k, len(self.a), self.loss) == (drawn.k, len(drawn.a), lowest)

    def evaluated(self, evaluation: Evaluation) -> Self:
        """With the loss and gradient where it stands. A loss that is no number ends the run."""
        g = float(evaluation.loss)
        if not (math.isfinite(g) and np.isfinite(evaluation.dg_da).all()):
            return self.failed(NOT_FINITE)
        history = (*self.history, (len(self.history), g, evaluation.accuracy))
        recall = min(self.recall, evaluation.recall)
        run = replace(self, dg_da=evaluation.dg_da, history=history, recall=recall)
        return replace(run, best=self.a, loss=g, accuracy=evaluation.accuracy) if g < self.loss else run

    def failed(self, reason: str, details: object = None) -> Self:
        """Ended by an evaluation that gave no loss."""
        at_step = f"{reason} at step {len(self.history)}"
        return replace(self, failure=at_step if details is None else f"{at_step}: {details}")


def ranked(runs: Iterable[Run]) -> list[Run]:
    """Lowest loss first; ties go to the older draw, so that the order does not depend on who came in first.

    Those that failed come last, whatever they had found by then.
    """
    return sorted(runs, key=lambda run: (run.failure is not None, run.loss, run.id))


def standing(runs: Iterable[Run]) -> list[Run]:
    """By rank among the runs of the same view, then by loss; with one view that is by loss alone.

    Those without a finite loss come last, and after them those that failed.
    """
    seen: Counter[int] = Counter()
    places = []
    for run in ranked(runs):
        sound = math.isfinite(run.loss) and run.failure is None
        places.append((seen[run.view] if sound else math.inf, run))
        seen[run.view] += 1
    return [run for _, run in sorted(places, key=lambda place: place[0])]
