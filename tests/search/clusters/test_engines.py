"""Dask, Ray and Spark, each with separately started processes on loopback and workers that are killed.

An engine is tested where PGLEARN_TEST_EXTRAS names it.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import EXTRAS
from tests.search.clusters.engines import DiesOnce
from tests.search.clusters.processes import ray_cluster, spark_cluster, wait_for
from tests.search.fakes import KillsItsWorker, LooksAround, Sleepy, candidates, ones, pool_of, ran
from tests.search.test_pool import assert_identical, came_back, searched

from pglearn.engine import CPUEngine
from pglearn.errors import InputError, WorkerError
from pglearn.search import Limit, workers_for
from pglearn.search.pool import PART, PART_SECONDS

CLUSTERS = [name for name in ("dask", "ray", "spark") if name in EXTRAS]

# Warnings of other packages are not ours to answer for.
pytestmark = [
    pytest.mark.xdist_group("clusters"),
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(not CLUSTERS, reason="PGLEARN_TEST_EXTRAS names none of dask, ray, spark"),
]


def only(name):
    return pytest.mark.skipif(name not in CLUSTERS, reason=f"PGLEARN_TEST_EXTRAS does not name {name}")


@pytest.fixture(scope="module")
def serial():
    return searched(CPUEngine(), workers_for("serial", 1))


@pytest.fixture(scope="module")
def dask_workers():
    """A cluster of two workers, each in a process of its own."""
    from distributed import LocalCluster

    at = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=2, threads_per_worker=1, **at) as cluster:
        yield cluster


@pytest.fixture
def dask(dask_workers):
    return dask_workers.scheduler_address.replace("tcp://", "dask://")


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
    return request.getfixturevalue(request.param)


# Before any context is made: a process has one at a time


@only("ray")
def test_no_ray_is_started_by_us():
    import ray

    assert not ray.is_initialized()
    with pytest.raises(InputError, match=r"connected to none: call ray\.init"):
        searched(CPUEngine(), workers_for("ray", 2))


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
    assert_only_its_own_task_runs_again(cluster, serial, DiesOnce(folder=str(tmp_path)))


def assert_only_its_own_task_runs_again(cluster, serial, engine):
    assert_identical(searched(engine, workers_for(cluster, 2)), serial)
    assert (Path(engine.folder) / "killed").exists()
    needed = sum(len(candidate.history) for candidate in serial.candidates)
    assert needed < engine.evaluations() <= needed + PART + 1, "what was lost ran again, and nothing else"


def test_a_candidate_that_always_kills_its_worker_is_an_error_and_the_next_search_works(cluster, serial):
    with pytest.raises(WorkerError, match="Workers died each time that they were given the same task"):
        came_back(KillsItsWorker(parent=os.getpid()), workers_for(cluster, 2), ones(1), Limit(until=1))
    assert_identical(searched(CPUEngine(), workers_for(cluster, 2)), serial)


def test_workers_see_the_points_read_only_and_have_one_thread(cluster):
    back = came_back(LooksAround(), workers_for(cluster, 2), ones(4), Limit(until=1))
    assert [candidate.loss for candidate in back] == [1.0 + 10] * 4


def test_a_stop_does_not_wait_for_running_tasks(cluster):
    with pool_of(Sleepy(0.05), workers_for(cluster, 2)) as pool:
        ran(pool, ones(2), Limit(until=0.1, in_seconds=True))  # workers take a while to start
        threading.Timer(0.5, pool.stop).start()
        begun = time.monotonic()
        assert ran(pool, ones(2), Limit(until=600, in_seconds=True)) == []
        assert time.monotonic() - begun < PART_SECONDS


def test_the_deadline_is_honoured_to_within_one_step(cluster):
    with pool_of(Sleepy(0.3), workers_for(cluster, 2)) as pool:
        ran(pool, ones(2), Limit(until=0.1, in_seconds=True))
        begun = time.monotonic()
        back = ran(pool, ones(2), Limit(until=1000, deadline=time.time() + 4))
        assert 4.0 <= time.monotonic() - begun < 4.0 + 0.3 + 1.5  # and some patience: they come back by a task
    assert all(candidate.started for candidate in back)


# One engine


@only("dask")
def test_a_given_client_is_used_and_left_open(dask, serial):
    from distributed import Client

    with Client(dask.replace("dask://", "tcp://"), set_as_default=False) as client:
        assert_identical(searched(CPUEngine(), workers_for(client, 1)), serial)
        with client.get_executor(pure=False) as executor:
            assert_identical(searched(CPUEngine(), workers_for(executor, 1)), serial)
        assert client.submit(abs, -1).result() == 1


@only("dask")
def test_data_that_died_with_all_dask_workers_is_scattered_again(dask_workers, dask):
    with pool_of(CPUEngine(), workers_for(dask, 2)) as pool:
        groups = (group for group, _ in pool.advance(candidates(), Limit(until=40)))
        back = {candidate.id: candidate for candidate in next(groups)}
        for nanny in dask_workers.workers.values():
            os.kill(nanny.pid, signal.SIGKILL)
        back |= {candidate.id: candidate for group in groups for candidate in group}
    expected = came_back(CPUEngine(), workers_for("serial", 1), candidates(), Limit(until=40))
    assert sorted(back) == [0, 1, 2, 3]
    for candidate in expected:
        assert back[candidate.id].history == candidate.history
        np.testing.assert_array_equal(back[candidate.id].a, candidate.a)


@only("dask")
def test_a_dask_cluster_of_our_own_starts_and_ends_with_the_search(serial):
    assert_identical(searched(CPUEngine(), workers_for("dask", 2)), serial)


@only("dask")
def test_a_scheduler_that_is_not_there_is_a_sentence(monkeypatch):
    monkeypatch.setattr("pglearn.search.clusters.dask.PATIENCE", 1)
    with pytest.raises(WorkerError, match=r"No Dask scheduler answers at dask://127\.0\.0\.1:9"):
        searched(CPUEngine(), workers_for("dask://127.0.0.1:9", 2))


@only("spark")
def test_a_killed_spark_executor_costs_its_own_task(spark, serial, tmp_path):
    engine = DiesOnce(folder=str(tmp_path), generations=2)
    assert_only_its_own_task_runs_again(spark, serial, engine)


@only("spark")
def test_a_session_is_taken_for_its_context(spark, serial):
    from pyspark.sql import SparkSession

    assert_identical(searched(CPUEngine(), workers_for(SparkSession(spark), 2)), serial)
