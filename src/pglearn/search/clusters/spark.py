"""Spark: the problem as a broadcast variable, candidates as jobs of one slice. Only this module imports pyspark."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from pglearn.errors import InputError, WorkerError
from pglearn.problem import Problem
from pglearn.search.clusters.broadcast import Broadcast, Lost, arrived, deadly, to_send
from pglearn.search.handle import Handle
from pglearn.search.workers import starting
from pglearn.sparse import parts_of

TRIES = 4  # of a task by Spark itself, which is what it has on a cluster; on one machine it must be asked for
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
        return int(self._context.defaultParallelism)

    def executor(self) -> SparkExecutor:
        if self._context._jsc is None or self._context._jsc.sc().isStopped():
            raise WorkerError("The Spark application has ended: start it and fit again.")
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
    """A thread waits for every job that runs."""

    def __init__(self, context: Any, points: Any) -> None:
        super().__init__(max_workers=max(int(context.defaultParallelism), 2), thread_name_prefix="pglearn-spark")
        self._context = context
        self._points = points
        self._group = f"pglearn-{uuid.uuid4().hex}"

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(self._job, partial(fn, *args, **kwargs))

    def cancel(self, _: str = "") -> None:
        with suppress(Exception):  # the application may have ended
            self._context.cancelJobGroup(self._group)

    def _job(self, call: Callable[[], Any]) -> Any:
        from py4j.protocol import Py4JError

        points = self._points
        self._context.setJobGroup(self._group, "pglearn")
        try:
            (result,) = self._context.parallelize((None,), 1).map(lambda _: arrived(points.value, call)).collect()
        except (Py4JError, OSError) as error:
            raise _cause(error) from error
        return result


def _cause(error: Exception) -> Exception:
    """What our own code raised on a worker, as Spark quotes it; else the workers have died."""
    lines = str(error).splitlines()
    if "api.python.PythonException" in str(error):
        told = [line for line in lines if "Error: " in line and not line[0].isspace()]
        last = told[-1] if told else lines[0]
        return WorkerError(f"A worker cannot run tasks ({last.strip()}): install the same pglearn on every worker.")
    reason = next((line for line in lines if "Job aborted" in line or "cancelled" in line), repr(error))
    return deadly(reason.strip()) if " times, most recent failure" in reason else Lost(reason.strip())
