"""Ray: the problem in its object store, candidates as its tasks. Only this module imports ray."""

from __future__ import annotations

from typing import Any

from pglearn.errors import InputError, WorkerError
from pglearn.runtime.interrupts import without_interrupts
from pglearn.search.clusters.broadcast import ClusterWorkers, arrived
from pglearn.search.executors import TaskLost
from pglearn.search.tasks import Task


class Cluster(ClusterWorkers):
    """The cluster that this process is connected to, or one at an address; n_jobs has no part in it.

    If the problem was lost with a machine it is put into the store again.
    """

    def connect(self) -> None:
        import ray

        self._points: Any = None
        if ray.is_initialized() and self.given != "ray":
            raise InputError(
                f'executor="{self.given}" cannot be connected to: this process is connected to a Ray cluster '
                'already, and Ray does not say whether it is that one. Give executor="ray" for the one that it is '
                "connected to, or call ray.shutdown() first."
            )
        if not ray.is_initialized() and self.given == "ray":
            raise InputError(
                'executor="ray" is the cluster that this process is connected to, and it is connected to none: call '
                'ray.init() first, or give an address like "ray://host:10001". pglearn does not start Ray by itself, '
                "because Ray listens beyond this machine even when it is told not to."
            )
        if self.given != "ray":
            try:
                with without_interrupts():
                    ray.init(address=self.given, log_to_driver=False, logging_level="ERROR")
            except (OSError, ImportError, ValueError, RuntimeError) as error:
                raise WorkerError(
                    f"No Ray cluster answers at {self.given} ({error}): is it running, and does it ask for a token "
                    "(RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here too)?"
                ) from error
            self.cleanup.callback(ray.shutdown)
        self.cleanup.callback(self._forget)
        self._arrived = ray.remote(num_cpus=1, max_retries=0)(arrived)  # the pool tries again

    def make_ready(self) -> None:
        import ray

        if not ray.is_initialized():
            raise WorkerError("The Ray cluster does not answer any more: start it and fit again.")
        if self._points is None:
            self._points = ray.put(self.problem)

    def send(self, task: Task) -> Any:
        return self._arrived.remote(self._points, task).future()

    def cause(self, error: BaseException) -> BaseException:
        from ray.exceptions import ObjectLostError, RayError, RayTaskError

        if isinstance(error, RayTaskError):
            return error.cause if isinstance(error.cause, BaseException) else error
        if isinstance(error, ObjectLostError):
            self._forget()
        return TaskLost(f"{type(error).__name__}: {error}") if isinstance(error, RayError) else error

    def _forget(self) -> None:
        self._points = None
