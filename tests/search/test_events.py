"""The stream of events: complete, in order, and one line of JSON each."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.search.fakes import worked_example

from pglearn import PGLearnClassifier, loss_and_gradient
from pglearn.errors import OutputError
from pglearn.search import EventLog, events


def schema():
    """Fields of every event, as the table in docs/events.md has them."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "events.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|.*?\| ?([^|]*)\|$", text, flags=re.MULTILINE)
    fields = {name: {"event", "time", "number", *re.findall(r"`(\w+)`", listed)} for name, listed in rows}
    fields["search_resumed"] |= fields["search_started"]
    return fields


OF_LARGE_TABLES = {"answer_started", "member_graph_built", "member_solved", "answer_ended"}


@pytest.fixture(scope="module")
def told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.where(np.arange(30) < 12, np.arange(30) % 2, -1)
    told = []
    model = PGLearnClassifier(budget=4, n_candidates=4, random_state=0).fit(X, y, listeners=(told.append,))
    return model, told


def of(told, name):
    return [event for event in told if event["event"] == name]


def test_every_event_has_exactly_the_fields_of_the_table(told):
    _, told = told
    others = {"search_resumed", "checkpoint_written", "checkpoint_failed", "worker_lost", "trial_ended"}
    assert {event["event"] for event in told} == set(schema()) - others - OF_LARGE_TABLES
    for event in told:
        assert set(event) == schema()[event["event"]], event["event"]


def test_a_large_table_has_the_events_of_its_answer(monkeypatch):
    monkeypatch.setattr("pglearn.estimators.sample.ALL_UP_TO", 10)
    monkeypatch.setattr("pglearn.estimators.sample.SEARCHED_ROWS", 10)
    told = []
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.where(np.arange(40) < 12, np.arange(40) % 2, -1)
    PGLearnClassifier(budget=1, n_candidates=2, views=["given"], random_state=0).fit(X, y, listeners=(told.append,))
    assert {event["event"] for event in told} > OF_LARGE_TABLES
    for event in told:
        assert set(event) == schema()[event["event"]], event["event"]
    assert told[0]["searched"] == 22


def test_the_events_of_the_worked_example_come_in_order():
    told = []
    worked_example(lambda k: k, [told.append])
    round = ["round_started", *["candidate_advanced"] * 8, "round_ended"]
    renewal = ["candidate_eliminated"] * 4 + ["candidate_drawn"] * 4
    expected = ["search_started", *(round + renewal) * 4, *round, "search_ended"]
    assert [event["event"] for event in told] == expected
    assert [event["until"] for event in of(told, "round_started")] == [1, 2, 4, 8, 16]
    assert [event["at"] for event in of(told, "candidate_eliminated")] == [*[1] * 4, *[2] * 4, *[4] * 4, *[8] * 4]
    assert [event["candidate"] for event in of(told, "candidate_drawn")] == list(range(8, 24))
    assert of(told, "search_started")[0]["configurations"] == 24
    assert of(told, "search_ended")[0] | {"time": 0} == {
        "event": "search_ended",
        "time": 0,
        "number": len(told) - 1,
        "reason": "finished",
        "best": 0,
        "loss": 0,
        "accuracy": 0.5,
    }


def test_the_first_event_describes_the_problem(told):
    (started,) = of(told[1], "search_started")
    assert (started["points"], started["features"], started["classes"]) == (30, 2, 2)
    assert (started["labelled"], started["scored"]) == (12, 12)
    assert (started["budget"], started["rounds"], started["candidates"], started["configurations"]) == (4, 3, 4, 8)


def test_the_histories_of_the_events_joined_are_the_history_of_the_model(told):
    model, told = told
    joined = {}
    for event in of(told, "candidate_advanced"):
        joined.setdefault(event["candidate"], []).extend(map(tuple, event["history"]))
    table = model.history_
    for candidate, history in joined.items():
        mine = table["candidate"] == candidate
        rows = list(zip(table["step"][mine], table["loss"][mine], table["accuracy"][mine], strict=True))
        assert rows == history
    assert len(table["step"]) == sum(map(len, joined.values()))


