"""What methods are measured on: rows, classes and which labels may be seen, by the name of a table and a number."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import packages
from common import Rows, few_labels, made_up
from unseen_data import UNSEEN

try:
    from pglearn.paper.datasets import FOLDER_VARIABLE, NAMES, Benchmark, load_benchmark, noisy
except ModuleNotFoundError:  # an older commit, which others are measured beside
    from pglearn.datasets import FOLDER_VARIABLE, NAMES, Benchmark, load_benchmark, noisy

HALVES = {"even": 0, "odd": 1}
SOURCES = {"keel": tuple(packages.KEEL), "r": tuple(packages.R)}
LOADERS = {"digits": load_digits, "wine": load_wine, "cancer": load_breast_cancer, "iris": load_iris}
Draw = tuple[np.ndarray, np.ndarray, np.ndarray]
FIVE = "-5"  # ends the name of a table of which five labels of each class are seen, instead of a share
NOISY = "made-up"  # 1,000 rows of 50 features, none of which tells much
SKLEARN = (*LOADERS, "digits-5", "wine-5", "cancer-5")


def half(source: str, which: str) -> list[str]:
    """Every second table, by name, of "keel" or "r", each once with a share of the labels and once with five."""
    names = SOURCES[source][HALVES[which] :: 2]
    return [*names, *(name + FIVE for name in names)]


def draw(name: str, number: int, percent: int = 10, noise: str = "none") -> Draw:
    """X, classes 0 … c−1 and a mask of the labelled rows; every other row is a test row.

    A published split of the paper's data sets; of another table rows and labels by the number as a seed.
    """
    if name in NAMES:
        data = _published(name)
        X, y, shown = data.X, data.y, data.labelled(percent, number)
    else:
        X, y = _rows(name, number)
        shown = few_labels(y, percent / 100, number, of_each=5 if name.endswith(FIVE) else None)
    return X if noise == "none" else noisy(X, noise, number), y, shown


@cache
def _published(name: str) -> Benchmark:
    """From the folder in PGLEARN_DATA, by default shared/data beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return load_benchmark(name, os.environ.get(FOLDER_VARIABLE) or beside)


def _rows(name: str, seed: int) -> Rows:
    table = name.removesuffix(FIVE)
    if name in UNSEEN:
        return UNSEEN[name](seed)
    if table == NOISY:
        return made_up(1000, 50, 2, seed=seed, separation=0.3)
    if table in LOADERS:
        return LOADERS[table](return_X_y=True)
    if table in packages.KEEL or table in packages.R:
        return packages.rows_of(table, seed)
    raise SystemExit(f"There is no table {name}.")
