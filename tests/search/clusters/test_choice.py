"""Which cluster is meant, and what is sent to it, whether or not its package is there."""

from __future__ import annotations

import re
import sys
import threading
from concurrent.futures import Future
from copy import deepcopy
from pathlib import Path
from types import ModuleType

import pytest
from tests.search.fakes import LooksAround, candidates, never_enough, ones, pool_of, ran, serial_pool, small_problem

import pglearn
from pglearn.engine import CPUEngine
from pglearn.errors import InputError
from pglearn.search import Limit, clusters, workers_for
from pglearn.search.clusters.broadcast import ClusterWorkers, arrived
from pglearn.search.executors import TaskLost
from pglearn.search.tasks import Task


@pytest.mark.parametrize("name", ["dask", "ray", "spark"])
def test_an_absent_package_is_an_error_with_the_pip_line(name, monkeypatch):
    monkeypatch.setattr(clusters, "find_spec", lambda package: None)
    for address in ("", "://host:1234"):
        with pytest.raises(InputError, match=rf'which is not installed. Run: pip install "pglearn\[{name}\]"'):
            workers_for(name + address, 2)


def test_only_the_module_of_a_cluster_imports_its_package_and_not_before_it_is_asked_for():
    source = Path(pglearn.__file__).parent
    pattern = re.compile(r"^(\s*)(?:import|from) (distributed|ray|pyspark|py4j)\b", re.MULTILINE)
    importers = {
        (path.stem, package, bool(indent.strip("\n")))
        for path in source.rglob("*.py")
        for indent, package in pattern.findall(path.read_text(encoding="utf-8"))
    }
    places = {"distributed": "dask", "ray": "ray", "pyspark": "spark", "py4j": "spark"}
    assert importers == {(module, package, True) for package, module in places.items()}


def test_a_ray_cluster_is_connected_to_by_its_address_unless_there_is_one_and_left_with_the_search(monkeypatch):
    ray = ModuleType("ray")
    done = []
    ray.is_initialized = lambda: bool(done)
    ray.init = lambda address, **options: done.append(address)
    ray.shutdown = lambda: done.append("shut down")
    ray.remote = lambda **options: lambda call: call
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(clusters, "find_spec", lambda package: package)
    with pool_of(CPUEngine(), workers_for("ray://127.0.0.1:9", 2)):
        assert done == ["ray://127.0.0.1:9"]
    assert done[1:] == ["shut down"]
    with pytest.raises(InputError, match=r'is connected to a Ray cluster already.*Give executor="ray"'):
        workers_for("ray://127.0.0.1:9", 2).share(small_problem())


class Sends(ClusterWorkers):
    """A cluster of nobody; a task that was sent is in `sent`, for the test to end it."""

    def connect(self):
        self.sent = []

    def make_ready(self):
        pass

    def send(self, task):
        assert task.shared is None, "X has been sent already"
        self.sent.append(Future())
        return self.sent[-1]

    def cause(self, error):
        return TaskLost(str(error))


def test_a_task_finds_the_problem_that_has_arrived_and_cannot_change_it():
    workers = Sends(None, 1)
    workers.share(small_problem())
    problem = deepcopy(workers.problem)
    assert problem.X.flags.writeable
    assert "centre" in vars(problem), "every task would compute it again"
    (run,) = arrived(problem, Task(never_enough(LooksAround()), ones(1), Limit(until=0), shared=None))
    assert run.loss == 1 + 10, "one thread, and no X that could be changed"


def test_a_stop_leaves_the_tasks_of_a_cluster_alone_and_what_they_come_to_is_passed_over():
    workers = Sends(None, 1)
    with pool_of(CPUEngine(), workers) as pool:
        threading.Timer(0.2, pool.stop).start()
        assert ran(pool, candidates(), Limit(until=5)) == []
        assert len(workers.sent) == 4
        for task in workers.sent:
            task.set_result(None)


def test_a_lost_task_is_sent_again():
    workers = Sends(None, 1)
    with serial_pool(CPUEngine()) as pool:
        result = ran(pool, candidates(1), Limit(until=1))
    with pool_of(CPUEngine(), workers) as pool:
        threading.Timer(0.2, lambda: workers.sent[0].set_exception(OSError("gone"))).start()
        threading.Timer(0.6, lambda: workers.sent[1].set_result(result)).start()
        assert ran(pool, candidates(1), Limit(until=1)) == result
