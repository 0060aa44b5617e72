"""Threads inside one evaluation: NumPy, SciPy and faiss leave the GIL alone in long calls, so plain threads share the
parts of a large problem. BLAS and OpenMP have one thread each, so that their sums round alike on every worker.

Parts depend on the problem alone, and none writes where another does, so the result does not depend on how many threads
there are. A search that runs several candidates at a time leaves one thread to each (`pglearn.search.tasks`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache, partial
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

_limit: ContextVar[int | None] = ContextVar("threads", default=None)


def threads() -> int:
    """How many this evaluation may use: as many as there are cores, or OMP_NUM_THREADS, or what it was limited to."""
    if (limit := _limit.get()) is not None:
        return limit
    cores, asked = _cores(os.getpid()), os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(asked))) if asked.isdecimal() else cores


@contextmanager
def at_most(n: int) -> Iterator[None]:
    """No more than n threads within."""
    token = _limit.set(n)
    try:
        yield
    finally:
        _limit.reset(token)


def each(call: Callable[[int], Any], n: int) -> list[Any]:
    """What `call(0)` … `call(n − 1)` return, on all threads there are. A call has one thread to itself."""
    workers = min(threads(), n)
    if workers <= 1:
        return [call(at) for at in range(n)]
    return list(_executor(workers, os.getpid()).map(partial(_alone, call), range(n)))


@lru_cache(maxsize=1)
def _cores(process: int) -> int:
    """Asked for once in a process: to look at its limits takes longer than a part of a small product."""
    return int(joblib.cpu_count())


def _alone(call: Callable[[int], Any], at: int) -> Any:
    with at_most(1):
        return call(at)


@lru_cache(maxsize=4)
def _executor(workers: int, process: int) -> ThreadPoolExecutor:
    """Threads are kept: a solve asks for them some thousand times. A forked process has none of its parent's."""
    return ThreadPoolExecutor(workers, thread_name_prefix="pglearn")


class _OneBlasThread:
    """The limit of BLAS, which is one for the process. The last who needs it lifts it: a task that ends must not lift
    that of another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._needed_by = 0
        self._limited = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._needed_by == 0:
                self._limited.enter_context(_libraries().limit(limits=1))
            self._needed_by += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._needed_by -= 1
            if self._needed_by == 0:
                self._limited.close()


_one_blas_thread = _OneBlasThread()


@contextmanager
def one_thread() -> Iterator[None]:
    """One BLAS and OpenMP thread for this thread within, and one BLAS thread for all others."""
    with _one_blas_thread, _libraries().select(user_api="openmp").limit(limits=1):  # OpenMP has one for every thread
        yield


@cache
def _libraries() -> ThreadpoolController:
    import faiss  # noqa: F401  whose BLAS is to be among them

    return ThreadpoolController()  # looks through all loaded libraries, which takes milliseconds
