"""Ctrl-C that ends a search, not the program and not its workers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any


class FirstInterrupt:
    """What the first Ctrl-C does, nothing until someone sets it; and whether it has come."""

    def __init__(self) -> None:
        self.happened = False
        self._action: Callable[[], None] = lambda: None

    def calls(self, action: Callable[[], None]) -> None:
        """From now on; and now, if it has come already."""
        self._action = action
        if self.happened:
            action()

    def come(self) -> None:
        self.happened = True
        self._action()


@contextmanager
def first_interrupt() -> Iterator[FirstInterrupt]:
    """Inside, the first Ctrl-C does what it is told here, and the second what it always does."""
    first = FirstInterrupt()
    usual = signal.getsignal(signal.SIGINT)

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, usual)
        first.come()

    with _handled_by(on_interrupt if callable(usual) else usual):  # a job that ignores Ctrl-C goes on ignoring it
        yield first


def without_interrupts() -> AbstractContextManager[None]:
    """Ctrl-C is ignored within, by the main thread and by processes that it starts meanwhile, for good."""
    return _handled_by(signal.SIG_IGN)


@contextmanager
def _handled_by(handler: Any) -> Iterator[None]:
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or usual is None:
        yield  # only the main thread may handle signals, and a handler that is not of Python could not be put back
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
