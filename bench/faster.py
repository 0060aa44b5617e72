"""How long a default fit takes beside an older commit: both in one run, each fit in a new process of one thread.

    python bench/faster.py --against 0c10e5c              # a worktree of the commit is made, and removed at the end
    python bench/faster.py --against ../old --only coil   # a folder serves, too
    python bench/faster.py --profile                      # of this checkout, where the time goes
    python bench/faster.py --quick                        # one small table, beside this checkout itself

Seconds are of the processor, the shortest of some repetitions; what a process imports at first is not counted. `cores`
is how many times less a fit of this checkout takes on the clock where it may use all cores. `made-up-5` has 1,000 rows
of 50 features and ten labels.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import data_sets
import fits
from common import ROOT, checkout, hidden, machine

TABLES = ("coil", "digits", "cancer", "german-5", "made-up-5")
HERE, ALL_CORES = "here", "here, all cores"
STAGES = {  # what they are called, by file and function
    "objective/graph/neighbours.py k_nearest": "neighbours",
    "objective/graph/edges.py between": "edges",
    "objective/graph/differences.py distances": "distances on the edges",
    "objective/propagation/conjugate.py conjugate_gradients": "conjugate gradients",
    "objective/propagation/lgc_scores.py factors": "adjoint",
    "objective/adjoint.py inner_products": "products on the edges",
    "objective/graph/differences.py contracted": "contraction with the features",
    "objective/views.py views_for": "views",
    "objective/propagation/linear_system.py factor": "dense factors, where rows are hardly reached",
}


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    if options.fit:
        print(json.dumps(fitted(options.fit)))
        return
    if options.profile:
        print(
            pd.DataFrame({table: profiled(table) for table in options.only}).to_string(float_format="%.2f", na_rep="")
        )
        return
    with checkout(options.against) as folder:
        runs = [(folder.name, folder, "1"), (HERE, ROOT, "1"), (ALL_CORES, ROOT, str(os.cpu_count()))]
        rows = [
            {"table": table, "checkout": name} | measured(table, root / "src", threads)
            for table in options.only
            for _ in range(options.repetitions)
            for name, root, threads in runs
        ]
    print(machine())
    print(comparison(pd.DataFrame(rows), folder.name).to_string(float_format="%.3f"))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default=str(ROOT), metavar="REV", help="a commit, or the folder of a checkout")
    parser.add_argument("--only", nargs="+", default=TABLES, metavar="TABLE")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="seconds of each part of a fit")
    parser.add_argument("--quick", action="store_true", help="one small table, once")
    parser.add_argument("--fit", metavar="TABLE", help=argparse.SUPPRESS)  # in a process with the src of a checkout
    options = parser.parse_args(arguments)
    if options.quick:
        options.only, options.repetitions = ["iris-5"], 1
    return options


def measured(table: str, source: Path, threads: str) -> dict[str, Any]:
    """What :func:`fitted` finds with the package in that folder, in a process of its own."""
    environment = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "--fit", table]
    shown = subprocess.run(command, env=os.environ | environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(shown.splitlines()[-1])


def fitted(table: str) -> dict[str, float]:
    """Seconds of a default fit, of the processor and on the clock, and its accuracy on the rows without a label."""
    X, y, shown = data_sets.draw(table, 0)
    fits.warm_up()
    seconds, clock = time.process_time(), time.perf_counter()
    labels, _ = fits.ours(X, hidden(y, shown), 0)
    seconds, clock = time.process_time() - seconds, time.perf_counter() - clock
    return {"seconds": seconds, "clock": clock, "accuracy": float((labels == y)[~shown].mean())}


def profiled(table: str) -> dict[str, float]:
    """Seconds of each stage of a fit on one thread, those of the profiler among them."""
    X, y, shown = data_sets.draw(table, 0)
    fits.warm_up()
    profile = cProfile.Profile()
    profile.runcall(fits.ours, X, hidden(y, shown), 0, n_jobs=1)
    stats = pstats.Stats(profile)
    found = {
        stage: sum(
            cumulative
            for (path, _, name), (_, _, _, cumulative, _) in stats.stats.items()
            if f"{path} {name}".endswith(f"pglearn/{function}")
        )
        for function, stage in STAGES.items()
    }
    return found | {"all else": stats.total_tt - sum(found.values()), "a fit": stats.total_tt}


def comparison(rows: pd.DataFrame, other: str) -> pd.DataFrame:
    """A line per table: the shortest seconds and accuracy of each checkout, and how many times faster it is here."""
    shortest = {"seconds": "min", "clock": "min", "accuracy": "first"}
    best = rows.groupby(["table", "checkout"], sort=False).agg(shortest).unstack()
    shown = best.seconds[[other, HERE]].assign(faster=best.seconds[other] / best.seconds[HERE])
    shown["cores"] = best.clock[HERE] / best.clock[ALL_CORES]
    return shown.join(best.accuracy[[other, HERE]].add_prefix("accuracy, "))


if __name__ == "__main__":
    main()
