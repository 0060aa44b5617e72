"""Where candidates run: any `concurrent.futures.Executor`, and a handle by which its workers find the problem.

A round is: submit what is missing, take results as they complete, and if workers died make a new executor and submit
again only what is missing. Work goes out in parts of a stint, the longest first.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future, wait
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from itertools import chain
from queue import Empty, SimpleQueue
from typing import TypeAlias

from pglearn.engine import Engine
from pglearn.errors import WorkerError
from pglearn.problem import Problem
from pglearn.search.candidate import Candidate
from pglearn.search.gradient import Descent, Stint, advance
from pglearn.search.handle import Handle, InMemory
from pglearn.search.interrupts import without_interrupts
from pglearn.search.limits import one_thread
from pglearn.search.workers import Lost, Workers, out_of_tries
from pglearn.threads import at_most

TRIES = 3  # of a task that is lost each time
PART = 8  # steps that a worker takes before it is dealt again
PART_SECONDS = 15.0  # that it takes, if stints are in seconds
LOOK_SECONDS = 1.0  # between two looks at whether to wait on
GRACE_SECONDS = 5.0  # that workers have after a stop, beyond two steps

Group: TypeAlias = list[Candidate]
Outcome: TypeAlias = Future[Group]
OnPart: TypeAlias = Callable[[Group], None]


@dataclass(frozen=True, eq=False)
class Task:
    """What every candidate of a search is run with."""

    engine: Engine
    descent: Descent


def run_task(task: Task, handle: Handle, candidates: Group, stint: Stint) -> Group:
    """A stint of some candidates, side by side, in whatever worker this is: one of several, with a thread each."""
    with at_most(1):
        return run_here(task, handle, candidates, stint)


def run_here(task: Task, handle: Handle, candidates: Group, stint: Stint) -> Group:
    """The same where nothing else runs meanwhile: compiled loops may use all cores."""
    candidates = [candidate.copy() for candidate in candidates]  # those of the search stay as the round began
    with handle.undisturbed(), one_thread():
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

    def look_at(self, candidate: Candidate) -> Candidate:
        """Evaluate one candidate here and now, stopped or not."""
        (candidate,) = run_here(self.task, InMemory(self._problem), [candidate], Stint(steps=0))
        return candidate

    def run(self, candidates: Sequence[Candidate], stint: Stint, on_part: OnPart | None = None) -> Iterator[Candidate]:
        """The candidates after their stint, as they come in.

        Several workers are dealt the longest runs first, and long ones in parts, so that all come to the end of the
        round together. Where a stint is cut makes no difference to where it leads. `on_part` is told where candidates
        stand after each part. After a stop or the deadline those that did not run come in as they stand.
        """
        order = candidates if self.workers.one_by_one else sorted(candidates, key=_shortest_last)
        size = self.task.engine.together or max(len(order), 1)
        groups = [list(order[start : start + size]) for start in range(0, len(order), size)]
        return _Round(self, groups, stint, on_part).results()


class _Round:
    """The groups of a round: those that wait for a worker and those that are under way."""

    def __init__(self, pool: Pool, groups: Iterable[Group], stint: Stint, on_part: OnPart | None) -> None:
        self._pool = pool
        self._stint = stint
        self._on_part = on_part or (lambda group: None)
        self._waiting = deque(groups)
        self._under_way: dict[Outcome, Group] = {}
        self._done: SimpleQueue[Outcome] = SimpleQueue()  # as they come; to look at all each time takes time
        self._losses: Counter[int] = Counter()  # in a row, by the first candidate of the group
        self._longest_step = 0.0
        self._begun = time.monotonic()
        self._over_since: float | None = None

    def results(self) -> Iterator[Candidate]:
        while self._waiting or self._under_way:
            if not self._is_over():
                self._send()
            else:
                yield from chain(*self._waiting)
                self._waiting.clear()
                if self._gives_up():
                    yield from chain(*self._under_way.values())
                    return
            if self._under_way:
                with suppress(Empty):
                    yield from self._came_in(self._done.get(timeout=LOOK_SECONDS))

    def _is_over(self) -> bool:
        deadline = self._stint.deadline
        return self._pool.stopped or (deadline is not None and time.time() >= deadline)

    def _send(self) -> None:
        """Give workers what waits; those of this process one group at a time."""
        workers = self._pool.workers
        run, sending = (run_here, nullcontext) if workers.one_by_one else (run_task, without_interrupts)
        while self._waiting and not (workers.one_by_one and self._under_way):
            executor = workers.executor()
            group = self._waiting.popleft()
            part = self._stint.part(group, PART, PART_SECONDS)
            try:
                with sending():  # which may start processes
                    outcome = executor.submit(run, self._pool.task, self._pool.handle, group, part)
            except RuntimeError as error:  # broken, or shut down
                self._lost(group, error)
                return
            self._under_way[outcome] = group
            outcome.add_done_callback(self._done.put)

    def _came_in(self, outcome: Outcome) -> Group:
        """The candidates of an outcome if they have come to the end of their stint; else they go on, or run again."""
        before = self._under_way.pop(outcome, None)
        if before is None:  # lost with others
            return []
        try:
            group = outcome.result()
        except CancelledError:
            return before
        except BrokenExecutor as error:
            self._lost(before, error)
            return []
        self._losses[before[0].id] = 0
        self._longest_step = max([self._longest_step, *map(_step_seconds, group)])
        if self._is_over():
            return group
        is_over = all(self._stint.is_over(candidate) for candidate in group)
        if not is_over or len(group) > 1:  # those of a group come in one by one
            self._on_part(group)
        if is_over:
            return group
        if self._stint.deadline is None and _progress(group) <= _progress(before):
            raise WorkerError("A worker does not run what it is given: install the same pglearn on every worker.")
        self._waiting.appendleft(group)
        return []

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
        """Whether what is under way after a stop or the deadline takes much longer than a step: then it waits for
        workers that do not come, or is with some that are gone. A cluster's tasks are left alone after a stop."""
        now = time.monotonic()
        if self._over_since is None:
            self._over_since = now
        if self._pool.stopped:
            for outcome in list(self._under_way):
                outcome.cancel()
        patience = GRACE_SECONDS + 2 * (self._longest_step or self._over_since - self._begun)
        return now - self._over_since > patience


def _is_lost(outcome: Outcome) -> bool:
    return outcome.done() and not outcome.cancelled() and isinstance(outcome.exception(), BrokenExecutor)


def _progress(group: Group) -> float:
    return max(candidate.done for candidate in group)


def _step_seconds(candidate: Candidate) -> float:
    return candidate.seconds / len(candidate.history) if candidate.history else 0.0


def _shortest_last(candidate: Candidate) -> tuple[bool, bool, float]:
    """Newborns have an evaluation more to come than others."""
    return candidate.finished, candidate.started, -_step_seconds(candidate)
