"""Rand_d: draw k and one bandwidth per feature, evaluate, repeat.

The draws are those that PG-learn starts from (`pglearn.search.candidate.Draws`); no gradient is followed. A bandwidth
near the low end makes a weight that outdoes all others, and among hundreds of features a few such are always drawn. The
paper's text draws the weights themselves from the same interval: that is `WeightDraws`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from pglearn.baselines.spread import Spread
from pglearn.baselines.trials import Clock, Trial
from pglearn.graph import Graph
from pglearn.problem import Problem
from pglearn.propagation import Solution
from pglearn.search.candidate import Candidate, Draws


@dataclass(frozen=True)
class WeightDraws(Draws):
    """k uniform on `k_range`, a weight a_m per feature uniform on `bandwidth_range`·d̄."""

    def candidate(self, id: int, born: float = 0.0, view: int | None = None) -> Candidate:
        drawn = super().candidate(id, born, view)
        return replace(drawn, a=drawn.a**-0.5)


@dataclass(frozen=True)
class Rand:
    """One trial per draw."""

    draws: Draws
    spread: Spread

    @property
    def name(self) -> str:
        return "Rand_d"

    def trials(self, problem: Problem, clock: Clock) -> Iterator[Trial]:
        for number in count():
            drawn = self.draws.candidate(number)
            accuracy = self.spread.accuracy(problem, self.spread.graph(problem, drawn.k, drawn.a))
            clock.tick()
            yield Trial(number, 0, drawn.k, drawn.a, accuracy)

    def answer(self, problem: Problem, trial: Trial) -> tuple[Graph, Solution]:
        graph = self.spread.graph(problem, trial.k, trial.a)
        return graph, self.spread.answer(problem, graph)
