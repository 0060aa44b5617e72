"""Learning again without some of the labels, to see how far graphs and regressions are to be believed.

The search has bent its graphs until they fit the given labels, and on these they look better than they are: hidden
labels of 43 cost them 15 nats where as many other rows cost 23 (`votes`, docs/defaults.md). The same goes for whatever
is measured at distances that they have learned. So the labels are dealt into five parts, class by class. Without each
in turn a small search is held: in every basis three candidates set out, and after two steps the one that is ahead goes
on, in as many bases as the members are of. Then the graphs, regressions at the distances that were learned so, trees,
linear models that all rows teach, and the graph of the table's own distances say what they think of the labels that
none of them has seen. All are judged by that alike (`pglearn.estimators.opinion`), and what is learned from all labels
gives the answer.

The starts are the first that are drawn, and the bases are chosen anew: the search's members are the best of some ten
starts of their basis by *all* labels, and setting out from theirs tells the hidden ones (docs/defaults.md).

This takes about as long as the search. Where the graphs leave so little of the labels unexplained that no regression
comes near, it would change nothing, and is not done. Of twenty hidden labels or fewer graphs can be
bent to explain any, and it is done.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from pglearn.basis import Basis, linear_basis, standardising
from pglearn.errors import WorkerError
from pglearn.estimators.conclusion import Table
from pglearn.estimators.members import Member, averaged, sharpened, weights_of
from pglearn.estimators.opinion import (
    BOOSTED,
    CLOUDS,
    FOREST,
    GRAPHS,
    PLAIN,
    RAISED,
    SELF_TAUGHT,
    Opinion,
    Regression,
    Regressions,
    fitted_power,
    learned_distances,
    likelihoods,
    nats,
    opinion_of,
    regressions,
    said_by,
    weights_by,
)
from pglearn.graph import mean_distance
from pglearn.graph.approximate import EXACT_UP_TO
from pglearn.laplace import PlainGraph, PlainSpread
from pglearn.loss import Yardstick
from pglearn.problem import Array, Problem, dealt_by_class, drawn_by_class, drawn_of_every_class
from pglearn.relevance import tells_of_columns
from pglearn.search import Candidate, Stint
from pglearn.search.candidate import Draws, Space
from pglearn.search.events import Stream
from pglearn.search.interrupts import Stop
from pglearn.search.pool import Pool, Task
from pglearn.search.ranking import ranked
from pglearn.search.workers import Here, Workers
from pglearn.sparse import is_sparse
from pglearn.trees import Boosted, Forest
from pglearn.unlabelled import Scatter

PARTS = 5
NEAR, SLACK = 3.0, 1.0  # a regression comes near with three times the loss of the graphs and a nat
FEW = 20  # labels to hide: whatever the graphs lose on them
MOST_HIDDEN = 200  # labels, by which all are judged
MOST_LABELS = 500  # that regressions learn from
MOST_STEPS = 32  # of a candidate, as many as the default budget has
STARTS, FIRST_STEPS = 3, 2  # in every basis, and steps after which one of them goes on

Learned = Sequence[tuple[int, Array, float]]
"""Members: basis, a and weight."""


@dataclass(frozen=True, eq=False)
class Stage:
    """What is needed to learn again: that of the search, workers (asked for once for every part), and when to stop."""

    task: Task
    draws: Draws
    steps: int | None = None
    """That a candidate of the search takes at most, if that is known."""
    workers: Callable[[], Workers] = Here
    stop: Stop = field(default_factory=Stop)


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What was learned without some of the labels."""

    hidden: Array
    """Rows of the table whose labels were hidden."""
    graphs: Array
    """What the graphs say of them, rows × classes."""
    members: Learned
    bases: list[Basis]


@dataclass(frozen=True, eq=False)
class Judgement:
    """What is heard beside the graphs, and by which losses: nats per hidden label, none if nothing was hidden."""

    opinion: Opinion | None
    losses: dict[str, float]


