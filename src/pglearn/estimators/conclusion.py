"""From the candidates that were chosen to the answer: a graph of all rows for each, and what spreads over it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scipy import sparse

from pglearn.basis import Basis
from pglearn.engine import CPUEngine, Engine, chosen_engine
from pglearn.engine.choose import chosen_neighbours
from pglearn.estimators.answer import HEARINGS, Answer
from pglearn.estimators.base import warn_if_unsolved
from pglearn.estimators.members import Member, mean_graph, weights_of
from pglearn.estimators.scaling import Scaling
from pglearn.graph import Graph
from pglearn.loss import Yardstick
from pglearn.problem import Array, Points, Problem
from pglearn.propagation import LGC
from pglearn.search.candidate import Candidate
from pglearn.search.events import Stream
from pglearn.sparse import is_sparse

# Of large tables, in rows far from any label, to three digits: more would take a second, finer solve.
PRECISION_OF_LARGE = 1e-3


@dataclass(frozen=True, eq=False)
class Table:
    """The rows after scaling, and the bases to look at them in."""

    X: Points
    scaling: Scaling
    bases: list[Basis]
    problem: Problem
    """Of all rows, in no basis."""
    searched: Problem
    """Of the rows that the search looks at, in every basis."""
    rows: Array | None = None
    """Which these are, in order; None for all."""

    @property
    def is_sampled(self) -> bool:
        """Whether the search looks at a part of the rows."""
        return self.rows is not None

    def in_table(self, positions: Array) -> Array:
        """Where rows that the search looks at are in the table."""
        return positions if self.rows is None else self.rows[positions]

    def view(self, basis: int) -> Problem:
        """All rows in a basis."""
        if self.is_sampled:
            return replace(self.problem, X=self.bases[basis].of_table(self.X))
        return self.searched.views[basis]

    def neighbours(self, asked: str) -> str:
        """How those of all rows are found where `asked` was asked for."""
        return neighbours_among(self.X, self.bases, asked)


@dataclass(frozen=True, eq=False)
class Conclusion:
    """The answer, and what it came from."""

    answer: Answer
    graph: sparse.csr_matrix
    """The members' graphs, averaged by weight; of a table too large for that, the graph of the one that counts most."""
    weights: Array
    """Of the members."""


def engine_of_the_answer(table: Table, searched: Engine, alpha: float, asked: str, memory: float | None) -> Engine:
    """The engine of the search, solving as closely as it can; for a larger table than that, the CPU's."""
    propagation = LGC(alpha, precision=PRECISION_OF_LARGE) if table.is_sampled else LGC(alpha)
    if isinstance(searched, CPUEngine):
        return replace(searched, propagation=propagation, neighbours=table.neighbours(asked))
    if table.is_sampled:
        return CPUEngine(searched.loss, propagation, table.neighbours(asked))
    return chosen_engine("torch", searched.loss, propagation, table.searched, 0, memory)


def concluded(
    table: Table,
    engine: Engine,
    chosen: list[Candidate],
    yardstick: Yardstick,
    prior: Array | str | None,
    emit: Stream,
) -> Conclusion:
    """What the chosen candidates say together of all rows.

    Where there are several, and class shares to reach, each then hears what the others think of unlabelled rows.
    """
    weights, _ = weights_of(chosen, yardstick)
    may_hear = len(chosen) > 1 and prior is not None
    total = (2 + HEARINGS * may_hear) * len(chosen)
    emit("answer_started", members=[c.id for c in chosen], neighbors=neighbours_of(engine), total=total)
    graphs = [_graph_of_member(table, engine, candidate, emit) for candidate in chosen]

    def answer(beliefs: Array | None = None) -> Answer:
        solutions = []
        for graph in graphs:
            solutions.append(engine.propagate(table.problem, graph, beliefs))
            emit("member_solved")
        warn_if_unsolved(solutions)
        members = [Member.of(*parts) for parts in zip(chosen, weights.tolist(), solutions, strict=True)]
        return Answer.of(table.X, table.scaling, table.bases, table.problem, members, prior)

    first = answer()
    shares = first.shares_to_reach(prior)
    found = first = first.with_shares(shares)
    if may_hear and shares is not None:
        for _ in range(HEARINGS):
            found = answer(found.beliefs).as_sure_as(first).with_shares(shares)
    emit("answer_ended")
    most = int(weights.argmax())
    joined = ([graphs[most]], [1.0]) if table.is_sampled else (graphs, weights.tolist())
    return Conclusion(found, mean_graph([graph.W for graph in joined[0]], joined[1]), weights)


def neighbours_of(engine: Engine) -> str:
    """How it finds them: exactly or not."""
    return engine.neighbours if isinstance(engine, CPUEngine) else "exact"


def neighbours_among(X: Points, bases: list[Basis], asked: str) -> str:
    """How neighbours among the rows of X are found. Those of rows that stay sparse in a basis always are exactly."""
    stays_sparse = is_sparse(X) and any(basis.axes is None for basis in bases)
    return chosen_neighbours(asked, X.shape[0], stays_sparse)


def _graph_of_member(table: Table, engine: Engine, chosen: Candidate, emit: Stream) -> Graph:
    """The graph of all rows, and in the candidate how many of the exact neighbours it lacks."""
    if not isinstance(engine, CPUEngine):
        return engine.graph(table.searched, chosen.answer)
    graph, found = engine.found(table.view(chosen.view), chosen.answer)
    chosen.recall = min(chosen.recall, 1.0 if found is None else found.recall)
    emit("member_graph_built", candidate=chosen.id, recall=chosen.recall, edges=len(graph.edges))
    return graph
