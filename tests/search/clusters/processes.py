"""Clusters of separately started processes on loopback, ended by their ids."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
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
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **environment}
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
