"""Which cluster is meant, whether or not its package is there."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from concurrent.futures import Future
from copy import deepcopy
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import pglearn
from pglearn import cli
from pglearn.engine import CPUEngine
from pglearn.errors import InputError
from pglearn.search import Stint, clusters
from pglearn.search.clusters.broadcast import ClusterWorkers, arrived
from pglearn.search.workers import Lost, workers_for
from tests.search.fakes import small_problem
from tests.search.test_pool import candidates, pool_of


@pytest.mark.parametrize("name", ["dask", "ray", "spark"])
@pytest.mark.parametrize("address", ["", "://host:1234"])
def test_an_absent_package_is_an_error_with_the_pip_line(name, address, monkeypatch):
    monkeypatch.setattr(clusters, "find_spec", lambda package: None)
    with pytest.raises(InputError, match=rf'which is not installed. Run: pip install "pglearn\[{name}\]"'):
        workers_for(name + address, 2)


def test_an_address_without_a_host_is_refused():
    with pytest.raises(InputError, match="lacks its address: write it like dask://host:port"):
        workers_for("dask://", 2)


def test_only_the_module_of_an_engine_imports_its_package():
    source = Path(pglearn.__file__).parent
    importers = {
        (path.stem, found)
        for path in source.rglob("*.py")
        for found in re.findall(
            r"^\s*(?:import|from) (distributed|ray|pyspark|py4j)\b", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert importers == {("dask", "distributed"), ("ray", "ray"), ("spark", "pyspark"), ("spark", "py4j")}


def test_importing_pglearn_imports_no_cluster():
    script = (
        "import pglearn, pglearn.search.clusters.dask, pglearn.search.clusters.ray, pglearn.search.clusters.spark\n"
    )
    script += "import sys; print({'distributed', 'dask', 'ray', 'pyspark', 'py4j'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


def test_an_address_is_not_passed_over_where_ray_is_connected_already(monkeypatch):
    connected = ModuleType("ray")
    connected.is_initialized = lambda: True
    monkeypatch.setitem(sys.modules, "ray", connected)
    monkeypatch.setattr(clusters, "find_spec", lambda package: package)
    with pytest.raises(InputError, match=r'is connected to a Ray cluster already.*Give executor="ray"'):
        workers_for("ray://127.0.0.1:9", 2).handle(small_problem())


# From the shell


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    labels = np.where(X[:, 0] > 0, "right", "left").astype(object)
    labels[rng.random(40) < 0.6] = None
    path = tmp_path / "table.csv"
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "side": labels}).to_csv(path, index=False)
    return path


def fit(table, *options):
    output = table.parent / "out"
    code = cli.main(["fit", str(table), "--target", "side", "-o", str(output), "--quiet", "--budget", "2", *options])
    return code, output


def test_the_shell_takes_a_cluster_by_name(table):
    code, output = fit(table, "--cluster", "serial")
    expected = (output / "predictions.csv").read_text()
    assert code == 0
    code, output = fit(table, "--cluster", "threads", "--jobs", "2")
    assert code == 0
    assert (output / "predictions.csv").read_text() == expected


def test_the_shell_prints_the_pip_line(table, monkeypatch, capsys):
    monkeypatch.setattr(clusters, "find_spec", lambda package: None)
    code, _ = fit(table, "--cluster", "dask://host:8786")
    assert code != 0
    assert 'pip install "pglearn[dask]"' in capsys.readouterr().err


# What is sent


class Sends(ClusterWorkers):
    """A cluster of nobody; a task that was sent is in `sent`, for the test to end it."""

    def connect(self):
        self.sent = []

    def send(self, call):
        self.sent.append(Future())
        return self.sent[-1]

    def cause(self, error):
        return Lost(str(error))


def test_a_handle_finds_the_problem_that_has_arrived_and_cannot_change_it():
    workers = Sends(None, 1)
    handle = deepcopy(workers.handle(small_problem()))
    problem = deepcopy(workers.problem)
    assert problem.X.flags.writeable
    assert "centre" in vars(problem), "every task would compute it again"
    seen = arrived(problem, handle.problem)
    assert seen is problem
    assert not seen.X.flags.writeable
    with pytest.raises(AttributeError):
        handle.problem()


def test_a_stop_leaves_the_tasks_of_a_cluster_alone_and_what_they_come_to_is_passed_over():
    workers = Sends(None, 1)
    with pool_of(CPUEngine(), workers) as pool:
        threading.Timer(0.2, pool.stop).start()
        back = list(pool.run(candidates(), Stint(steps=5)))
        for task in workers.sent:
            task.set_result(None)
    assert sorted(candidate.id for candidate in back) == [0, 1, 2, 3]
    assert not any(candidate.started for candidate in back)


def test_a_lost_task_is_sent_again():
    workers = Sends(None, 1)
    with pool_of(CPUEngine(), workers) as pool:
        running = pool.run(candidates(1), Stint(steps=1))
        threading.Timer(0.2, lambda: workers.sent[0].set_exception(OSError("gone"))).start()
        threading.Timer(0.6, lambda: workers.sent[1].set_result(pool_of_one(candidates(1)))).start()
        (back,) = running
    assert back.history


def pool_of_one(given):
    with pool_of(CPUEngine(), workers_for("serial", 1)) as pool:
        return list(pool.run(given, Stint(steps=1)))
