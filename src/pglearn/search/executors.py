"""Who runs the tasks: this process, its threads, loky's processes, a cluster, or an executor that the user brings."""

from __future__ import annotations

import os
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from pglearn.errors import InputError, WorkerError
from pglearn.objective.problem import Problem
from pglearn.parameters import processes
from pglearn.runtime.interrupts import without_interrupts
from pglearn.runtime.threads import threads
from pglearn.search.tasks import ProblemOnDisk, SharedProblem, Task

IDLE_SECONDS = 300  # after which loky's processes end, those of a killed search too; as long as joblib's own


class TaskLost(BrokenExecutor):
    """A task that did not come back though its executor works: it is to run again."""


class Workers:
    """What a pool needs of an executor."""

    one_by_one = False
    """Whether tasks run in this process, one after another, with all of its threads."""

    def share(self, problem: Problem) -> SharedProblem:
        """By which tasks find the problem. Asked for first, and once: a cluster is connected to now."""
        return SharedProblem(problem)

    def submit(self, task: Task) -> Future[Any]:
        """Raises WorkerError if no task can run any more, and any other RuntimeError if the executor is broken."""
        raise NotImplementedError

    def broken(self, error: BaseException) -> None:
        """Take note that the executor died: the next task goes to a new one, or this raises."""

    def close(self) -> None:
        pass


def workers_for(executor: Any, n_jobs: int | None) -> Workers:
    """From the parameters `executor` and `n_jobs`; where neither is given, a thread per core."""
    from pglearn.search.clusters import cluster_for

    if executor is None and n_jobs is None:
        return Threads(threads()) if threads() > 1 else Serial()
    n_jobs = threads() if n_jobs is None and executor == "threads" else processes(n_jobs)
    if (cluster := cluster_for(executor, n_jobs)) is not None:
        return cluster
    if isinstance(executor, Executor):
        return GivenExecutor(executor)
    if executor == "serial" or (executor is None and n_jobs == 1):
        return Serial()
    if executor == "threads":
        return Threads(n_jobs)
    if executor in (None, "loky"):
        return Loky(n_jobs)
    raise InputError(
        f"executor={executor!r} is not known: give a concurrent.futures.Executor, 'loky', 'threads' or 'serial', "
        "or a cluster: 'dask', 'ray', 'spark', or its address like dask://host:8786."
    )


def out_of_tries(reason: object) -> WorkerError:
    """What to raise where a task is lost as often as it is tried."""
    return WorkerError(
        f"Workers died each time that they were given the same task ({reason}), most likely for lack of memory: use "
        "fewer of them (n_jobs), or a smaller table. With checkpoint= a folder, the next fit goes on from what was "
        "found."
    )


class Serial(Workers):
    """This process, which runs a task as it is submitted."""

    one_by_one = True

    def submit(self, task: Task) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(task())
        except Exception as error:  # noqa: BLE001  for whoever asks for the result
            future.set_exception(error)
        return future


class GivenExecutor(Workers):
    """The user's executor, which is not ours to replace or to end."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def share(self, problem: Problem) -> SharedProblem:
        in_threads = isinstance(self._executor, ThreadPoolExecutor)
        return SharedProblem(problem) if in_threads else ProblemOnDisk(problem)

    def submit(self, task: Task) -> Future[Any]:
        with without_interrupts():  # one that comes just now is lost: it would end a process that starts just now
            return self._executor.submit(task)

    def broken(self, error: BaseException) -> None:
        raise WorkerError(f"The given executor does not work ({error}): start a new one and fit again.") from error


class Threads(GivenExecutor):
    """Threads of this process, for as long as the pool."""

    def __init__(self, n: int) -> None:
        super().__init__(ThreadPoolExecutor(n))

    def close(self) -> None:
        self._executor.shutdown()


class Loky(GivenExecutor):
    """joblib's robust processes, kept for the next search: they take seconds to start.

    loky has an executor to share, `get_reusable_executor`, but `joblib.Parallel` takes it for its own kind and fails.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        super().__init__(_processes(n, os.getpid()))

    def broken(self, error: BaseException) -> None:
        _processes.cache_clear()
        self._executor = _processes(self._n, os.getpid())


@lru_cache(maxsize=1)
def _processes(n: int, parent: int) -> Executor:
    """A forked process has none of its parent's."""
    from joblib.externals.loky import ProcessPoolExecutor

    executor: Executor = ProcessPoolExecutor(n, timeout=IDLE_SECONDS)
    return executor
