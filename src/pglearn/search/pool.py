"""Where candidates run: any `concurrent.futures.Executor`, and a handle by which its workers find the problem.

A round is: submit what is missing, take results as they complete, and if workers died make a new executor and submit
again only what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, BrokenExecutor, Future, as_completed, wait
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cache

from threadpoolctl import ThreadpoolController

from pglearn.engine import Engine
from pglearn.errors import WorkerError
from pglearn.problem import Problem
from pglearn.search.candidate import Candidate
from pglearn.search.gradient import Descent, Stint, advance
from pglearn.search.handle import Handle, InMemory, OnDisk
from pglearn.search.workers import Workers, starting

TRIES = 3
DYING = (
    f"Worker processes died {TRIES} times in the same round, most likely for lack of memory: "
    "use fewer of them (n_jobs=1) or a smaller table."
)


@dataclass(frozen=True, eq=False)
class Task:
    """What every candidate of a search is run with."""

    engine: Engine
    descent: Descent


@cache
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries, which takes milliseconds


def one_thread() -> AbstractContextManager[object]:
    """One BLAS and OpenMP thread: the parallelism is across candidates, and sums round alike on every worker."""
    limit: AbstractContextManager[object] = _threadpools().limit(limits=1)
    return limit


def run_task(task: Task, handle: Handle, candidates: list[Candidate], stint: Stint) -> list[Candidate]:
    """A stint of some candidates, side by side, in whatever worker this is."""
    candidates = [candidate.copy() for candidate in candidates]  # those of the search stay as the round began
    with handle.undisturbed(), one_thread():
        return advance(task.engine, handle.problem(), candidates, task.descent, stint, handle.stopped)


class Pool:
    """Runs candidates on an executor, or in this process where there is none."""

    def __init__(self, problem: Problem, task: Task, workers: Workers) -> None:
        self._problem = problem
        self._task = task
        self._workers = workers
        self._cleanup = ExitStack()

    def __enter__(self) -> Pool:
        self._cleanup.callback(self._workers.close)
        self._handle: Handle = InMemory(self._problem) if self._workers.share_memory else OnDisk(self._problem)
        self._cleanup.callback(self._handle.close)
        self._cleanup.callback(self._handle.stop)  # tasks still running after an error return soon
        # Threads of this process share its BLAS: a task that ends must not lift the limit of one that runs.
        self._cleanup.enter_context(one_thread())
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def stop(self) -> None:
        self._handle.stop()

    @property
    def stopped(self) -> bool:
        return self._handle.stopped()

    def look_at(self, candidate: Candidate) -> Candidate:
        """Evaluate one candidate here and now, stopped or not."""
        (candidate,) = run_task(self._task, InMemory(self._problem), [candidate], Stint(steps=0))
        return candidate

    def run(self, candidates: Sequence[Candidate], stint: Stint) -> Iterator[Candidate]:
        """The candidates after their stint, as they come in."""
        missing = {candidate.id: candidate for candidate in candidates}
        for _ in range(TRIES):
            executor = self._workers.executor()
            groups = self._groups(list(missing.values()))
            if executor is None:
                for group in groups:
                    yield from run_task(self._task, self._handle, group, stint)
                return
            try:
                with starting():
                    futures = [executor.submit(run_task, self._task, self._handle, group, stint) for group in groups]
            except RuntimeError as error:  # broken, or shut down
                self._workers.broken(error)
                continue
            try:
                for candidate in _results(futures):
                    del missing[candidate.id]
                    yield candidate
            except BrokenExecutor as error:
                self._workers.broken(error)
            if not missing:
                return
        raise WorkerError(DYING)

    def stream(self, work: Callable[[], tuple[Candidate, Stint] | None]) -> Iterator[Candidate]:
        """Candidates as they come in, every worker that is free being given what `work` names next.

        Where it names nothing, the others are waited for and it is asked again; it is over when nothing is under way.
        """
        under_way: dict[Future[list[Candidate]], tuple[Candidate, Stint]] = {}
        again: list[tuple[Candidate, Stint]] = []
        deaths = 0
        while deaths < TRIES:
            broken: RuntimeError | None = None
            executor = self._workers.executor()
            while broken is None and len(under_way) < self._workers.at_once:
                if (item := again.pop(0) if again else work()) is None:
                    break
                candidate, stint = item
                if executor is None:
                    yield from run_task(self._task, self._handle, [candidate], stint)
                    continue
                try:
                    with starting():
                        under_way[executor.submit(run_task, self._task, self._handle, [candidate], stint)] = item
                except RuntimeError as error:  # broken, or shut down
                    again.append(item)
                    broken = error
            if not under_way and broken is None:
                return
            for future in wait(under_way, return_when=FIRST_COMPLETED if broken is None else ALL_COMPLETED).done:
                item = under_way.pop(future)
                try:
                    back = future.result()
                except BrokenExecutor as error:
                    again.append(item)
                    broken = error
                    continue
                deaths = 0
                yield from back
            if broken is not None and not under_way:  # the others of a dead executor come back in the next turn
                self._workers.broken(broken)
                deaths += 1
        raise WorkerError(DYING)

    def _groups(self, candidates: Sequence[Candidate]) -> list[list[Candidate]]:
        size = self._task.engine.together or len(candidates)
        return [list(candidates[start : start + size]) for start in range(0, len(candidates), size)]


def _results(futures: list[Future[list[Candidate]]]) -> Iterator[Candidate]:
    """Results as they complete; those that came before workers died are given out before the error is."""
    broken: BrokenExecutor | None = None
    for future in as_completed(futures):
        try:
            yield from future.result()
        except BrokenExecutor as error:
            broken = error
    if broken is not None:
        raise broken
