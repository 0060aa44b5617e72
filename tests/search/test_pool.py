"""Where candidates run makes no difference to what comes back."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
from tests.clusters.engines import DiesOnce
from tests.search.fakes import (
    NEVER_ENOUGH,
    Bowl,
    CountsThreads,
    Fails,
    KillsItsWorker,
    Overlapping,
    SeesWritablePoints,
    most_threads,
    small_problem,
    small_search,
)
from threadpoolctl import threadpool_limits

from pglearn.engine import CPUEngine
from pglearn.errors import InputError, WorkerError
from pglearn.problem import Problem
from pglearn.search import Candidate, Stint
from pglearn.search.clusters.broadcast import Broadcast
from pglearn.search.handle import OnDisk
from pglearn.search.pool import Pool, Task, run_task
from pglearn.search.workers import Workers, workers_for


def pool_of(engine, workers):
    return Pool(small_problem(), Task(engine, NEVER_ENOUGH), workers)


def searched(engine, workers):
    with pool_of(engine, workers) as pool:
        return small_search().run(pool)


def candidates(number=4):
    return [small_search().draws.candidate(id) for id in range(number)]


def ones(number):
    return [Candidate(id, k=id, a=np.ones(2)) for id in range(number)]


def came_back(engine, workers, given, stint):
    with pool_of(engine, workers) as pool:
        return sorted(pool.run(given, stint), key=lambda candidate: candidate.id)


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
        for name in ("id", "k", "born", "died", "steps", "history"):
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


@pytest.mark.parametrize("executor", ["desk", "desk://host:8786", 3, object])
def test_an_unknown_executor_is_refused_with_a_sentence(executor):
    with pytest.raises(InputError, match=r"is not known: give a concurrent.futures.Executor, 'loky', 'threads' or"):
        workers_for(executor, 2)


# Workers that die


def test_a_worker_killed_in_mid_task_costs_nothing_but_time(serial, tmp_path):
    marker = tmp_path / "killed once"
    engine = KillsItsWorker(parent=os.getpid(), marker=str(marker))
    result = searched(engine, workers_for("loky", 2))
    assert marker.exists()
    assert_identical(result, serial)


def test_only_what_is_missing_runs_again_after_a_worker_died(tmp_path):
    engine = DiesOnce(folder=str(tmp_path), most=15, after="all others are back")
    back = []
    with pool_of(engine, workers_for("loky", 2)) as pool:
        for candidate in pool.run(candidates(16), Stint(steps=1)):
            back.append(candidate)
            if len(back) == 15:
                (tmp_path / engine.after).touch()
    assert sorted(candidate.id for candidate in back) == list(range(16))
    needed = sum(len(candidate.history) for candidate in back)
    assert needed == 32
    assert engine.evaluations() == needed + 1, "the one that killed its worker, and nothing else"


def test_workers_that_keep_dying_are_an_error_that_says_what_to_do_and_the_next_search_works(serial):
    sentence = r"Workers died each time that they were given the same task \(TerminatedWorkerError.*use fewer of them"
    losses = []
    with pool_of(KillsItsWorker(parent=os.getpid()), workers_for("loky", 2)) as pool:
        pool.on_loss = lambda ids, reason: losses.append(ids)
        with pytest.raises(WorkerError, match=sentence):
            list(pool.run(candidates(), Stint(steps=1)))
    assert losses == [[0, 1, 2, 3]] * 3, "each death is told once, with all that was under way"
    assert_identical(searched(CPUEngine(), workers_for("loky", 2)), serial)


def test_a_given_executor_that_breaks_is_not_replaced():
    with (
        process_pool(1) as executor,
        pytest.raises(WorkerError, match=r"The given executor does not work .*start a new one and fit again"),
    ):
        came_back(KillsItsWorker(parent=os.getpid()), workers_for(executor, 1), candidates(), Stint(steps=1))


def test_a_given_executor_that_is_shut_down_is_refused_with_what_to_do():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(WorkerError, match="start a new one"):
        came_back(Bowl(), workers_for(executor, 1), ones(2), Stint(steps=1))


@pytest.mark.parametrize("name", ["serial", "threads", "loky"])
def test_a_candidate_that_raises_comes_back_with_its_failure(name):
    back = came_back(Fails(), workers_for(name, 2), ones(4), Stint(steps=1))
    assert [candidate.failure for candidate in back] == ["ZeroDivisionError at step 0: a bug"] * 4


def test_joblib_works_beside_a_search_before_and_after():
    """Its own processes are not made to be shared."""
    for _ in range(2):
        assert len(came_back(Bowl(), workers_for("loky", 2), candidates(), Stint(steps=1))) == 4
        assert Parallel(2)(delayed(abs)(-i) for i in range(4)) == [0, 1, 2, 3]


def test_processes_are_kept_for_the_next_search():
    assert workers_for("loky", 1).executor() is workers_for("loky", 1).executor()


# What a worker sees and leaves behind


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return lambda: [path.name for path in tmp_path.glob("pglearn-*")]


def test_points_are_written_for_other_processes_and_removed_afterwards(temporary):
    with pool_of(CPUEngine(), workers_for("loky", 2)) as pool:
        assert len(temporary()) == 1
        list(pool.run(candidates(), Stint(steps=1)))
    assert temporary() == []
    with pytest.raises(WorkerError, match="first failed with ZeroDivisionError at step 0: a bug"):
        searched(Fails(), workers_for("loky", 2))
    assert temporary() == []
    with pool_of(CPUEngine(), workers_for("threads", 2)) as pool:
        list(pool.run(candidates(), Stint(steps=1)))
        assert temporary() == [], "threads share them"


def test_other_processes_see_the_points_read_only():
    back = came_back(SeesWritablePoints(), workers_for("loky", 2), ones(2), Stint(steps=0))
    assert [candidate.loss for candidate in back] == [0.0, 0.0]


@pytest.mark.parametrize("kind", [OnDisk, lambda problem: Broadcast()], ids=["file", "broadcast"])
def test_points_and_labels_do_not_travel_with_a_task(kind):
    problem = Problem.of(np.random.default_rng(0).normal(size=(4000, 50)), np.arange(4000) % 50 - 1)
    handle = kind(problem)
    try:
        sent = len(pickle.dumps((run_task, Task(CPUEngine(), NEVER_ENOUGH), handle, candidates(1), Stint(steps=1))))
    finally:
        handle.close()
    assert sent < problem.labelled.nbytes / 3


@pytest.mark.parametrize("name", ["serial", "threads", "loky"])
def test_numerical_libraries_use_one_thread_inside_a_task_and_have_theirs_back_afterwards(name):
    with threadpool_limits(2):
        back = came_back(CountsThreads(), workers_for(name, 2), ones(4), Stint(steps=0))
        assert [candidate.loss for candidate in back] == [1.0] * 4
        assert most_threads() == 2


def test_a_thread_that_ends_its_task_leaves_the_limit_of_the_others():
    engine = Overlapping()
    with threadpool_limits(2):
        came_back(engine, workers_for("threads", 2), ones(2), Stint(steps=0))
        assert engine.threads_when_alone == 1
        assert most_threads() == 2


def test_threads_end_with_the_pool():
    before = threading.active_count()
    came_back(Bowl(), workers_for("threads", 3), candidates(), Stint(steps=1))
    assert threading.active_count() <= before  # those of others may have ended


# Stopping


@pytest.mark.parametrize("name", ["serial", "threads", "loky"])
def test_after_a_stop_candidates_come_back_as_they_are_and_one_can_still_be_looked_at(name):
    with pool_of(CPUEngine(), workers_for(name, 2)) as pool:
        assert not pool.stopped
        pool.stop()
        assert pool.stopped
        back = list(pool.run(candidates(), Stint(steps=5)))
        assert pool.look_at(back[0]).started
    assert len(back) == 4
    assert not any(candidate.started for candidate in back)


class Vanished(Executor):
    """An executor whose workers never come."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_running_or_notify_cancel()
        return future


