"""Algorithm 2 (PG-learn): many runs of Algorithm 1, the unpromising replaced by new draws.

T candidates run to the first milestone; the ⌊T/r⌋ with the lowest loss go on where they stopped, the others make room
for new draws; and so on at every milestone. After the last elimination all run to B, and the best at B is the answer.

Where there are several views, candidates compete within theirs, and new ones are drawn in the view of those that they
replace: a loss that is easier to bring down in one view than in another says little about which labels better.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pglearn.errors import InputError, WorkerError
from pglearn.runtime.events import VERSION, Listener, Stream
from pglearn.search.candidate import NOT_FINITE, Candidate, Draws, ranked, standing
from pglearn.search.checkpoint import Checkpoint
from pglearn.search.descent import Stint
from pglearn.search.pool import Pool
from pglearn.search.schedule import Schedule
from pglearn.search.state import State

TOLD = ("k", "view", "born", "steps", "loss", "accuracy", "converged", "failure", "recall", "seconds")


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Every candidate in order of drawing, and how the search ended."""

    candidates: list[Candidate]
    reason: str
    """"finished", "interrupted" or "out of time"."""
    events: int = 0
    """Told by then."""
    deadline: float | None = None
    """When there is no more time, as of time.time()."""

    def is_out_of_time(self) -> bool:
        return self.deadline is not None and time.time() >= self.deadline

    @property
    def found(self) -> list[Candidate]:
        """Those that can answer, best first: in the race at the end and with something found. One that failed is among
        them only if all of these did."""
        found = ranked(c for c in self.candidates if c.died is None and c.best is not None)
        return [c for c in found if c.failure is None] or found


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

    def stints(self, deadline: float | None) -> list[Stint]:
        """Those of the rounds; where milestones are no whole number of steps, less by a part of one."""
        if self.unit_seconds is not None:
            return [Stint(end * self.unit_seconds, True, deadline) for end in self.schedule.milestones]
        return [Stint(int(end * self.unit_steps), False, deadline) for end in self.schedule.milestones]

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
        state = found or State([self.draws.candidate(id) for id in range(self.schedule.population)])
        run = _Run(
            self, pool, Stream(listeners, state.events), checkpoint, begun=(begun or time.time()) - state.seconds
        )
        state, reason = run.rounds(run.begin(state, about, resumed=found is not None))
        result = SearchResult(state.candidates, reason)
        if not result.found:
            raised = [c.failure for c in state.candidates if c.failure and not c.failure.startswith(NOT_FINITE)]
            if raised:
                raise WorkerError(f"No candidate could be evaluated. The first failed with {raised[0]}")
            raise InputError(
                "No candidate has a finite loss: look for extreme values among the features, or try scale=True."
            )
        run.emit("search_ended", reason=reason, **_best(result.found))
        return replace(result, events=run.emit.told, deadline=run.deadline)


