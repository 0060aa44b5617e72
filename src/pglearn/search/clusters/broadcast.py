"""What Dask, Ray and Spark have in common: the problem travels once, and a task finds it where the engine has put it.

A task is sent as `arrived(problem, call)`, where the engine itself puts its own copy of the problem in the place of the
first argument. For as long as the call runs, the handle that came with it finds the problem there.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, TypeAlias

from pglearn.errors import WorkerError
from pglearn.problem import Problem
from pglearn.sparse import parts_of

Cause: TypeAlias = Callable[[BaseException], BaseException]

_here = threading.local()  # the problem of the task that runs in this thread


def arrived(problem: Problem, call: Callable[[], Any]) -> Any:
    """Make a call on a worker, with the problem that has arrived there."""
    for view in problem.views:
        for part in parts_of(view.X).values():
            part.flags.writeable = False  # it is shared by all tasks of this worker
    _here.problem = problem
    try:
        return call()
    finally:
        del _here.problem


def to_send(problem: Problem) -> Problem:
    """The problem with all that it would otherwise compute again in every task."""
    problem = replace(problem)
    for view in problem.views:
        _ = view.centre
    return problem


class Broadcast:
    """The handle: a name, and whether the search has been stopped.

    `told` tells the workers of a stop, and `heard` asks, on a worker, whether they were told; they are the engine's.
    """

    def __init__(self, told: Callable[[str], None] | None = None, heard: Callable[[str], bool] | None = None) -> None:
        self._name = uuid.uuid4().hex
        self._told = told
        self._heard = heard
        self._stop = threading.Event()

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self._name, "heard": self._heard, "stopped": self._stop.is_set()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(heard=state["heard"])  # type: ignore[misc]
        self._name = state["name"]
        if state["stopped"]:
            self._stop.set()

    def problem(self) -> Problem:
        problem: Problem = _here.problem
        return problem

    def stopped(self) -> bool:
        if not self._stop.is_set() and self._heard is not None and self._heard(self._name):
            self._stop.set()
        return self._stop.is_set()

    def stop(self) -> None:
        """Tell them by a thread, because this may be called from the handler of a signal; but first what is sent from
        now on knows of it."""
        is_first = not self._stop.is_set()
        self._stop.set()
        if is_first and self._told is not None:
            threading.Thread(target=self._told, args=(self._name,), daemon=True).start()

    def undisturbed(self) -> AbstractContextManager[object]:
        return nullcontext()  # these engines keep Ctrl-C from their workers themselves

    def close(self) -> None:
        pass


class Remote(Executor):
    """An executor whose tasks are those of an engine, with the outcome as a future of Python's own."""

    def __init__(self) -> None:
        self.points: Any = None
        """The problem, as the engine knows it."""
        self.under_way = 0
        self._lock = threading.Lock()
        self._then: Callable[[], None] | None = None

    def forget(self) -> None:
        self.points = None

    def when_at_rest(self, then: Callable[[], None]) -> None:
        """Call it when nothing is under way: now, or as the last task comes back."""
        with self._lock:
            if self.under_way:
                self._then = then
                return
        then()

    def sent(self, send: Callable[[], Any]) -> tuple[Future[Any], Any]:
        """A task: a future of Python's own, and what `send` gives. One that cannot be sent is a broken executor."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            self.under_way += 1
        try:
            return future, send()
        except Exception as error:  # engines that have gone say so by exceptions of every kind
            with self._lock:
                self.under_way -= 1
            raise BrokenExecutor(f"{type(error).__name__}: {error}") from error

    def settle(self, future: Future[Any], outcome: Callable[[], Any], cause: Cause) -> None:
        """Pass on the outcome of a task, or the `cause` of its error."""
        try:
            result = outcome()
        except BaseException as error:  # noqa: BLE001  engines cancel tasks by exceptions of every kind
            future.set_exception(explained(cause(error)))
        else:
            future.set_result(result)
        finally:
            with self._lock:
                self.under_way -= 1
                then = None if self.under_way else self._then
            if then is not None:
                then()


def explained(error: BaseException) -> BaseException:
    """With what to do, if the worker lacks what it needs."""
    if isinstance(error, ImportError):
        return WorkerError(f"A worker cannot run tasks ({error}): install the same pglearn on every worker.")
    return error
