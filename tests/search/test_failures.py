"""What fails costs no more than it must: candidates that raise, workers that die or lack memory, time that is up."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.search.fakes import (
    KillsItsWorker,
    RaisesFor,
    Scripted,
    Sleepy,
    paper_search,
    points,
    pool_of,
    worked_example,
)
from tests.search.test_events import schema

from pglearn import PGLearnClassifier
from pglearn.engine import CPUEngine
from pglearn.errors import WorkerError
from pglearn.search import workers_for
from pglearn.search.checkpoint import opened

EXECUTORS = ["serial", "threads", "loky"]


def searched(engine, name, listeners=(), **options):
    """The paper's T = 8, r = 2, B = 16 on two workers."""
    return paper_search(pool_of(engine, workers_for(name, 2)), listeners, **options)


# Candidates


@dataclass(frozen=True)
class AllAtOnce(RaisesFor):
    """The same, evaluating a population in one go."""

    together = None

    def value_and_gradient(self, problem, configurations, carried=None):
        if {configuration.k for configuration in configurations} & set(self.numbers):
            raise self.error
        return super().value_and_gradient(problem, configurations, carried)


@pytest.mark.parametrize(("kind", "name"), [*((RaisesFor, name) for name in EXECUTORS), (AllAtOnce, "serial")], ids=str)
def test_a_candidate_that_raises_is_eliminated_and_reported_and_the_search_goes_on(kind, name):
    told = []
    result = searched(kind((0, 2, 9)), name, [told.append])
    expected = worked_example(lambda k: float("nan") if k in (0, 2, 9) else k)
    assert [(run.loss, run.died, run.steps) for run in result.candidates] == [
        (run.loss, run.died, run.steps) for run in expected.candidates
    ]
    assert [c.id for c in result.found] == [c.id for c in expected.found]
    failures = {c.id: c.failure for c in result.candidates if c.failure}
    assert failures == dict.fromkeys((0, 2, 9), "ZeroDivisionError at step 0: a bug")
    assert {event["candidate"]: event["failure"] for event in told if event.get("failure")} == failures


@pytest.mark.parametrize("error", [MemoryError("no room"), None])
def test_a_candidate_that_fails_on_the_way_is_eliminated_however_low_its_loss_was(error):
    told = []
    result = searched(RaisesFor((0, 2, 21), error, at_once=False), "serial", [told.append])
    assert [c.id for c in result.candidates if c.failure] == [0, 2, 21]
    assert result.candidates[0].loss == 0.0, "the lowest of all"
    assert [result.candidates[id].died for id in (0, 2, 21)] == [1, 1, None]
    assert 21 not in [c.id for c in result.found]
    assert told[-1]["best"] == result.found[0].id == 1


@pytest.mark.parametrize(
    ("failing", "warning"),
    [
        ({1}, r"1 of 4 candidates failed and were left out.*MemoryError at step 1: no room"),
        ({0, 1, 2, 3}, "4 of 4 candidates failed, and none was left that had not: the labels are"),
    ],
)
def test_those_that_raise_on_the_way_have_no_part_in_the_answer_unless_all_did(monkeypatch, failing, warning):
    usual, seen = CPUEngine.value_and_gradient, set()

    def raises_at_its_second(self, problem, configurations, carried=None):
        (evaluation,) = usual(self, problem, configurations, carried)
        owner = configurations[0].owner
        if owner not in failing:
            return [evaluation]
        if owner in seen:
            raise MemoryError("no room")
        seen.add(owner)
        return [replace(evaluation, loss=evaluation.loss / 4)]

    monkeypatch.setattr(CPUEngine, "value_and_gradient", raises_at_its_second)
    model = PGLearnClassifier(budget=1, n_candidates=4, random_state=0)
    with pytest.warns(UserWarning, match=warning):
        model.fit(*points())
    results = model.search_results_
    assert results["selected"][results["loss"].argmin()] == (len(failing) == 4)
    assert results["selected"].sum() == 2
    assert np.isfinite(model.label_distributions_).all()


# Workers


def test_a_candidate_that_kills_every_worker_ends_the_search_with_what_to_do_and_the_rest_is_kept(tmp_path):
    told = []
    pool = pool_of(KillsItsWorker(os.getpid(), spared=8), workers_for("loky", 1))  # those of the second round are not
    sentence = r"Workers died each time that they were given the same task \(TerminatedWorkerError.*With checkpoint="
    with opened(tmp_path, {}) as checkpoint, pytest.raises(WorkerError, match=sentence):
        paper_search(pool, [told.append], checkpoint=checkpoint)
    lost = [event for event in told if event["event"] == "worker_lost"]
    assert len(lost) == 3, "each death is told once, with all that was under way"
    assert all(8 in event["candidates"] and "TerminatedWorkerError" in event["reason"] for event in lost)
    assert set(lost[0]) == schema()["worker_lost"]
    with opened(tmp_path, {}) as checkpoint:
        assert checkpoint.found.round == 1
        assert [c.loss for c in checkpoint.found.candidates[:8]] == list(range(8))
    assert searched(RaisesFor(), "loky").reason == "finished", "the next search works"


# Time


@pytest.mark.parametrize("name", EXECUTORS)
def test_max_time_is_honoured_to_within_one_step(name):
    step = 0.3
    searched(Scripted(lambda k: 1.0) if name != "loky" else RaisesFor(), name)  # workers take a while to start
    told = []
    result = searched(Sleepy(step), name, [told.append], max_time=1.0)
    took = told[-1]["time"] - told[0]["time"]
    assert result.reason == "out of time"
    assert 1.0 <= took < 1.0 + step + 0.5  # and some patience with a busy machine
    assert np.isfinite(result.found[0].loss)
