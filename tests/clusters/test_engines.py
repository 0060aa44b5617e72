"""Dask, Ray and Spark, each with separately started processes on loopback and workers that are killed.

An engine is tested where PGLEARN_TEST_EXTRAS names it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

import numpy as np
import pytest

from pglearn.engine import CPUEngine
from pglearn.errors import InputError, WorkerError
from pglearn.search import Stint
from pglearn.search.pool import PART, PART_SECONDS, WORKER_DIED, Task, run_task
from pglearn.search.workers import Lost, workers_for
from tests.clusters.engines import DiesOnce, SaysThatItRuns
from tests.clusters.processes import dask_cluster, ray_cluster, spark_cluster, wait_for, workers_of
from tests.clusters.test_choice import fit, table  # noqa: F401  a fixture
from tests.conftest import EXTRAS
from tests.search.fakes import NEVER_ENOUGH, CountsThreads, KillsItsWorker, SeesWritablePoints, Sleepy, small_problem
from tests.search.test_failures import searched as within_time
from tests.search.test_pool import assert_identical, candidates, ones, pool_of, searched

CLUSTERS = [name for name in ("dask", "ray", "spark") if name in EXTRAS]

# Warnings of other packages are not ours to answer for.
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(not CLUSTERS, reason="PGLEARN_TEST_EXTRAS names none of dask, ray, spark"),
]


def only(name):
    return pytest.mark.skipif(name not in CLUSTERS, reason=f"PGLEARN_TEST_EXTRAS does not name {name}")


@pytest.fixture(scope="module")
def serial():
    return searched(CPUEngine(), workers_for("serial", 1))


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    """An address, and the ids of the nannies of two workers."""
    with dask_cluster(tmp_path_factory.mktemp("dask")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def ray():
    with ray_cluster() as connected:
        yield connected


@pytest.fixture(scope="module")
def spark_address(tmp_path_factory):
    """A standalone cluster of two workers."""
    with spark_cluster(tmp_path_factory.mktemp("spark")) as address:
        yield address


@pytest.fixture(scope="module")
def spark(spark_address):
    """The context of an application on it."""
    from pyspark import SparkConf, SparkContext

    conf = SparkConf().setMaster(spark_address).setAppName("tests").set("spark.ui.enabled", "false")
    conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
    conf.set("spark.executor.memory", "512m").set("spark.ui.showConsoleProgress", "false")
    with SparkContext(conf=conf) as context:
        context.setLogLevel("OFF")
        context.pythonExec = sys.executable
        executors = context._jsc.sc().statusTracker().getExecutorInfos
        wait_for(lambda: len(list(executors())) == 3, "two Spark executors")  # the driver is the third
        yield context


@pytest.fixture(params=CLUSTERS)
def cluster(request):
    found = request.getfixturevalue(request.param)
    return found[0] if request.param == "dask" else found


def is_spark(cluster):
    return not isinstance(cluster, str)


# Before any context is made: a process has one at a time


@only("ray")
def test_no_ray_is_started_by_us():
    import ray

    assert not ray.is_initialized()
    with pytest.raises(InputError, match=r"connected to none: call ray\.init"):
        pool_of(CPUEngine(), workers_for("ray", 2)).__enter__()


@only("spark")
def test_an_application_of_our_own_starts_on_a_spark_master_and_ends_with_the_search(spark_address, serial):
    from pyspark import SparkContext

    usual = signal.getsignal(signal.SIGINT)
    assert_identical(searched(CPUEngine(), workers_for(spark_address, 2)), serial)
    assert SparkContext._active_spark_context is None
    assert signal.getsignal(signal.SIGINT) is usual


# Every engine


def test_the_answer_is_that_of_the_serial_search(cluster, serial):
    assert_identical(searched(CPUEngine(), workers_for(cluster, 2)), serial)


def test_a_killed_worker_costs_its_own_task_and_nothing_is_counted_twice(cluster, serial, tmp_path):
    engine = DiesOnce(folder=str(tmp_path))
    result = searched(engine, workers_for(cluster, 2))
    assert (tmp_path / "killed").exists()
    assert_identical(result, serial)
    needed = sum(len(candidate.history) for candidate in serial.candidates)
    # Spark sends parts as short as these together: all that run in a round, T = 4, at most.
    most = needed + (4 if is_spark(cluster) else 1) * (PART + 1)
    assert needed < engine.evaluations() <= most, "what was lost ran again, and nothing else"


def test_a_candidate_that_always_kills_its_worker_has_that_as_its_failure_and_the_next_search_works(cluster, serial):
    engine = KillsItsWorker(parent=os.getpid())
    with pool_of(engine, workers_for(cluster, 2)) as pool:
        (back,) = pool.run(candidates(1), Stint(steps=1))
    assert back.failure == WORKER_DIED
    assert_identical(searched(CPUEngine(), workers_for(cluster, 2)), serial)


def test_workers_see_the_points_read_only_and_have_one_thread(cluster):
    with pool_of(SeesWritablePoints(), workers_for(cluster, 2)) as pool:
        assert [candidate.loss for candidate in pool.run(ones(2), Stint(steps=0))] == [0.0, 0.0]
    with pool_of(CountsThreads(), workers_for(cluster, 2)) as pool:
        assert [candidate.loss for candidate in pool.run(ones(4), Stint(steps=0))] == [1.0] * 4


def test_after_a_stop_candidates_come_back_as_they_are(cluster):
    with pool_of(CPUEngine(), workers_for(cluster, 2)) as pool:
        pool.stop()
        back = list(pool.run(candidates(), Stint(steps=5)))
    assert len(back) == 4
    assert not any(candidate.started for candidate in back)


def test_running_tasks_end_soon_after_a_stop(cluster, tmp_path, monkeypatch):
    """Long before the part that they are in is over; and the pool does not give them up, which would hide it."""
    monkeypatch.setattr("pglearn.search.pool.GRACE_SECONDS", 600)
    stopped = []

    def stop_as_both_run():
        try:
            wait_for(lambda: len(list(tmp_path.iterdir())) == 2, "two tasks that run")
        finally:
            stopped.append(time.monotonic())
            pool.stop()

    with pool_of(SaysThatItRuns(0.05, str(tmp_path)), workers_for(cluster, 2)) as pool:
        threading.Thread(target=stop_as_both_run).start()
        back = list(pool.run(ones(2), Stint(seconds=600)))
        took = time.monotonic() - stopped[0]
    assert sorted(candidate.id for candidate in back) == [0, 1]
    assert len(list(tmp_path.iterdir())) == 2, "both had started"
    if is_spark(cluster):  # it cancels them, which takes it seconds, and they come back as they went
        assert not any(candidate.started for candidate in back)
    else:
        assert all(candidate.started for candidate in back)
        assert took < 4 < PART_SECONDS


def test_max_time_is_honoured_to_within_one_step(cluster):
    step, heard = 0.3, []
    within_time(Sleepy(0.0), cluster)  # workers take a while to start
    result = within_time(Sleepy(step), cluster, [heard.append], max_time=2.0)
    assert result.reason == "out of time"
    took = heard[-1]["time"] - heard[0]["time"]
    assert 2.0 <= took < 2.0 + step + 1.5  # and some patience: those that wait come back by tasks of the engine's
    assert np.isfinite(result.ranked[0].loss)


def test_a_stint_of_seconds_is_on_the_clock_of_the_worker(cluster):
    """Three candidates on two workers: the one that waits for its turn has as much time as the others."""
    step, seconds = 0.05, 0.5
    with pool_of(Sleepy(step), workers_for(cluster, 2)) as pool:
        back = list(pool.run(ones(3), Stint(seconds=seconds)))
    assert sorted(candidate.id for candidate in back) == [0, 1, 2]
    for candidate in back:
        assert 0.5 * seconds < candidate.seconds < seconds + step + 1.0  # some patience with a busy machine
        assert 0.5 * seconds < candidate.steps * step + step


def test_the_shell_runs_on_it(cluster, table):  # noqa: F811
    name = "spark" if is_spark(cluster) else cluster  # the application that there is
    _, output = fit(table, "--cluster", "serial")
    expected = (output / "predictions.csv").read_text()
    code, output = fit(table, "--cluster", name)
    assert code == 0
    assert (output / "predictions.csv").read_text() == expected


# One engine


@only("dask")
def test_a_given_client_is_used_and_left_open(dask, serial):
    from distributed import Client

    with Client(dask[0].replace("dask://", "tcp://"), set_as_default=False) as client:
        assert_identical(searched(CPUEngine(), workers_for(client, 1)), serial)
        with client.get_executor(pure=False) as executor:
            assert_identical(searched(CPUEngine(), workers_for(executor, 1)), serial)
        assert client.submit(abs, -1).result() == 1


@only("dask")
def test_data_that_died_with_all_dask_workers_is_scattered_again(dask, serial):
    address, nannies = dask
    with pool_of(CPUEngine(), workers_for(address, 2)) as pool:
        ran = pool.run(candidates(), Stint(steps=40))
        first = next(ran)
        for worker in workers_of(nannies):
            os.kill(worker, signal.SIGKILL)
        back = {candidate.id: candidate for candidate in (first, *ran)}
    with pool_of(CPUEngine(), workers_for("serial", 1)) as pool:
        expected = {candidate.id: candidate for candidate in pool.run(candidates(), Stint(steps=40))}
    assert sorted(back) == [0, 1, 2, 3]
    for number in range(4):
        assert back[number].history == expected[number].history
        np.testing.assert_array_equal(back[number].a, expected[number].a)


@only("dask")
def test_a_dask_cluster_of_our_own_starts_and_ends_with_the_search(serial):
    assert_identical(searched(CPUEngine(), workers_for("dask", 2)), serial)


@only("dask")
def test_a_scheduler_that_is_not_there_is_a_sentence(monkeypatch):
    monkeypatch.setattr("pglearn.search.clusters.dask.PATIENCE", 1)
    with pytest.raises(WorkerError, match=r"No Dask scheduler answers at dask://127\.0\.0\.1:9"):
        searched(CPUEngine(), workers_for("dask://127.0.0.1:9", 2))


@only("ray")
def test_an_address_is_not_passed_over_where_ray_is_connected_already(ray):
    with pytest.raises(InputError, match=r'is connected to a Ray cluster already.*Give executor="ray"'):
        workers_for("ray://127.0.0.1:9", 2).handle(small_problem())


@only("ray")
@pytest.mark.parametrize("waits", [True, False])
def test_ray_does_not_keep_that_it_was_told_to_stop(ray, tmp_path, waits):
    from ray.experimental import internal_kv

    def told():
        return internal_kv._internal_kv_list(b"pglearn-")

    workers = workers_for("ray", 2)
    handle = workers.handle(small_problem())
    task = Task(SaysThatItRuns(0.05, str(tmp_path)), NEVER_ENOUGH)
    wait_for(lambda: told() == [], "a cluster that has forgotten the test before")
    outcome = workers.executor().submit(run_task, task, handle, ones(1), Stint(seconds=60))
    wait_for(lambda: list(tmp_path.iterdir()), "a task that runs")
    handle.stop()
    wait_for(told, "what the cluster is told")
    if waits:
        outcome.result(timeout=4)
    workers.close()
    outcome.result(timeout=4)  # it has heard, though it was left alone
    wait_for(lambda: told() == [], "a cluster that has forgotten it")


@only("ray")
def test_the_shell_is_a_client_of_a_ray_head_that_asks_for_a_token(table):  # noqa: F811
    alone = ["unshare", "--map-root-user", "--net"]  # Ray would listen beyond loopback, if there was more
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network of its own may be made here")
    _, output = fit(table, "--cluster", "serial")
    expected = (output / "predictions.csv").read_text()
    for attempt in range(3):  # a server of Ray's own may not have started in the time that it gives it, or have died
        output = table.parent / f"out of ray {attempt}"
        arguments = [str(table), "--target", "side", "-o", str(output), "--quiet", "--budget", "2"]
        command = [*alone, sys.executable, str(Path(__file__).parent / "ray_client.py"), *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if not re.search(
            "Starting Ray client server failed|Initialization failure from server", ran.stdout + ran.stderr
        ):
            break
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (output / "predictions.csv").read_text() == expected


@only("ray")
def test_what_is_lost_of_points_that_were_replaced_does_not_take_the_new_ones():
    from ray.exceptions import ObjectLostError

    from pglearn.search.clusters.ray import RayExecutor

    executor = RayExecutor()
    executor.points = new = object()
    error = ObjectLostError("00", None, "")
    assert isinstance(executor._cause(object(), error), Lost)
    assert executor.points is new
    assert isinstance(executor._cause(new, error), Lost)
    with pytest.raises(BrokenExecutor, match="not in the store"):
        executor.submit(int)
    assert executor.under_way == 0


class Gone:
    """A client whose scheduler has gone without its knowing."""

    status = "running"

    def wait_for_workers(self, n, timeout):
        from distributed.comm import CommClosedError

        raise CommClosedError("in <TCP (closed) >")

    def submit(self, *args, **kwargs):
        from distributed.client import ClosedClientError

        raise ClosedClientError("already closed")


@only("dask")
def test_a_scheduler_that_goes_at_any_moment_is_a_sentence():
    from pglearn.search.clusters.dask import Dask, DaskExecutor

    workers = Dask(Gone(), 2)
    workers.handle(small_problem())
    with pytest.raises(WorkerError, match="does not answer any more: start it and fit again"):
        workers.executor()
    executor = DaskExecutor(Gone())
    with pytest.raises(BrokenExecutor, match="ClosedClientError: already closed"):
        executor.submit(int)
    assert executor.under_way == 0


@only("spark")
@pytest.mark.parametrize(
    ("waiting", "slots", "seconds", "expected"),
    [
        (32, 2, None, 1),  # nobody knows yet
        (32, 2, 0.0, 32),  # empty: one job is cheaper than two
        (32, 2, 0.01, 16),
        (32, 2, 0.2, 5),  # a second of them
        (32, 2, 60.0, 1),
        (4000, 1000, 2.0, 4),  # the driver needs longer than that to start a thousand jobs
        (1, 2, 0.0, 1),
    ],
)
def test_short_calls_are_one_job(waiting, slots, seconds, expected):
    from pglearn.search.clusters.spark import together

    assert together(waiting, slots, seconds) == expected


def assert_only_its_own_task_runs_again(spark, serial, engine):
    """With tasks so long that Spark is not sent several together."""
    assert_identical(searched(engine, workers_for(spark, 2)), serial)
    assert (Path(engine.folder) / "killed").exists()
    needed = sum(len(candidate.history) for candidate in serial.candidates)
    assert needed < engine.evaluations() <= needed + PART + 1


@only("spark")
def test_a_killed_spark_executor_costs_its_own_task(spark, serial, tmp_path):
    engine = DiesOnce(folder=str(tmp_path), generations=2, seconds=0.3)
    assert_only_its_own_task_runs_again(spark, serial, engine)


@only("spark")
def test_a_session_is_taken_for_its_context(spark, serial):
    from pyspark.sql import SparkSession

    assert_identical(searched(CPUEngine(), workers_for(SparkSession(spark), 2)), serial)


@only("spark")
def test_a_session_without_a_context_is_refused(spark):
    class Connected:
        @property
        def sparkContext(self):
            raise NotImplementedError

    from pglearn.search.clusters.spark import Spark

    with pytest.raises(InputError, match="session of Spark Connect, which has no RDDs"):
        Spark(Connected(), 2).handle(small_problem())


@only("spark")
def test_a_killed_worker_of_a_standalone_cluster_costs_what_ran_on_it(spark, serial, tmp_path):
    """The daemon that starts executors; last, because nobody starts it again."""
    engine = DiesOnce(folder=str(tmp_path), generations=3, seconds=0.3)
    assert_only_its_own_task_runs_again(spark, serial, engine)
