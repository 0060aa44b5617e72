"""Algorithm 2 (PG-learn): many runs of Algorithm 1, the unpromising replaced by new draws.

T candidates run to the first milestone; the ⌊T/r⌋ with the lowest loss go on where they stopped, the others make room
for new draws; and so on at every milestone. After the last elimination all run to B, and the best at B is the answer.

Where there are several bases, candidates compete within theirs, and new ones are drawn in the basis of those that they
replace: a loss that is easier to bring down in one basis than in another says little about which labels better.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from pglearn.errors import InputError, WorkerError
from pglearn.search.candidate import NOT_FINITE, Candidate, Draws
from pglearn.search.checkpoint import NOWHERE, Checkpoint
from pglearn.search.events import VERSION, Listener, Stream
from pglearn.search.gradient import Stint
from pglearn.search.pool import Pool
from pglearn.search.schedule import Schedule
from pglearn.search.state import State


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Every candidate in order of drawing, and how the search ended."""

    candidates: list[Candidate]
    reason: str
    """"finished", "interrupted" or "out of time"."""

    @property
    def ranked(self) -> list[Candidate]:
        """Candidates still in the race at the end, best first."""
        return ranked(self._alive)

    @property
    def standing(self) -> list[Candidate]:
        """The same, the best of every basis first, then the second of every basis, and so on."""
        return standing(self._alive)

    @property
    def _alive(self) -> list[Candidate]:
        return [c for c in self.candidates if c.died is None]


