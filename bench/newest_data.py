"""Ten data sets that were written after those of seen_data.py (2026-11-18), five of them with five labels per class.

`valves` then showed that trees were ahead where rules make the classes, which is why trees are heard; how, was chosen
by other sets. By other draws of these ten, with 87 other sets, was chosen what all rows teach (docs/defaults.md).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.feature_extraction.image import extract_patches_2d

from other_data import Rows, encoded, with_gaps


def textures(seed: int) -> Rows:
    """Squares of 6 × 6 grey pixels from four parts of two photographs: sky, roofs, petals, leaves."""
    china, flower = (datasets.load_sample_image(name).mean(axis=2) for name in ("china.jpg", "flower.jpg"))
    parts = (china[:150], china[200:], flower[100:300, 150:400], flower[:, 450:])
    squares = [extract_patches_2d(part, (6, 6), max_patches=160, random_state=seed) for part in parts]
    return np.concatenate(squares).reshape(640, -1), np.repeat(np.arange(4), 160)


def alike(seed: int) -> Rows:
    """The handwritten digits that are easily taken for one another."""
    X, y = datasets.load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(y, (1, 3, 8, 9))))[:600]
    return X[rows], np.searchsorted((1, 3, 8, 9), y[rows])


def tumours(seed: int) -> Rows:
    """Breast cancer, by the ten worst measurements alone, read off with an error of a third of their spread."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    worst = X[:, 20:]
    return worst + np.random.default_rng(seed).normal(size=worst.shape) * worst.std(axis=0) / 3, y


def genes(seed: int) -> Rows:
    """Two hundred columns in groups that go up and down together, of which two groups have to do with the class."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(300) % 3)
    groups = rng.normal(size=(300, 20))
    groups[:, :2] += 1.6 * np.array([[1, 0], [-1, 1], [0, -1]])[y]
    return np.repeat(groups, 10, axis=1) + 1.2 * rng.normal(size=(300, 200)), y


def valves(seed: int) -> Rows:
    """Machines that fail if two of five readings are far off in the same direction, beside four that say nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 9))
    far = np.sort(X[:, :5], axis=1)
    strain = np.maximum(far[:, 3], -far[:, 1]) + rng.normal(scale=0.1, size=600)
    return X, (strain > np.median(strain)).astype(int)


def crescents(seed: int) -> Rows:
    """Three crescents around one another, of unequal size, beside a column that says nothing."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [240, 160, 100])
    angle = rng.uniform(0, 1.2 * np.pi, 500) + np.array([0, 2, 4])[y]
    radius = np.array([2.0, 1.4, 0.8])[y] + rng.normal(scale=0.12, size=500)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rng.normal(size=500)])
    return X, y


def islands(seed: int) -> Rows:
    """Two classes on nine islands each, of many sizes, in six dimensions."""
    rng = np.random.default_rng(seed)
    island = rng.integers(0, 18, 540)
    spread = rng.uniform(0.2, 0.8, 18)
    return 2 * rng.normal(size=(18, 6))[island] + spread[island][:, None] * rng.normal(size=(540, 6)), island % 2


def clinic(seed: int) -> Rows:
    """Three diagnoses by age, pulse, two blood values and four signs that are there or not, with gaps."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(480) % 3)
    signs = rng.random((480, 4)) < np.array([[0.7, 0.2, 0.2, 0.4], [0.3, 0.7, 0.2, 0.4], [0.3, 0.2, 0.6, 0.4]])[y]
    table = pd.DataFrame(
        {
            "age": rng.normal(np.array([45, 60, 55])[y], 14),
            "pulse": rng.normal(np.array([75, 80, 92])[y], 11),
            "iron": rng.lognormal(np.array([2.5, 2.0, 2.4])[y], 0.5),
            "sugar": rng.gamma(4, np.array([1.2, 1.3, 1.9])[y]),
            "ward": rng.choice(["A", "B", "C"], 480),
            **{f"sign {number}": signs[:, number] for number in range(4)},
        }
    )
    return encoded(with_gaps(table, ["age", "iron", "sugar"], 0.1, rng)), y


def ramps(seed: int) -> Rows:
    """Thirty readings of four shapes (up, down, up and down, down and up), each at a pace of its own, in noise."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(480) % 4)
    time = np.linspace(0, 1, 30) ** rng.uniform(0.6, 1.6, (480, 1))
    shapes = np.stack([time, 1 - time, 1 - np.abs(2 * time - 1), np.abs(2 * time - 1)])
    return shapes[y, np.arange(480)] * rng.uniform(0.5, 1.5, (480, 1)) + 0.25 * rng.normal(size=(480, 30)), y


def cellars(seed: int) -> Rows:
    """Wine, beside as many columns that are mixtures of its own and of noise."""
    X, y = datasets.load_wine(return_X_y=True)
    rng = np.random.default_rng(seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.hstack([X, 0.5 * X @ rng.normal(size=(13, 13)) + 2 * rng.normal(size=X.shape)]), y


NEWEST: dict[str, Callable[[int], Rows]] = {
    "textures": textures,
    "genes": genes,
    "valves": valves,
    "islands": islands,
    "ramps": ramps,
    "alike-5": alike,
    "tumours-5": tumours,
    "crescents-5": crescents,
    "clinic-5": clinic,
    "cellars-5": cellars,
}
