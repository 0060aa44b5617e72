"""Dask: the problem scattered to every worker, candidates as its tasks. Only this module imports distributed."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from collections.abc import Callable
from concurrent.futures import CancelledError as Cancelled
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from pglearn.errors import WorkerError
from pglearn.problem import Problem
from pglearn.search.clusters.broadcast import Broadcast, Remote, arrived, to_send
from pglearn.search.handle import Handle
from pglearn.search.workers import Deadly, Lost, starting

PATIENCE = 60  # seconds for a scheduler to answer
WORKER_PATIENCE = 300  # seconds for the first worker to be there, or for one to be there again

NO_ANSWER = "The Dask scheduler does not answer any more: start it and fit again."

_stopped: set[str] = set()  # the searches that this worker was told to stop


class Dask:
    """A given client, a scheduler's address, or workers of our own on this machine.

    Dask gives the tasks of a dead worker to others by itself. The pool hears of it only if nobody is left who holds the
    problem: then it is scattered again.
    """

    def __init__(self, given: Any, n_jobs: int) -> None:
        self._given = given
        self._n_jobs = n_jobs
        self._cleanup = ExitStack()

    def handle(self, problem: Problem) -> Handle:
        self._client = self._connected()
        self._problem = to_send(problem)
        self._executor = DaskExecutor(self._client)
        self._cleanup.callback(self._executor.forget)
        return Broadcast(self._tell, heard_of)

    @property
    def at_once(self) -> int:
        return max(int(sum(self._client.nthreads().values())), 1)

    def executor(self) -> DaskExecutor:
        if self._client.status != "running":
            raise WorkerError(NO_ANSWER)
        if self._executor.points is None or self._executor.points.status != "finished":
            self._scatter()
        return self._executor

    def broken(self, error: RuntimeError) -> None:
        pass  # Dask replaces its workers

    def close(self) -> None:
        self._cleanup.close()

    def _connected(self) -> Any:
        from distributed import Client, LocalCluster

        if not isinstance(self._given, str):
            return getattr(self._given, "_client", self._given)  # of an executor that a client made
        if self._given == "dask":
            with starting():
                cluster: Any = LocalCluster(
                    n_workers=self._n_jobs,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
            self._cleanup.enter_context(cluster)
        else:
            cluster = "tcp://" + self._given.removeprefix("dask://")
        try:
            return self._cleanup.enter_context(Client(cluster, timeout=PATIENCE, set_as_default=False))
        except (OSError, ValueError) as error:
            raise WorkerError(f"No Dask scheduler answers at {self._given} ({error}): is it running?") from error

    def _scatter(self) -> None:
        """To all workers that there are, when there is one."""
        try:
            self._client.wait_for_workers(1, timeout=WORKER_PATIENCE)
        except TimeoutError as error:
            raise WorkerError("The Dask scheduler has no workers: start some (dask worker) and fit again.") from error
        except Exception as error:  # that of a connection which has gone is of many kinds
            raise WorkerError(NO_ANSWER) from error
        try:
            self._executor.points = self._client.scatter(self._problem, broadcast=True, hash=False)
        except (OSError, CancelledError) as error:
            raise WorkerError(NO_ANSWER) from error

    def _tell(self, name: str) -> None:
        if self._executor.under_way:
            with suppress(Exception):  # at the worst its workers end the parts that they are in
                self._client.run(hear_of, name)


def hear_of(name: str) -> None:
    _stopped.add(name)


def heard_of(name: str) -> bool:
    return name in _stopped


class DaskExecutor(Remote):
    """Futures of Dask as those of Python. Nothing holds on to one that is done: its task would run again when the
    worker that has its result dies."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        future, remote = self.sent(
            lambda: self._client.submit(arrived, self.points, partial(fn, *args, **kwargs), pure=False)
        )
        remote.add_done_callback(lambda done: self.settle(future, done.result, _cause))
        return future


def _cause(error: BaseException) -> BaseException:
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    if isinstance(error, KilledWorker):
        return Deadly(str(error))
    if isinstance(error, (CancelledError, Cancelled, CommClosedError, TimeoutError)):
        return Lost(f"{type(error).__name__}: {error}")
    return error