class _Run:
    """A search on its way, with all that its steps need."""

    def __init__(self, search: Search, pool: Pool, emit: Stream, checkpoint: Checkpoint | None, begun: float) -> None:
        self.emit = emit
        self._schedule = search.schedule
        self._draws = search.draws
        self._pool = pool
        self._checkpoint = checkpoint
        self._begun = begun
        self.deadline = None if search.max_time is None else begun + search.max_time
        self._stints = search.stints(self.deadline)
        pool.on_loss = lambda candidates, reason: emit("worker_lost", candidates=candidates, reason=reason)

    def begin(self, state: State, about: Mapping[str, object], *, resumed: bool) -> State:
        fields: dict[str, object] = {
            "version": VERSION,
            **about,
            "budget": self._schedule.budget,
            "rounds": len(self._stints),
            "milestones": self._schedule.milestones,
            "candidates": self._schedule.population,
            "configurations": self._schedule.configurations,
        }
        if resumed:
            self.emit("search_resumed", **fields, round=state.round, seconds=state.seconds, **_best(state.alive))
            return state
        self.emit("search_started", **fields)
        return self._in_round(state)

    def rounds(self, state: State) -> tuple[State, str]:
        """All rounds from `state` on, one after another, and why they ended."""
        while state.round < len(self._stints):
            state, whole = self._after_round(state)
            self.emit("round_ended", round=state.round, **_best(state.alive))
            last = state.round == len(self._stints) - 1
            if not (last and whole) and (reason := self._why_stop()):
                return state, reason
            if not last:
                state = self._next_generation(state)
            state = self._in_round(replace(state, round=state.round + 1))
        return state, "finished"

    def _in_round(self, state: State) -> State:
        """A state at the beginning of a round, or behind the last one, told of and kept."""
        if state.round < len(self._stints):
            until, ids = self._schedule.milestones[state.round], [candidate.id for candidate in state.alive]
            self.emit("round_started", round=state.round, until=until, candidates=ids)
        self._keep(state, at_once=True)
        return state

    def _keep(self, state: State, *, at_once: bool = False) -> None:
        """Leave a state with the checkpoint; at once, or when it is time."""
        if self._checkpoint is None:
            return
        if any(c.started for c in state.alive) and not any(c.best is not None for c in state.alive):
            return  # nothing but failures: whoever mends their cause should be able to begin again
        state = replace(state, seconds=time.time() - self._begun, events=self.emit.told)
        self._checkpoint.keep(state, self.emit, at_once=at_once)

    def _after_round(self, state: State) -> tuple[State, bool]:
        """The state when all have come in, and whether all of them have run to the end of their stints."""
        stint = self._stints[state.round]
        waiting = [candidate for candidate in state.alive if not stint.is_over(candidate)]
        saved = state  # what was stopped in the middle of a part begins that part again
        for group in self._pool.run(waiting, stint):
            state = state.with_candidates(group)
            for candidate in group:
                if stint.is_over(candidate):
                    self._tell(candidate, state.round)
            saved = saved.with_candidates(candidate for candidate in group if candidate.whole)
            self._keep(saved)
        stopped = [candidate for candidate in state.alive if not stint.is_over(candidate)]
        if not any(candidate.started for candidate in state.alive):  # no time for any of them: an answer needs one
            stopped = [self._pool.look_at(state.alive[0])]
            state = state.with_candidates(stopped)
        for candidate in stopped:
            self._tell(candidate, state.round)
        return state, not stopped

    def _why_stop(self) -> str | None:
        if self._pool.stopped:
            return "interrupted"
        return "out of time" if self.deadline is not None and time.time() >= self.deadline else None

    def _next_generation(self, state: State) -> State:
        """With those eliminated that do not go on, and others drawn in their place."""
        milestone = self._schedule.milestones[state.round]
        eliminated = standing(state.alive)[self._schedule.survivors :]
        for candidate in eliminated:
            self.emit("candidate_eliminated", candidate=candidate.id, at=milestone)
        state = state.with_candidates(replace(candidate, died=milestone) for candidate in eliminated)
        for replaced in eliminated:
            new = self._draws.candidate(len(state.candidates), born=milestone, view=replaced.view)
            state = replace(state, candidates=[*state.candidates, replace(new, spent=replaced.spent)])
            self.emit("candidate_drawn", candidate=new.id, k=new.k, born=new.born, view=new.view)
        return state

    def _tell(self, candidate: Candidate, round: int) -> None:
        """Of a candidate as it stands; of one that nobody has looked at there is nothing to tell."""
        if candidate.started:
            fields = {name: getattr(candidate, name) for name in TOLD}
            self.emit("candidate_advanced", candidate=candidate.id, round=round, **fields, a=candidate.answer.a)


def _best(candidates: list[Candidate]) -> dict[str, object]:
    best = ranked(candidates)[0]
    return {"best": best.id, "loss": best.loss, "accuracy": best.accuracy}
