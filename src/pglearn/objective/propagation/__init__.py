"""How labels spread over a given graph."""

from __future__ import annotations

from pglearn.objective.propagation.base import Propagation, Scores, Solution, System, is_blurred
from pglearn.objective.propagation.lgc import LGC

PROPAGATIONS: dict[str, type[LGC]] = {"lgc": LGC}

__all__ = ["LGC", "PROPAGATIONS", "Propagation", "Scores", "Solution", "System", "is_blurred"]
