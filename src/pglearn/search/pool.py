"""Where runs are advanced: in tasks that go out to workers, and what is to be done where these die.

A round is: submit what is missing, take results as they complete, and where workers died submit again only what is
missing. Work goes out in parts of a round, the longest first.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from contextlib import ExitStack
from typing import TypeAlias

from pglearn.errors import WorkerError
from pglearn.objective.problem import Problem
from pglearn.runtime.threads import one_thread
from pglearn.search.descent import Descent, Limit
from pglearn.search.executors import TaskLost, Workers, out_of_tries
from pglearn.search.runs import Run
from pglearn.search.tasks import SharedProblem, Task

TRIES = 3  # of a task that is lost each time
PART, PART_OF_LARGE = 8, 2  # steps that a worker takes before work is dealt again; of a large table
LARGE = 20_000  # rows
PART_SECONDS = 15.0  # that it takes, if limits are in seconds
LOOK_SECONDS = 1.0  # between two looks at whether to wait on
GRACE_SECONDS = 60.0  # that workers have for the step that they are in when a search is stopped or out of time

Runs: TypeAlias = list[Run]


class Pool:
    """Advances runs by an executor."""

    def __init__(self, problem: Problem, descent: Descent, workers: Workers) -> None:
        self.problem = problem
        self.descent = descent
        self.workers = workers
        self._cleanup = ExitStack()
        self.on_loss: Callable[[list[int], str], None] = lambda candidates, reason: None
        """Told who was under way on workers that died, and what is known of why."""

    def __enter__(self) -> Pool:
        with ExitStack() as cleanup:
            cleanup.callback(self.workers.close)
            self.shared = self.workers.share(self.problem)
            cleanup.callback(self.shared.close)
            cleanup.callback(self.shared.stop)  # tasks still running after an error return soon
            cleanup.enter_context(one_thread())
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def stop(self) -> None:
        self.shared.stop()

    @property
    def stopped(self) -> bool:
        return self.shared.stopped()

    def evaluate(self, run: Run) -> Run:
        """Evaluate one run here and now, stopped or not."""
        (run,) = Task(self.descent, [run], Limit(run.spent), SharedProblem(self.problem), alone=True)()
        return run

    def advance(self, runs: Sequence[Run], limit: Limit) -> Iterator[tuple[Runs, Limit]]:
        """Where runs stand after each part on their way to the limit, as they come in, and the limit of that part.

        Several workers are dealt the longest runs first, and long ones in parts, so that all come to the end of the
        round together. Where a round is cut depends on the problem alone. After a stop or the deadline those
        that are under way come in; what waits stays as it is.
        """
        order = runs if self.workers.one_by_one else sorted(runs, key=_shortest_last)
        size = self.descent.engine.together or max(len(order), 1)
        groups = [list(order[start : start + size]) for start in range(0, len(order), size)]
        return _Round(self, groups, limit).results()


class _Round:
    """The groups of a round: those that wait for a worker and those that are under way."""

    def __init__(self, pool: Pool, groups: Iterable[Runs], limit: Limit) -> None:
        self._pool = pool
        self._limit = limit
        self._waiting = deque(groups)
        self._under_way: dict[Future[Runs], Task] = {}
        self._losses: Counter[int] = Counter()  # in a row, by the first run of the group
        self._given_up_at: float | None = None

    def results(self) -> Iterator[tuple[Runs, Limit]]:
        while self._under_way or (self._waiting and not self._is_over()):
            if not self._is_over():
                self._send()
            elif self._gives_up():
                return
            wait(self._under_way, LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for future in [future for future in self._under_way if future.done()]:
                if future in self._under_way:  # and not lost with another
                    yield from self._came_in(future)

    def _is_over(self) -> bool:
        return self._pool.stopped or self._limit.is_out_of_time()

    def _part(self, group: Runs) -> Limit:
        """How far a group is taken at once. What an engine carries from step to step begins anew with a part, so that
        the part leads to the same numbers when it is run again."""
        if self._limit.in_seconds:
            return self._limit.of_part(group, PART_SECONDS)
        return self._limit.of_part(group, PART if self._pool.problem.n <= LARGE else PART_OF_LARGE)

    def _send(self) -> None:
        """Give workers what waits; those of this process one group at a time."""
        pool, workers = self._pool, self._pool.workers
        while self._waiting and not (workers.one_by_one and self._under_way):
            group = self._waiting.popleft()
            task = Task(pool.descent, group, self._part(group), pool.shared, alone=workers.one_by_one)
            try:
                self._under_way[workers.submit(task)] = task
            except WorkerError:
                raise
            except RuntimeError as error:  # broken, or shut down
                self._lost(group, error)
                return

    def _came_in(self, future: Future[Runs]) -> Iterator[tuple[Runs, Limit]]:
        """What a task has come to, if anything; its runs go on if they have not reached the limit of the round."""
        task = self._under_way.pop(future)
        try:
            advanced = future.result()
        except (BrokenExecutor, CancelledError) as error:
            if not (future.cancelled() and self._is_over()):  # some executors cancel what runs after the deadline
                self._lost(task.runs, error)
            return
        self._losses[task.runs[0].id] = 0
        if not all(self._limit.is_reached_by(run) for run in advanced):
            self._waiting.appendleft(advanced)
        yield advanced, task.limit

    def _lost(self, group: Runs, error: Exception) -> None:
        """Let it run again, and with it all that was under way on an executor that is broken."""
        groups = [group]
        if not isinstance(error, TaskLost):
            self._pool.workers.broken(error)
            wait(self._under_way, timeout=LOOK_SECONDS)
            groups += [self._under_way.pop(future).runs for future in list(self._under_way) if _is_lost(future)]
        self._waiting.extend(groups)
        if self._is_over():  # some engines cancel what runs
            return
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        self._pool.on_loss(sorted(run.id for group in groups for run in group), reason)
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
            self._under_way = {future: task for future, task in self._under_way.items() if not future.cancel()}
        return now >= self._given_up_at


def _is_lost(future: Future[Runs]) -> bool:
    return future.done() and not future.cancelled() and isinstance(future.exception(), BrokenExecutor)


def _shortest_last(run: Run) -> tuple[bool, bool, float]:
    """By the seconds of a step. Newborns have an evaluation more to come than others."""
    return run.finished, run.started, -run.seconds / max(len(run.history), 1)
