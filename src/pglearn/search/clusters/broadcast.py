"""What Dask, Ray and Spark have in common: the problem travels once, and a task finds it where the engine has put it.

A task is sent as `arrived(problem, task)`, where the engine itself puts its own copy of the problem in the place of the
first argument. Workers are not told of a stop: they end the part that they are in.
"""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Future, InvalidStateError
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from pglearn.arrays import parts_of
from pglearn.errors import WorkerError
from pglearn.objective.problem import Problem
from pglearn.runtime.interrupts import without_interrupts
from pglearn.search.executors import Workers
from pglearn.search.runs import Run
from pglearn.search.tasks import SharedProblem, Task


def arrived(problem: Problem, task: Task) -> list[Run]:
    """A task on a worker, with the problem that has arrived there."""
    for view in problem.views:
        for part in parts_of(view.X).values():
            part.flags.writeable = False  # it is shared by all tasks of this worker
    return task.advance(problem)


class ClusterWorkers(Workers):
    """The tasks of an engine, with their outcomes as futures of Python's own.

    These can be cancelled at any time: what the engine does then is not waited for. What the three have to say is how
    to connect, whether tasks can be sent, how one is, and what its error means.
    """

    def __init__(self, given: Any, n_jobs: int) -> None:
        self.given = given
        self.n_jobs = n_jobs
        self.cleanup = ExitStack()

    def share(self, problem: Problem) -> SharedProblem:
        self.problem = replace(problem)
        for view in self.problem.views:
            _ = view.centre  # travels with it: else every task would compute it again
        self.connect()
        return SharedProblem(self.problem)

    def submit(self, task: Task) -> Future[Any]:
        self.make_ready()
        future: Future[Any] = Future()
        try:
            with without_interrupts():  # processes may start just now
                remote = self.send(replace(task, shared=None))
        except Exception as error:  # engines that have gone say so by exceptions of every kind
            raise BrokenExecutor(f"{type(error).__name__}: {error}") from error
        remote.add_done_callback(lambda done: self._settle(future, done))
        return future

    def _settle(self, future: Future[Any], done: Any) -> None:
        with suppress(InvalidStateError):  # cancelled meanwhile
            try:
                result = done.result()
            except BaseException as error:  # noqa: BLE001  engines cancel tasks by exceptions of every kind
                cause = self.cause(error)
                if isinstance(cause, ImportError):
                    cause = WorkerError(
                        f"A worker cannot run tasks ({cause}): install the same pglearn on every worker."
                    )
                future.set_exception(cause)
            else:
                future.set_result(result)

    def close(self) -> None:
        self.cleanup.close()

    def connect(self) -> None:
        raise NotImplementedError

    def make_ready(self) -> None:
        """That tasks can be sent; raises WorkerError if they cannot any more."""
        raise NotImplementedError

    def send(self, task: Task) -> Any:
        """Have `arrived` called: something with `result()` and `add_done_callback(…)`."""
        raise NotImplementedError

    def cause(self, error: BaseException) -> BaseException:
        """What a task has failed with: `TaskLost`, if it is to run again."""
        raise NotImplementedError
