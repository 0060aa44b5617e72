"""One BLAS and OpenMP thread per task: the parallelism is across candidates, and sums round alike on every worker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


class _OneThread:
    """The limit of this process, lifted by the last who needs it: a task that ends must not lift that of another.

    BLAS has one limit for the process, OpenMP one for each thread that calls it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._needed_by = 0
        self._limit = ExitStack()
        self._this_thread = threading.local()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._needed_by == 0:
                self._limit.enter_context(_threadpools().limit(limits=1))
            self._needed_by += 1
        try:
            if getattr(self._this_thread, "is_limited", False):
                yield
            else:
                with _openmp().limit(limits=1):
                    yield
        finally:
            with self._lock:
                self._needed_by -= 1
                if self._needed_by == 0:
                    self._limit.close()

    def for_good(self) -> None:
        _openmp().limit(limits=1)
        self._this_thread.is_limited = True


@cache
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries, which takes milliseconds


@cache
def _openmp() -> ThreadpoolController:
    return _threadpools().select(user_api="openmp")


_limit_of_process = _OneThread()


def one_thread() -> AbstractContextManager[None]:
    """One BLAS and OpenMP thread for this thread within, and one BLAS thread for all others."""
    return _limit_of_process()


def one_thread_for_good() -> None:
    """Limit OpenMP in this thread, which is ours, until it ends. To do so for every task takes longer than some."""
    _limit_of_process.for_good()
