"""From the candidates that were chosen to the answer: a graph of all rows for each, and what spreads over it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from pglearn.arrays import Array, Points, is_sparse
from pglearn.engine import CPUEngine, Engine, chosen_engine
from pglearn.engine.choose import chosen_neighbours
from pglearn.ensemble.graph_ensemble import GraphEnsemble, Member, mean_graph
from pglearn.objective.graph import Graph
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC, Solution
from pglearn.objective.views import View
from pglearn.runtime.events import Stream
from pglearn.runtime.threads import each
from pglearn.search.candidate import Candidate
from pglearn.tables.scaling import Scaling

# Of large tables, in rows far from any label, to three digits: more would take a second, finer solve.
PRECISION_OF_LARGE = 1e-3


@dataclass(frozen=True, eq=False)
class Table:
    """The rows after scaling, and the views of their columns."""

    X: Points
    scaling: Scaling
    views: list[View]
    problem: Problem
    """Of all rows, in no view."""
    searched: Problem
    """Of the rows that the search looks at, in every view."""
    rows: Array | None = None
    """Which these are, in order; None for all."""

    @property
    def is_sampled(self) -> bool:
        """Whether the search looks at a part of the rows."""
        return self.rows is not None

    def in_view(self, view: int) -> Problem:
        """All rows in a view, in the precision of X."""
        return replace(self.problem, X=self.views[view].transform_table(self.X))

    def neighbours(self, asked: str) -> str:
        """How those of all rows are found where `asked` was asked for."""
        return neighbours_among(self.X, self.views, asked)


def engine_of_the_answer(table: Table, searched: Engine, alpha: float, asked: str, memory: float | None) -> Engine:
    """The engine of the search, solving as closely as it can."""
    propagation = LGC(alpha, precision=PRECISION_OF_LARGE) if table.is_sampled else LGC(alpha)
    if isinstance(searched, CPUEngine):
        return replace(searched, propagation=propagation, neighbours=table.neighbours(asked), search_every=1)
    return chosen_engine("torch", searched.loss, propagation, table.searched, 0, memory)


def concluded(
    table: Table,
    engine: Engine,
    chosen: list[Candidate],
    class_prior: Array | str | None,
    emit: Stream,
    is_ended: Callable[[], bool] = lambda: False,
) -> tuple[GraphEnsemble, sparse.csr_matrix]:
    """The ensemble of the chosen candidates, and the mean of their graphs; of a large table, the graph of the best.

    Of a large table the answer has fewer members if it is to end before: one at least.
    """
    emit("answer_started", members=[c.id for c in chosen], neighbors=neighbours_of(engine), total=2 * len(chosen))

    def solved(number: int) -> tuple[Solution, sparse.csr_matrix | None]:
        graph = _graph_of_member(table, engine, chosen[number], emit)
        solution = engine.propagate(table.problem, graph)
        emit("member_solved")
        return solution, None if table.is_sampled and number else graph.W

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
    return ensemble, mean_graph(graphs)


def neighbours_of(engine: Engine) -> str:
    """How it finds them: exactly or not."""
    return engine.neighbours if isinstance(engine, CPUEngine) else "exact"


def neighbours_among(X: Points, views: list[View], asked: str) -> str:
    """How neighbours among the rows of X are found. Those of rows that stay sparse in a view always are exactly."""
    stays_sparse = is_sparse(X) and any(view.axes is None for view in views)
    return chosen_neighbours(asked, X.shape[0], stays_sparse)


def _graph_of_member(table: Table, engine: Engine, chosen: Candidate, emit: Stream) -> Graph:
    """The graph of all rows, and in the candidate how many of the exact neighbours it lacks."""
    graph = engine.graph(table.in_view(chosen.view), replace(chosen.answer, view=0))
    chosen.recall = min(chosen.recall, graph.recall)
    emit("member_graph_built", candidate=chosen.id, recall=chosen.recall, edges=len(graph.edges))
    return graph


def warn_if_unsolved(solutions: list[Solution]) -> None:
    worst = max(solutions, key=lambda solution: solution.residual)
    if not all(solution.converged for solution in solutions):
        warnings.warn(
            f"Labels were solved only to a residual of {worst.residual:.1e}: take a smaller alpha.",
            ConvergenceWarning,
            stacklevel=4,
        )
