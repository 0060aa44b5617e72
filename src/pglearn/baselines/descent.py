"""Gradient descent with backtracking, one evaluation at a time.

x ← x − γ ∂g/∂x, γ halved until g falls by at least a 10⁻⁴th of what the gradient promises (Armijo), and doubled again
after a step that was taken. The first γ moves x by half of its own length. Ends when a step gains less than a 10⁻⁴th of
g, no step gains anything, or the steps are used up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pglearn.problem import Array

PROMISED, GAIN, HALVINGS = 1e-4, 1e-4, 12


@dataclass(frozen=True, eq=False)
class Point:
    """x, g and ∂g/∂x there; `accuracy` where it was asked for along the way."""

    x: Array
    g: float
    dg_dx: Array
    accuracy: float = float("nan")


def descended(
    evaluate: Callable[[Array], Point], x: Array, *, least: float | None = None, steps: int = 100
) -> Iterator[Point]:
    """Every point that is evaluated, taken or not; x is kept at `least` or above, if given."""
    here = evaluate(x)
    yield here
    size = np.linalg.norm(here.dg_dx)
    rate = 0.5 * np.linalg.norm(x) / size if size > 0 else 0.0
    for _ in range(steps):
        if not (np.isfinite(here.g) and np.isfinite(here.dg_dx).all() and here.dg_dx.any()):
            return
        for _ in range(HALVINGS):
            x = here.x - rate * here.dg_dx
            there = evaluate(x if least is None else np.maximum(x, least))
            yield there
            promised = float(here.dg_dx @ (here.x - there.x))
            if there.g <= here.g - PROMISED * promised:
                break
            rate /= 2
        else:
            return
        gained, here = here.g - there.g, there
        if gained < GAIN * abs(here.g):
            return
        rate *= 2
