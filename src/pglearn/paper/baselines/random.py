"""Rand_d: draw k and one bandwidth per feature, evaluate, repeat.

The draws are those that PG-learn starts from (`pglearn.search.Draws`); no gradient is followed. A bandwidth
near the low end makes a weight that outdoes all others, and among hundreds of features a few such are always drawn. The
paper's text draws the weights themselves from the same interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

from pglearn.objective.problem import Problem
from pglearn.paper.baselines.search import Clock, SpreadingMethod, Trial
from pglearn.search import Draws


@dataclass(frozen=True)
class Rand(SpreadingMethod):
    """One trial per draw."""

    name: ClassVar[str] = "Rand_d"
    draws: Draws
    draw: str
    """What is drawn: "bandwidths" or "weights"."""

    def trials(self, problem: Problem, clock: Clock) -> Iterator[Trial]:
        for number in count():
            drawn = self.draws.draw(number)
            a = drawn.a if self.draw == "bandwidths" else drawn.a**-0.5
            accuracy = self.accuracy(problem, self.graph(problem, drawn.k, a))
            clock.tick()
            yield Trial(number, 0, drawn.k, a, accuracy)
