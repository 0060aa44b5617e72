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
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC, Solution
from pglearn.objective.views import View
from pglearn.runtime.threads import each
from pglearn.search import Run
from pglearn.search.events import Stream
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
    """The engine of the search, solving as closely as it can; for a larger table than that, the CPU's."""
    propagation = LGC(alpha, precision=PRECISION_OF_LARGE) if table.is_sampled else LGC(alpha)
    if isinstance(searched, CPUEngine):
        return replace(searched, propagation=propagation, neighbours=table.neighbours(asked), search_every=1)
    if table.is_sampled:
        return CPUEngine(searched.loss, propagation, table.neighbours(asked))
    return chosen_engine("torch", searched.loss, propagation, table.searched, 0, memory)


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
    emit("answer_started", members=[c.id for c in chosen], neighbors=neighbours_of(engine), total=2 * len(chosen))

    recalls: dict[int, float] = {}

    def solved(number: int) -> tuple[Solution, sparse.csr_matrix | None]:
        run = chosen[number]
        graph = engine.graph(table.in_view(run.view), replace(run.answer, view=0))
        recalls[run.id] = min(run.recall, graph.recall)
        emit("member_graph_built", candidate=run.id, recall=recalls[run.id], edges=len(graph.edges))
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
    return ensemble, mean_graph(graphs), recalls


def neighbours_of(engine: Engine) -> str:
    """How it finds them: exactly or not."""
    return engine.neighbours if isinstance(engine, CPUEngine) else "exact"


def neighbours_among(X: Points, views: list[View], asked: str) -> str:
    """How neighbours among the rows of X are found. Those of rows that stay sparse in a view always are exactly."""
    stays_sparse = is_sparse(X) and any(view.axes is None for view in views)
    return chosen_neighbours(asked, X.shape[0], stays_sparse)


def warn_if_unsolved(solutions: list[Solution]) -> None:
    worst = max(solutions, key=lambda solution: solution.residual)
    if not all(solution.converged for solution in solutions):
        warnings.warn(
            f"Labels were solved only to a residual of {worst.residual:.1e}: take a smaller alpha.",
            ConvergenceWarning,
            stacklevel=4,
        )
