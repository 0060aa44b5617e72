"""Who is dealt what: the work of a stream, from when it is named until its candidates come in.

Work is under way with a worker or waits to be dealt again: it has run a part of its stint, or was lost as its worker
died. Who is lost again and again is suspected of it, and tried with nothing else under way: else nobody knows whose
fault it is.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TypeAlias

from pglearn.errors import WorkerError
from pglearn.search.candidate import Candidate
from pglearn.search.gradient import Stint
from pglearn.search.workers import Deadly, Lost

TRIES = 3  # of a candidate whose worker dies, the last of them alone

Work: TypeAlias = tuple[list[Candidate], Stint]
Outcome: TypeAlias = Future[list[Candidate]]
OnPart: TypeAlias = Callable[[list[Candidate]], None]


@dataclass
class Losses:
    """What was lost since work was last dealt."""

    executor: RuntimeError | None = None
    """By which it is known that none of its workers is left, or that it takes no more work."""
    candidates: list[int] = field(default_factory=list)
    reason: str = ""
    guilty: list[Candidate] = field(default_factory=list)
    """Those whose worker died though it had nothing else to do."""


class Dealing:
    """The work of one stream: what is under way, what is to be dealt next, and who is suspected of killing workers."""

    def __init__(
        self, work: Callable[[], Work | None], is_up: Callable[[Stint], bool], on_part: OnPart | None = None
    ) -> None:
        self._work = work
        self._is_up = is_up
        self._on_part: OnPart = on_part or (lambda group: None)
        self._under_way: dict[Outcome, Work] = {}
        self._done: SimpleQueue[Outcome] = SimpleQueue()  # as they come; to look at all each time takes time
        self._again: deque[Work] = deque()
        self._suspects: deque[Work] = deque()
        self._lost: Counter[int] = Counter()  # how often, since its last part, by candidate
        self._latest = Stint(steps=0)  # that was dealt; before there is one, time is up only after a stop

    # What is dealt

    def due(self, at_once: int) -> Iterator[Work]:
        """What workers that are free are to be given, one after another; a suspect only when nothing is under way."""
        if self._suspects:
            if not self._under_way:
                yield self._suspects.popleft()
            return
        while len(self._under_way) < at_once and (work := self._next_due()):
            _, self._latest = work
            yield work

    def _next_due(self) -> Work | None:
        return self._again.popleft() if self._again else self._work()

    def sent(self, work: Work, outcome: Outcome) -> None:
        self._under_way[outcome] = work
        outcome.add_done_callback(self._done.put)

    def not_sent(self, work: Work) -> None:
        """It is the next to be dealt."""
        self._queue(work).appendleft(work)

    @property
    def is_under_way(self) -> bool:
        return bool(self._under_way)

    # What comes in

    def next_done(self, timeout: float | None) -> Outcome:
        """Raises `queue.Empty` if there is none by then."""
        return self._done.get(timeout=timeout)

    @property
    def more_is_done(self) -> bool:
        return not self._done.empty()

    def taken(self, outcome: Outcome) -> Work:
        """The work that was sent for it, which is under way no more."""
        return self._under_way.pop(outcome)

    def ran(self, work: Work, group: list[Candidate]) -> list[Candidate]:
        """Those that come in of a group that has run; the others are to go on."""
        before, stint = work
        self._forget_losses(group)
        if self._is_up(stint):
            return group
        if all(stint.is_over(candidate) for candidate in group):
            if len(group) > 1:  # they come in one by one
                self._on_part(group)
            return group
        if stint.deadline is None and _progress(group) <= _progress(before):
            raise WorkerError("A worker does not run what it is given: install the same pglearn on every worker.")
        self._on_part(group)
        self._again.append((group, stint))
        return []

    # What is lost

    def lost(self, work: Work, error: BrokenExecutor, losses: Losses) -> list[Candidate]:
        """Deal it again, unless it was a suspect, and so alone: then it is guilty.

        Those whose time is up come in as they stood: a stop makes some engines cancel what runs.
        """
        group, stint = work
        if not isinstance(error, Lost):
            losses.executor = error
        if self._is_up(stint):
            self._forget_losses(group)
            return [candidate.copy() for candidate in group]
        losses.candidates.extend(candidate.id for candidate in group)
        losses.reason = f"{type(error).__name__}: {error}".splitlines()[0]
        if self._is_suspect(group):
            losses.guilty.extend(group)
            self._forget_losses(group)
        else:
            self._deal_again(work, error)
        return []

    def _deal_again(self, work: Work, error: BrokenExecutor) -> None:
        group, _ = work
        self._lost.update({candidate.id: TRIES if isinstance(error, Deadly) else 1 for candidate in group})
        self._queue(work).append(work)

    def _queue(self, work: Work) -> deque[Work]:
        group, _ = work
        return self._suspects if self._is_suspect(group) else self._again

    def _is_suspect(self, group: list[Candidate]) -> bool:
        return max(self._lost[candidate.id] for candidate in group) >= TRIES - 1

    def _forget_losses(self, group: list[Candidate]) -> None:
        for candidate in group:
            del self._lost[candidate.id]

    # When there is no more time

    @property
    def is_over(self) -> bool:
        """After a stop, and after the deadline of what was dealt last, which is that of all."""
        return self._is_up(self._latest)

    def left(self) -> Iterator[Candidate]:
        """All that are due when it is over, as they stand: that needs no worker."""
        while work := self._suspects.popleft() if self._suspects else self._next_due():
            group, _ = work
            yield from (candidate.copy() for candidate in group)

    @property
    def time_is_up(self) -> bool:
        """For all that is under way."""
        return all(self._is_up(stint) for _, stint in self._under_way.values())

    def given_up(self) -> Iterator[Candidate]:
        """All that were dealt and have not come in, as they last stood."""
        for group, _ in (*self._under_way.values(), *self._again, *self._suspects):
            yield from (candidate.copy() for candidate in group)


def _progress(group: list[Candidate]) -> float:
    return max(candidate.done for candidate in group)
