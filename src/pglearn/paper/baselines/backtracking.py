"""Gradient descent with backtracking, one evaluation at a time.

x ← x − γ ∂g/∂x, γ halved until g falls by at least a 10⁻⁴th of what the gradient promises (Armijo), and doubled again
after a step that was taken. The first γ moves x by half of its own length. Ends when a step gains less than a 10⁻⁴th of
g, no step gains anything, or the steps are used up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pglearn.arrays import Array

PROMISED, GAIN, HALVINGS = 1e-4, 1e-4, 12


@dataclass(frozen=True, eq=False)
class Point:
    """x, g and ∂g/∂x there; `accuracy` where it was asked for along the way."""

    x: Array
    g: float
    dg_dx: Array
    accuracy: float = float("nan")


def descended(
    evaluate: Callable[[Array], Point], x: Array, *, most_shrink: float = np.inf, steps: int = 100
) -> Iterator[Point]:
    """Every point that is evaluated, taken or not. No coordinate loses more than `most_shrink` of itself in a step."""
    here = evaluate(x)
    yield here
    size = np.linalg.norm(here.dg_dx)
    rate = 0.5 * np.linalg.norm(x) / size if size > 0 else 0.0
    for _ in range(steps):
        if not (np.isfinite(here.g) and np.isfinite(here.dg_dx).all() and here.dg_dx.any()):
            return
        shrink = float((here.dg_dx / here.x).max()) if most_shrink < np.inf else 0.0
        rate = min(rate, most_shrink / shrink) if shrink > 0 else rate
        for _ in range(HALVINGS):
            there = evaluate(here.x - rate * here.dg_dx)
            yield there
            if there.g <= here.g - PROMISED * rate * float(here.dg_dx @ here.dg_dx):
                break
            rate /= 2
        else:
            return
        gained, here = here.g - there.g, there
        if gained < GAIN * abs(here.g):
            return
        rate *= 2
