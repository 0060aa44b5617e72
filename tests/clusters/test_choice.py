"""Which cluster is meant, whether or not its package is there."""

from __future__ import annotations

import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import pglearn
from pglearn import cli
from pglearn.errors import InputError
from pglearn.search import clusters
from pglearn.search.clusters.broadcast import Broadcast, arrived, to_send
from pglearn.search.clusters.ray import Ray
from pglearn.search.workers import workers_for
from tests.search.fakes import small_problem


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
    with pytest.raises(InputError, match=r'is connected to a Ray cluster already.*Give executor="ray"'):
        Ray("ray://127.0.0.1:9", 2).handle(small_problem())


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


# The handle


def test_a_handle_finds_the_problem_that_has_arrived_and_cannot_change_it():
    handle = deepcopy(Broadcast())
    problem = deepcopy(to_send(small_problem()))
    assert problem.X.flags.writeable
    seen = arrived(problem, handle.problem)
    assert seen is problem
    assert not seen.X.flags.writeable
    with pytest.raises(AttributeError):
        handle.problem()


def test_a_problem_travels_with_what_its_tasks_would_compute_again():
    assert "centre" in vars(deepcopy(to_send(small_problem())))


def test_a_handle_that_is_sent_after_a_stop_knows_of_it():
    handle = Broadcast()
    before = deepcopy(handle)
    handle.stop()
    assert deepcopy(handle).stopped()
    assert not before.stopped()
