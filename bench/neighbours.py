"""Approximate neighbours: ours against pynndescent and scikit-learn's exact search.

    python bench/neighbours.py [--rows N ...] [--features D] [--quick]

Each is called in a process of its own, the second that does so on this machine, so that what can be kept compiled on
disk is: first on 5,000 points ("start": imports and compilation), then on all ("build"), for 10 neighbours of every
point, on all cores. Recall is that of 200 points. Points are clouds of ten dimensions embedded in the features, and
clouds of as many dimensions as features, which have no structure to be found and are the hardest.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from common import embedded_clouds, machine, made_up, print_columns

K = 10


def ours(Z: np.ndarray) -> np.ndarray:
    from pglearn.graph.approximate import k_near

    return k_near(Z, K)


def pynndescent(Z: np.ndarray) -> np.ndarray:
    from pynndescent import NNDescent

    return np.asarray(NNDescent(Z, n_neighbors=31, random_state=0).neighbor_graph[0][:, 1 : K + 1])


def exact(Z: np.ndarray) -> np.ndarray:
    from pglearn.graph import k_nearest

    return k_nearest(Z, K)


METHODS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"ours": ours, "pynndescent": pynndescent, "exact": exact}
DATA = {"embedded": embedded_clouds, "clouds": made_up}


def measured(method: str, data: str, n: int, d: int) -> None:
    """Start, build and recall, as a line of JSON."""
    from pglearn.graph.approximate import sampled_recall

    Z = DATA[data](n, d, 10).X.astype(np.float32)
    begun = time.perf_counter()
    METHODS[method](Z[:5_000])
    started = time.perf_counter()
    neighbours = METHODS[method](Z)
    built = time.perf_counter()
    print(json.dumps([started - begun, built - started, sampled_recall(Z, neighbours)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--data", help="not used: the points are made up")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        method, data, n, d = options.one
        measured(method, data, int(n), int(d))
        return
    print(machine())
    sizes, methods = ([2_000], ["ours", "exact"]) if options.quick else (options.rows, options.methods)
    rows = [("points", "method", "start", "build", "recall")]
    for data, n, method in [(data, n, method) for data in DATA for n in sizes for method in methods]:
        command = [sys.executable, __file__, "--one", method, data, str(n), str(options.features)]
        for _ in range(1 if options.quick else 2):
            run = subprocess.run(command, capture_output=True, text=True)
        where = f"{data}, {n:,} × {options.features}"
        if run.returncode:
            rows.append((where, method, "died", run.stderr.strip().splitlines()[-1][:60], ""))
            continue
        start, build, recall = json.loads(run.stdout.splitlines()[-1])
        rows.append((where, method, f"{start:.2f} s", f"{build:.2f} s", f"{recall:.3f}"))
    print_columns(rows)


if __name__ == "__main__":
    main()
