"""One configuration on its way: everything Algorithm 1 needs to go on, and nothing large."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from pglearn.arrays import Array
from pglearn.engine import Configuration, Evaluation

NOT_FINITE = "loss or gradient is not finite"


@dataclass(eq=False)
class Candidate:
    """State of one run of Algorithm 1, O(d) numbers.

    `a` and `dg_da` are where the run stands; `best` and its `loss` and `accuracy` are the lowest point it has seen,
    which is what it is judged by and what it leaves behind.
    """

    id: int
    k: int
    a: Array
    view: int = 0
    born: float = 0.0
    died: float | None = None
    steps: int = 0
    dg_da: Array | None = None
    best: Array | None = None
    loss: float = float("inf")
    accuracy: float = float("nan")
    converged: bool = False
    failure: str | None = None
    history: list[tuple[int, float, float]] = field(default_factory=list)
    """(step, loss, accuracy) of every evaluation."""
    seconds: float = 0.0
    """Time of its worker that went into evaluations."""
    recall: float = 1.0
    """Lowest share of the exact neighbours that one of its graphs had."""
    whole: bool = True
    """Whether it stands where a part of its run ended, and can be gone on with by any worker, to the same bits."""
    spent: float = 0.0
    """Steps or seconds that it and those whose place it took have used; some that it had no use for count, too."""

    def copy(self) -> Self:
        """Another that can go on by itself. Arrays are replaced on the way, never written to: they can be shared."""
        return replace(self, history=list(self.history))

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
        """The best configuration this run has seen."""
        return Configuration(self.k, self.a if self.best is None else self.best, view=self.view)

    def record(self, evaluation: Evaluation) -> None:
        """Take note of the loss and gradient at the present `a`. A loss that is no number ends the run."""
        g = float(evaluation.loss)
        if not (math.isfinite(g) and np.isfinite(evaluation.dg_da).all()):
            self.failure = f"{NOT_FINITE} at step {self.steps}"
            return
        self.dg_da = evaluation.dg_da
        self.recall = min(self.recall, evaluation.recall)
        self.history.append((self.steps, g, evaluation.accuracy))
        if g < self.loss:
            self.best, self.loss, self.accuracy = self.a, g, evaluation.accuracy


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Lowest loss first; ties go to the older draw, so that the order does not depend on who came in first.

    Those that failed come last, whatever they had found by then.
    """
    return sorted(candidates, key=lambda candidate: (candidate.failure is not None, candidate.loss, candidate.id))


def standing(candidates: Iterable[Candidate]) -> list[Candidate]:
    """By rank among the candidates of the same view, then by loss; with one view that is by loss alone.

    Those without a finite loss come last, and after them those that failed.
    """
    seen: Counter[int] = Counter()
    places = []
    for candidate in ranked(candidates):
        sound = math.isfinite(candidate.loss) and candidate.failure is None
        place = seen[candidate.view] if sound else math.inf
        places.append((place, candidate))
        seen[candidate.view] += 1
    return [candidate for _, candidate in sorted(places, key=lambda place: place[0])]


@dataclass(frozen=True)
class Space:
    """What draws must know about a view: its coordinates and d̄, the mean distance between points in it."""

    features: int
    mean_distance: float


@dataclass(frozen=True)
class Draws:
    """Where candidates come from: k uniform on `k_range`, a bandwidth per feature uniform on `bandwidth_range`·d̄.

    Candidate number i is drawn from a generator of its own, so it is the same whoever else was drawn before. The views
    take turns, unless one is asked for.
    """

    spaces: tuple[Space, ...]
    k_range: tuple[int, int]
    bandwidth_range: tuple[float, float]
    seed: int

    def candidate(self, id: int, born: float = 0.0, view: int | None = None) -> Candidate:
        view = id % len(self.spaces) if view is None else view
        space = self.spaces[view]
        rng = np.random.default_rng([self.seed, id])
        k = int(rng.integers(self.k_range[0], self.k_range[1], endpoint=True))
        bandwidth = rng.uniform(*self.bandwidth_range, space.features) * space.mean_distance
        return Candidate(id, k, bandwidth**-2, view, born)
