"""The search without barriers: everyone has a place, nobody waits, and a slow worker holds up nobody but itself."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.search.fakes import (
    NEVER_ENOUGH,
    Fake,
    KillsItsWorker,
    NumberedDraws,
    Scripted,
    serial_pool,
    small_problem,
    small_search,
)
from tests.search.test_checkpoint import Killed, kills_at, model, points

from pglearn.engine import CPUEngine, Evaluation
from pglearn.errors import InputError, WorkerError
from pglearn.search import Schedule, Search, checkpoint, dealing, read_events
from pglearn.search.events import EventLog
from pglearn.search.ladder import Ladder
from pglearn.search.pool import Pool, Task
from pglearn.search.workers import Threads, workers_for

PAPER = Schedule(budget=16, rate=2, population=8)


def searched(engine, name, workers=2, listeners=(), search=None, **options):
    search = search or Search(PAPER, NumberedDraws(), unit_steps=1, asynchronous=True, **options)
    with Pool(small_problem(), Task(engine, NEVER_ENOUGH), workers_for(name, workers)) as pool:
        return search.run(pool, listeners)


def lives(result):
    return [(c.born, c.died, c.steps) for c in result.candidates]


# The ladder


def test_the_first_to_come_up_is_the_best_of_those_back_so_far():
    ladder = Ladder(Schedule(budget=4, rate=2, population=4), NumberedDraws(), [], [])
    runs = [ladder.next() for _ in range(4)]
    assert [(candidate.id, rung) for candidate, rung in runs] == [(0, 0), (1, 0), (2, 0), (3, 0)]

    def comes_back(candidate, rung, loss):
        candidate.loss = loss
        return ladder.back(candidate, rung)

    comes_back(runs[2][0], 0, 5.0)
    assert ladder.next()[0].id == 4, "one of two comes up, and one is back: a new draw runs meanwhile"
    comes_back(runs[3][0], 0, 7.0)
    assert ladder.next() == (runs[2][0], 1)
    comes_back(runs[0][0], 0, 1.0)
    assert comes_back(runs[1][0], 0, 2.0) == []
    assert ladder.next() == (runs[0][0], 1), "the best of all, now that all are back"
    assert [c.id for c in comes_back(runs[0][0], 1, 1.0)] == [3, 1]
    assert ladder.rungs[:4] == [1, 0, 0, 0]


def test_one_that_has_failed_does_not_come_up_while_sound_ones_may():
    """Who fails is back first."""
    ladder = Ladder(Schedule(budget=4, rate=2, population=4), NumberedDraws(), [], [])
    runs = [ladder.next()[0] for _ in range(4)]
    for candidate, loss, failure in zip(runs[:2], (0.1, np.inf), ("a bug", "a bug"), strict=True):
        ladder.back(replace(candidate, loss=loss, failure=failure), 0)
    assert ladder.next()[0].id == 4, "a new draw"
    ladder.back(replace(runs[2], loss=7.0), 0)
    assert [ladder.next()[0].id for _ in range(2)] == [2, 5]
    ladder.back(replace(runs[3], loss=8.0), 0)
    assert ladder.next()[0].id == 3


def test_where_too_few_are_sound_as_many_come_up_as_ever():
    ladder = Ladder(Schedule(budget=4, rate=2, population=4), NumberedDraws(), [], [])
    runs = [ladder.next()[0] for _ in range(4)]
    for candidate in runs[:3]:
        ladder.back(replace(candidate, loss=float(candidate.id), failure="a bug"), 0)
    assert ladder.next()[0].id == 4
    ladder.back(replace(runs[3], loss=8.0), 0)
    assert [ladder.next()[0].id for _ in range(2)] == [3, 0]


@pytest.mark.parametrize("name", ["serial", "threads"])
def test_as_many_run_every_round_as_with_barriers(name):
    heard = []
    result = searched(AsNumbered(), name, listeners=[heard.append])
    assert result.reason == "finished"
    assert len(result.candidates) == PAPER.configurations
    assert sum(c.died is None for c in result.candidates) == 8
    ran = [event["round"] for event in heard if event["event"] == "candidate_advanced"]
    assert [ran.count(round) for round in range(5)] == [8] * 5
    assert [event["round"] for event in heard if event["event"] == "round_started"] == [0, 1, 2, 3, 4]
    assert [event["round"] for event in heard if event["event"] == "round_ended"] == [0, 1, 2, 3, 4]
    assert sum(c.steps for c in result.candidates) == 8 * 16


@dataclass(frozen=True)
class AsNumbered(Fake):
    def judged(self, problem, configuration):
        return Evaluation(float(configuration.k), 0.5, np.ones_like(configuration.a))


def test_with_one_worker_and_the_best_drawn_first_it_is_the_search_with_barriers():
    search = Search(PAPER, NumberedDraws(), unit_steps=1)
    with serial_pool(Scripted(lambda k: k)) as pool:
        expected = search.run(pool)
    assert lives(searched(AsNumbered(), "serial")) == lives(expected)


def test_a_fit_is_sound(tmp_path):
    X, y = points()
    fitted = model(asynchronous=True, executor="threads", n_jobs=2).fit(X, y)
    assert fitted.stop_reason_ == "finished"
    assert len(fitted.search_results_["candidate"]) == 8
    assert np.isfinite(fitted.label_distributions_).all()


def test_every_basis_has_its_turn():
    fitted = model(asynchronous=True, n_candidates=16).fit(*points())
    last = fitted.search_results_["died"] == 4
    assert len(set(fitted.search_results_["basis"][last])) == len(fitted.bases_)


# A worker that is ten times slower


@dataclass(frozen=True)
class OneSlowWorker(Fake):
    """The first thread of the pool takes ten times as long for a step."""

    step: float = 0.01

    def judged(self, problem, configuration):
        slow = threading.current_thread().name.endswith("_0")
        time.sleep(self.step * (10 if slow else 1))
        return Evaluation(float(configuration.k), 0.5, np.ones_like(configuration.a))


def test_a_worker_ten_times_slower_holds_up_a_search_with_barriers_more():
    def seconds(asynchronous):
        search = Search(Schedule(budget=8, rate=2, population=8), NumberedDraws(), 1, asynchronous=asynchronous)
        begun = time.monotonic()
        result = searched(OneSlowWorker(), "threads", workers=4, search=search)
        assert result.reason == "finished"
        return time.monotonic() - begun

    with_barriers, without = seconds(False), seconds(True)
    assert without < 0.8 * with_barriers


class GrowingThreads(Threads):
    """One worker, until the executor has been asked for: as with a cluster whose workers are yet to come."""

    def __init__(self, n):
        super().__init__(n)
        self._n, self.at_once = n, 1

    def executor(self):
        self.at_once = self._n
        return super().executor()


def test_workers_that_come_after_the_search_has_begun_are_used():
    busy, most = [], []

    class Counts(Fake):
        def judged(self, problem, configuration):
            busy.append(1)
            most.append(len(busy))
            time.sleep(0.01)
            busy.pop()
            return Evaluation(float(configuration.k), 0.5, np.ones_like(configuration.a))

    search = Search(PAPER, NumberedDraws(), unit_steps=1, asynchronous=True)
    with Pool(small_problem(), Task(Counts(), NEVER_ENOUGH), GrowingThreads(3)) as pool:
        assert search.run(pool).reason == "finished"
    assert max(most) == 3


# Failures


def test_a_killed_worker_costs_its_own_task(tmp_path):
    engine = KillsItsWorker(parent=0, marker=str(tmp_path / "killed once"))
    search = small_search()
    search = Search(search.schedule, search.draws, search.unit_steps, asynchronous=True)
    heard = []
    result = searched(engine, "loky", search=search, listeners=[heard.append])
    assert (tmp_path / "killed once").exists()
    assert result.reason == "finished"
    ran = [(event["candidate"], event["round"]) for event in heard if event["event"] == "candidate_advanced"]
    assert len(ran) == len(set(ran)) == 4 * 3


def test_workers_that_keep_dying_are_an_error(monkeypatch):
    monkeypatch.setattr(dealing, "TRIES", 2)
    search = small_search()
    search = Search(search.schedule, search.draws, search.unit_steps, asynchronous=True)
    with pytest.raises(WorkerError, match="Workers died with every candidate"):
        searched(KillsItsWorker(parent=0), "loky", workers=1, search=search)


def test_max_time_and_stops_end_it_with_the_best_so_far():
    result = searched(OneSlowWorker(0.05), "threads", workers=3, max_time=0.3)
    assert result.reason == "out of time"
    assert np.isfinite(result.ranked[0].loss)
    assert searched(AsNumbered(), "serial", max_time=1e-9).reason == "out of time"


@pytest.mark.parametrize("number", [4, 17, 30])
def test_killed_and_resumed_it_runs_to_its_end_and_nothing_is_there_twice(tmp_path, monkeypatch, number):
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    folder, path = tmp_path / "checkpoint", tmp_path / "events.jsonl"
    with EventLog(path) as log, pytest.raises(Killed):
        model(folder, asynchronous=True).fit(*points(), listeners=(log, kills_at(number)))
    with EventLog(path) as log:
        fitted = model(folder, asynchronous=True).fit(*points(), listeners=(log,))
    events = read_events(path)
    assert [event["number"] for event in events] == list(range(len(events)))
    ran = [(event["candidate"], event["round"]) for event in events if event["event"] == "candidate_advanced"]
    assert len(ran) == len(set(ran)) == 4 * 3
    assert [event["round"] for event in events if event["event"] == "round_started"] == [0, 1, 2]
    alone = model(asynchronous=True).fit(*points())  # in one process nobody overtakes anybody
    np.testing.assert_array_equal(fitted.label_distributions_, alone.label_distributions_)


def test_the_engine_that_is_chosen_for_it_is_that_of_the_cpu_whatever_the_machine_has(monkeypatch):
    asked = []

    def chosen(name, loss, propagation, *_, **__):
        asked.append(name)
        return CPUEngine(loss, propagation)

    monkeypatch.setattr("pglearn.estimators.pglearn.chosen_engine", chosen)
    model(asynchronous=True).fit(*points())
    assert asked[0] == "cpu"


def test_it_must_be_true_or_false():
    with pytest.raises(InputError, match="asynchronous='yes' must be True or False"):
        model(asynchronous="yes").fit(*points())
