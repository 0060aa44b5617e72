"""Algorithm 2 (PG-learn): many runs of Algorithm 1, the unpromising replaced by new draws.

T candidates run to the first milestone; the ⌊T/r⌋ with the lowest loss go on where they stopped, the others make room
for new draws; and so on at every milestone. After the last elimination all run to B, and the best at B is the answer.

Where there are several views, candidates compete within theirs, and new ones are drawn in the view of those that they
replace: a loss that is easier to bring down in one view than in another says little about which labels better.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pglearn.errors import InputError, WorkerError
from pglearn.search.checkpoint import Checkpoint
from pglearn.search.descent import Limit
from pglearn.search.draws import Draws
from pglearn.search.events import VERSION, Listener, Stream
from pglearn.search.pool import Pool
from pglearn.search.runs import NOT_FINITE, Run, ranked, standing
from pglearn.search.schedule import Schedule
from pglearn.search.state import State

TOLD = ("k", "view", "born", "steps", "loss", "accuracy", "converged", "failure", "recall", "seconds")
"""Of a run, to listeners."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Every candidate in order of drawing, and how the search ended."""

    candidates: list[Run]
    reason: str
    """"finished", "interrupted" or "out of time"."""
    events: int = 0
    """Told by then."""
    deadline: float | None = None
    """When there is no more time, as of time.time()."""

    def is_out_of_time(self) -> bool:
        return self.deadline is not None and time.time() >= self.deadline

    @property
    def found(self) -> list[Run]:
        """Those that can answer, best first: in the race at the end and with something found. One that failed is among
        them only if all of these did."""
        found = ranked(run for run in self.candidates if run.died is None and run.best is not None)
        return [run for run in found if run.failure is None] or found


@dataclass(frozen=True)
class Search:
    """A schedule with its clock: units of `unit_steps` steps, or of `unit_seconds` seconds if given.

    With seconds, each of the T places is over its B units by at most one step at the end of the search. Where a unit is
    shorter than a step, some draws are so never looked at: those before them have used up their time.
    """

    schedule: Schedule
    draws: Draws
    unit_steps: int = 2
    unit_seconds: float | None = None
    max_time: float | None = None

    def limits(self, deadline: float | None) -> list[Limit]:
        """Those of the rounds; where milestones are no whole number of steps, less by a part of one."""
        if self.unit_seconds is not None:
            return [Limit(end * self.unit_seconds, True, deadline) for end in self.schedule.milestones]
        return [Limit(int(end * self.unit_steps), False, deadline) for end in self.schedule.milestones]

    @property
    def evaluations(self) -> int:
        """At most, if units are steps."""
        return self.schedule.population * self.schedule.budget * self.unit_steps + self.schedule.configurations

    def run(
        self,
        pool: Pool,
        listeners: Iterable[Listener] = (),
        checkpoint: Checkpoint | None = None,
        begun: float | None = None,
        **about: object,
    ) -> SearchResult:
        """Algorithm 2, from where the checkpoint has it. `max_time` counts from when it was `begun`, by default now.
        `about` is passed on to listeners with the first event."""
        found = None if checkpoint is None else checkpoint.found
        if checkpoint is not None and found is not None and not found.fits(self.schedule, self.draws):
            raise checkpoint.refused("holds what this search cannot have come to")
        state = found or State([self.draws.draw(id) for id in range(self.schedule.population)])
        emit = Stream(listeners, state.events)
        halving = _Halving(self, pool, emit, checkpoint, begun=(begun or time.time()) - state.seconds)
        halving.announce(state, about, resumed=found is not None)
        state, reason = halving.rounds(state)
        result = SearchResult(state.candidates, reason)
        if not result.found:
            raise _nothing_found(state.candidates)
        emit("search_ended", reason=reason, **_best(result.found))
        return replace(result, events=emit.told, deadline=halving.deadline)


