"""Where candidates run makes no difference to what comes back."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from joblib import Parallel, delayed
from tests.search.clusters.engines import DiesOnce
from tests.search.fakes import (
    Bowl,
    KillsItsWorker,
    LooksAround,
    RaisesFor,
    candidates,
    most_threads,
    never_enough,
    ones,
    pool_of,
    ran,
    small_search,
)
from threadpoolctl import threadpool_limits

from pglearn.engine import CPUEngine
from pglearn.errors import WorkerError
from pglearn.objective.problem import Problem
from pglearn.runtime.threads import at_most
from pglearn.search import Limit, workers_for
from pglearn.search.tasks import ProblemOnDisk, Task


def searched(engine, workers):
    with pool_of(engine, workers) as pool:
        return small_search().run(pool)


def came_back(engine, workers, given, stint):
    with pool_of(engine, workers) as pool:
        return ran(pool, given, stint)


@contextmanager
def process_pool(workers=2):
    # spawn: a fork of a process with threads can hang, and newer Pythons warn of it
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.fixture(scope="module")
def serial():
    return searched(CPUEngine(), workers_for("serial", 1))


def assert_identical(result, other):
    assert len(result.candidates) == len(other.candidates)
    for one, two in zip(result.candidates, other.candidates, strict=True):
        for name in ("id", "k", "history", "born", "died", "spent"):
            assert getattr(one, name) == getattr(two, name)
        for name in ("a", "dg_da", "best"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


# The same answer everywhere


@pytest.mark.parametrize(("name", "n_jobs"), [("threads", 1), ("threads", 3), ("loky", 2), (None, 2)])
def test_a_named_executor_gives_what_the_serial_one_does(serial, name, n_jobs):
    assert_identical(searched(CPUEngine(), workers_for(name, n_jobs)), serial)


@pytest.mark.parametrize("start", [ThreadPoolExecutor, process_pool])
def test_a_given_executor_gives_what_the_serial_one_does_and_is_left_open(serial, start):
    with start(2) as executor:
        assert_identical(searched(CPUEngine(), workers_for(executor, 1)), serial)
        assert executor.submit(abs, -1).result() == 1


def test_joblib_works_beside_a_search_before_and_after():
    """Its own processes are not made to be shared; ours are kept for the next search."""
    for _ in range(2):
        assert len(came_back(Bowl(), workers_for("loky", 2), candidates(), Limit(until=1))) == 4
        assert Parallel(2)(delayed(abs)(-i) for i in range(4)) == [0, 1, 2, 3]
    assert len({workers_for("loky", 1).submit(os.getpid).result() for _ in range(2)}) == 1


# Workers that die


def test_a_worker_that_dies_costs_nothing_but_time(serial, tmp_path):
    assert_identical(searched(DiesOnce(folder=str(tmp_path)), workers_for("loky", 2)), serial)
    assert (tmp_path / "killed").exists()


def test_a_given_executor_that_breaks_or_is_shut_down_is_not_replaced():
    sentence = r"The given executor does not work .*start a new one and fit again"
    with process_pool(1) as executor, pytest.raises(WorkerError, match=sentence):
        came_back(KillsItsWorker(parent=os.getpid()), workers_for(executor, 1), ones(2), Limit(until=1))
    executor = ThreadPoolExecutor(1)
    with pool_of(Bowl(), workers_for(executor, 1)) as pool:
        parts = pool.advance(ones(9), Limit(until=10_000))
        next(parts)
        executor.shutdown(wait=False, cancel_futures=True)
        with pytest.raises(WorkerError, match=sentence):
            list(parts)
    with pytest.raises(WorkerError, match=sentence):
        came_back(Bowl(), workers_for(executor, 1), ones(2), Limit(until=1))


# What a worker sees and leaves behind


def test_points_are_written_for_other_processes_and_removed_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def temporary():
        return list(tmp_path.glob("pglearn-*"))

    for name, folders in (("loky", 1), ("threads", 0)):
        with pool_of(CPUEngine(), workers_for(name, 2)) as pool:
            assert len(temporary()) == folders
            ran(pool, candidates(), Limit(until=1))
        assert temporary() == []
    with pytest.raises(WorkerError, match="first failed with ZeroDivisionError at step 0: a bug"):
        searched(RaisesFor(tuple(range(30))), workers_for("loky", 2))
    assert temporary() == []


def test_points_and_labels_do_not_travel_with_a_task():
    problem = Problem.from_labels(np.random.default_rng(0).normal(size=(4000, 50)), np.arange(4000) % 50 - 1)
    shared = ProblemOnDisk(problem)
    try:
        sent = len(pickle.dumps(Task(never_enough(CPUEngine()), candidates(1), Limit(until=1), shared)))
    finally:
        shared.close()
    assert sent < problem.labelled.nbytes / 3
    with pytest.raises(WorkerError, match="workers on that machine, or a cluster of Dask, Ray or Spark"):
        shared.problem()  # as on another machine


@pytest.mark.parametrize(
    ("name", "threads", "writable"), [("serial", 3, True), ("threads", 1, True), ("loky", 1, False)]
)
def test_a_task_has_one_numerical_thread_one_of_several_one_at_all_and_processes_cannot_change_the_points(
    name, threads, writable
):
    with threadpool_limits(2), at_most(3):
        back = came_back(LooksAround(), workers_for(name, 2), ones(4), Limit(until=0))
        assert [run.loss for run in back] == [1 + 10 * threads + 1000 * writable] * 4
        assert most_threads() == 2, "they are given back afterwards"


# Stopping


@pytest.mark.parametrize("name", ["serial", "threads", "loky"])
def test_after_a_stop_nobody_runs_and_one_can_still_be_looked_at(name):
    with pool_of(CPUEngine(), workers_for(name, 2)) as pool:
        assert not pool.stopped
        pool.stop()
        assert pool.stopped
        assert ran(pool, candidates(), Limit(until=5)) == []
        assert pool.evaluate(candidates(1)[0]).started


class Vanished(Executor):
    """An executor whose workers never come."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_running_or_notify_cancel()
        return future


