"""How labels spread over a given graph."""

from pglearn.objective.propagation.lgc import LGC, Solution, System, is_blurred

__all__ = ["LGC", "Solution", "System", "is_blurred"]