class Idle(Executor):
    """Gives back what it is given, as workers would that do not know of parts."""

    def submit(self, fn, task, handle, group, stint):
        future = Future()
        future.set_result([candidate.copy() for candidate in group])
        return future


def test_workers_that_do_nothing_are_an_error_and_not_asked_without_end():
    with pytest.raises(WorkerError, match="install the same pglearn on every worker"):
        came_back(Bowl(), workers_for(Idle(), 2), ones(3), Stint(steps=5))


@pytest.mark.parametrize("how", ["stop", "deadline"])
def test_candidates_whose_workers_never_come_are_given_up_after_a_while(monkeypatch, how):
    monkeypatch.setattr("pglearn.search.pool.GRACE_SECONDS", 0.1)
    monkeypatch.setattr("pglearn.search.pool.LOOK_SECONDS", 0.05)
    with pool_of(Bowl(), workers_for(Vanished(), 2)) as pool:
        deadline = time.time() + 0.2 if how == "deadline" else None
        if how == "stop":
            threading.Timer(0.2, pool.stop).start()
        begun = time.monotonic()
        back = list(pool.run(ones(3), Stint(steps=5, deadline=deadline)))
        assert time.monotonic() - begun < 20
    assert sorted(candidate.id for candidate in back) == [0, 1, 2]
    assert not any(candidate.started for candidate in back)