class _Halving:
    """The rounds of a search, with all that they need."""

    def __init__(self, search: Search, pool: Pool, emit: Stream, checkpoint: Checkpoint | None, begun: float) -> None:
        self._schedule = search.schedule
        self._draws = search.draws
        self._pool = pool
        self._emit = emit
        self._checkpoint = checkpoint
        self._begun = begun
        self.deadline = None if search.max_time is None else begun + search.max_time
        self._limits = search.limits(self.deadline)
        pool.on_loss = lambda candidates, reason: emit("worker_lost", candidates=candidates, reason=reason)

    def announce(self, state: State, about: dict[str, object], *, resumed: bool) -> None:
        fields: dict[str, object] = {
            "version": VERSION,
            **about,
            "budget": self._schedule.budget,
            "rounds": len(self._limits),
            "milestones": self._schedule.milestones,
            "candidates": self._schedule.population,
            "configurations": self._schedule.configurations,
        }
        if resumed:
            self._emit("search_resumed", **fields, round=state.round, seconds=state.seconds, **_best(state.alive))
        else:
            self._emit("search_started", **fields)
            self._begin_round(state)

    def rounds(self, state: State) -> tuple[State, str]:
        """All rounds from `state` on, and why they ended."""
        while state.round < len(self._limits):
            state, complete = self._advance(state)
            self._emit("round_ended", round=state.round, **_best(state.alive))
            last = state.round == len(self._limits) - 1
            if not (last and complete):
                if self._pool.stopped:
                    return state, "interrupted"
                if self._limits[-1].is_out_of_time():
                    return state, "out of time"
            if not last:
                state = self._eliminate_and_draw(state)
            state = replace(state, round=state.round + 1)
            self._begin_round(state)
        return state, "finished"

    def _begin_round(self, state: State) -> None:
        """Tell of the round that begins, if there is one, and keep where it begins."""
        if state.round < len(self._limits):
            until, ids = self._schedule.milestones[state.round], [run.id for run in state.alive]
            self._emit("round_started", round=state.round, until=until, candidates=ids)
        self._keep(state, at_once=True)

    def _advance(self, state: State) -> tuple[State, bool]:
        """Run all to the limit of the round: the state when they have come in, and whether all have reached it."""
        limit = self._limits[state.round]
        saved = state  # those that were stopped in the middle of a part begin that part again
        for group, part in self._pool.advance([run for run in state.alive if not limit.is_reached_by(run)], limit):
            state = state.with_candidates(group)
            for run in group:
                if limit.is_reached_by(run):
                    self._tell(run, state.round)
            saved = saved.with_candidates(
                run for run in group if part.in_seconds or part.is_reached_by(run) or run.finished
            )
            self._keep(saved)
        stopped = [run for run in state.alive if not limit.is_reached_by(run)]
        if not any(run.started for run in state.alive):  # no time for any of them: an answer needs one
            stopped = [self._pool.evaluate(state.alive[0])]
            state = state.with_candidates(stopped)
        for run in stopped:
            self._tell(run, state.round)
        return state, not stopped

    def _eliminate_and_draw(self, state: State) -> State:
        """The next generation: those that do not go on are eliminated, and others drawn in their places."""
        milestone = self._schedule.milestones[state.round]
        eliminated = standing(state.alive)[self._schedule.survivors :]
        for run in eliminated:
            self._emit("candidate_eliminated", candidate=run.id, at=milestone)
        state = state.with_candidates(replace(run, died=milestone) for run in eliminated)
        drawn = [
            replace(self._draws.draw(id, replaced.view), born=milestone, spent=replaced.spent)
            for id, replaced in enumerate(eliminated, start=len(state.candidates))
        ]
        for run in drawn:
            self._emit("candidate_drawn", candidate=run.id, k=run.k, born=milestone, view=run.view)
        return replace(state, candidates=[*state.candidates, *drawn])

    def _keep(self, state: State, *, at_once: bool = False) -> None:
        """Leave a state with the checkpoint; at once, or when it is time."""
        if self._checkpoint is None:
            return
        if any(run.started for run in state.alive) and not any(run.best is not None for run in state.alive):
            return  # nothing but failures: whoever mends their cause should be able to begin again
        state = replace(state, seconds=time.time() - self._begun, events=self._emit.told)
        self._checkpoint.keep(state, self._emit, at_once=at_once)

    def _tell(self, run: Run, round: int) -> None:
        """Of a run as it stands; of one that nobody has looked at there is nothing to tell."""
        if run.started:
            fields = {name: getattr(run, name) for name in TOLD}
            self._emit("candidate_advanced", candidate=run.id, round=round, **fields, a=run.answer.a)


def _best(candidates: list[Run]) -> dict[str, object]:
    best = ranked(candidates)[0]
    return {"best": best.id, "loss": best.loss, "accuracy": best.accuracy}


def _nothing_found(candidates: list[Run]) -> Exception:
    raised = [run.failure for run in candidates if run.failure and not run.failure.startswith(NOT_FINITE)]
    if raised:
        return WorkerError(f"No candidate could be evaluated. The first failed with {raised[0]}")
    return InputError("No candidate has a finite loss: look for extreme values among the features, or try scale=True.")
