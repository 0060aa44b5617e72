"""One BLAS and OpenMP thread per task: the parallelism is across candidates, and sums round alike on every worker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


class _Limit:
    """That of BLAS, which is one for the process. The last who needs it lifts it: a task that ends must not lift that
    of another."""

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


_limit = _Limit()


@contextmanager
def one_thread() -> Iterator[None]:
    """One BLAS and OpenMP thread for this thread within, and one BLAS thread for all others."""
    with _limit, _libraries().select(user_api="openmp").limit(limits=1):  # OpenMP has a limit for every thread
        yield


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries, which takes milliseconds
