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
from pglearn.search.candidate import NOT_FINITE, Candidate, Draws
from pglearn.search.checkpoint import Checkpoint
from pglearn.search.events import VERSION, Listener, Stream
from pglearn.search.gradient import Stint
from pglearn.search.pool import Pool
from pglearn.search.ranking import ranked, standing
from pglearn.search.schedule import Schedule
from pglearn.search.state import State

TOLD = ("k", "view", "born", "steps", "loss", "accuracy", "converged", "failure", "recall")  # of one that comes back


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Every candidate in order of drawing, and how the search ended."""

    candidates: list[Candidate]
    reason: str
    """"finished", "interrupted" or "out of time"."""
    events: int = 0
    """Told by then."""

    @property
    def ranked(self) -> list[Candidate]:
        """Candidates still in the race at the end, best first and those that failed last."""
        return ranked(self._alive)

    @property
    def found(self) -> list[Candidate]:
        """Those of them that can answer: with something found, and one that failed only if all of these did."""
        found = [c for c in self._alive if c.best is not None]
        return [c for c in found if c.failure is None] or found

    @property
    def _alive(self) -> list[Candidate]:
        return [c for c in self.candidates if c.died is None]


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

    @property
    def evaluations(self) -> int:
        """At most, if units are steps."""
        return self.schedule.population * self.schedule.budget * self.unit_steps + self.schedule.configurations

    def run(
        self,
        pool: Pool,
        listeners: Iterable[Listener] = (),
        checkpoint: Checkpoint | None = None,
        **about: object,
    ) -> SearchResult:
        """Algorithm 2, from where the checkpoint has it. `about` is passed on to listeners with the first event."""
        checkpoint = checkpoint or Checkpoint()
        state = checkpoint.found or State.at_the_start(self.draws, self.schedule.population)
        run = _Run(self, pool, Stream(listeners, state.events), checkpoint, begun=time.time() - state.seconds)
        run.announce(state, about)
        if checkpoint.found is None:
            run.keep(state, at_once=True)
        state, reason = run.rounds(state)
        result = SearchResult(state.candidates, reason)
        if not result.found:
            raised = [c.failure for c in state.candidates if c.failure and not c.failure.startswith(NOT_FINITE)]
            if raised:
                raise WorkerError(f"No candidate could be evaluated. The first failed with {raised[0]}")
            raise InputError(
                "No candidate has a finite loss: look for extreme values among the features, or try scale=True."
            )
        run.emit("search_ended", reason=reason, **_best(result.found))
        return replace(result, events=run.emit.told)

    def stints(self, deadline: float | None) -> list[Stint]:
        """Those of the rounds."""
        if self.unit_seconds is None:
            return [Stint(steps=steps, deadline=deadline) for steps in self.schedule.steps(self.unit_steps)]
        starts = [0.0, *self.schedule.milestones]
        return [
            Stint(seconds=(end - start) * self.unit_seconds, deadline=deadline)
            for start, end in zip(starts, self.schedule.milestones, strict=False)
        ]


class _Run:
    """A search on its way, with all that its steps need."""

    def __init__(self, search: Search, pool: Pool, emit: Stream, checkpoint: Checkpoint, begun: float) -> None:
        self.emit = emit
        self._schedule = search.schedule
        self._draws = search.draws
        self._pool = pool
        self._checkpoint = checkpoint
        self._begun = begun
        self._deadline = None if search.max_time is None else begun + search.max_time
        self._stints = search.stints(self._deadline)
        pool.on_loss = lambda candidates, reason: emit("worker_lost", candidates=candidates, reason=reason)

    def announce(self, state: State, about: Mapping[str, object]) -> None:
        fields: dict[str, object] = {
            "version": VERSION,
            **about,
            "budget": self._schedule.budget,
            "rounds": len(self._stints),
            "milestones": self._schedule.milestones,
            "candidates": self._schedule.population,
            "configurations": self._schedule.configurations,
        }
        if self._checkpoint.found is None:
            self.emit("search_started", **fields)
            return
        fields |= {"round": state.round, "back": sorted(state.back), "seconds": state.seconds}
        fields |= {"units": state.units(self._schedule.milestones), **_best(state.alive)}
        self.emit("search_resumed", **fields)

    def keep(self, state: State, *, at_once: bool = False) -> None:
        """Leave a state with the checkpoint; at once, or when it is time."""
        if (state.round or state.back) and not any(candidate.best is not None for candidate in state.alive):
            return  # nothing but failures: whoever mends their cause should be able to begin again
        state = replace(state, seconds=time.time() - self._begun, events=self.emit.told)
        self._checkpoint.keep(state, self.emit, at_once=at_once)

    def rounds(self, state: State) -> tuple[State, str]:
        """All rounds from `state` on, one after another, and why they ended."""
        milestones = self._schedule.milestones
        while state.round < len(milestones):
            milestone, last = milestones[state.round], state.round == len(milestones) - 1
            if not state.has_begun:
                ids = [candidate.id for candidate in state.alive]
                self.emit("round_started", round=state.round, until=milestone, candidates=ids)
            state, whole = self._after_round(state)
            self.emit("round_ended", round=state.round, **_best(state.alive))
            if not (last and whole) and (reason := self._why_stop()):
                return state, reason
            if not last:
                state = self._next_generation(state, milestone)
            state = replace(state, round=state.round + 1, back=frozenset())
            self.keep(state, at_once=True)
        return state, "finished"

    def _after_round(self, state: State) -> tuple[State, bool]:
        """The state when all have come back, and whether all of them have run to the end of their stints.

        What can be gone on from is kept as it comes, up to the first that was stopped on its way.
        """
        stint, whole = self._stints[state.round], True

        def on_part(group: list[Candidate]) -> None:
            nonlocal state
            state = state.with_part(group)
            if whole:
                self.keep(state)

        for candidate in self._pool.run(state.waiting, stint, on_part):
            whole = whole and self._is_over(candidate, stint)
            state = state.with_back(self._told(candidate, state.round))
            if whole:
                self.keep(state)
        if not any(candidate.started for candidate in state.alive):  # there was no time for any: an answer needs one
            state = state.with_back(self._told(self._pool.look_at(state.alive[0]), state.round))
        return state, whole

    def _is_over(self, candidate: Candidate, stint: Stint) -> bool:
        """Whether a candidate has run to the end of its stint."""
        if candidate.finished:
            return True
        if stint.steps is not None:
            return candidate.started and stint.is_over(candidate)
        return self._why_stop() is None

    def _why_stop(self) -> str | None:
        if self._pool.stopped:
            return "interrupted"
        return "out of time" if self._deadline is not None and time.time() >= self._deadline else None

    def _next_generation(self, state: State, milestone: float) -> State:
        """With those eliminated that do not go on, and others drawn in their place."""
        candidates = list(state.candidates)  # that state may yet be written
        eliminated = standing(state.alive)[self._schedule.survivors :]
        for candidate in eliminated:
            candidates[candidate.id] = replace(candidate, died=milestone)
            self.emit("candidate_eliminated", candidate=candidate.id, at=milestone)
        for replaced in eliminated:
            new = self._draws.candidate(len(candidates), born=milestone, view=replaced.view)
            new.overrun = replaced.overrun
            candidates.append(new)
            self.emit("candidate_drawn", candidate=new.id, k=new.k, born=new.born, view=new.view)
        return replace(state, candidates=candidates)

    def _told(self, candidate: Candidate, round: int) -> Candidate:
        """Tell of a candidate that comes back, and what it is then; of one that nobody has looked at there is nothing
        to tell."""
        if candidate.started:
            self.emit(
                "candidate_advanced",
                candidate=candidate.id,
                round=round,
                **{name: getattr(candidate, name) for name in TOLD},
                history=[list(entry) for entry in candidate.history[candidate.told :]],
                seconds=candidate.seconds - candidate.told_seconds,
                a=candidate.answer.a,
            )
        return candidate.come_back()


def _best(candidates: list[Candidate]) -> dict[str, object]:
    best = ranked(candidates)[0]
    return {"best": best.id, "loss": best.loss, "accuracy": best.accuracy}
