"""Where candidates run: any `concurrent.futures.Executor`, and a handle by which its workers find the problem.

A round is: submit what is missing, take results as they complete, and if workers died make a new executor and submit
again only what is missing. Work goes out in parts of a stint, the longest first.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future, wait
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TypeAlias

from pglearn.engine import Engine
from pglearn.objective.problem import Problem
from pglearn.runtime.interrupts import without_interrupts
from pglearn.runtime.threads import at_most, one_thread
from pglearn.search.candidate import Candidate
from pglearn.search.descent import Descent, Stint, advance
from pglearn.search.handle import Handle
from pglearn.search.workers import Lost, Workers, out_of_tries

TRIES = 3  # of a task that is lost each time
PART, PART_OF_LARGE = 8, 2  # steps that a worker takes before it is dealt again; of a large table
LARGE = 20_000  # rows
PART_SECONDS = 15.0  # that it takes, if stints are in seconds
LOOK_SECONDS = 1.0  # between two looks at whether to wait on
GRACE_SECONDS = 60.0  # that workers have for the step that they are in when a search is stopped or out of time

Group: TypeAlias = list[Candidate]
Outcome: TypeAlias = Future[Group]


@dataclass(frozen=True, eq=False)
class Task:
    """What every candidate of a search is run with."""

    engine: Engine
    descent: Descent


def run_task(task: Task, handle: Handle, candidates: Group, stint: Stint) -> Group:
    """A stint of some candidates, side by side, in whatever worker this is: one of several, with a thread each.

    Ctrl-C reaches every process of a terminal: the search itself tells its workers when to stop.
    """
    with at_most(1), without_interrupts():
        return run_here(task, handle, candidates, stint)


def run_here(task: Task, handle: Handle, candidates: Group, stint: Stint) -> Group:
    """The same where nothing else runs meanwhile: large problems may use all cores."""
    candidates = [candidate.copy() for candidate in candidates]  # those of the search stay as the part began
    with one_thread():
        return advance(task.engine, handle.problem(), candidates, task.descent, stint, handle.stopped)


class Pool:
    """Runs candidates on an executor."""

    def __init__(self, problem: Problem, task: Task, workers: Workers) -> None:
        self.task = task
        self.workers = workers
        self._problem = problem
        self._cleanup = ExitStack()
        self.on_loss: Callable[[list[int], str], None] = lambda candidates, reason: None
        """Told who was under way on workers that died, and what is known of why."""

    def __enter__(self) -> Pool:
        with ExitStack() as cleanup:
            cleanup.callback(self.workers.close)
            self.handle = self.workers.handle(self._problem)
            cleanup.callback(self.handle.close)
            cleanup.callback(self.handle.stop)  # tasks still running after an error return soon
            cleanup.enter_context(one_thread())
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def stop(self) -> None:
        self.handle.stop()

    @property
    def stopped(self) -> bool:
        return self.handle.stopped()

    def part_of(self, stint: Stint) -> float:
        """How much of a stint a worker is given at once. What it carries from step to step begins anew with a part, so
        that the part leads to the same numbers when it is run again."""
        if stint.in_seconds:
            return PART_SECONDS
        return PART if self._problem.n <= LARGE else PART_OF_LARGE

    def look_at(self, candidate: Candidate) -> Candidate:
        """Evaluate one candidate here and now, stopped or not."""
        (candidate,) = run_here(self.task, Handle(self._problem), [candidate], Stint(until=candidate.spent))
        return candidate

    def run(self, candidates: Sequence[Candidate], stint: Stint) -> Iterator[Group]:
        """Where candidates stand after each part of their stint, as they come in: those that run side by side at once.

        Several workers are dealt the longest runs first, and long ones in parts, so that all come to the end of the
        round together. Where a stint is cut depends on the problem alone. After a stop or the deadline those
        that are under way come in; what waits stays as it is.
        """
        order = candidates if self.workers.one_by_one else sorted(candidates, key=_shortest_last)
        size = self.task.engine.together or max(len(order), 1)
        groups = [list(order[start : start + size]) for start in range(0, len(order), size)]
        return _Round(self, groups, stint).results()


class _Round:
    """The groups of a round: those that wait for a worker and those that are under way."""

    def __init__(self, pool: Pool, groups: Iterable[Group], stint: Stint) -> None:
        self._pool = pool
        self._stint = stint
        self._waiting = deque(groups)
        self._under_way: dict[Outcome, Group] = {}
        self._done: SimpleQueue[Outcome] = SimpleQueue()  # as they come; to look at all each time takes time
        self._losses: Counter[int] = Counter()  # in a row, by the first candidate of the group
        self._given_up_at: float | None = None

    def results(self) -> Iterator[Group]:
        while self._under_way or (self._waiting and not self._is_over()):
            if not self._is_over():
                self._send()
            elif self._gives_up():
                return
            if self._under_way and (group := self._came_in()):
                yield group

    def _is_over(self) -> bool:
        deadline = self._stint.deadline
        return self._pool.stopped or (deadline is not None and time.time() >= deadline)

    def _send(self) -> None:
        """Give workers what waits; those of this process one group at a time."""
        workers = self._pool.workers
        while self._waiting and not (workers.one_by_one and self._under_way):
            executor = workers.executor()
            group = self._waiting.popleft()
            part = self._stint.part(group, self._pool.part_of(self._stint))
            call = (self._pool.task, self._pool.handle, group, part)
            try:
                if workers.one_by_one:
                    outcome = executor.submit(run_here, *call)
                else:
                    # A Ctrl-C that comes just now is lost: it would end a process that starts just now.
                    with without_interrupts() if workers.starts_processes else nullcontext():
                        outcome = executor.submit(run_task, *call)
            except RuntimeError as error:  # broken, or shut down
                self._lost(group, error)
                return
            self._under_way[outcome] = group
            outcome.add_done_callback(self._done.put)

    def _came_in(self) -> Group:
        """The next to come in, which go on if their stint is not over; or none, if they are to run again."""
        try:
            outcome = self._done.get(timeout=LOOK_SECONDS)
        except Empty:
            return []
        before = self._under_way.pop(outcome, None)
        if before is None:  # lost with others
            return []
        try:
            group = outcome.result()
        except CancelledError:
            return []
        except BrokenExecutor as error:
            self._lost(before, error)
            return []
        self._losses[before[0].id] = 0
        if not all(self._stint.is_over(candidate) for candidate in group):
            self._waiting.appendleft(group)
        return group

    def _lost(self, group: Group, error: RuntimeError) -> None:
        """Let it run again, and with it all that was under way on an executor that is broken."""
        groups = [group]
        if not isinstance(error, Lost):
            self._pool.workers.broken(error)
            wait(self._under_way, timeout=LOOK_SECONDS)
            lost = [outcome for outcome in self._under_way if _is_lost(outcome)]
            groups += [self._under_way.pop(outcome) for outcome in lost]
        self._waiting.extend(groups)
        if self._is_over():  # some engines cancel what runs
            return
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        self._pool.on_loss(sorted(candidate.id for group in groups for candidate in group), reason)
        self._losses.update(group[0].id for group in groups)
        if max(self._losses.values()) >= TRIES:
            raise out_of_tries(reason) from error

    def _gives_up(self) -> bool:
        """Whether what is under way after a stop or the deadline takes too long: then it waits for workers that do not
        come, or is with some that are gone. A cluster's tasks are left alone after a stop."""
        now = time.monotonic()
        if self._given_up_at is None:
            self._given_up_at = now + GRACE_SECONDS
        if self._pool.stopped:
            for outcome in list(self._under_way):
                outcome.cancel()
        return now >= self._given_up_at


def _is_lost(outcome: Outcome) -> bool:
    return outcome.done() and not outcome.cancelled() and isinstance(outcome.exception(), BrokenExecutor)


def _shortest_last(candidate: Candidate) -> tuple[bool, bool, float]:
    """By the seconds of a step. Newborns have an evaluation more to come than others."""
    return candidate.finished, candidate.started, -candidate.seconds / max(len(candidate.history), 1)
