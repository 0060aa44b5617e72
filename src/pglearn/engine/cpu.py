"""The engine for ordinary processors: configurations in turn, NumPy, SciPy and faiss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pglearn.arrays import Array
from pglearn.engine.base import Configuration, Evaluation
from pglearn.objective.graph import Edges, Graph, weighted_graph
from pglearn.objective.graph.differences import Differences
from pglearn.objective.graph.weights import edge_differences, graph_of_exponents, neighbour_edges
from pglearn.objective.loss import Log, Loss, row_normalised, share_right
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import PROPAGATIONS, Propagation, Solution

SEARCH_EVERY = {"float32": 2, "float64": 1}  # evaluations for which edges stay in a search, by its precision


@dataclass(eq=False)
class Carried:
    """What an evaluation leaves to the next one of the same candidate."""

    edges: Edges
    differences: Differences
    recall: float
    age: int = 0
    """Evaluations since the edges were searched for."""
    solutions: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class CPUEngine:
    """One configuration after another. Neighbours are found in the precision of X, solves are in the propagation's."""

    loss: Loss = field(default_factory=Log)
    propagation: Propagation = field(default_factory=lambda: PROPAGATIONS["lgc"](0.99))
    neighbours: str = "exact"
    """"exact" or "approximate"."""
    search_every: int = 1
    """Evaluations of a candidate for which its edges stay, while their weights follow."""

    def for_search(self, dtype: str) -> CPUEngine:
        return replace(self, propagation=self.propagation.for_search(dtype), search_every=SEARCH_EVERY[dtype])

    def for_answer(self, neighbours: str, is_large: bool) -> CPUEngine:
        propagation = self.propagation.for_large_table() if is_large else self.propagation
        return replace(self, propagation=propagation, neighbours=neighbours)

    @property
    def together(self) -> int | None:
        return 1

    @property
    def name(self) -> str:
        return "cpu"

    def graph(self, problem: Problem, configuration: Configuration) -> Graph:
        view = problem.views[configuration.view]
        return weighted_graph(view.X, configuration.a, configuration.k, view.centre, self.neighbours)

    def propagate(self, problem: Problem, graph: Graph, beliefs: Array | None = None) -> Solution:
        return self.propagation.system(graph, problem).labels(beliefs)

    def value_and_gradient(
        self, problem: Problem, configurations: Sequence[Configuration], carried: dict[int | None, Any] | None = None
    ) -> list[Evaluation]:
        return [self._evaluated(problem, configuration, carried) for configuration in configurations]

    def _evaluated(
        self, problem: Problem, configuration: Configuration, carried: dict[int | None, Any] | None
    ) -> Evaluation:
        try:
            # What is not finite ends the candidate, which is told.
            with np.errstate(over="ignore", invalid="ignore"):
                if np.isfinite(configuration.a).all():
                    view = problem.views[configuration.view]
                    return self.on_edges(view, configuration, self._edges(view, configuration, carried))
        except (np.linalg.LinAlgError, OverflowError):  # for want of digits or of numbers: no candidate to go on with
            pass
        return Evaluation(np.nan, np.nan, np.full_like(configuration.a, np.nan))

    def _edges(self, view: Problem, configuration: Configuration, carried: dict[int | None, Any] | None) -> Carried:
        """Those of the candidate's last evaluation, or new ones; its solutions stay."""
        last: Carried | None = None if carried is None else carried.get(configuration.owner)
        if last is not None and last.age + 1 < self.search_every:
            last.age += 1
            return last
        found = self.searched(view, configuration)
        if carried is not None and self.search_every > 1:
            found.solutions = {} if last is None else last.solutions
            carried[configuration.owner] = found
        return found

    def searched(self, view: Problem, configuration: Configuration) -> Carried:
        """New edges."""
        edges, recall = neighbour_edges(view.X, configuration.a, configuration.k, view.centre, self.neighbours)
        return Carried(edges, edge_differences(view.X, edges), recall)

    def on_edges(self, view: Problem, configuration: Configuration, carried: Carried) -> Evaluation:
        """Loss, accuracy and gradient with the edges given."""
        graph = graph_of_exponents(carried.edges, carried.differences.distances(configuration.a), carried.recall)
        system = self.propagation.system(graph, view, carried.solutions)
        scores = system.validation_scores()
        judged = system.unlabelled_scores() if self.loss.is_of_unlabelled else scores
        S, _, pullback = row_normalised(judged.S, judged.least, self.propagation.dtype)
        g, dg_dS = self.loss(S, view.scored_codes)
        pulled, lift = pullback(dg_dS)
        dg_da = lift * carried.differences.contracted(judged.edge_pull(pulled))
        return Evaluation(g, share_right(scores.S, scores.least, view.scored_codes), dg_da, graph.recall)