def judged(table: Table, stage: Stage, chosen: Sequence[Candidate], emit: Stream) -> Judgement:
    """How far to believe the chosen candidates, and others beside them. If it is stopped, by the parts so far."""
    weights, doubt = weights_of(chosen, stage.task.descent.yardstick)
    lessons = _Lessons.of(table, stage.draws.seed)
    own = lessons.regressions(table.bases)
    if not own or not _comes_near(min(loss for _, loss in own.values()) / len(lessons.rows), doubt, table.searched):
        return Judgement(None, {})
    heard: list[dict[str, Array]] = []
    codes_heard: list[Array] = []
    dealt = parts(table.searched, stage.draws.seed)
    emit("rehearsal_started", parts=len(dealt), starts=STARTS * len(table.bases))
    for rehearsal in rehearsals(table, stage, len({candidate.basis for candidate in chosen}), dealt):
        said = {GRAPHS: rehearsal.graphs, **lessons.said_of_hidden(rehearsal)}
        of_hidden = table.problem.codes[np.searchsorted(table.problem.labelled, rehearsal.hidden)]
        heard.append(said)
        codes_heard.append(of_hidden)
        losses = {name: nats(likelihoods(one, of_hidden)) for name, one in said.items()}
        emit("rehearsal_part_ended", hidden=len(of_hidden), losses=losses)
    if not heard:
        return Judgement(None, {})
    beside = lessons.learned_by_all(_learned(chosen, weights))
    beside = {name: one for name, one in beside.items() if all(name in said for said in heard)}
    said = {name: np.concatenate([part[name] for part in heard]) for name in (GRAPHS, *beside)}
    of_hidden = np.concatenate(codes_heard)
    powers = {name: fitted_power(one, of_hidden) for name, one in said.items() if name in RAISED}
    said |= {name: sharpened(said[name], power) for name, power in powers.items()}
    told = {name: likelihoods(one, of_hidden) for name, one in said.items()}
    opinion = opinion_of(beside, weights_by(told, sum(map(len, dealt))), powers)
    emit("rehearsal_ended", weight=0.0 if opinion is None else opinion.weight)
    return Judgement(opinion, {name: nats(one) / len(of_hidden) for name, one in told.items()})


@dataclass(frozen=True, eq=False)
class _Lessons:
    """What those beside the graphs learn from."""

    table: Table
    rows: Array
    """Labelled ones, from which regressions learn."""
    codes: Array
    columns: Array | None
    """What standardises the columns, none of a sparse table."""
    plain: PlainGraph | None
    """Not of a large table, of which it would take as long as a search."""
    scatter: Scatter | None
    """Of all rows, also those without a label."""

    @classmethod
    def of(cls, table: Table, seed: int) -> Self:
        labels = _regressed(table.problem, seed)
        rows, codes = table.problem.labelled[labels], table.problem.codes[labels]
        if is_sparse(table.X):
            return cls(table, rows, codes, None, None, None)
        plain = PlainGraph(table.X) if table.problem.n <= EXACT_UP_TO else None
        columns = standardising(table.X)
        return cls(table, rows, codes, columns, plain, Scatter.of_table(table.X, columns, rows, seed))

    @property
    def by_relevance(self) -> bool:
        """Whether relevant columns are looked for."""
        return self.columns is not None and tells_of_columns(self.columns, len(self.rows))

    def regressions(
        self, bases: Sequence[Basis], members: Learned | None = None, hidden: Array | None = None
    ) -> Regressions:
        """Those that can be fitted without `hidden` labels, at learned distances too where there are `members`."""
        rows, Y = self._shown(hidden)
        if members is None or is_sparse(self.table.X):  # of which there is only the line at the distances that it has
            return regressions(self.table.X, bases, rows, Y)
        return regressions(self.table.X, bases, rows, Y, learned_distances(bases, members), self.by_relevance)

    def said_of_hidden(self, rehearsal: Rehearsal) -> dict[str, Array]:
        """By name, what each says of the labels that were hidden."""
        hidden, problem = rehearsal.hidden, self.table.problem
        found = self.regressions(rehearsal.bases, rehearsal.members, hidden)
        learned = {name: one for name, (one, _) in found.items()} | self._others(hidden)
        said = {name: said_by(one, self.table.X[hidden], rehearsal.bases) for name, one in learned.items()}
        if self.plain is not None:
            left = problem.without(np.flatnonzero(np.isin(problem.labelled, hidden)))
            said[PLAIN] = _spread(self.plain, left).F[hidden]
        return said

    def learned_by_all(self, members: Learned) -> dict[str, Regression]:
        """By name, what has learned from all labels."""
        found = self.regressions(self.table.bases, members)
        learned = {name: one for name, (one, _) in found.items()} | self._others()
        if self.plain is not None:
            learned[PLAIN] = _spread(self.plain, self.table.problem).afresh()
        return learned

    def _others(self, hidden: Array | None = None) -> dict[str, Regression]:
        """Trees, and what all rows teach, without `hidden` labels."""
        rows, Y = self._shown(hidden)
        found: dict[str, Regression | None] = {}
        if self.columns is not None:
            X = self.table.X[rows]
            found = {FOREST: Forest.of_labels(self.columns, X, Y), BOOSTED: Boosted.of_labels(self.columns, X, Y)}
        if self.scatter is not None:
            found |= {CLOUDS: self.scatter.clouds(rows, Y), SELF_TAUGHT: self.scatter.self_taught(rows, Y)}
        return {name: one for name, one in found.items() if one is not None}

    def _shown(self, hidden: Array | None) -> tuple[Array, Array]:
        """Rows to learn from, without the hidden ones, and their classes, one-hot."""
        shown = slice(None) if hidden is None else ~np.isin(self.rows, hidden)
        return self.rows[shown], np.eye(self.table.problem.n_classes)[self.codes[shown]]


