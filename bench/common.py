"""What the benchmark scripts share: made-up data, time, memory, and the table they print."""

from __future__ import annotations

import multiprocessing
import os
import platform
import re
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Rows = tuple[np.ndarray, np.ndarray]  # X, y
GIB = 2**30


def made_up(n: int, d: int, n_classes: int, seed: int = 0, separation: float = 1.0) -> Rows:
    """Overlapping normal clouds, one per class, in shuffled order. Makes no array of n×d but X."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    centres = separation * rng.normal(size=(n_classes, d))
    X = rng.standard_normal((n, d))
    for c in range(n_classes):
        for row in np.flatnonzero(y == c):
            X[row] += centres[c]
    return X, y


def few_labels(y: np.ndarray, fraction: float, seed: int = 0) -> np.ndarray:
    """A mask of the rows to label: the fraction of each class, at least four."""
    rng = np.random.default_rng(seed)
    labelled = np.zeros(len(y), dtype=bool)
    for c in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == c))
        labelled[rows[: max(4, round(fraction * len(rows)))]] = True
    return labelled


def hidden(y: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """The classes with −1 at every row that is not labelled."""
    return np.where(labelled, y, -1)


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
    """What the task returns in a new process, which fails after an hour or beyond 20 GiB; or `here`, in this one."""
    if here:
        return task(**arguments)
    with multiprocessing.get_context("spawn").Pool(1, _limit_memory) as pool:
        return pool.apply_async(task, kwds=arguments).get(timeout=3600)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (20 * GIB, 20 * GIB))


class Figure(NamedTuple):
    """One row of the table: what was measured, beside what it should be, where that is said."""

    name: str
    measured: str
    aim: str = ""


def print_figures(figures: Iterable[Figure]) -> None:
    print(machine())
    print_columns([Figure("figure", "measured", "aim"), *figures])


def print_columns(rows: Sequence[Sequence[str]]) -> None:
    """The first row as the head, in columns as wide as they need."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for at, row in enumerate(rows):
        print(" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if at == 0:
            print("-|-".join("-" * width for width in widths))


def machine() -> str:
    """The machine and versions, for the line above a table."""
    import scipy
    import sklearn

    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    )
