"""Ctrl-C and max_time on real fits in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from pglearn import PGLearnClassifier

pytestmark = pytest.mark.xdist_group("signals")
PATIENCE = 60  # seconds for what should take one or two

# Labels that have nothing to do with the points: the search never converges, and its budget lasts for hours.
ENDLESS = """
import signal, sys, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits that Ctrl-C is ignored
import numpy as np
from pglearn import PGLearnClassifier

def points():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 3)), np.where(np.arange(60) < 30, rng.integers(0, 2, 60), -1)

def say(event):
    print(event["event"], flush=True)
"""

FIT = (
    ENDLESS
    + """
if __name__ == "__main__":
    X, y = points()
    model = PGLearnClassifier(budget=2, unit_steps=10**7, n_candidates=2, n_jobs=int(sys.argv[1]), random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, listeners=(say,))
    print("warned:", *[str(warning.message) for warning in caught])
    print("reason:", model.stop_reason_)
    print("labels:", len(model.transduction_), bool(np.isfinite(model.label_distributions_).all()))
"""
)

# The engine takes its time and prints when it starts, so that Ctrl-C meets it in the middle of a step.
SLOW_STEP = (
    ENDLESS
    + """
import time
from pglearn.engine import CPUEngine
usual = CPUEngine.value_and_gradient
calls = []

def slow(self, problem, configurations):
    calls.append(1)
    if len(calls) > 1:
        print("step", flush=True)
        time.sleep(120)
    return usual(self, problem, configurations)

CPUEngine.value_and_gradient = slow
if __name__ == "__main__":
    X, y = points()
    try:
        PGLearnClassifier(budget=2, n_candidates=2).fit(X, y)
    except KeyboardInterrupt:
        print("stopped")
"""
)

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


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_interrupt_ends_a_fit_with_the_best_so_far_and_a_warning(tmp_path, n_jobs):
    with process(tmp_path, FIT, n_jobs) as running:
        wait_for_line(running, "round_started")
        time.sleep(3 if n_jobs > 1 else 0.5)  # workers take a while to start
        interrupt(running)
        out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err
    assert "warned: The search was interrupted: the labels are those of the best candidates so far." in out
    assert "reason: interrupted" in out
    assert "labels: 60 True" in out
    assert "Traceback" not in err


def test_an_interrupt_while_workers_start_ends_with_an_answer_too(tmp_path):
    with process(tmp_path, FIT, 2) as running:
        wait_for_line(running, "round_started")
        time.sleep(0.2)
        interrupt(running)
        out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err
    assert "reason: interrupted" in out


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


def test_the_second_interrupt_stops_at_once(tmp_path):
    with process(tmp_path, SLOW_STEP) as running:
        wait_for_line(running, "step")
        interrupt(running)
        time.sleep(0.5)
        assert running.poll() is None  # the first waits for the step it met
        interrupt(running)
        out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err
    assert out == "stopped\n"


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
    assert sorted(path.name for path in out.iterdir()) == [
        "checkpoint",  # to go on from
        "events.jsonl",
        "feature_weights.csv",
        "model.npz",
        "predictions.csv",
    ]
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


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_max_time_ends_a_fit_with_the_best_so_far(n_jobs):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.where(np.arange(60) < 30, rng.integers(0, 2, 60), -1)
    model = PGLearnClassifier(budget=2, unit_steps=10**7, n_candidates=2, n_jobs=n_jobs, max_time=1.0, random_state=0)
    begun = time.monotonic()
    model.fit(X, y)
    assert time.monotonic() - begun < 15
    assert model.stop_reason_ == "out of time"
    assert (model.search_results_["steps"] < 2 * 10**7).all()
    assert np.isfinite(model.label_distributions_).all()


def test_units_of_seconds_run_a_real_fit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.where(np.arange(40) < 20, rng.integers(0, 2, 40), -1)
    begun = time.monotonic()
    model = PGLearnClassifier(budget=2, n_candidates=2, unit_seconds=0.2, random_state=0).fit(X, y)
    assert 0.8 <= time.monotonic() - begun < 10  # four stints of a unit each
    assert model.stop_reason_ == "finished"
    assert (model.search_results_["steps"] > 0).all()
