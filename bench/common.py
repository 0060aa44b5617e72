"""What the benchmark scripts share: data, timing and the table they print."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from pglearn.datasets import NAMES as DATA_SETS
from pglearn.datasets import Benchmark as DataSet
from pglearn.datasets import load_benchmark
from pglearn.engine import Configuration, Evaluation
from pglearn.problem import Problem

__all__ = ["DATA_SETS", "DataSet"]


def data_folder(given: str | None = None) -> Path:
    """The folder named, else the environment's PGLEARN_DATA, else shared/data beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(given or os.environ.get("PGLEARN_DATA") or beside)


def load(name: str, folder: Path) -> DataSet | None:
    """One of the paper's data sets, or None where the folder does not hold it."""
    return load_benchmark(name, folder) if (folder / f"{name}.npz").is_file() else None


def made_up(n: int, d: int, n_classes: int, seed: int = 0, separation: float = 1.0) -> DataSet:
    """Overlapping normal clouds, one per class, in shuffled order. Makes no array of n×d but X."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    centres = separation * rng.normal(size=(n_classes, d))
    X = rng.standard_normal((n, d))
    for c in range(n_classes):
        for row in np.flatnonzero(y == c):
            X[row] += centres[c]
    return DataSet(name="made-up", X=X, y=y, splits={})


def embedded_clouds(n: int, d: int, n_classes: int, seed: int = 0, latent: int = 10) -> DataSet:
    """Overlapping clouds of 10 dimensions in d features that each measure a mixture of them, with errors; float32."""
    data = made_up(n, latent, n_classes, seed, separation=2.0)
    rng = np.random.default_rng(seed + 1)
    X = data.X.astype(np.float32) @ rng.normal(size=(latent, d)).astype(np.float32) / np.float32(np.sqrt(latent))
    for start in range(0, n, 10_000):
        X[start : start + 10_000] += 0.1 * rng.standard_normal(X[start : start + 10_000].shape, dtype=np.float32)
    return DataSet(name="embedded clouds", X=X, y=data.y, splits={})


def curved_sheets(n: int, d: int, n_classes: int, seed: int = 0, relevant: int = 8) -> DataSet:
    """A manifold with irrelevant features, float32: one curved sheet per class in 8 features, noise in all others.

    The sheets lie about one middle, so that no linear model tells them apart.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    place = rng.uniform(-1, 1, (n, 2)).astype(np.float32)
    shape = rng.normal(size=(n_classes, 3, relevant)).astype(np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X[:, :relevant] *= 0.15
    for c in range(n_classes):
        rows = np.flatnonzero(y == c)
        u, v = place[rows, :1], place[rows, 1:]
        X[rows, :relevant] += 0.35 * shape[c, 0] + np.sin(2 * u) * shape[c, 1] + v * shape[c, 2]
    return DataSet(name="curved sheets", X=X, y=y, splits={})


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


def even_weights(X: np.ndarray, seed: int = 0) -> np.ndarray:
    """a_m = 1/d̄² for every feature, d̄ the mean distance between 500 of the rows."""
    rows = X[np.random.default_rng(seed).permutation(len(X))[:500]]
    squares = (rows**2).sum(axis=1)
    squared_distances = squares[:, None] + squares[None, :] - 2 * rows @ rows.T
    pairs = np.triu_indices(len(rows), 1)
    mean_distance = np.sqrt(np.maximum(squared_distances[pairs], 0)).mean()
    return np.full(X.shape[1], mean_distance**-2)


@dataclass(frozen=True)
class Nothing:
    """An engine without work."""

    together = 1

    def value_and_gradient(self, problem: Problem, configurations: Sequence[Configuration]) -> list[Evaluation]:
        return [Evaluation(1.0, 0.5, np.ones_like(configuration.a)) for configuration in configurations]


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

    @property
    def verdict(self) -> str:
        return {True: "yes", False: "NO", None: ""}[self.met]


def print_table(figures: Sequence[Figure]) -> None:
    """figure | measured | target | met."""
    rows = [(figure.name, figure.measured, figure.target, figure.verdict) for figure in figures]
    print_columns([("figure", "measured", "target", "met"), *rows])


def print_columns(rows: Sequence[Sequence[str]]) -> None:
    """The first row as the head, in columns as wide as they need."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for at, row in enumerate(rows):
        print(" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if at == 0:
            print("-|-".join("-" * width for width in widths))


def pyplot() -> Any:
    """matplotlib's, drawing to files alone; only those who ask for a plot need it."""
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("--plot needs matplotlib, which is not installed. Run: pip install matplotlib") from None
    matplotlib.use("svg")
    from matplotlib import pyplot

    return pyplot


def machine() -> str:
    """The machine and versions, for the line above a table."""
    import scipy
    import sklearn

    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    )