class Elsewhere(Executor):
    """Workers on a machine that does not have the folders of this one."""

    def submit(self, fn, task, handle, *args):
        shutil.rmtree(handle._folder, ignore_errors=True)
        future = Future()
        try:
            future.set_result(fn(task, handle, *args))
        except WorkerError as error:
            future.set_exception(error)
        return future


def test_workers_on_another_machine_are_told_what_to_use():
    with pytest.raises(WorkerError, match="workers on that machine, or a cluster of Dask, Ray or Spark"):
        came_back(Bowl(), workers_for(Elsewhere(), 1), ones(2), Stint(steps=1))


class Dying(Executor):
    """Loses all that it is given."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_exception(BrokenExecutor("a process was terminated"))
        return future


class Replaced(Workers):
    """Workers with an executor that is replaced when it breaks, as loky's is."""

    def __init__(self):
        self.asked = 0

    def executor(self):
        self.asked += 1
        return Dying()


@pytest.mark.parametrize("how", ["stop", "deadline"])
def test_when_time_is_up_nothing_is_asked_of_workers_that_are_gone(how):
    workers = Replaced()
    with pool_of(Bowl(), workers) as pool:
        if how == "stop":
            pool.stop()
        back = list(pool.run(ones(3), Stint(steps=5, deadline=time.time() - 1 if how == "deadline" else None)))
    assert sorted(candidate.id for candidate in back) == [0, 1, 2]
    assert not any(candidate.started or candidate.failure for candidate in back)
    assert workers.asked == 0


# A parent that is killed


@pytest.mark.xdist_group("signals")
def test_workers_whose_parent_was_killed_stop_after_the_step_they_are_in(tmp_path):
    """The parent is killed as nothing can clean up after it; its workers must not go on for hours."""
    script = tmp_path / "orphans.py"
    script.write_text(
        "import numpy as np, sys, time\n"
        "from pglearn import PGLearnClassifier\n"
        "rng = np.random.default_rng(0)\n"
        "X = rng.normal(size=(300, 20)); y = np.where(rng.random(300) < .3, rng.integers(0, 2, 300), -1)\n"
        "tell = lambda event: (print(event['event'], flush=True))\n"
        "PGLearnClassifier(n_jobs=2, budget=2, unit_seconds=600).fit(X, y, listeners=(tell,))\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    try:
        assert "search_started" in parent.stdout.readline()
        workers = wait_for(lambda: busy_children(parent.pid) if len(busy_children(parent.pid)) >= 2 else None)
        parent.kill()
        parent.wait()
        assert wait_for(lambda: not any(is_busy(pid) for pid in workers) or None)
    finally:
        parent.kill()
        parent.stdout.close()
        parent.wait()


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if (result := condition()) is not None:
            return result
        time.sleep(0.2)
    raise AssertionError("waited in vain")


def busy_children(pid):
    """Those that have used three seconds of a processor: they are not starting any more."""
    children = [
        child for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
    return [int(child) for child in children if ticks(int(child)) > 3 * os.sysconf("SC_CLK_TCK")]


def is_busy(pid):
    """Whether a process uses the processor now."""
    first = ticks(pid)
    time.sleep(0.5)
    return ticks(pid) > first


def ticks(pid):
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return 0 if fields[0] == "Z" else int(fields[11]) + int(fields[12])
