"""Who runs the tasks: this process, its threads, loky's processes, a cluster, or an executor that the user brings."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol, TypeAlias

from pglearn.errors import InputError, WorkerError
from pglearn.problem import Problem
from pglearn.search.handle import Handle, InMemory, OnDisk
from pglearn.search.limits import one_thread_for_good

IDLE_SECONDS = 30  # after which processes that no search uses end
ORPHANED_SECONDS = 600  # after which they end by themselves: nobody is left to end them if this process was killed


Key: TypeAlias = tuple[int, int]
"""A process, and how many processes an executor of it has."""


class Lost(BrokenExecutor):
    """A task that did not come back though its executor works: it is to run again."""


class Deadly(Lost):
    """A task whose worker has died as often as the engine tries it again by itself."""


class Workers(Protocol):
    """An executor with what a pool must know about it."""

    def handle(self, problem: Problem) -> Handle:
        """By which its tasks find the problem. Asked for first, and once: a cluster is connected to now."""
        ...

    @property
    def at_once(self) -> int:
        """How many tasks it runs at the same time, now: workers come and go."""
        ...

    def executor(self) -> Executor | None:
        """A working executor; None to run tasks here and now."""
        ...

    def broken(self, error: RuntimeError) -> None:
        """Take note that the executor died: the next one asked for is new, or this raises."""
        ...

    def close(self) -> None: ...


def workers_for(executor: Any, n_jobs: int) -> Workers:
    """From the parameters `executor` and `n_jobs`."""
    from pglearn.search.clusters import cluster_for

    if (cluster := cluster_for(executor, n_jobs)) is not None:
        return cluster
    if isinstance(executor, Executor):
        return Given(executor)
    if executor == "serial" or (executor is None and n_jobs == 1):
        return Here()
    if executor == "threads":
        return Threads(n_jobs)
    if executor in (None, "loky"):
        return Loky(n_jobs)
    raise InputError(
        f"executor={executor!r} is not known: give a concurrent.futures.Executor, 'loky', 'threads' or 'serial', "
        "or a cluster: 'dask', 'ray', 'spark', or its address like dask://host:8786."
    )


class Here:
    """This process, one task after another."""

    at_once = 1

    def handle(self, problem: Problem) -> Handle:
        return InMemory(problem)

    def executor(self) -> None:
        return None

    def broken(self, error: RuntimeError) -> None:
        raise error

    def close(self) -> None:
        pass


class Given:
    """The user's executor, which is not ours to replace or to end."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        # The executors of Python and of loky have it; of another that does not say, all cores of this machine.
        self.at_once = int(getattr(executor, "_max_workers", 0) or os.cpu_count() or 1)

    def handle(self, problem: Problem) -> Handle:
        return InMemory(problem) if isinstance(self._executor, ThreadPoolExecutor) else OnDisk(problem)

    def executor(self) -> Executor:
        return self._executor

    def broken(self, error: RuntimeError) -> None:
        raise WorkerError(f"The given executor does not work ({error}): start a new one and fit again.") from error

    def close(self) -> None:
        pass


class Threads:
    """Threads of this process, for as long as the pool."""

    def __init__(self, n: int) -> None:
        self._executor = ThreadPoolExecutor(n, initializer=one_thread_for_good)
        self.at_once = n

    def handle(self, problem: Problem) -> Handle:
        return InMemory(problem)

    def executor(self) -> Executor:
        return self._executor

    def broken(self, error: RuntimeError) -> None:
        raise error

    def close(self) -> None:
        self._executor.shutdown()


class Loky:
    """joblib's robust processes. They outlast a search for a while, so that the next one need not start them again.

    The executor is our own: the one that `joblib.Parallel` keeps to itself is not made to be shared. It is ended by us.
    loky's own time-out for idle processes is only for those of a killed search, and long: loky misses the death
    of a process that it started in place of one that had timed out, and a search would wait for it forever.
    Each process has its own: those of a parent do not work in its forks.
    """

    _executors: ClassVar[dict[Key, Executor]] = {}  # one per number of processes, for all searches
    _endings: ClassVar[dict[Key, threading.Timer]] = {}

    def __init__(self, n: int) -> None:
        self._n = self.at_once = n
        self._used: Executor | None = None

    def handle(self, problem: Problem) -> Handle:
        return OnDisk(problem)

    @property
    def _key(self) -> Key:
        return os.getpid(), self._n

    def executor(self) -> Executor:
        key = self._key
        if (ending := self._endings.pop(key, None)) is not None:
            ending.cancel()
        if key not in self._executors:
            from joblib.externals.loky import ProcessPoolExecutor

            self._executors[key] = ProcessPoolExecutor(self._n, timeout=ORPHANED_SECONDS)
        self._used = self._executors[key]
        return self._used

    def broken(self, error: RuntimeError) -> None:
        if self._executors.get(self._key) is self._used:  # else another search has replaced it already
            self._executors.pop(self._key, None)

    def close(self) -> None:
        key = self._key
        if (executor := self._executors.get(key)) is None:
            return
        if (ending := self._endings.pop(key, None)) is not None:
            ending.cancel()
        self._endings[key] = threading.Timer(IDLE_SECONDS, self._end, (key, executor))
        self._endings[key].daemon = True
        self._endings[key].start()

    def _end(self, key: Key, executor: Executor) -> None:
        if self._executors.get(key) is executor and self._endings.get(key) is threading.current_thread():
            del self._executors[key], self._endings[key]
            executor.shutdown(wait=False)


@contextmanager
def starting() -> Iterator[None]:
    """Processes started meanwhile leave Ctrl-C to this one: the terminal sends it to all, and "ignore" is inherited."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or usual is None:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
