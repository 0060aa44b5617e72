"""Rand_d: draw k and one bandwidth per feature, evaluate, repeat.

The draws are those that PG-learn starts from (`pglearn.search.Draws`); no gradient is followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from pglearn.objective.problem import Problem
from pglearn.paper.baselines.base import BandwidthClassifier, Clock, Trial
from pglearn.parameters import choice

DRAWS = {"bandwidths": 1, "weights": -0.5}  # a = (1/σ²) to that power, for σ as PG-learn draws it


@dataclass(kw_only=True, eq=False, repr=False)
class RandClassifier(BandwidthClassifier):
    """Rand_d: label spreading with k and one bandwidth per feature drawn at random, again and again.

    Parameters and attributes are those of :class:`pglearn.GridClassifier`, and one more. An evaluation is one draw, and
    `bandwidth_range` that of every σ_m.

    Parameters
    ----------
    draw : {"bandwidths", "weights"}, default="bandwidths"
        What is uniform on `bandwidth_range`·d̄: the bandwidths σ_m, or the weights a_m = 1/σ_m², as the paper's text has
        it. Among hundreds of bandwidths a few small ones outdo all others, and the graph is poor.
    """

    alpha: float = 0.99
    draw: str = "bandwidths"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        choice(self.draw, DRAWS, "draw")

    def trials(self, problem: Problem, clock: Clock, seed: int) -> Iterator[Trial]:
        draws = self._draws(problem, seed)
        for number in count():
            drawn = draws.draw(number)
            a = drawn.a ** DRAWS[self.draw]
            accuracy = self._accuracy(problem, self._graph(problem, drawn.k, a))
            clock.tick()
            yield Trial(number, 0, drawn.k, a, accuracy)
