"""The engine for ordinary processors: configurations in turn, NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pglearn.engine.adjoint import gradient
from pglearn.engine.base import Configuration, Evaluation
from pglearn.engine.scores import unlabelled_scores, validation_accuracy, validation_scores
from pglearn.graph import Graph, weighted_graph
from pglearn.graph.approximate import approximate_graph
from pglearn.loss import Entropy, Log, Loss, row_normalised
from pglearn.problem import Array, Problem
from pglearn.propagation import LGC, Solution, is_blurred


@dataclass(frozen=True)
class CPUEngine:
    """One configuration after another. Neighbours are found in the precision of X, everything else is float64."""

    loss: Loss = field(default_factory=Log)
    propagation: LGC = field(default_factory=LGC)
    neighbours: str = "exact"
    """"exact", or "approximate": ranked anew at every step among near points that are searched for now and then."""

    @property
    def together(self) -> int | None:
        return 1

    @property
    def name(self) -> str:
        return "cpu"

    def graph(self, problem: Problem, configuration: Configuration) -> Graph:
        view, a, k = problem.views[configuration.view], configuration.a, configuration.k
        if self.neighbours == "exact":
            return weighted_graph(view.X, a, k, view.centre)
        return approximate_graph(view, a, k, configuration.anchor)

    def propagate(self, problem: Problem, graph: Graph, beliefs: Array | None = None) -> Solution:
        B = self.propagation.source * problem.sources(beliefs)
        system = self.propagation.system(graph)
        solution = system.solve(B)
        if is_blurred(solution.F.sum(axis=1), problem.n_classes * solution.error / self.propagation.precision):
            finer = system.finer()
            if finer is not None:  # which is asked for all that rounding allows, and need not reach that
                finest = finer.solve(B)
                reached = finest.converged or (solution.converged and finest.residual <= solution.residual)
                return replace(finest, converged=reached)
        return solution

    def value_and_gradient(self, problem: Problem, configurations: Sequence[Configuration]) -> list[Evaluation]:
        return [self._evaluated(problem, configuration) for configuration in configurations]

    def _evaluated(self, problem: Problem, configuration: Configuration) -> Evaluation:
        try:
            # What is not finite ends the candidate, which is told.
            with np.errstate(over="ignore", invalid="ignore"):
                if np.isfinite(configuration.a).all():
                    return self.on_graph(problem.views[configuration.view], self.graph(problem, configuration))
        except (np.linalg.LinAlgError, OverflowError):  # for want of digits or of numbers: no candidate to go on with
            pass
        return Evaluation(np.nan, np.nan, np.full_like(configuration.a, np.nan))

    def on_graph(self, problem: Problem, graph: Graph) -> Evaluation:
        """Loss, accuracy and gradient with the graph given."""
        system = self.propagation.system(graph)
        scores = validation_scores(problem, system)
        judged = unlabelled_scores(problem, system) if isinstance(self.loss, Entropy) else scores
        S, _, pullback = row_normalised(judged.S, judged.least)
        g, dg_dS = self.loss(S, problem.scored_codes)
        pulled, lift = pullback(dg_dS)
        adjoint, F = judged.factors(pulled)
        dg_da = lift * gradient(problem, graph, self.propagation.alpha, adjoint, F)
        return Evaluation(g, validation_accuracy(problem, scores), dg_da, graph.recall, graph.anchor)