@dataclass(frozen=True)
class Search:
    """A schedule with its clock: units of `unit_steps` steps, or of `unit_seconds` seconds if given."""

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
        checkpoint: Checkpoint = NOWHERE,
        **about: object,
    ) -> SearchResult:
        """Algorithm 2, from where the checkpoint has it. `about` is passed on to listeners with the first event."""
        state = checkpoint.found or State.at_the_start(self.draws, self.schedule.population)
        begun = time.time() - state.seconds
        emit = Stream(listeners, state.events)
        self._announce(state, checkpoint.found is not None, emit, about)

        def keep(state: State, at_once: bool) -> None:
            if (state.round or state.back) and not any(candidate.best is not None for candidate in state.alive):
                return  # nothing but failures: whoever mends their cause should be able to begin again
            checkpoint.keep(replace(state, seconds=time.time() - begun, events=emit.told), emit, at_once=at_once)

        if checkpoint.found is None:
            keep(state, at_once=True)
        milestones = self.schedule.milestones
        reason = None
        for milestone, stint in list(zip(milestones, self._stints(begun), strict=True))[state.round :]:
            if not state.back:
                emit("round_started", round=state.round, until=milestone, candidates=[c.id for c in state.alive])
            state, whole = self._after_round(state, stint, pool, emit, keep)
            best = ranked(state.alive)[0]
            emit("round_ended", round=state.round, best=best.id, loss=best.loss, accuracy=best.accuracy)
            last = milestone == milestones[-1]
            reason = None if last and whole else self._why_stop(pool, stint)
            if reason:
                break
            if not last:
                state = self._next_generation(state, milestone, emit)
            state = replace(state, round=state.round + 1, back=frozenset())
            keep(state, at_once=True)
        result = SearchResult(state.candidates, reason or "finished")
        best = result.ranked[0]
        if best.best is None:
            raised = [c.failure for c in state.candidates if c.failure and not c.failure.startswith(NOT_FINITE)]
            if raised:
                raise WorkerError(f"No candidate could be evaluated. The first failed with {raised[0]}")
            raise InputError(
                "No candidate has a finite loss: look for extreme values among the features, or try scale=True."
            )
        emit("search_ended", reason=result.reason, best=best.id, loss=best.loss, accuracy=best.accuracy)
        return result

    def _announce(self, state: State, resumed: bool, emit: Stream, about: Mapping[str, object]) -> None:
        schedule = self.schedule
        fields = {
            "version": VERSION,
            **about,
            "budget": schedule.budget,
            "rounds": len(schedule.milestones),
            "candidates": schedule.population,
            "configurations": schedule.configurations,
        }
        if not resumed:
            emit("search_started", **fields)
            return
        best = ranked(state.alive)[0]
        ends = [0.0, *schedule.milestones, schedule.milestones[-1]]
        emit(
            "search_resumed",
            **fields,
            round=state.round,
            since=ends[state.round],
            until=ends[state.round + 1],
            back=sorted(state.back),
            seconds=state.seconds,
            best=best.id,
            loss=best.loss,
            accuracy=best.accuracy,
        )

    def _after_round(
        self, state: State, stint: Stint, pool: Pool, emit: Stream, keep: Callable[[State, bool], None]
    ) -> tuple[State, bool]:
        """The state when all have come back, and whether all of them have run to the end of their stints.

        What can be gone on from is kept as it comes, up to the first that was stopped on its way.
        """
        whole = True
        before = {candidate.id: candidate for candidate in state.waiting}
        for candidate in pool.run(state.waiting, stint) if before else ():
            state = state.with_back(candidate)
            if candidate.started:
                _tell(candidate, before[candidate.id], emit)
            whole = whole and self._is_over(candidate, before[candidate.id], stint, pool)
            if whole:
                keep(state, False)
        if not any(candidate.started for candidate in state.alive):
            # Out of time before anything was looked at: an answer needs one look.
            first = state.alive[0]
            seen = pool.look_at(first)
            state = state.with_back(seen)
            _tell(seen, first, emit)
        return state, whole

    def _is_over(self, candidate: Candidate, before: Candidate, stint: Stint, pool: Pool) -> bool:
        """Whether a candidate has run to the end of its stint."""
        if candidate.finished:
            return True
        if stint.steps is not None:
            return candidate.started and candidate.steps - before.steps == stint.steps
        return self._why_stop(pool, stint) is None

    def _next_generation(self, state: State, milestone: float, emit: Stream) -> State:
        """With those eliminated that do not go on, and others drawn in their place."""
        others = standing(state.alive)[self.schedule.survivors :]
        for candidate in others:
            candidate.died = milestone
            emit("candidate_eliminated", candidate=candidate.id, at=milestone)
        drawn = len(state.candidates)
        new = [
            self.draws.candidate(drawn + i, born=milestone, basis=replaced.basis) for i, replaced in enumerate(others)
        ]
        for candidate in new:
            emit("candidate_drawn", candidate=candidate.id, k=candidate.k, born=milestone, basis=candidate.basis)
        return replace(state, candidates=state.candidates + new)

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


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Lowest loss first; ties go to the older draw, so that the order does not depend on who came in first."""
    return sorted(candidates, key=lambda candidate: (candidate.loss, candidate.id))


def standing(candidates: Iterable[Candidate]) -> list[Candidate]:
    """By rank among the candidates of the same basis, then by loss; with one basis that is by loss alone.

    Those without a finite loss come last.
    """
    seen: Counter[int] = Counter()
    places = []
    for candidate in ranked(candidates):
        place = math.inf if math.isinf(candidate.loss) else seen[candidate.basis]
        places.append((place, candidate))
        seen[candidate.basis] += 1
    return [candidate for _, candidate in sorted(places, key=lambda place: place[0])]


def _tell(candidate: Candidate, before: Candidate, emit: Stream) -> None:
    emit(
        "candidate_advanced",
        candidate=candidate.id,
        k=candidate.k,
        basis=candidate.basis,
        born=candidate.born,
        steps=candidate.steps,
        loss=candidate.loss,
        accuracy=candidate.accuracy,
        converged=candidate.converged,
        failure=candidate.failure,
        history=[list(entry) for entry in candidate.history[len(before.history) :]],
        seconds=candidate.seconds - before.seconds,
    )
