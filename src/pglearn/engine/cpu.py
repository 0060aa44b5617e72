"""The engine for ordinary processors: configurations in turn, NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pglearn.engine.adjoint import gradient
from pglearn.engine.base import Configuration, Evaluation
from pglearn.engine.scores import unlabelled_scores, validation_accuracy, validation_scores
from pglearn.graph import Graph, weighted_graph
from pglearn.graph.approximate import Found, found_neighbours
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
        graph, _ = self.found(problem.views[configuration.view], configuration)
        return graph

    def found(self, view: Problem, configuration: Configuration) -> tuple[Graph, Found | None]:
        """The graph, and how its neighbours were found if not exactly."""
        a, k = configuration.a, configuration.k
        if self.neighbours == "exact":
            return weighted_graph(view.X, a, k, view.centre), None
        found = found_neighbours(view, a, k, configuration.anchor)
        return weighted_graph(view.X, a, k, view.centre, nearest=lambda Z, k: found.neighbours), found

    def propagate(self, problem: Problem, graph: Graph, beliefs: Array | None = None) -> Solution:
        B = self.propagation.source * problem.sources(beliefs)
        system = self.propagation.system(graph)
        solution = system.solve(B)
        if is_blurred(solution.F.sum(axis=1), problem.n_classes * solution.error / system.precision):
            finer = system.finer()
            if finer is not None:  # which is asked for all that rounding allows, and need not reach that
                finest = finer.solve(B)
                reached = finest.converged or (solution.converged and finest.residual <= solution.residual)
                return replace(finest, converged=reached)
        return solution

    def value_and_gradient(self, problem: Problem, configurations: Sequence[Configuration]) -> list[Evaluation]:
        return [self._evaluated(problem, configuration) for configuration in configurations]

    def _evaluated(self, problem: Problem, configuration: Configuration) -> Evaluation:
        if not np.isfinite(configuration.a).all():
            return Evaluation(np.nan, np.nan, np.full_like(configuration.a, np.nan))
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite ends the candidate, which is told
                view = problem.views[configuration.view]
                graph, found = self.found(view, configuration)
                evaluation = self.on_graph(view, graph)
                if found is None:
                    return evaluation
                return replace(evaluation, recall=found.recall, anchor=found.anchor)
        except (np.linalg.LinAlgError, OverflowError):  # for want of digits or of numbers: no candidate to go on with
            return Evaluation(np.nan, np.nan, np.full_like(configuration.a, np.nan))

    def on_graph(self, problem: Problem, graph: Graph) -> Evaluation:
        """Loss, accuracy and gradient with the graph given."""
        system = self.propagation.system(graph)
        scores = validation_scores(problem, self.propagation, system)
        on_labels = not isinstance(self.loss, Entropy)
        judged = scores if on_labels else unlabelled_scores(problem, self.propagation, system)
        S, _, pullback = row_normalised(judged.S, judged.least)
        g, dg_dS = self.loss(S, problem.scored_codes)
        pulled, lift = pullback(dg_dS)
        adjoint, F = judged.factors(pulled)
        dg_da = lift * gradient(problem, graph, self.propagation.alpha, adjoint, F)
        return Evaluation(g, validation_accuracy(problem, scores), dg_da)
