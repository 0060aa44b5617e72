"""Where runs come from: k uniform on `k_range`, a bandwidth per feature uniform on `bandwidth_range`·d̄."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pglearn.search.runs import Run


@dataclass(frozen=True)
class Space:
    """What draws must know about a view: its coordinates and d̄, the mean distance between points in it."""

    features: int
    mean_distance: float


@dataclass(frozen=True)
class Draws:
    """Run number i is drawn by a generator of its own, so it is the same whoever else was drawn before.

    The views take turns, unless one is asked for.
    """

    spaces: tuple[Space, ...]
    k_range: tuple[int, int]
    bandwidth_range: tuple[float, float]
    seed: int

    def draw(self, id: int, view: int | None = None) -> Run:
        view = id % len(self.spaces) if view is None else view
        space = self.spaces[view]
        rng = np.random.default_rng([self.seed, id])
        k = int(rng.integers(self.k_range[0], self.k_range[1], endpoint=True))
        bandwidth = rng.uniform(*self.bandwidth_range, space.features) * space.mean_distance
        return Run(id, k, bandwidth**-2, view)
