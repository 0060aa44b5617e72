"""Ctrl-C ends a search, not the program: on handlers, and on real fits in processes of their own."""

from __future__ import annotations

import json
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

from pglearn import PGLearnClassifier
from pglearn.search.interrupts import first_interrupt

pytestmark = pytest.mark.xdist_group("signals")
PATIENCE = 60  # seconds for what should take one or two

# Labels that have nothing to do with the points: the search never converges, and its budget lasts for hours.
FIT = """
import signal, sys, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits that Ctrl-C is ignored
import numpy as np
from pglearn import PGLearnClassifier
if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.where(np.arange(60) < 30, rng.integers(0, 2, 60), -1)
    model = PGLearnClassifier(budget=2, unit_steps=10**7, n_candidates=2, n_jobs=int(sys.argv[1]), random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, listeners=(lambda event: print(event["event"], flush=True),))
    print("warned:", *[str(warning.message) for warning in caught])
    print("reason:", model.stop_reason_)
    print("labels:", len(model.transduction_), bool(np.isfinite(model.label_distributions_).all()))
"""

COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from pglearn.cli import main
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


def interrupt(running):
    os.killpg(running.pid, signal.SIGINT)


def wait_for_line(running, text):
    for line in running.stdout:
        if line.strip() == text:
            return
    pytest.fail(f"the process ended without saying {text!r}: {running.stderr.read()}")


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


@pytest.mark.parametrize(("n_jobs", "wait"), [(1, 0.5), (2, 0.2), (2, 3)])  # workers take a while to start
def test_one_interrupt_ends_a_fit_with_the_best_so_far_and_a_warning(tmp_path, n_jobs, wait):
    with process(tmp_path, FIT, n_jobs) as running:
        wait_for_line(running, "round_started")
        time.sleep(wait)
        interrupt(running)
        out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err
    assert "warned: The search was interrupted: the labels are those of the best candidates so far." in out
    assert "reason: interrupted" in out
    assert "labels: 60 True" in out
    assert "Traceback" not in err


def test_a_termination_ends_the_command_and_leaves_no_worker_and_no_points(tmp_path):
    table, out, temporary = tmp_path / "t.csv", tmp_path / "out", tmp_path / "temporary"
    temporary.mkdir()
    written(table)
    arguments = ["fit", table, "--target", "kind", "-o", out, "--budget", 10**7, "--jobs", 2]
    with process(tmp_path, COMMAND, *arguments, TMPDIR=str(temporary)) as running:
        wait_for_events(out / "events.jsonl", running)
        assert list(temporary.glob("pglearn-*"))
        running.terminate()
        running.communicate(timeout=PATIENCE)
    assert running.returncode == 128 + signal.SIGTERM
    assert list(temporary.glob("pglearn-*")) == []


def wait_for_events(path, running):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and running.poll() is None:
        if path.exists() and '"candidate_advanced"' in path.read_text():
            return
        time.sleep(0.05)
    pytest.fail("the search did not start")


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_interrupt_ends_the_command_with_all_files_and_a_note(tmp_path, jobs):
    written(tmp_path / "t.csv")
    out = tmp_path / "out"
    arguments = ["fit", tmp_path / "t.csv", "--target", "kind", "-o", out, "--budget", 10**7, "--jobs", jobs]
    with process(tmp_path, COMMAND, *arguments) as running:
        wait_for_events(out / "events.jsonl", running)
        interrupt(running)
        printed, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err
    assert "The search was interrupted: this is the best found so far." in " ".join(printed.split())
    assert "Traceback" not in err
    assert "Warning" not in err
    results = {"events.jsonl", "feature_weights.csv", "model.npz", "predictions.csv"}
    assert {path.name for path in out.iterdir()} == {"checkpoint", *results}  # to go on from
    assert len(pd.read_csv(out / "predictions.csv")) == 60
    last = json.loads((out / "events.jsonl").read_text().splitlines()[-1])
    assert (last["event"], last["reason"]) == ("search_ended", "interrupted")


def test_an_interrupt_before_the_search_is_a_sentence(tmp_path, monkeypatch, capsys):
    from pglearn import cli

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pglearn.tables.read.read_table", interrupted)
    assert cli.main(["fit", "t.csv", "--target", "y", "-o", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "pglearn: stopped by Ctrl-C before there was an answer.\n"


def test_units_of_seconds_run_a_real_fit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.where(np.arange(40) < 20, rng.integers(0, 2, 40), -1)
    begun = time.monotonic()
    model = PGLearnClassifier(budget=2, n_candidates=2, unit_seconds=0.2, random_state=0).fit(X, y)
    assert 0.8 <= time.monotonic() - begun < 10  # four stints of a unit each
    assert model.stop_reason_ == "finished"
    assert (model.search_results_["steps"] > 0).all()
