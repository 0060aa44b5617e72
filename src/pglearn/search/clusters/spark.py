"""Spark: the problem as a broadcast variable, candidates as slices of jobs. Only this module imports pyspark."""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from pglearn.arrays import parts_of
from pglearn.errors import WorkerError
from pglearn.runtime.interrupts import without_interrupts
from pglearn.search.clusters.broadcast import ClusterWorkers, arrived
from pglearn.search.executors import TaskLost, out_of_tries
from pglearn.search.tasks import Task

TRIES = 4  # of a task by Spark itself, which is what it has on a cluster; on one machine it must be asked for
GATHER_SECONDS = 0.005
LOOPBACK = ("127.0.0.1", "localhost")


class Cluster(ClusterWorkers):
    """A given session or context, a master's address, the session that there is, or workers of our own on this machine.

    Spark runs the task of a dead executor again by itself. A job costs it a tenth of a second, whatever is in it: calls
    that wait go out together, as a job with a slice for each.
    """

    def connect(self) -> None:
        self._context = self._connected()
        self._points = self._context.broadcast(self.problem)
        self._waiting: deque[tuple[Task, Future[Any]]] = deque()
        self._group = f"pglearn-{uuid.uuid4().hex}"
        self._jobs = ThreadPoolExecutor(1, thread_name_prefix="pglearn-spark")
        self.cleanup.callback(self._end)

    def make_ready(self) -> None:
        if self._context._jsc is None or self._context._jsc.sc().isStopped():
            raise WorkerError("The Spark application has ended: start it and fit again.")

    def send(self, task: Task) -> Any:
        future: Future[Any] = Future()
        self._waiting.append((task, future))
        self._jobs.submit(self._run_waiting)
        return future

    def cause(self, error: BaseException) -> BaseException:
        """What our own code raised on a worker, as Spark quotes it; else the workers have died."""
        lines = str(error).splitlines() or [repr(error)]
        if "api.python.PythonException" in str(error):
            told = [line for line in lines if "Error: " in line and not line[0].isspace()]
            last = (told or lines)[-1].strip()
            return WorkerError(f"A worker cannot run tasks ({last}): install the same pglearn on every worker.")
        reason = next((line for line in lines if "Job aborted" in line or "cancelled" in line), lines[0]).strip()
        return out_of_tries(reason) if " times, most recent failure" in reason else TaskLost(reason)

    def _run_waiting(self) -> None:
        """All calls that wait, as one job."""
        if not self._waiting:
            return
        time.sleep(GATHER_SECONDS)  # calls of a round come one by one
        points = self._points
        tasks, futures = zip(*[self._waiting.popleft() for _ in range(len(self._waiting))], strict=True)
        try:
            self._context.setJobGroup(self._group, "pglearn")
            slices = self._context.parallelize(tasks, len(tasks))
            results = slices.map(lambda task: arrived(points.value, task)).collect()
        except BaseException as error:  # noqa: BLE001  it is for those who wait for the calls
            for future in futures:
                future.set_exception(error)
        else:
            for future, result in zip(futures, results, strict=True):
                future.set_result(result)

    def _end(self) -> None:
        with suppress(Exception):  # the application may have ended before
            self._context.cancelJobGroup(self._group)
        self._jobs.shutdown(cancel_futures=True)
        with suppress(Exception):
            self._points.destroy()

    def _connected(self) -> Any:
        from py4j.protocol import Py4JError
        from pyspark import SparkConf, SparkContext

        if not isinstance(self.given, str):
            return self.given if isinstance(self.given, SparkContext) else self.given.sparkContext  # of a session
        if self.given == "spark" and SparkContext._active_spark_context is not None:
            return SparkContext._active_spark_context
        size = sum(part.nbytes for view in self.problem.views for part in parts_of(view.X).values())
        master = f"local[{self.n_jobs},{TRIES}]" if self.given == "spark" else self.given
        conf = SparkConf().setMaster(master).setAppName("pglearn")
        conf.set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
        conf.set("spark.driver.memory", f"{1024 + 2 * size // 2**20}m")
        if self.given == "spark" or master.removeprefix("spark://").split(":")[0] in LOOPBACK:
            conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
        try:
            with without_interrupts():  # Spark would take Ctrl-C for itself
                context = SparkContext(conf=conf)
        except (Py4JError, OSError, RuntimeError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise WorkerError(f"Spark does not start with master {master} ({first}): is it running?") from error
        self.cleanup.callback(_quietly, context.stop)
        context.setLogLevel("OFF")
        context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
        return context


def _quietly(end: Callable[[], None]) -> None:
    with suppress(Exception):  # the application may have ended before
        end()
