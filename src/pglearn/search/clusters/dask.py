"""Dask: the problem scattered to every worker, candidates as its tasks. Only this module imports distributed."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from concurrent.futures import CancelledError as Cancelled
from typing import Any

from pglearn.errors import WorkerError
from pglearn.runtime.interrupts import without_interrupts
from pglearn.search.clusters.broadcast import ClusterWorkers, arrived
from pglearn.search.executors import TaskLost, out_of_tries
from pglearn.search.tasks import Task

PATIENCE = 60  # seconds for a scheduler to answer
WORKER_PATIENCE = 300  # seconds for the first worker to be there, or for one to be there again

NO_ANSWER = "The Dask scheduler does not answer any more: start it and fit again."


class Cluster(ClusterWorkers):
    """A given client, a scheduler's address, or workers of our own on this machine.

    Dask gives the tasks of a dead worker to others by itself. The pool is told only if nobody is left who holds the
    problem: then it is scattered again. Nothing here holds on to a future that is done: its task would run again when
    the worker that has its result dies.
    """

    def connect(self) -> None:
        # Of an executor that a client made it is `_client`.
        self._client = self._connected() if isinstance(self.given, str) else getattr(self.given, "_client", self.given)
        self._points: Any = None
        self.cleanup.callback(self._forget)  # while the client is there

    def make_ready(self) -> None:
        if self._client.status != "running":
            raise WorkerError(NO_ANSWER)
        if self._points is None or self._points.status != "finished":
            self._scatter()

    def send(self, task: Task) -> Any:
        return self._client.submit(arrived, self._points, task, pure=False)

    def cause(self, error: BaseException) -> BaseException:
        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        if isinstance(error, KilledWorker):  # Dask has tried it on several
            return out_of_tries(error)
        if isinstance(error, (CancelledError, Cancelled, CommClosedError, TimeoutError)):
            return TaskLost(f"{type(error).__name__}: {error}")
        return error

    def _connected(self) -> Any:
        from distributed import Client, LocalCluster

        cluster: Any = "tcp://" + self.given.removeprefix("dask://")
        if self.given == "dask":
            with without_interrupts():
                cluster = LocalCluster(
                    n_workers=self.n_jobs,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
            self.cleanup.enter_context(cluster)
        try:
            return self.cleanup.enter_context(Client(cluster, timeout=PATIENCE, set_as_default=False))
        except (OSError, ValueError) as error:
            raise WorkerError(f"No Dask scheduler answers at {self.given} ({error}): is it running?") from error

    def _scatter(self) -> None:
        """To all workers that there are, when there is one."""
        try:
            self._client.wait_for_workers(1, timeout=WORKER_PATIENCE)
            self._points = self._client.scatter(self.problem, broadcast=True, hash=False)
        except TimeoutError as error:
            raise WorkerError("The Dask scheduler has no workers: start some (dask worker) and fit again.") from error
        except (Exception, CancelledError) as error:  # that of a connection which has gone is of many kinds
            raise WorkerError(NO_ANSWER) from error

    def _forget(self) -> None:
        self._points = None
