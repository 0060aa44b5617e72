"""From the candidates that were chosen to the answer: a graph of all rows for each, and what spreads over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from pglearn.arrays import Array, Points
from pglearn.engine import Engine
from pglearn.ensemble.graph_ensemble import GraphEnsemble, Member, mean_graph
from pglearn.errors import warn
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import Solution
from pglearn.objective.views import View
from pglearn.runtime.threads import each, one_thread
from pglearn.search import Run, standing
from pglearn.search.events import Stream
from pglearn.tables.scaling import Scaling

SELECTIONS: dict[str, Callable[[list[Run], int], list[Run]]] = {
    "best": lambda found, survivors: found[:1],
    "ensemble": lambda found, survivors: standing(found)[:survivors],
}


@dataclass(frozen=True, eq=False)
class Table:
    """The rows after scaling, the views of their columns, and the problem of labelling all of them."""

    scaling: Scaling
    views: list[View]
    problem: Problem
    is_sampled: bool
    """Whether the search looks at a part of the rows."""

    @property
    def X(self) -> Points:
        return self.problem.X

    def in_view(self, view: int) -> Problem:
        """All rows in a view, in the precision of X."""
        return replace(self.problem, X=self.views[view].transform_table(self.X))


def concluded(
    table: Table,
    engine: Engine,
    chosen: list[Run],
    class_prior: Array | str | None,
    emit: Stream,
    is_ended: Callable[[], bool] = lambda: False,
) -> tuple[GraphEnsemble, sparse.csr_matrix, dict[int, float]]:
    """The ensemble of the chosen candidates, and the mean of their graphs; of a large table, the graph of the best.
    Also, by the ids of its members, the lowest share of the exact neighbours that their graphs had.

    Of a large table the answer has fewer members if it is to end before: one at least.
    """
    emit("answer_started", members=[c.id for c in chosen], neighbors=engine.neighbours, total=2 * len(chosen))
    recalls: dict[int, float] = {}

    def solved(number: int) -> tuple[Solution, sparse.csr_matrix | None]:
        run = chosen[number]
        graph = engine.graph(table.in_view(run.view), replace(run.answer, view=0))
        recalls[run.id] = min(run.recall, graph.recall)
        emit("member_graph_built", candidate=run.id, recall=recalls[run.id], edges=len(graph.edges))
        solution = engine.propagate(table.problem, graph)
        emit("member_solved")
        return solution, None if table.is_sampled and number else graph.W

    with one_thread():
        if table.is_sampled:  # all threads for each member, and memory for one
            found = [solved(0)]
            while len(found) < len(chosen) and not is_ended():
                found.append(solved(len(found)))
        else:
            found = each(solved, len(chosen))
    solutions, graphs = [solution for solution, _ in found], [W for _, W in found if W is not None]
    warn_if_unsolved(solutions)
    members = [Member.from_solution(*pair) for pair in zip(chosen[: len(solutions)], solutions, strict=True)]
    ensemble = GraphEnsemble.from_members(table.X, table.scaling, table.views, table.problem, members, class_prior)
    emit("answer_ended")
    return ensemble, mean_graph(graphs), recalls


def warn_if_unsolved(solutions: list[Solution]) -> None:
    worst = max(solutions, key=lambda solution: solution.residual)
    if not all(solution.converged for solution in solutions):
        warn(
            f"Labels were solved only to a residual of {worst.residual:.1e}: take a smaller alpha.",
            ConvergenceWarning,
        )
