"""What a round costs beyond its work, on every engine: 32 empty tasks, X of 200 MB, two workers.

    python bench/clusters.py                         # every engine whose package is installed
    python bench/clusters.py --engines loky dask     # some
    python bench/clusters.py --quick                 # small X, fewer rounds

"dask" and "spark" are workers that pglearn starts by itself, "ray" a cluster that this script starts; "dask://" and
"spark://" are a scheduler or master and two workers started separately, on loopback. The fastest round counts, after
one that carries X to the workers.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from common import Figure, Nothing, best_of, machine, print_table
from pglearn.loss import Yardstick
from pglearn.problem import Problem
from pglearn.search import Candidate, Descent, Stint
from pglearn.search.clusters import PACKAGES
from pglearn.search.pool import Pool, Task
from pglearn.search.workers import workers_for
from processes import dask_cluster, ray_cluster, spark_cluster

TASKS = 32
WORKERS = 2
# Milliseconds of the fastest round as it was measured with the engines' bare calls, before there was a pool.
BARE = {"threads": 1, "loky": 10, "dask": 150, "dask://": 180, "ray": 60, "spark": 150, "spark://": 110}


def main() -> None:
    options = parsed()
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)  # workers import the engine, as they do that of a search
    print(machine())
    shape = (1000, 20) if options.quick else (25_000, 1000)
    problem = points(*shape)
    print(f"X of {problem.X.nbytes / 1e6:.0f} MB, {TASKS} tasks, {WORKERS} workers")
    names = options.engines or [name for name in BARE if is_installed(name)]
    if options.quick:
        names = [name for name in names if "://" not in name]
    print_table([figure for name in names for figure in measured(name, problem, options)])


def is_installed(name: str) -> bool:
    package = PACKAGES.get(name.removesuffix("://"))
    return package is None or find_spec(package) is not None


def points(n: int, d: int) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.full(n, -1)
    y[:40] = np.arange(40) % 2
    problem = Problem.of(X, y)
    _ = problem.centre  # every search needs it, wherever it runs
    return problem


def measured(name: str, problem: Problem, options: argparse.Namespace) -> list[Figure]:
    task = Task(Nothing(), Descent(Yardstick(perfect=0.0, chance=1.0)))
    population = [Candidate(id, k=5, a=np.ones(problem.X.shape[1])) for id in range(TASKS)]

    with started(name) as address:
        begun = time.perf_counter()
        with Pool(problem, task, workers_for(address, WORKERS)) as pool:

            def one_round() -> int:
                return len(list(pool.run(population, Stint(steps=0))))

            assert one_round() == TASKS
            ready = time.perf_counter() - begun
            seconds, back = best_of(3 if options.quick else options.rounds, one_round)
    assert back == TASKS
    overhead = f"{name}: a round of {TASKS} empty tasks"
    return [
        Figure(f"{name}: connected, X sent and a first round", f"{ready:.1f} s"),
        Figure(overhead, f"{1000 * seconds:.4g} ms")
        if options.quick
        else Figure.at_most(overhead, 1000 * seconds, 2 * BARE[name], " ms"),
    ]


@contextmanager
def started(name: str) -> Iterator[str]:
    """Where the engine is, with separate processes if it is one of those."""
    if name == "ray":
        with ray_cluster(WORKERS) as connected:
            yield connected
        return
    if "://" not in name:
        yield name
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if name == "dask://":
            with dask_cluster(Path(folder), WORKERS) as (address, _):
                yield address
        else:
            with spark_cluster(Path(folder), WORKERS) as address:
                yield address


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small X, and no separately started processes")
    parser.add_argument("--engines", nargs="+", choices=list(BARE), help="default: all that are installed")
    parser.add_argument("--rounds", type=int, default=30, help="of which the fastest counts")
    parser.add_argument("--data", help=argparse.SUPPRESS)  # the tests give one to every script; X is made up here
    return parser.parse_args()


if __name__ == "__main__":
    main()
