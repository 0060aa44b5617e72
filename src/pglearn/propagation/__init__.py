"""How labels spread over a given graph."""

from pglearn.propagation.base import Propagation, Solution, System, is_blurred
from pglearn.propagation.lgc import LGC

PROPAGATIONS: dict[str, type[LGC]] = {"lgc": LGC}

__all__ = ["LGC", "PROPAGATIONS", "Propagation", "Solution", "System", "is_blurred"]
