"""Spark: the problem as a broadcast variable, candidates in jobs of one slice. Only this module imports pyspark."""

from __future__ import annotations

import os
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from pglearn.errors import InputError, WorkerError
from pglearn.problem import Problem
from pglearn.search.clusters.broadcast import Broadcast, arrived, to_send
from pglearn.search.handle import Handle
from pglearn.search.workers import Deadly, Lost, starting
from pglearn.sparse import parts_of

TRIES = 4  # of a task by Spark itself, which is what it has on a cluster; on one machine it must be asked for
JOB_COSTS = 0.1  # seconds
JOB_SECONDS = 1.0  # of calls that go together, at most, on few workers
GATHER_SECONDS = 0.005
MOST_JOBS = 1000  # a thread each
LOOPBACK = ("127.0.0.1", "localhost")


class Spark:
    """A given session or context, a master's address, the session that there is, or workers of our own on this machine.

    Spark runs the task of a dead executor again by itself. It has no word for tasks that run, so a stop cancels them:
    their candidates come back as they went.
    """

    def __init__(self, given: Any, n_jobs: int) -> None:
        self._given = given
        self._n_jobs = n_jobs
        self._cleanup = ExitStack()

    def handle(self, problem: Problem) -> Handle:
        problem = to_send(problem)
        self._context = self._connected(
            sum(part.nbytes for view in problem.views for part in parts_of(view.X).values())
        )
        points = self._context.broadcast(problem)
        self._cleanup.callback(_quietly, points.destroy)
        self._executor = SparkExecutor(self._context, points)
        self._cleanup.callback(self._executor.shutdown, cancel_futures=True)
        return Broadcast(self._executor.cancel)

    @property
    def at_once(self) -> int:
        return self._executor.slots

    def executor(self) -> SparkExecutor:
        if self._context._jsc is None or self._context._jsc.sc().isStopped():
            raise WorkerError("The Spark application has ended: start it and fit again.")
        self._executor.slots = max(int(self._context.defaultParallelism), 1)  # executors come after the application
        return self._executor

    def broken(self, error: RuntimeError) -> None:
        pass  # Spark replaces its workers

    def close(self) -> None:
        self._cleanup.close()

    def _connected(self, size: int) -> Any:
        from pyspark import SparkConf, SparkContext

        if not isinstance(self._given, str):
            return self._context_of(self._given)
        if self._given == "spark" and SparkContext._active_spark_context is not None:
            return SparkContext._active_spark_context
        master = f"local[{self._n_jobs},{TRIES}]" if self._given == "spark" else self._given
        conf = SparkConf().setMaster(master).setAppName("pglearn")
        conf.set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
        conf.set("spark.driver.memory", f"{1024 + 2 * size // 2**20}m")
        if self._given == "spark" or master.removeprefix("spark://").split(":")[0] in LOOPBACK:
            conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
        from py4j.protocol import Py4JError

        try:
            with starting():  # Spark would take Ctrl-C for itself
                context = SparkContext(conf=conf)
        except (Py4JError, OSError, RuntimeError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise WorkerError(f"Spark does not start with master {master} ({first}): is it running?") from error
        self._cleanup.callback(_quietly, context.stop)
        context.setLogLevel("OFF")
        context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
        return context

    @staticmethod
    def _context_of(given: Any) -> Any:
        from pyspark import SparkContext

        if isinstance(given, SparkContext):
            return given
        try:
            return given.sparkContext
        except Exception as error:  # Spark Connect has none, and says so in its own way
            raise InputError(
                "executor is a session of Spark Connect, which has no RDDs: give the master's address, "
                "like spark://host:7077."
            ) from error


def _quietly(end: Callable[[], None]) -> None:
    with suppress(Exception):  # the application may have ended before
        end()


class SparkExecutor(ThreadPoolExecutor):
    """Calls as jobs of one slice, a thread waiting for each that runs.

    A job costs Spark a tenth of a second, whatever is in it, so short calls go together.
    """

    def __init__(self, context: Any, points: Any) -> None:
        super().__init__(max_workers=MOST_JOBS, thread_name_prefix="pglearn-spark")
        self.slots = max(int(context.defaultParallelism), 2)
        """How many jobs run at the same time."""
        self._context = context
        self._points = points
        self._group = f"pglearn-{uuid.uuid4().hex}"
        self._lock = threading.Lock()
        self._calls: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._running = 0
        self._seconds: float | None = None  # that a call took, on the average of late

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            self._calls.append((future, partial(fn, *args, **kwargs)))
            begin = self._running < self.slots
            self._running += begin
        if begin:
            super().submit(self._work)
        return future

    def cancel(self, _: str = "") -> None:
        with suppress(Exception):  # the application may have ended
            self._context.cancelJobGroup(self._group)

    def _work(self) -> None:
        """One job after another, while there are calls."""
        time.sleep(GATHER_SECONDS)  # calls of a round come one by one
        while taken := self._taken():
            try:
                results = self._job([call for _, call in taken])
            except BaseException as error:  # noqa: BLE001  it is for those who wait for the calls
                for future, _ in taken:
                    future.set_exception(error)
            else:
                for (future, _), result in zip(taken, results, strict=True):
                    future.set_result(result)

    def _taken(self) -> list[tuple[Future[Any], Callable[[], Any]]]:
        """The calls of the next job; none if the thread that asks has nothing more to do."""
        with self._lock:
            if not self._calls:
                self._running -= 1
                return []
            return [self._calls.popleft() for _ in range(together(len(self._calls), self.slots, self._seconds))]

    def _job(self, calls: list[Callable[[], Any]]) -> list[Any]:
        from py4j.protocol import Py4JError

        points = self._points
        self._context.setJobGroup(self._group, "pglearn")
        try:
            slice = self._context.parallelize((None,), 1).map(lambda _: _called(points.value, calls))
            ((seconds, results),) = slice.collect()
        except (Py4JError, OSError) as error:
            raise _cause(error) from error
        with self._lock:
            of_late = seconds / len(calls)
            self._seconds = of_late if self._seconds is None else (self._seconds + of_late) / 2
        return list(results)


def together(waiting: int, slots: int, seconds: float | None) -> int:
    """How many calls are one job, of those that wait.

    A worker's share of them, no less than last as long as a job costs, and no more than last a second, or until the
    driver has started a job for every other worker. One, as long as nobody knows how many seconds a call takes.
    """
    if seconds is None:
        return 1
    share = -(-waiting // slots)
    least, most = (int(limit / max(seconds, 1e-6)) for limit in (JOB_COSTS, max(JOB_SECONDS, slots * JOB_COSTS)))
    return min(max(min(share, most), least, 1), waiting)


def _called(problem: Problem, calls: list[Callable[[], Any]]) -> tuple[float, list[Any]]:
    """The calls one after another, on a worker, and the seconds that they took."""
    begun = time.monotonic()
    results = [arrived(problem, call) for call in calls]
    return time.monotonic() - begun, results


def _cause(error: Exception) -> Exception:
    """What our own code raised on a worker, as Spark quotes it; else the workers have died."""
    lines = str(error).splitlines()
    if "api.python.PythonException" in str(error):
        told = [line for line in lines if "Error: " in line and not line[0].isspace()]
        last = told[-1] if told else lines[0]
        return WorkerError(f"A worker cannot run tasks ({last.strip()}): install the same pglearn on every worker.")
    reason = next((line for line in lines if "Job aborted" in line or "cancelled" in line), repr(error))
    return Deadly(reason.strip()) if " times, most recent failure" in reason else Lost(reason.strip())
