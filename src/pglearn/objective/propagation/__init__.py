"""How labels spread over a given graph."""

from __future__ import annotations

from collections.abc import Callable

from pglearn.objective.propagation.base import Propagation, Scores, Solution, System, is_blurred
from pglearn.objective.propagation.lgc import LGC

PROPAGATIONS: dict[str, Callable[[float], Propagation]] = {"lgc": LGC}
"""By name; made from `alpha`, which a propagation that has none may leave: `lambda alpha: Harmonic()`."""

__all__ = ["LGC", "PROPAGATIONS", "Propagation", "Scores", "Solution", "System", "is_blurred"]
