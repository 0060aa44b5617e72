"""Clusters of separately started processes on loopback, ended by their ids."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 600  # seconds: a busy machine takes minutes to start a process


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if result := condition():
            return result
        time.sleep(0.1)
    raise AssertionError(f"waited {PATIENCE} seconds for {what}")


@contextmanager
def started(command: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose workers can import the tests, ended with the block."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment, cwd=log.parent
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def children(pid: int, what: str) -> list[int]:
    """The children of a process that have `what` in their command line."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        found = [child for task in tasks for child in (task / "children").read_text().split()]
        return [int(child) for child in found if what.encode() in Path(f"/proc/{child}/cmdline").read_bytes()]
    except OSError:
        return []  # it has ended meanwhile


def workers_of(nannies: list[int]) -> list[int]:
    """The processes in which dask workers run, less those that are being started again."""
    return [worker for nanny in nannies for worker in children(nanny, "spawn_main")]


@contextmanager
def dask_cluster(folder: Path, workers: int = 2) -> Iterator[tuple[str, list[int]]]:
    """dask://host:port of a scheduler, and the ids of its workers' nannies."""
    found = folder / "scheduler.json"
    at = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with ExitStack() as stack:
        scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", *at, "--scheduler-file", str(found)]
        stack.enter_context(started(scheduler, folder / "scheduler.log"))
        address = wait_for(lambda: found.exists() and found.read_text() and json.loads(found.read_text()), "dask")
        address = address["address"]
        nannies = []
        for number in range(workers):
            worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--host", "127.0.0.1"]
            worker += ["--nthreads", "1", "--no-dashboard", "--local-directory", str(folder)]
            nannies.append(stack.enter_context(started(worker, folder / f"worker-{number}.log")).pid)
        yield address.replace("tcp://", "dask://"), nannies


@contextmanager
def ray_cluster(workers: int = 2) -> Iterator[str]:
    """A small cluster that this process is connected to."""
    import ray

    ray.init(
        address="local",
        num_cpus=workers,
        include_dashboard=False,
        object_store_memory=2**29,
        _node_ip_address="127.0.0.1",
        log_to_driver=False,
        logging_level="ERROR",
    )
    try:
        yield "ray"
    finally:
        ray.shutdown()


@contextmanager
def ray_head(folder: Path, port: int, workers: int = 2) -> Iterator[str]:
    """ray://host:port of a head that takes clients. It listens on every address that there is: tests give it a network
    with loopback alone (tests/clusters/ray_client.py)."""
    start = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", "--node-ip-address", "127.0.0.1"]
    start += ["--num-cpus", str(workers), "--include-dashboard", "false", "--disable-usage-stats"]
    start += ["--object-store-memory", str(2**28), "--ray-client-server-port", str(port)]
    log = folder / "head.log"
    with started(start, log) as head:
        wait_for(lambda: "Ray runtime started" in log.read_text() or head.poll() is not None, "a Ray head")
        assert head.poll() is None, log.read_text()
        yield f"ray://127.0.0.1:{port}"


@contextmanager
def spark_cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """spark://host:port of a master with workers of one core each."""
    import pyspark

    start = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    local = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "256m"}
    at = ["--host", "127.0.0.1", "--webui-port", "0"]
    log = folder / "master.log"
    with ExitStack() as stack:
        master = [start, "org.apache.spark.deploy.master.Master", *at, "--port", "0"]
        stack.enter_context(started(master, log, **local))
        wait_for(lambda: "New state: ALIVE" in log.read_text(), "a Spark master")
        (address,) = re.findall(r"Starting Spark master at (spark://\S+)", log.read_text())
        for number in range(workers):
            worker = [start, "org.apache.spark.deploy.worker.Worker", address, *at, "--cores", "1", "--memory", "1g"]
            worker += ["--work-dir", str(folder / f"work-{number}")]
            stack.enter_context(started(worker, folder / f"worker-{number}.log", **local))
        wait_for(lambda: log.read_text().count("Registering worker") == workers, "Spark workers")
        yield address
