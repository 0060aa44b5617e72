"""Algorithm 2 without barriers: who runs next when a worker is free.

The rounds are the rungs of a ladder. As before, T candidates run on every rung: ⌊T/r⌋ that come up from the rung below
and T − ⌊T/r⌋ new draws. But nobody waits until all T are back: of those back so far the best come up at once, one for
every T/⌊T/r⌋ that are back; and while none may come up, new draws run, on the lowest rung that lacks some. One that has
failed, which takes no time, comes up only if all are back and there are too few others.

Who comes up depends on who is back first, and so does the answer: docs/failures.md says when that matters.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pglearn.search.candidate import Candidate, Draws
from pglearn.search.ranking import standing
from pglearn.search.schedule import Schedule


@dataclass(eq=False)
class Rung:
    """A round: who has run it, and how many have been drawn for it and have left it for the next."""

    back: list[int] = field(default_factory=list)
    drawn: int = 0
    left: int = 0


class Ladder:
    """Where every candidate is. `rungs` has, for each in order of drawing, the last round it has run, or -1."""

    def __init__(self, schedule: Schedule, draws: Draws, candidates: list[Candidate], rungs: list[int]) -> None:
        self._schedule = schedule
        self._draws = draws
        self._starts = [0.0, *schedule.milestones[:-1]]
        self._rungs = [Rung() for _ in self._starts]
        self.candidates = list(candidates)
        self.rungs = list(rungs)
        self._unstarted: list[int] = []
        self._climbing: set[int] = set()
        for candidate, last in zip(candidates, rungs, strict=True):
            first = self._starts.index(candidate.born)
            self._rungs[first].drawn += 1
            if last < 0:
                self._unstarted.append(candidate.id)
            for rung in range(first, last + 1):
                self._rungs[rung].back.append(candidate.id)
                self._rungs[rung].left += rung < last
            if last >= 0 and candidate.done:  # it was on its way up
                self._rungs[last].left += 1
                self._climbing.add(candidate.id)
        self._half_way = sorted(self._climbing)

    def next(self) -> tuple[Candidate, int] | None:
        """A candidate and the round that it runs next; None if all that is left waits for others."""
        if self._half_way:
            candidate = self.candidates[self._half_way.pop(0)]
            return candidate, self.rungs[candidate.id] + 1
        if self._unstarted:
            candidate = self.candidates[self._unstarted.pop(0)]
            return candidate, self._starts.index(candidate.born)
        for below in reversed(range(len(self._rungs) - 1)):
            if (up := self._next_up(below)) is not None:
                self._rungs[below].left += 1
                self._climbing.add(up.id)
                return up, below + 1
        for rung, start in enumerate(self._starts):
            if self._rungs[rung].drawn < self._new_on(rung):
                self._rungs[rung].drawn += 1
                candidate = self._draws.candidate(len(self.candidates), born=start)
                self.candidates.append(candidate)
                self.rungs.append(-1)
                return candidate, rung
        return None

    def back(self, candidate: Candidate, rung: int) -> list[Candidate]:
        """Take note of a candidate that has run; those that can no longer come up are eliminated and returned."""
        self.candidates[candidate.id] = candidate
        self.rungs[candidate.id] = rung
        self._climbing.discard(candidate.id)
        self._rungs[rung].back.append(candidate.id)
        eliminated = []
        for below, start in enumerate(self._starts[1:]):
            if self._rungs[below].left == self._schedule.survivors and self.is_full(below):
                for other in self._waiting(below):
                    self.candidates[other.id] = replace(other, died=start)  # an earlier state may yet be written
                    eliminated.append(self.candidates[other.id])
        return eliminated

    def is_full(self, rung: int) -> bool:
        """Whether all have run this round."""
        return len(self._rungs[rung].back) == self._schedule.population

    def on(self, rung: int) -> list[Candidate]:
        """Those that have run this round."""
        return [self.candidates[id] for id in self._rungs[rung].back]

    def _new_on(self, rung: int) -> int:
        schedule = self._schedule
        return schedule.population - (schedule.survivors if rung else 0)

    def _next_up(self, rung: int) -> Candidate | None:
        back, left = len(self._rungs[rung].back), self._rungs[rung].left
        if left >= back * self._schedule.survivors // self._schedule.population:
            return None
        waiting = {candidate.id for candidate in self._waiting(rung)}
        # Among all that were here, so that every basis has its turn.
        order = standing(self.on(rung))
        return next((c for c in order if c.id in waiting and (c.sound or self.is_full(rung))), None)

    def _waiting(self, rung: int) -> list[Candidate]:
        """Those that have run this round as their last, and are neither on their way up nor eliminated."""
        here = [id for id in self._rungs[rung].back if self.rungs[id] == rung and id not in self._climbing]
        return [self.candidates[id] for id in here if self.candidates[id].died is None]
