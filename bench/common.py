"""What the benchmark scripts share: made-up data, other checkouts, time, memory, and the table they print."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
import sklearn

ROOT = Path(__file__).resolve().parents[1]
Rows = tuple[np.ndarray, np.ndarray]  # X, y


def made_up(n: int, d: int, n_classes: int, seed: int = 0, separation: float = 1.0) -> Rows:
    """Overlapping normal clouds, one per class, in shuffled order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    centres = separation * rng.normal(size=(n_classes, d))
    X = rng.standard_normal((n, d))
    for c in range(n_classes):
        X[y == c] += centres[c]
    return X, y


def few_labels(y: np.ndarray, fraction: float, seed: int = 0, of_each: int | None = None) -> np.ndarray:
    """A mask of the rows to label: the fraction of each class, at least four; or so many `of_each`."""
    rng = np.random.default_rng(seed)
    labelled = np.zeros(len(y), dtype=bool)
    for c in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == c))
        labelled[rows[: of_each or max(4, round(fraction * len(rows)))]] = True
    return labelled


def hidden(y: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """The classes with −1 at every row that is not labelled."""
    return np.where(labelled, y, -1)


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


def best_of(repetitions: int, call: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of the wall-clock times, in seconds, and what the last call returned."""
    seconds, result = float("inf"), None
    for _ in range(repetitions):
        started = time.perf_counter()
        result = call()
        seconds = min(seconds, time.perf_counter() - started)
    return seconds, result


class Clock:
    """Seconds, and the bytes that the process grew by at most."""

    def __enter__(self) -> Clock:
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts here
        self._resident = _bytes("VmRSS")
        self._begun = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._begun
        self.peak = _bytes("VmHWM")
        self.grown = self.peak - self._resident


def _bytes(field: str) -> int:
    (kilobytes,) = re.findall(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(kilobytes)


def in_a_process(task: Callable[..., Any], here: bool = False, **arguments: Any) -> Any:
    """What the task returns in a new process, where memory is its own; or `here`, in this one."""
    if here:
        return task(**arguments)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(task, kwds=arguments)


class Figure(NamedTuple):
    """One row of a table: what was measured, beside what it should be, where that is said."""

    figure: str
    measured: str
    aim: str = ""


Sections = Mapping[str, Callable[[bool], Iterable[Figure]]]  # by name; each is told whether to be quick


def print_sections(sections: Sections, description: str, arguments: Sequence[str] | None) -> None:
    """The figures of a script's sections, as the command line says."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=sections, default=list(sections))
    parser.add_argument("--quick", action="store_true", help="small problems, in this process")
    options = parser.parse_args(arguments)
    figures = [figure for name in options.only for figure in sections[name](options.quick)]
    print(machine())
    print(pd.DataFrame(figures).set_index("figure").to_string())


def machine() -> str:
    """For the line above a table."""
    versions = f"NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
