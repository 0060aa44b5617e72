"""Ctrl-C that ends a search, not the program."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from pglearn.search.interrupts import first_interrupt

pytestmark = pytest.mark.xdist_group("signals")


@pytest.mark.usefixtures("interruptible")
def test_the_first_interrupt_stops_and_the_second_interrupts():
    stops = []
    with first_interrupt() as interrupt:
        interrupt.then = lambda: stops.append("stop")
        os.kill(os.getpid(), signal.SIGINT)
        assert stops == ["stop"]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert stops == ["stop"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_outside_the_main_thread_signals_are_left_alone():
    failures = []

    def use():
        try:
            with first_interrupt():
                pass
        except ValueError as error:  # what Python says of signals outside the main thread
            failures.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join(30)
    assert not failures


def test_a_process_that_ignores_interrupts_goes_on_ignoring_them():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with first_interrupt():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
