"""Grid: one bandwidth σ for all features and one k, on a grid that is refined for as long as there is time.

Level 0 is the four corners of k_range × bandwidth_range·d̄ (the authors' code skips one of them), every level halves the
sides of the cells, and only new points are visited. k is rounded to whole numbers: where its cells can be halved no
further, the levels go on with σ alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pglearn.objective.problem import Problem
from pglearn.paper.baselines.search import Clock, SpreadingMethod, Trial


@dataclass(frozen=True)
class Grid(SpreadingMethod):
    """The points of the grid, level by level, each with the same weight 1/σ² for all features."""

    name: ClassVar[str] = "Grid"
    k_range: tuple[int, int]
    sigma_range: tuple[float, float]

    def trials(self, problem: Problem, clock: Clock) -> Iterator[Trial]:
        for number, (k, sigma) in enumerate(points(self.k_range, self.sigma_range)):
            a = np.full(problem.X.shape[1], sigma**-2)
            accuracy = self.accuracy(problem, self.graph(problem, k, a))
            clock.tick()
            yield Trial(number, 0, k, a, accuracy, settings={"sigma": sigma})


def points(k_range: tuple[int, int], sigma_range: tuple[float, float]) -> Iterator[tuple[int, float]]:
    """(k, σ) in the order of the visits; ends only where neither can be refined.

    >>> from itertools import islice
    >>> list(islice(points((5, 20), (1.0, 3.0)), 9))
    [(5, 1.0), (5, 3.0), (20, 1.0), (20, 3.0), (5, 2.0), (12, 1.0), (12, 2.0), (12, 3.0), (20, 2.0)]
    """
    seen: set[tuple[int, float]] = set()
    (low, high), (least, most) = k_range, sigma_range
    cells = 1
    while True:
        found = len(seen)
        for i in range(cells + 1):
            k = low + i * (high - low) // cells
            for j in range(cells + 1):
                point = k, least + (most - least) * j / cells
                if point not in seen:
                    seen.add(point)
                    yield point
        if len(seen) == found and cells >= high - low:
            return
        cells *= 2


def halvings(low: int, high: int) -> list[int]:
    """All of low … high, in the order in which a grid over them would be refined.

    >>> halvings(5, 12)
    [5, 12, 8, 6, 10, 7, 9, 11]
    """
    return [k for k, _ in points((low, high), (1.0, 1.0))]