@pytest.mark.parametrize("how", ["stop", "deadline"])
def test_candidates_whose_workers_never_come_are_given_up_after_a_while(monkeypatch, how):
    monkeypatch.setattr("pglearn.search.pool.GRACE_SECONDS", 0.1)
    with pool_of(Bowl(), workers_for(Vanished(), 2)) as pool:
        deadline = time.time() + 0.2 if how == "deadline" else None
        if how == "stop":
            threading.Timer(0.2, pool.stop).start()
        begun = time.monotonic()
        assert ran(pool, ones(3), Limit(until=5, deadline=deadline)) == []
        assert time.monotonic() - begun < 20


class CancelsLate(Vanished):
    """An executor that cancels what it was given after a while."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        threading.Timer(1.0, lambda: (future.cancel(), future.set_running_or_notify_cancel())).start()
        return future


def test_tasks_that_are_cancelled_after_the_deadline_are_passed_over():
    with pool_of(Bowl(), workers_for(CancelsLate(), 2)) as pool:
        assert ran(pool, ones(3), Limit(until=5, deadline=time.time() + 0.2)) == []
        result = replace(small_search(), max_time=0.2).run(pool)
    assert (result.reason, len(result.found)) == ("out of time", 1)


# A parent that is killed

ORPHANS = """
import sys
from pglearn import PGLearnClassifier
from pglearn.search import checkpoint, pool
from tests.search.fakes import points
checkpoint.EVERY = 0.0

def tell(event):
    print(event["event"], flush=True)
    if event["number"] > 9:
        pool.PART = 10**7  # workers are in the middle of one from now on

PGLearnClassifier(n_jobs=2, unit_steps=10**7, random_state=0, checkpoint=sys.argv[1]).fit(*points(), listeners=(tell,))
"""


@pytest.mark.xdist_group("signals")
def test_workers_whose_parent_was_killed_stop_and_clean_up_after_it(tmp_path):
    """The first that sees it removes the points, and without these all of them stop."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-c", ORPHANS, str(tmp_path / "checkpoint")]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        try:
            assert list(islice(parent.stdout, 11))[-1] == "checkpoint_written\n", "they run"
            time.sleep(0.5)
            assert list(temporary.glob("pglearn-*"))
        finally:
            parent.kill()
    deadline = time.monotonic() + 60
    while list(temporary.glob("pglearn-*")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
