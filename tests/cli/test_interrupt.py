"""Ctrl-C ends a search, not the program: on handlers, and on real fits in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from pglearn.runtime.interrupts import first_interrupt
from pglearn.search import read_events

pytestmark = pytest.mark.xdist_group("signals")
PATIENCE = 60  # seconds for what should take one or two

COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from pglearn.cli.main import main
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


def written(path):
    """A table with labels that have nothing to do with its columns."""
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(60) < 30, rng.choice(["x", "y"], 60), None)
    pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc")).assign(kind=labels).to_csv(path, index=False)


@contextmanager
def process(tmp_path, script, *arguments, **environment):
    """A script in a process group of its own, as a shell would start it."""
    path = tmp_path / "script.py"
    path.write_text(script)
    running = subprocess.Popen(
        [sys.executable, str(path), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )
    try:
        yield running
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
        running.communicate()


def wait_for_event(path, running, name="candidate_advanced", round=0):
    """Until the search has got so far."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and running.poll() is None:
        events = read_events(path) if path.exists() else []
        if any(event["event"] == name and event["round"] >= round for event in events):
            return
        time.sleep(0.02)
    pytest.fail(f"the search did not get there: {running.stderr.read()}")


def test_threads_and_processes_that_ignore_interrupts_are_left_alone():
    def handler_within():
        with first_interrupt():
            return signal.getsignal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert handler_within() is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    with ThreadPoolExecutor(1) as thread:  # Python says no to signals outside the main thread
        assert thread.submit(handler_within).result() is before


def test_a_termination_ends_the_command_and_leaves_no_worker_and_no_points(tmp_path):
    table, out, temporary = tmp_path / "t.csv", tmp_path / "out", tmp_path / "temporary"
    temporary.mkdir()
    written(table)
    arguments = ["fit", table, "--target", "kind", "-o", out, "--budget", 10**7, "--jobs", 2]
    with process(tmp_path, COMMAND, *arguments, TMPDIR=str(temporary)) as running:
        wait_for_event(out / "events.jsonl", running)
        assert list(temporary.glob("pglearn-*"))
        running.terminate()
        running.communicate(timeout=PATIENCE)
    assert running.returncode == 128 + signal.SIGTERM
    assert list(temporary.glob("pglearn-*")) == []


@pytest.mark.parametrize(
    ("jobs", "after"), [(1, "candidate_advanced"), (2, "candidate_advanced"), (2, "round_started")]
)
def test_one_interrupt_ends_the_command_with_all_files_and_a_note(tmp_path, jobs, after):
    """Also while workers start."""
    written(tmp_path / "t.csv")
    out = tmp_path / "out"
    arguments = ["fit", tmp_path / "t.csv", "--target", "kind", "-o", out, "--budget", 10**7, "--jobs", jobs]
    with process(tmp_path, COMMAND, *arguments) as running:
        wait_for_event(out / "events.jsonl", running, after)
        time.sleep(1)
        os.killpg(running.pid, signal.SIGINT)
        printed, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err
    assert "The search was interrupted: this is the best found so far." in " ".join(printed.split())
    assert "Traceback" not in err
    assert "Warning" not in err
    results = {"events.jsonl", "feature_weights.csv", "model.npz", "predictions.csv"}
    assert {path.name for path in out.iterdir()} == {"checkpoint", *results}  # to go on from
    assert len(pd.read_csv(out / "predictions.csv")) == 60
    last = read_events(out / "events.jsonl")[-1]
    assert (last["event"], last["reason"]) == ("search_ended", "interrupted")


def test_an_interrupt_before_the_search_is_a_sentence(tmp_path, monkeypatch, capsys):
    from pglearn.cli import main as cli

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pglearn.tables.read.read_table", interrupted)
    assert cli.main(["fit", "t.csv", "--target", "y", "-o", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "pglearn: stopped by Ctrl-C before there was an answer.\n"
