"""What methods are measured on: rows, classes and which labels may be seen, by the name of a table and a number.

    python bench/data_sets.py --export FOLDER    # KEEL's and R's tables, for a machine without their packages

There, PGLEARN_TABLES names the folder. The paper's data sets are read from the folder in PGLEARN_DATA, by default
../shared/data.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn import datasets

import keel_data
import r_data
from common import Rows, few_labels
from pglearn.datasets import FOLDER_VARIABLE, NAMES, NOISE, Benchmark, load_benchmark, noisy
from unseen_data import UNSEEN

__all__ = ["FIVE", "HALVES", "NAMES", "NOISE", "SKLEARN", "UNSEEN", "draw", "halves"]

TABLES_VARIABLE = "PGLEARN_TABLES"
SOURCES = {"keel": keel_data, "r": r_data}
HALVES = {"even": 0, "odd": 1}
LOADERS = {
    "digits": datasets.load_digits,
    "wine": datasets.load_wine,
    "cancer": datasets.load_breast_cancer,
    "iris": datasets.load_iris,
}
FIVE = "-5"  # ends the name of a table of which five labels of each class are seen, instead of a share
SKLEARN = (*LOADERS, "digits-5", "wine-5", "cancer-5")


class Draw(NamedTuple):
    """Features, classes 0 … c−1 and a mask of the labelled rows; every other row is a test row."""

    X: np.ndarray
    y: np.ndarray
    shown: np.ndarray


def halves(source: str, which: str) -> list[str]:
    """The names of half of the tables of "keel" or "r", each once with a share of the labels and once with five."""
    names = list(SOURCES[source].TABLES)[HALVES[which] :: 2]
    return [*names, *(name + FIVE for name in names)]


def draw(name: str, number: int, percent: int = 10, noise: str = "none") -> Draw:
    """A published split of the paper's data sets; of another table rows and labels by the number as a seed."""
    if name in NAMES:
        data = _published(name)
        X, y, shown = data.X, data.y, data.labelled(percent, number)
    else:
        X, y = _rows(name, number)
        shown = _five_of_each(y, number) if name.endswith(FIVE) else few_labels(y, percent / 100, number)
    return Draw(X if noise == "none" else noisy(X, noise, number), y, shown)


@cache
def _published(name: str) -> Benchmark:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return load_benchmark(name, os.environ.get(FOLDER_VARIABLE) or beside)


def _rows(name: str, seed: int) -> Rows:
    if name in UNSEEN:
        return UNSEEN[name](seed)
    table = name.removesuffix(FIVE)
    if table in LOADERS:
        return LOADERS[table](return_X_y=True)
    (source,) = (source for source in SOURCES.values() if table in source.TABLES)
    return source.rows_of(table, _text(table, source.packaged), seed)


@cache
def _text(table: str, packaged: Callable[[str], bytes]) -> bytes:
    folder = os.environ.get(TABLES_VARIABLE)
    if not folder:
        return packaged(table)
    path = Path(folder) / f"{table}.npz"
    if not path.is_file():
        raise SystemExit(f"{TABLES_VARIABLE} names {folder}, which has no {path.name}: export the tables again.")
    with np.load(path) as stored:
        return stored["text"].tobytes()


def _five_of_each(y: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shown = np.zeros(len(y), dtype=bool)
    for c in np.unique(y):
        shown[rng.permutation(np.flatnonzero(y == c))[:5]] = True
    return shown


def export(folder: Path) -> None:
    """Every table of the packages as an .npz file with one array, the bytes of its text."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in SOURCES.values():
        for table in source.TABLES:
            np.savez_compressed(folder / table, text=np.frombuffer(source.packaged(table), dtype=np.uint8))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--export", type=Path, required=True, metavar="FOLDER")
    export(parser.parse_args().export)