def _spread(plain: PlainGraph, problem: Problem) -> PlainSpread:
    return plain.spread(problem.labelled, problem.Y, problem.prior)


def rehearsals(table: Table, stage: Stage, n_bases: int, dealt: Sequence[Array]) -> Iterator[Rehearsal]:
    """A small search, of which so many bases answer, without one part of the labels after another; one that is cut
    short is left out."""
    steps = MOST_STEPS if stage.steps is None else min(stage.steps, MOST_STEPS)
    first = min(steps, FIRST_STEPS)
    for positions in dealt:
        if stage.stop():
            return
        bases, problem = _without(table, positions)
        if bases is None or not problem.scored.any():
            continue
        task = _with_labels_of(problem, stage.task)
        draws = replace(stage.draws, spaces=_spaces(stage.draws, table, bases, problem))
        starts = [draws.candidate(id) for id in range(STARTS * len(bases))]
        with Pool(problem, task, stage.workers()) as pool:
            stage.stop.then = pool.stop
            try:
                ran = _run(pool, stage.stop, starts, first)
                ran = _run(pool, stage.stop, _ahead_in_each_basis(ran)[:n_bases], steps - first)
            except WorkerError as error:
                warnings.warn(f"Regressions are judged by less than all labels, or not heard. {error}", stacklevel=4)
                return
            if stage.stop():
                return
            found = sorted((candidate for candidate in ran if candidate.sound), key=lambda candidate: candidate.id)
            if found:
                yield _said(table, problem, positions, bases, task, found)


def _run(pool: Pool, stop: Stop, candidates: Sequence[Candidate], steps: int) -> list[Candidate]:
    """After so many steps more, as they come in; none where it is to stop."""
    if stop() or not candidates:
        return []
    came_back = pool.run(candidates, Stint(steps=steps, deadline=stop.deadline))
    return [candidate.come_back() for candidate in came_back]


