"""Ray: the problem in its object store, candidates as its tasks. Only this module imports ray."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from pglearn.errors import InputError, WorkerError
from pglearn.problem import Problem
from pglearn.search.clusters.broadcast import Broadcast, Remote, arrived, to_send
from pglearn.search.handle import Handle
from pglearn.search.workers import Deadly, Lost, starting

LOOK_SECONDS = 1.0  # between two looks of a worker at whether it was told to stop
FORGET_SECONDS = 5.0  # for the cluster to forget that, before the connection ends


class Ray:
    """The cluster that this process is connected to, or one at an address; n_jobs has no part in it.

    Ray runs the task of a dead worker again by itself, on another. If the problem was lost with a machine it is put
    into the store again.
    """

    def __init__(self, given: str, n_jobs: int) -> None:
        self._given = given
        self._is_ours = False
        self._cleanup = ExitStack()
        self._telling = threading.Lock()
        self._told: str | None = None

    def handle(self, problem: Problem) -> Handle:
        self._problem = to_send(problem)
        self._connect()
        self._executor = RayExecutor()
        self._cleanup.callback(self._executor.forget)
        self._cleanup.callback(self._take_back)
        return Broadcast(self._tell, heard_of)

    @property
    def at_once(self) -> int:
        import ray

        return max(int(ray.cluster_resources().get("CPU", 1)), 1)

    def executor(self) -> RayExecutor:
        import ray

        if not ray.is_initialized():
            raise WorkerError("The Ray cluster does not answer any more: start it and fit again.")
        if self._executor.points is None:
            self._executor.points = ray.put(self._problem)
        return self._executor

    def broken(self, error: RuntimeError) -> None:
        pass  # Ray replaces its workers

    def close(self) -> None:
        self._cleanup.close()

    def _connect(self) -> None:
        import ray

        if ray.is_initialized():
            if self._given != "ray":
                raise InputError(
                    f'executor="{self._given}" cannot be connected to: this process is connected to a Ray cluster '
                    'already, and Ray does not say whether it is that one. Give executor="ray" for the one that it is '
                    "connected to, or call ray.shutdown() first."
                )
            return
        if self._given == "ray":
            raise InputError(
                'executor="ray" is the cluster that this process is connected to, and it is connected to none: call '
                'ray.init() first, or give an address like "ray://host:10001". pglearn does not start Ray by itself, '
                "because Ray listens beyond this machine even when it is told not to."
            )
        try:
            with starting():
                ray.init(address=self._given, log_to_driver=False, logging_level="ERROR")
        except (OSError, ImportError, ValueError, RuntimeError) as error:
            raise WorkerError(
                f"No Ray cluster answers at {self._given} ({error}): is it running, and does it ask for a token "
                "(RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here too)?"
            ) from error
        self._is_ours = True
        self._cleanup.callback(ray.shutdown)

    def _tell(self, name: str) -> None:
        from ray.experimental import internal_kv

        with self._telling:
            if self._executor.under_way:
                self._told = name
                with suppress(Exception):  # at the worst its workers end the parts that they are in
                    internal_kv._internal_kv_put(_key(name), b"stopped")

    def _take_back(self) -> None:
        """What the cluster was told, which it would keep for good: when no task is left that may ask, or at once where
        the connection ends and all tasks with it. By a thread, because a cluster that has gone does not answer."""
        thread = threading.Thread(target=self._forget, daemon=True)
        if self._is_ours:
            thread.start()
            thread.join(FORGET_SECONDS)
        else:
            self._executor.when_at_rest(thread.start)

    def _forget(self) -> None:
        import ray
        from ray.experimental import internal_kv

        with self._telling, suppress(Exception):
            if self._told is not None and ray.is_initialized():
                internal_kv._internal_kv_del(_key(self._told))


def _key(name: str) -> bytes:
    return f"pglearn-{name}".encode()


_looked: dict[str, float] = {}  # when this worker last asked, by search


def heard_of(name: str) -> bool:
    """Ask the cluster, now and then: it is a call over the network."""
    from ray.experimental import internal_kv

    if time.monotonic() - _looked.get(name, -LOOK_SECONDS) < LOOK_SECONDS:
        return False
    _looked[name] = time.monotonic()
    return bool(internal_kv._internal_kv_exists(_key(name)))


class RayExecutor(Remote):
    """Tasks of Ray as futures of Python."""

    def __init__(self) -> None:
        super().__init__()
        import ray

        self._arrived = ray.remote(num_cpus=1, max_retries=3)(arrived)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        points = self.points
        if points is None:  # lost since the executor was asked for
            raise BrokenExecutor("the problem is not in the store any more")
        future, remote = self.sent(lambda: self._arrived.remote(points, partial(fn, *args, **kwargs)))
        remote.future().add_done_callback(lambda done: self.settle(future, done.result, partial(self._cause, points)))
        return future

    def _cause(self, points: Any, error: BaseException) -> BaseException:
        """Of a task that was sent with these points: if they are lost, those that were put since may not be."""
        from ray.exceptions import ObjectLostError, OutOfMemoryError, RayError, RayTaskError, WorkerCrashedError

        if isinstance(error, RayTaskError):
            return error.cause if isinstance(error.cause, BaseException) else error
        if isinstance(error, (WorkerCrashedError, OutOfMemoryError)):
            return Deadly(type(error).__name__)
        if isinstance(error, ObjectLostError) and self.points is points:
            self.points = None
        if isinstance(error, RayError):
            return Lost(f"{type(error).__name__}: {error}")
        return error
