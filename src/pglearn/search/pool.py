"""Where candidates run: any `concurrent.futures.Executor`, and a handle by which its workers find the problem.

X is large and must not travel with every task. A handle is small: workers in other processes open the file it names,
once, read-only; threads get the object itself. A round is: submit what is missing, take results as they complete, and
if workers died make a new executor and submit again only what is missing.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from threadpoolctl import ThreadpoolController

from pglearn.engine import Engine
from pglearn.errors import InputError, WorkerError
from pglearn.problem import Problem
from pglearn.search.candidate import Candidate
from pglearn.search.gradient import Descent, Stint, advance

TRIES = 3


@dataclass(frozen=True, eq=False)
class Task:
    """What every candidate of a search is run with."""

    engine: Engine
    descent: Descent


class Handle(Protocol):
    """The problem as seen from a worker."""

    def problem(self) -> Problem: ...

    def stopped(self) -> bool: ...

    def stop(self) -> None:
        """Ask the workers to return after the step they are in."""
        ...

    def undisturbed(self) -> AbstractContextManager[object]:
        """In which a task runs."""
        ...


class InMemory:
    """For the same process."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._stop = threading.Event()

    def problem(self) -> Problem:
        return self._problem

    def stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        self._stop.set()

    def undisturbed(self) -> AbstractContextManager[object]:
        return nullcontext()

    def close(self) -> None:
        pass


class OnDisk:
    """For other processes of this machine: X as a file in a temporary folder, the rest along with the handle."""

    def __init__(self, problem: Problem) -> None:
        self._folder = tempfile.mkdtemp(prefix="pglearn-")
        np.save(self._file("X.npy"), problem.X)
        Path(self._file("running")).touch()
        self._rest = replace(problem, X=np.empty((0, 0)))

    def problem(self) -> Problem:
        if self._folder not in _opened:
            _opened.clear()
            X = np.load(self._file("X.npy"), mmap_mode="r")
            _opened[self._folder] = replace(self._rest, X=np.asarray(X))
        return _opened[self._folder]

    def stopped(self) -> bool:
        return not os.path.exists(self._file("running"))

    def stop(self) -> None:
        Path(self._file("running")).unlink(missing_ok=True)

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Ctrl-C reaches every process of the terminal; the search itself tells its workers when to stop."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, usual)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _file(self, name: str) -> str:
        return os.path.join(self._folder, name)


_opened: dict[str, Problem] = {}


@cache
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries, which takes milliseconds


def one_thread() -> AbstractContextManager[object]:
    """One BLAS and OpenMP thread: the parallelism is across candidates, and sums round alike on every worker."""
    limit: AbstractContextManager[object] = _threadpools().limit(limits=1)
    return limit


def run_task(task: Task, handle: Handle, candidates: list[Candidate], stint: Stint) -> list[Candidate]:
    """A stint of some candidates, side by side, in whatever worker this is."""
    with handle.undisturbed(), one_thread():
        return advance(task.engine, handle.problem(), candidates, task.descent, stint, handle.stopped)


class Pool:
    """Runs candidates on an executor, or in this process where there is none."""

    def __init__(self, problem: Problem, task: Task, workers: Workers) -> None:
        self._problem = problem
        self._task = task
        self._workers = workers
        self._handle = InMemory(problem) if workers.share_memory else OnDisk(problem)

        self._cleanup = ExitStack()

    def __enter__(self) -> Pool:
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
        if self._workers.executor is None:
            for group in self._groups(candidates):
                yield from run_task(self._task, self._handle, group, stint)
            return
        missing = {candidate.id: candidate for candidate in candidates}
        for _ in range(TRIES):
            try:
                executor = self._workers.executor()
                groups = self._groups(list(missing.values()))
                futures = [executor.submit(run_task, self._task, self._handle, group, stint) for group in groups]
            except RuntimeError as error:  # broken, or shut down
                self._give_up_on_a_given_executor(error)
                continue
            try:
                for candidate in _results(futures):
                    del missing[candidate.id]
                    yield candidate
            except BrokenExecutor as error:
                self._give_up_on_a_given_executor(error)
            if not missing:
                return
        raise WorkerError(
            f"Worker processes died {TRIES} times in the same round, most likely for lack of memory: "
            "use fewer of them (n_jobs=1) or a smaller table."
        )

    def _groups(self, candidates: Sequence[Candidate]) -> list[list[Candidate]]:
        size = self._task.engine.together or len(candidates)
        return [list(candidates[start : start + size]) for start in range(0, len(candidates), size)]

    def _give_up_on_a_given_executor(self, error: RuntimeError) -> None:
        if not self._workers.renewable:
            raise WorkerError(f"The given executor does not work ({error}): start a new one and fit again.") from error


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


@dataclass(frozen=True)
class Workers:
    """Which executor to use, whether a broken one can be replaced, and whether it shares this process's memory."""

    executor: Callable[[], Executor] | None
    renewable: bool
    share_memory: bool

    @classmethod
    def of(cls, executor: Any, n_jobs: int) -> Workers:
        """From the `executor` and `n_jobs` parameters."""
        if isinstance(executor, Executor):
            return cls(lambda: executor, renewable=False, share_memory=isinstance(executor, ThreadPoolExecutor))
        if executor == "serial" or (executor is None and n_jobs == 1):
            return cls(None, renewable=False, share_memory=True)
        if executor == "threads":
            threads = ThreadPoolExecutor(n_jobs)
            return cls(lambda: threads, renewable=False, share_memory=True)
        if executor in (None, "loky"):
            return cls(lambda: _loky(n_jobs), renewable=True, share_memory=False)
        raise InputError(
            f"executor={executor!r} is not known: give a concurrent.futures.Executor, 'loky', 'threads' or 'serial'."
        )


def _loky(n_jobs: int) -> Executor:
    from joblib.externals.loky import get_reusable_executor

    executor: Executor = get_reusable_executor(max_workers=n_jobs, timeout=120, initializer=_leave_interrupts_alone)
    return executor


def _leave_interrupts_alone() -> None:
    # Between tasks as well: see OnDisk.undisturbed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
