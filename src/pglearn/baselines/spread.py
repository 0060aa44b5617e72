"""LGC as the baselines use it: to judge a graph on the scored labels, and to label every row with all of them."""

from __future__ import annotations

from dataclasses import dataclass

from pglearn.engine import CPUEngine
from pglearn.engine.scores import validation_accuracy, validation_scores
from pglearn.graph import Graph, weighted_graph
from pglearn.problem import Array, Problem
from pglearn.propagation import LGC, Solution

# Which class scores highest needs no more than this; the final labels are solved to LGC's own tolerance.
TOLERANCE, PRECISION = 1e-8, 1e-2


@dataclass(frozen=True)
class Spread:
    """Label spreading with μ = `alpha`."""

    alpha: float = 0.99

    def graph(self, problem: Problem, k: int, a: Array) -> Graph:
        return weighted_graph(problem.X, a, k, problem.centre)

    def accuracy(self, problem: Problem, graph: Graph) -> float:
        lgc = LGC(self.alpha, tolerance=TOLERANCE, precision=PRECISION)
        return validation_accuracy(problem, validation_scores(problem, lgc, lgc.system(graph)))

    def answer(self, problem: Problem, graph: Graph, beliefs: Array | None = None) -> Solution:
        """F with every label shown, and `beliefs` (n × c) in place of the labels that are not given."""
        return CPUEngine(propagation=LGC(self.alpha)).propagate(problem, graph, beliefs)