def test_every_candidate_of_a_round_is_advanced_once(told):
    _, told = told
    round_of = -1
    advanced = {}
    for event in told:
        if event["event"] == "round_started":
            round_of = event["round"]
        if event["event"] == "candidate_advanced":
            advanced.setdefault(round_of, []).append(event["candidate"])
    assert {round: sorted(ids) for round, ids in advanced.items()} == {
        event["round"]: sorted(event["candidates"]) for event in of(told, "round_started")
    }


def test_only_the_candidate_that_was_looked_at_is_told_of_when_there_is_no_time():
    told = []
    worked_example(lambda k: 1.0, [told.append], max_time=1e-9)
    ids = [event["candidate"] for event in of(told, "candidate_advanced")]
    assert ids == [0]


def refused(token):
    raise AssertionError(f"{token} is not JSON")


def lines(path):
    return [json.loads(line, parse_constant=refused) for line in path.read_text().splitlines()]


def test_the_log_has_one_line_of_json_per_event(tmp_path):
    told = []
    with EventLog(tmp_path / "events.jsonl") as log:
        worked_example(lambda k: k, [log, told.append])
    logged = [{name: value for name, value in event.items() if name != "a"} for event in told]
    assert lines(tmp_path / "events.jsonl") == logged


def test_a_candidate_that_advanced_tells_the_weights_it_is_judged_by():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.where(np.arange(30) < 12, np.arange(30) % 2, -1)
    told = []
    model = PGLearnClassifier(budget=4, n_candidates=2, views=["given"], scale=False, random_state=0)
    model.fit(X, y, listeners=(told.append,))
    for event in of(told, "candidate_advanced"):
        g, _ = loss_and_gradient(X, y, a=event["a"], k=event["k"], loss="log")
        assert event["loss"] == pytest.approx(g, rel=1e-4)


def test_what_is_no_number_is_null_in_the_log(tmp_path):
    with EventLog(tmp_path / "events.jsonl") as log:
        worked_example(lambda k: float("nan") if k < 4 else k, [log])
    advanced = of(lines(tmp_path / "events.jsonl"), "candidate_advanced")
    assert [event["loss"] for event in advanced[:8]] == [None, None, None, None, 4, 5, 6, 7]
    assert advanced[0]["failure"] == "loss or gradient is not finite at step 0"


def test_the_log_is_complete_up_to_the_last_event_at_any_time(tmp_path):
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        for number in range(3):
            log({"event": "round_started", "round": number})
            assert [event["round"] for event in lines(path)] == list(range(number + 1))


def test_a_log_that_is_told_nothing_leaves_the_file_alone(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text("an earlier log\n")
    with EventLog(path):
        pass
    assert path.read_text() == "an earlier log\n"


def test_a_damaged_log_is_left_as_it_is_by_a_search_that_goes_on(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text("what is this?\n")
    with EventLog(path) as log, pytest.warns(UserWarning, match=r"is not written on \(Line 1 of .* is no event"):
        log({"event": "search_resumed", "number": 3})
    assert path.read_text() == "what is this?\n"


def test_a_log_without_room_for_its_copy_is_given_up_with_the_reason(tmp_path, monkeypatch):
    def no_room(path):
        raise OutputError(f"{path} could not be written (No space left on device): is the disk full?")

    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "search_started", "time": 0, "number": 0}\n')
    monkeypatch.setattr(events, "whole_file", no_room)
    with EventLog(path) as log, pytest.warns(UserWarning, match="No space left on device.*; the search goes on"):
        log({"event": "search_resumed", "number": 3})


def test_a_log_that_cannot_be_written_is_given_up_with_a_warning():
    with EventLog(Path("/dev/full")) as log, pytest.warns(UserWarning, match="No space left.*the search goes on"):
        log({"event": "a"})
    log({"event": "b"})  # silently: it has been said