def _ahead_in_each_basis(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Of those that are sound the one with the lowest loss, the lowest of all first."""
    ahead: dict[int, Candidate] = {}
    for candidate in ranked(candidate for candidate in candidates if candidate.sound):
        ahead.setdefault(candidate.basis, candidate)
    return list(ahead.values())


def _said(
    table: Table, problem: Problem, positions: Array, bases: list[Basis], task: Task, found: list[Candidate]
) -> Rehearsal:
    """What those that were found say of the labels at `positions`."""
    weights, _ = weights_of(found, task.descent.yardstick)
    solved = [task.engine.propagate(problem, task.engine.graph(problem, candidate.answer)) for candidate in found]
    said = [Member.of(*one).F for one in zip(found, weights.tolist(), solved, strict=True)]
    graphs, _ = averaged(said, weights.tolist(), problem.prior)
    at = table.searched.labelled[positions]
    return Rehearsal(table.in_table(at), graphs[at], _learned(found, weights), bases)


def _with_labels_of(problem: Problem, task: Task) -> Task:
    """The task of the search, with the scale of its losses and the limit of steps by the labels that are left."""
    yardstick = Yardstick.of(task.engine.loss, problem.scored_codes, problem.n_classes)
    labels = None if task.descent.labels is None else len(problem.scored_codes)
    return replace(task, descent=replace(task.descent, yardstick=yardstick, labels=labels))


def _spaces(draws: Draws, table: Table, bases: list[Basis], problem: Problem) -> tuple[Space, ...]:
    """Those of the search, but for a basis that is another without the labels."""
    return tuple(
        space if basis is old else replace(space, mean_distance=mean_distance(view.X, draws.seed))
        for space, basis, old, view in zip(draws.spaces, bases, table.bases, problem.views, strict=True)
    )


def parts(problem: Problem, seed: int) -> list[Array]:
    """Positions of the labels to hide, part by part: of those that are scored, at most 200, each class its share."""
    rng = np.random.default_rng(seed)
    hidden = np.flatnonzero(problem.scored)
    if len(hidden) > MOST_HIDDEN:
        hidden = drawn_by_class(hidden, problem.codes, MOST_HIDDEN, rng)
    part = dealt_by_class(problem.codes[hidden], PARTS, rng)
    return [np.sort(hidden[part == number]) for number in range(min(PARTS, len(hidden)))]


def _without(table: Table, positions: Array) -> tuple[list[Basis] | None, Problem]:
    """The bases and the problem of the search without some of its labels; no bases where one needs those labels."""
    problem = table.searched.without(positions)
    shown = ~np.isin(table.problem.labelled, table.in_table(table.searched.labelled[positions]))
    bases, views = list(table.bases), [view.X for view in problem.views]
    for number, basis in enumerate(bases):
        if basis.own is not None:
            found = linear_basis(table.X, table.problem.labelled[shown], table.problem.Y[shown])
            if found is None:
                return None, problem
            bases[number], views[number] = found, found.of_table(table.X, table.rows)
    return bases, replace(problem, X=views[0], others=tuple(views[1:]))


def _regressed(problem: Problem, seed: int) -> Array:
    """Positions of the labels that regressions learn from: all, or the scored ones and of the others so many, of every
    class one at least."""
    labels = np.arange(len(problem.codes))
    if is_sparse(problem.X) or len(labels) <= MOST_LABELS:
        return labels
    rng = np.random.default_rng(seed)
    scored, others = np.flatnonzero(problem.scored), np.flatnonzero(~problem.scored)
    if len(scored) > MOST_LABELS:
        return np.sort(drawn_of_every_class(scored, problem.codes, MOST_LABELS, rng))
    drawn = drawn_of_every_class(others, problem.codes, MOST_LABELS - len(scored), rng)
    return np.sort(np.append(scored, drawn))


def _comes_near(loss: float, doubt: float, problem: Problem) -> bool:
    """Whether a regression that loses so many nats per label could be better than graphs that are left with the share
    `doubt` of chance, for all that these are too low by."""
    labels = len(problem.scored_codes)
    return labels <= FEW or bool(loss * labels < NEAR * (doubt * labels * np.log(problem.n_classes) + SLACK))


def _learned(candidates: Sequence[Candidate], weights: Array) -> Learned:
    return [(c.basis, c.answer.a, weight) for c, weight in zip(candidates, weights.tolist(), strict=True)]
