"""Algorithm 2 (PG-learn): many runs of Algorithm 1, the unpromising replaced by new draws.

T candidates run to the first milestone; the ⌊T/r⌋ with the lowest loss go on where they stopped, the others make room
for new draws; and so on at every milestone. After the last elimination all run to B, and the best at B is the answer.

Where there are several views, candidates compete within theirs, and new ones are drawn in the view of those that they
replace: a loss that is easier to bring down in one view than in another says little about which labels better.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from pglearn.errors import InputError, WorkerError
from pglearn.search.candidate import NOT_FINITE, Candidate, Draws
from pglearn.search.checkpoint import Checkpoint
from pglearn.search.events import VERSION, Listener, Stream
from pglearn.search.gradient import Stint
from pglearn.search.pool import Pool
from pglearn.search.ranking import ranked, standing
from pglearn.search.schedule import Schedule
from pglearn.search.state import State

Keep: TypeAlias = Callable[[State, bool], None]
"""Leave a state with the checkpoint; at once, or when it is time."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Every candidate in order of drawing, and how the search ended."""

    candidates: list[Candidate]
    reason: str
    """"finished", "interrupted" or "out of time"."""
    events: int = 0
    """Told by then."""
    deadline: float = float("inf")
    """As of time.time(), by `max_time`."""

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
        begun = time.time() - state.seconds
        emit = Stream(listeners, state.events)
        self._announce(state, checkpoint.found is not None, emit, about)

        def keep(state: State, at_once: bool) -> None:
            if (state.round or state.back) and not any(candidate.best is not None for candidate in state.alive):
                return  # nothing but failures: whoever mends their cause should be able to begin again
            checkpoint.keep(replace(state, seconds=time.time() - begun, events=emit.told), emit, at_once=at_once)

        pool.on_loss = lambda candidates, reason: emit("worker_lost", candidates=candidates, reason=reason)
        if checkpoint.found is None:
            keep(state, True)
        state, reason = self._rounds(state, self._stints(begun), pool, emit, keep)
        deadline = begun + (self.max_time or float("inf"))
        result = SearchResult(state.candidates, reason or "finished", deadline=deadline)
        if not result.found:
            raised = [c.failure for c in state.candidates if c.failure and not c.failure.startswith(NOT_FINITE)]
            if raised:
                raise WorkerError(f"No candidate could be evaluated. The first failed with {raised[0]}")
            raise InputError(
                "No candidate has a finite loss: look for extreme values among the features, or try scale=True."
            )
        best = ranked(result.found)[0]
        emit("search_ended", reason=result.reason, best=best.id, loss=best.loss, accuracy=best.accuracy)
        return replace(result, events=emit.told)

    def _rounds(
        self, state: State, stints: list[Stint], pool: Pool, emit: Stream, keep: Keep
    ) -> tuple[State, str | None]:
        """All rounds from `state` on, one after another, and why they ended early, if they did."""
        milestones = self.schedule.milestones
        for milestone, stint in list(zip(milestones, stints, strict=True))[state.round :]:
            if not state.has_begun:
                emit("round_started", round=state.round, until=milestone, candidates=[c.id for c in state.alive])
            state, whole = self._after_round(state, stint, pool, emit, keep)
            best = ranked(state.alive)[0]
            emit("round_ended", round=state.round, best=best.id, loss=best.loss, accuracy=best.accuracy)
            last = milestone == milestones[-1]
            reason = None if last and whole else self._why_stop(pool, stint)
            if reason:
                return state, reason
            if not last:
                state = self._next_generation(state, milestone, emit)
            state = replace(state, round=state.round + 1, back=frozenset())
            keep(state, True)
        return state, None

    def _announce(self, state: State, resumed: bool, emit: Stream, about: Mapping[str, object]) -> None:
        schedule = self.schedule
        fields = {
            "version": VERSION,
            **about,
            "budget": schedule.budget,
            "rounds": len(schedule.milestones),
            "milestones": schedule.milestones,
            "candidates": schedule.population,
            "configurations": schedule.configurations,
        }
        if not resumed:
            emit("search_started", **fields)
            return
        best = ranked(state.alive)[0]
        emit(
            "search_resumed",
            **fields,
            round=state.round,
            back=sorted(state.back),
            units=state.units(schedule.milestones),
            seconds=state.seconds,
            best=best.id,
            loss=best.loss,
            accuracy=best.accuracy,
        )

    def _after_round(self, state: State, stint: Stint, pool: Pool, emit: Stream, keep: Keep) -> tuple[State, bool]:
        """The state when all have come back, and whether all of them have run to the end of their stints.

        What can be gone on from is kept as it comes, up to the first that was stopped on its way.
        """
        whole = True

        def on_part(group: list[Candidate]) -> None:
            nonlocal state
            state = state.with_part(group)
            if whole:
                keep(state, False)

        for candidate in pool.run(state.waiting, stint, on_part):
            whole = whole and self._is_over(candidate, stint, pool)
            state = state.with_back(_told(candidate, state.round, emit))
            if whole:
                keep(state, False)
        return self._looked_at(state, pool, emit), whole

    @staticmethod
    def _looked_at(state: State, pool: Pool, emit: Stream) -> State:
        """With one look at one candidate if there was no time for any: an answer needs that."""
        if any(candidate.started for candidate in state.alive):
            return state
        first = state.alive[0]
        seen = pool.look_at(first)
        return state.with_back(_told(seen, state.round, emit))

    def _is_over(self, candidate: Candidate, stint: Stint, pool: Pool) -> bool:
        """Whether a candidate has run to the end of its stint."""
        if candidate.finished:
            return True
        if stint.steps is not None:
            return candidate.started and stint.is_over(candidate)
        return self._why_stop(pool, stint) is None

    def _next_generation(self, state: State, milestone: float, emit: Stream) -> State:
        """With those eliminated that do not go on, and others drawn in their place."""
        others = standing(state.alive)[self.schedule.survivors :]
        candidates = list(state.candidates)  # that state may yet be written
        for candidate in others:
            candidates[candidate.id] = replace(candidate, died=milestone)
            emit("candidate_eliminated", candidate=candidate.id, at=milestone)
        drawn = len(state.candidates)
        new = [self.draws.candidate(drawn + i, born=milestone, view=replaced.view) for i, replaced in enumerate(others)]
        for candidate, replaced in zip(new, others, strict=True):
            candidate.overrun = replaced.overrun
            emit("candidate_drawn", candidate=candidate.id, k=candidate.k, born=candidate.born, view=candidate.view)
        return replace(state, candidates=candidates + new)

    def _stints(self, begun: float) -> list[Stint]:
        deadline = None if self.max_time is None else begun + self.max_time
        if self.unit_seconds is None:
            return [Stint(steps=steps, deadline=deadline) for steps in self.schedule.steps(self.unit_steps)]
        ends = self.schedule.milestones
        return [
            Stint(seconds=(end - start) * self.unit_seconds, deadline=deadline)
            for start, end in zip([0.0, *ends[:-1]], ends, strict=True)
        ]

    @staticmethod
    def _why_stop(pool: Pool, stint: Stint) -> str | None:
        if pool.stopped:
            return "interrupted"
        if stint.deadline is not None and time.time() >= stint.deadline:
            return "out of time"
        return None


def _told(candidate: Candidate, round: int, emit: Stream) -> Candidate:
    """Tell of a candidate that comes back, and what it is then; of one that nobody has looked at there is nothing to
    tell."""
    if candidate.started:
        emit(
            "candidate_advanced",
            candidate=candidate.id,
            round=round,
            k=candidate.k,
            view=candidate.view,
            born=candidate.born,
            steps=candidate.steps,
            loss=candidate.loss,
            accuracy=candidate.accuracy,
            converged=candidate.converged,
            failure=candidate.failure,
            recall=candidate.recall,
            history=[list(entry) for entry in candidate.history[candidate.told :]],
            seconds=candidate.seconds - candidate.told_seconds,
            a=candidate.answer.a,
        )
    return candidate.come_back()
