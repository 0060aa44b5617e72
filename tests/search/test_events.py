"""The stream of events: complete, in order, and one line of JSON each."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.search.fakes import worked_example

from pglearn import PGLearnClassifier, loss_and_gradient
from pglearn.search.events import EventLog, read_events


def schema():
    """Fields of every event, as the table in docs/events.md has them."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "events.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|.*?\| ?([^|]*)\|$", text, flags=re.MULTILINE)
    fields = {name: {"event", "time", "number", *re.findall(r"`(\w+)`", listed)} for name, listed in rows}
    fields["search_resumed"] |= fields["search_started"]
    return fields


OF_LARGE_TABLES = {"answer_started", "member_graph_built", "member_solved", "answer_ended"}


def of(told, name):
    return [event for event in told if event["event"] == name]


def fitted(X, y, **changes):
    told = []
    setting = {"budget": 4, "n_candidates": 4, "random_state": 0, **changes}
    return PGLearnClassifier(**setting).fit(X, y, listeners=(told.append,)), told


def points(n=30):
    return np.random.default_rng(0).normal(size=(n, 2)), np.where(np.arange(n) < 12, np.arange(n) % 2, -1)


def test_every_event_has_exactly_the_fields_of_the_table_and_the_first_describes_the_problem():
    model, told = fitted(*points())
    others = {"search_resumed", "checkpoint_written", "checkpoint_failed", "worker_lost", "trial_ended"}
    assert {event["event"] for event in told} == set(schema()) - others - OF_LARGE_TABLES
    for event in told:
        assert set(event) == schema()[event["event"]], event["event"]
    assert [event["number"] for event in told] == list(range(len(told)))
    names = ("points", "features", "classes", "labelled", "scored", "budget", "rounds", "candidates", "configurations")
    assert [told[0][name] for name in names] == [30, 2, 2, 12, 12, 4, 3, 4, 8]
    last = {event["candidate"]: event["steps"] for event in of(told, "candidate_advanced")}
    assert last == dict(enumerate(model.search_results_["steps"]))


def test_a_large_table_has_the_events_of_its_answer(monkeypatch):
    monkeypatch.setattr("pglearn.objective.searched.ALL_UP_TO", 10)
    monkeypatch.setattr("pglearn.objective.searched.SEARCHED_ROWS", 10)
    _, told = fitted(*points(40), budget=1, n_candidates=2, views=["given"])
    assert {event["event"] for event in told} > OF_LARGE_TABLES
    for event in told:
        assert set(event) == schema()[event["event"]], event["event"]
    assert told[0]["searched"] == 22


def test_the_events_of_the_worked_example_come_in_order():
    told = []
    worked_example(lambda k: k, [told.append])
    round = ["round_started", *["candidate_advanced"] * 8, "round_ended"]
    renewal = ["candidate_eliminated"] * 4 + ["candidate_drawn"] * 4
    assert [event["event"] for event in told] == ["search_started", *(round + renewal) * 4, *round, "search_ended"]
    assert [event["until"] for event in of(told, "round_started")] == [1, 2, 4, 8, 16]
    assert [event["at"] for event in of(told, "candidate_eliminated")] == [*[1] * 4, *[2] * 4, *[4] * 4, *[8] * 4]
    assert [event["candidate"] for event in of(told, "candidate_drawn")] == list(range(8, 24))
    for started in of(told, "round_started"):
        of_round = [event for event in of(told, "candidate_advanced") if event["round"] == started["round"]]
        assert sorted(event["candidate"] for event in of_round) == started["candidates"]
    end = {"reason": "finished", "best": 0, "loss": 0, "accuracy": 0.5}
    assert {name: told[-1][name] for name in end} == end


def test_a_candidate_that_advanced_tells_the_weights_it_is_judged_by():
    X, y = points()
    _, told = fitted(X, y, n_candidates=2, views=["given"], scale=False, dtype="float64")
    for event in of(told, "candidate_advanced"):
        g, _ = loss_and_gradient(X, y, a=event["a"], k=event["k"], loss="log")
        assert event["loss"] == pytest.approx(g, rel=1e-4)


# In a file


def test_the_log_has_one_line_of_json_per_event_as_soon_as_it_is_told(tmp_path):
    told, path = [], tmp_path / "events.jsonl"

    def compare(event):
        told.append({name: value for name, value in event.items() if name != "a"})
        written = read_events(path)
        assert len(written) == len(told)
        if event["event"] == "candidate_advanced" and event["candidate"] < 4:
            assert written[-1]["loss"] is None, "what is no number"
            assert written[-1]["failure"] == "loss or gradient is not finite at step 0"
        else:
            assert written[-1] == told[-1]

    with EventLog(path) as log:
        worked_example(lambda k: float("nan") if k < 4 else k, [log, compare])
    assert told


def test_a_damaged_log_is_left_as_it_is_by_a_search_that_goes_on_or_does_not_begin(tmp_path):
    path = tmp_path / "events.jsonl"
    for text in ("what is this?\n", "3\n", '{"event": "a"}\n'):
        path.write_text(text)
        with EventLog(path):
            pass
        assert path.read_text() == text
        with EventLog(path) as log, pytest.warns(UserWarning, match=r"is not written on .*the search goes on"):
            log({"event": "search_resumed", "number": 3})
        assert path.read_text() == text


def test_a_log_without_room_is_given_up_with_a_warning():
    with EventLog(Path("/dev/full")) as log, pytest.warns(UserWarning, match="No space left.*the search goes on"):
        log({"event": "a"})
    log({"event": "b"})  # silently: it has been said
