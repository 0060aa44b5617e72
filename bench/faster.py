"""How long a default fit takes beside an older commit: both in one run, each fit in a new process of one thread.

    python bench/faster.py --against 0c10e5c              # a worktree of the commit is made, and removed at the end
    python bench/faster.py --against ../old --only coil   # a folder serves, too
    python bench/faster.py --quick                        # one small table, beside this checkout itself

Seconds are of the processor, the shortest of some repetitions; what a process imports and compiles at first is not
counted. `made-up` has 1,000 rows of 50 features and ten labels.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

import data_sets
import fits
from common import few_labels, hidden, machine, made_up

ROOT = Path(__file__).resolve().parents[1]
TABLES = ("coil", "digits", "cancer", "german-5", "made-up")
HERE = "here"


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    if options.fit:
        print(json.dumps(fitted(options.fit)))
        return
    with checkout(options.against) as folder:
        sources = {folder.name: folder / "src", HERE: ROOT / "src"}
        rows = [
            {"table": table, "checkout": name} | measured(table, source)
            for table in options.only
            for _ in range(options.repetitions)
            for name, source in sources.items()
        ]
    print(machine())
    print(comparison(pd.DataFrame(rows), folder.name).to_string(float_format="%.3f"))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default=str(ROOT), metavar="REV", help="a commit, or the folder of a checkout")
    parser.add_argument("--only", nargs="+", default=TABLES, metavar="TABLE")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one small table, once")
    parser.add_argument("--fit", metavar="TABLE", help=argparse.SUPPRESS)  # in a process with the src of a checkout
    options = parser.parse_args(arguments)
    if options.quick:
        options.only, options.repetitions = ["iris-5"], 1
    return options


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """The folder of a checkout: the one that is named, or a new worktree of the commit."""
    if (Path(revision) / "src" / "pglearn").is_dir():
        yield Path(revision).resolve()
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / revision.replace("/", "-")
        command = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*command, "add", "--quiet", "--detach", str(folder), revision], check=True)
        try:
            yield folder
        finally:
            subprocess.run([*command, "remove", "--force", str(folder)], check=True)


def measured(table: str, source: Path) -> dict[str, Any]:
    """What :func:`fitted` finds with the package in that folder, in a process of its own."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "--fit", table]
    shown = subprocess.run(command, env=os.environ | one_thread, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(shown.splitlines()[-1])


def fitted(table: str) -> dict[str, float]:
    """Processor seconds of a default fit, and its accuracy on the rows without a label."""
    if table == "made-up":
        X, y = made_up(1000, 50, 2, separation=0.3)
        shown = few_labels(y, 0, of_each=5)
    else:
        X, y, shown = data_sets.draw(table, 0)
    fits.warm_up()
    started = time.process_time()
    labels, _ = fits.ours(X, hidden(y, shown), 0)
    return {"seconds": time.process_time() - started, "accuracy": float((labels == y)[~shown].mean())}


def comparison(rows: pd.DataFrame, other: str) -> pd.DataFrame:
    """A line per table: the shortest seconds and accuracy of each checkout, and how many times faster it is here."""
    best = rows.groupby(["table", "checkout"], sort=False).agg({"seconds": "min", "accuracy": "first"}).unstack()
    best["times", "faster"] = best.seconds[other] / best.seconds[HERE]
    return best


if __name__ == "__main__":
    main()
