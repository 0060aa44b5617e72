"""Ctrl-C that ends a search, not the program and not its workers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class FirstInterrupt:
    """What the first Ctrl-C does; nothing until someone sets it."""

    def __init__(self) -> None:
        self.then: Callable[[], None] = lambda: None


@contextmanager
def first_interrupt() -> Iterator[FirstInterrupt]:
    """Inside, the first Ctrl-C does what it is told here, and the second what it always does."""
    first = FirstInterrupt()
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield first  # only the main thread may handle signals, and a job that ignores Ctrl-C goes on ignoring it
        return

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, usual)
        first.then()

    signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield first
    finally:
        signal.signal(signal.SIGINT, usual)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Ctrl-C is ignored within, by the main thread and by processes that it starts meanwhile, for good."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or usual is None:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
