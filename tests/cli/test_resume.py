"""`pglearn resume`: what a killed, stopped or interrupted command left behind is gone on with."""

from __future__ import annotations

import os
import signal
import time

import pytest
from tests.cli.test_interrupt import COMMAND, PATIENCE, process, wait_for_event, written

from pglearn.cli import main as cli
from pglearn.search import read_events

SEARCH = ["--budget", "4", "--candidates", "4", "--jobs", "1", "--quiet", "--loss", "ranking"]
RESULTS = ("predictions.csv", "feature_weights.csv")

# Every evaluation takes its time, so that signals meet the search in the middle.
SLOW_COMMAND = COMMAND.replace(
    "from pglearn.cli.main import main",
    """
import time
from pglearn.engine import CPUEngine
from pglearn.search import checkpoint
checkpoint.EVERY = 0.0
usual = CPUEngine.value_and_gradient
CPUEngine.value_and_gradient = lambda *arguments: (time.sleep(0.1), usual(*arguments))[1]
from pglearn.cli.main import main
""",
)

# The fifth evaluation, which is of the second candidate, takes a minute.
STUCK_COMMAND = SLOW_COMMAND.replace("time.sleep(0.1)", "time.sleep(60 * (calls.append(1) or len(calls) > 4))").replace(
    "usual =", "calls = []\nusual ="
)


@pytest.fixture
def table(tmp_path):
    written(tmp_path / "t.csv")
    return tmp_path / "t.csv"


def arguments(table, out):
    return ["fit", str(table), "--target", "kind", "-o", str(out), *SEARCH]


@pytest.fixture
def expected(table, tmp_path):
    assert cli.main(arguments(table, tmp_path / "alone")) == 0
    return results(tmp_path / "alone")


def results(folder):
    return {name: (folder / name).read_bytes() for name in RESULTS}


@pytest.mark.xdist_group("signals")
def test_a_killed_command_is_resumed_to_the_same_files(tmp_path, table, out, expected, capsys):
    with process(tmp_path, SLOW_COMMAND, *arguments(table, out)) as running:
        wait_for_event(out / "events.jsonl", running, round=1)
        os.kill(running.pid, signal.SIGKILL)
        running.wait(PATIENCE)
    assert sorted(path.name for path in out.iterdir()) == ["checkpoint", "events.jsonl"]
    assert cli.main(["resume", str(out), "--quiet"]) == 0
    assert "pglearn: going on with round 2 of 3" in capsys.readouterr().err
    assert results(out) == expected
    assert sorted(path.name for path in out.iterdir()) == ["events.jsonl", *sorted({*RESULTS, "model.npz"})]
    events = read_events(out / "events.jsonl")
    assert [event["number"] for event in events] == list(range(len(events)))
    assert [event["event"] for event in events].count("search_resumed") == 1


def test_what_else_is_in_the_folder_of_the_checkpoint_stays(table, tmp_path):
    (tmp_path / "out" / "checkpoint").mkdir(parents=True)
    (tmp_path / "out" / "checkpoint" / "notes.txt").write_text("precious")
    assert cli.main(arguments(table, tmp_path / "out")) == 0
    assert [path.name for path in (tmp_path / "out" / "checkpoint").iterdir()] == ["notes.txt"]


@pytest.mark.xdist_group("signals")
def test_after_two_interrupts_the_checkpoint_is_intact_and_is_gone_on_with(tmp_path, table, out, expected):
    with process(tmp_path, STUCK_COMMAND, *arguments(table, out)) as running:
        wait_for_event(out / "events.jsonl", running)
        time.sleep(1)  # until it is stuck
        os.killpg(running.pid, signal.SIGINT)
        time.sleep(1)  # two that come at once are one
        os.killpg(running.pid, signal.SIGINT)
        _, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, err
    assert err == (
        f"pglearn: stopped by Ctrl-C before there was an answer. pglearn resume {out} goes on with the search.\n"
    )
    resume(out)
    assert results(out) == expected


@pytest.fixture
def stopped(table, out, capsys):
    """A search that had no time."""
    assert cli.main([*arguments(table, out), "--max-time", "0.000001"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"out of time: this is the best found so far. pglearn resume {out} --max-time SECONDS goes on" in printed
    return out


def resume(out, *words):
    assert cli.main(["resume", str(out), "--quiet", "--max-time", "600", *map(str, words)]) == 0


def test_the_same_command_goes_on_too_and_another_does_not_take_its_place(stopped, table, expected, says, capsys):
    words = arguments(table, stopped)
    says(*words, "--seed", 5, sentence="holds the checkpoint of another search: random_state was 0 and is 5")
    assert cli.main([*words, "--cluster", "threads", "--jobs", "2"]) == 0
    assert "going on with round 1 of 3" in capsys.readouterr().err
    assert results(stopped) == expected


def test_a_table_that_was_moved_is_found_where_it_is_said_to_be_and_a_changed_one_is_named(
    stopped, table, tmp_path, expected, says
):
    moved = table.rename(tmp_path / "moved.csv")
    says("resume", stopped, sentence="t.csv")
    table.write_text(moved.read_text().replace("0.", "1."))
    says("resume", stopped, sentence="holds the checkpoint of another search: X has changed.")
    resume(stopped, "--table", moved)
    assert results(stopped) == expected
    says("resume", stopped, sentence="has ended: there is nothing to resume.")
    says("resume", tmp_path, sentence=f"There is no search to resume in {tmp_path}: begin one with pglearn fit")


def test_a_damaged_command_is_said_to_be_so(stopped, says):
    for content in ("", "3", "{}", '{"a": 2}'):
        (stopped / "checkpoint" / "command.json").write_text(content)
        says("resume", stopped, sentence="is not the command of a search: give the pglearn fit command again")
