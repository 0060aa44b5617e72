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
from collections.abc import Iterable
from dataclasses import dataclass

from pglearn.errors import InputError
from pglearn.search.candidate import Candidate, Draws
from pglearn.search.events import VERSION, Listener, Stream
from pglearn.search.gradient import Stint
from pglearn.search.pool import Pool
from pglearn.search.schedule import Schedule


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

    def run(self, pool: Pool, listeners: Iterable[Listener] = (), **about: object) -> SearchResult:
        """Algorithm 2. `about` is passed on to listeners with the first event."""
        emit = Stream(listeners)
        schedule = self.schedule
        milestones = schedule.milestones
        emit(
            "search_started",
            version=VERSION,
            **about,
            budget=schedule.budget,
            rounds=len(milestones),
            candidates=schedule.population,
            configurations=schedule.configurations,
        )
        everyone = [self.draws.candidate(id) for id in range(schedule.population)]
        alive = list(everyone)
        for round, (milestone, stint) in enumerate(zip(milestones, self._stints(), strict=True)):
            emit("round_started", round=round, until=milestone, candidates=[c.id for c in alive])
            alive = self._advanced(alive, stint, pool, emit)
            everyone = _updated(everyone, alive)
            best = ranked(alive)[0]
            emit("round_ended", round=round, best=best.id, loss=best.loss, accuracy=best.accuracy)
            reason = self._why_stop(pool, stint)
            if reason or milestone == milestones[-1]:
                break
            survivors, new = self._next_generation(alive, len(everyone), milestone, emit)
            everyone, alive = everyone + new, survivors + new
        result = SearchResult(everyone, reason or "finished")
        best = result.ranked[0]
        if best.best is None:
            raise InputError(
                "No candidate has a finite loss: look for extreme values among the features, or try scale=True."
            )
        emit("search_ended", reason=result.reason, best=best.id, loss=best.loss, accuracy=best.accuracy)
        return result

    def _next_generation(
        self, alive: list[Candidate], drawn: int, milestone: float, emit: Stream
    ) -> tuple[list[Candidate], list[Candidate]]:
        """Those that go on and those drawn in place of the others."""
        order = standing(alive)
        survivors, others = order[: self.schedule.survivors], order[self.schedule.survivors :]
        for candidate in others:
            candidate.died = milestone
            emit("candidate_eliminated", candidate=candidate.id, at=milestone)
        new = [
            self.draws.candidate(drawn + i, born=milestone, basis=replaced.basis) for i, replaced in enumerate(others)
        ]
        for candidate in new:
            emit("candidate_drawn", candidate=candidate.id, k=candidate.k, born=milestone, basis=candidate.basis)
        return survivors, new

    def _advanced(self, alive: list[Candidate], stint: Stint, pool: Pool, emit: Stream) -> list[Candidate]:
        told = {candidate.id: len(candidate.history) for candidate in alive}

        def tell(candidate: Candidate) -> None:
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
                history=[list(entry) for entry in candidate.history[told[candidate.id] :]],
                a=candidate.answer.a,
            )

        advanced = []
        for candidate in pool.run(alive, stint):
            advanced.append(candidate)
            if candidate.started:
                tell(candidate)
        if not any(candidate.started for candidate in advanced):
            # Out of time before anything was looked at: an answer needs one look.
            advanced[0] = pool.look_at(advanced[0])
            tell(advanced[0])
        return sorted(advanced, key=lambda candidate: candidate.id)

    def _stints(self) -> list[Stint]:
        deadline = None if self.max_time is None else time.time() + self.max_time
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


def _updated(everyone: list[Candidate], advanced: list[Candidate]) -> list[Candidate]:
    """Candidates that travelled come back as new objects: put them where the old ones stood."""
    new = {candidate.id: candidate for candidate in advanced}
    return [new.get(candidate.id, candidate) for candidate in everyone]
