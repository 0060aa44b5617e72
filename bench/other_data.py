"""Data that no default of pglearn was chosen on: scikit-learn's small tables and made-up ones, drawn anew each time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from sklearn import datasets

from common import few_labels
from pglearn import TableEncoder
from tasks import Draw, Task

Rows = tuple[np.ndarray, np.ndarray]  # X, y

REAL: dict[str, Callable[..., Rows]] = {
    "digits": datasets.load_digits,
    "wine": datasets.load_wine,
    "cancer": datasets.load_breast_cancer,
    "iris": datasets.load_iris,
}


def moons(seed: int) -> Rows:
    return datasets.make_moons(500, noise=0.2, random_state=seed)


def circles(seed: int) -> Rows:
    """Two rings, beside six columns that say nothing."""
    X, y = datasets.make_circles(500, noise=0.08, factor=0.5, random_state=seed)
    return np.hstack([X, np.random.default_rng(seed).normal(scale=0.5, size=(500, 6))]), y


def linear(seed: int) -> Rows:
    """Five informative columns, five that repeat them, ten of noise."""
    return datasets.make_classification(
        600, 20, n_informative=5, n_redundant=5, n_classes=3, n_clusters_per_class=1, random_state=seed
    )


def roll(seed: int) -> Rows:
    """A rolled-up sheet in four strips."""
    X, along = datasets.make_swiss_roll(600, noise=0.5, random_state=seed)
    return X, np.digitize(along, np.quantile(along, [0.25, 0.5, 0.75]))


def blobs(seed: int) -> Rows:
    """Four clouds, all stretched along the same oblique directions."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(600) % 4)
    stretch = rng.normal(size=(10, 10)) * np.geomspace(4, 0.2, 10)[:, None]
    return rng.normal(size=(4, 10))[y] + rng.normal(size=(600, 10)) @ stretch, y


def skewed(sizes: tuple[int, ...], seed: int) -> Rows:
    """Overlapping clouds of very different size."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return 1.2 * rng.normal(size=(len(sizes), 8))[y] + rng.normal(size=(len(y), 8)), y


def loans(seed: int) -> Rows:
    """Two classes; money, rates and ages, two categories that matter and one that does not, gaps."""
    rng = np.random.default_rng(seed)
    n = 600
    income = rng.lognormal(10.5, 0.8, n)
    debt = income * rng.beta(2, 5, n)
    age = rng.integers(18, 80, n).astype(float)
    rate = rng.normal(0.03, 0.01, n)
    job = rng.choice(["clerk", "nurse", "driver", "none"], n, p=[0.4, 0.2, 0.25, 0.15])
    home = rng.choice(["own", "rent"], n)
    risk = 5 * debt / income + 80 * (rate - 0.03) + 1.5 * (job == "none") + (home == "rent") - age / 40
    y = (risk + rng.normal(scale=0.3, size=n) > np.median(risk)).astype(int)
    table = pd.DataFrame(
        {
            "income": income,
            "debt": debt,
            "age": age,
            "rate": rate,
            "job": job,
            "home": home,
            "branch": rng.choice(list("ABCDEFGH"), n),
            "visits": rng.poisson(3, n).astype(float),
        }
    )
    return _encoded(_with_gaps(table, ["age", "rate", "job", "visits"], 0.08, rng)), y


def species(seed: int) -> Rows:
    """Three classes that shift sizes by orders of magnitude and the odds of colours, with a true/false column."""
    rng = np.random.default_rng(seed)
    n = 450
    y = rng.permutation(np.arange(n) % 3)
    odds = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.15, 0.15, 0.35, 0.35]])
    table = pd.DataFrame(
        {
            "mass_mg": rng.lognormal(np.array([2.0, 3.0, 4.0])[y], 0.8),
            "length_km": 1e-6 * rng.gamma(np.array([4.0, 7.0, 5.0])[y]),
            "spores": 1e6 * rng.pareto(np.array([3.0, 2.0, 3.0])[y]),
            "colour": [rng.choice(["red", "green", "blue", "white"], p=odds[c]) for c in y],
            "soil": rng.choice(["clay", "sand", "peat"], n),
            "hairy": rng.random(n) < np.array([0.8, 0.5, 0.2])[y],
            "sheet": rng.normal(500, 100, n),
        }
    )
    return _encoded(_with_gaps(table, ["mass_mg", "length_km", "colour", "sheet"], 0.12, rng)), y


def _with_gaps(table: pd.DataFrame, columns: list[str], share: float, rng: np.random.Generator) -> pd.DataFrame:
    for column in columns:
        table[column] = table[column].mask(rng.random(len(table)) < share)
    return table


def _encoded(table: pd.DataFrame) -> np.ndarray:
    return TableEncoder().fit_transform(table)


MADE: dict[str, Callable[[int], Rows]] = {
    "moons": moons,
    "circles": circles,
    "linear": linear,
    "roll": roll,
    "blobs": blobs,
    "skewed2": partial(skewed, (800, 40)),
    "skewed3": partial(skewed, (600, 200, 30)),
    "loans": loans,
    "species": species,
}
FIVE_LABELS = ("digits", "wine", "cancer")
NAMES = (*REAL, *(f"{name}-5" for name in FIVE_LABELS), *MADE)


def other_task(name: str, percent: int) -> Task:
    """The share of labels in each class, or five of each for a name that ends so."""
    if name in MADE:
        return Task(name, partial(drawn, MADE[name], percent / 100), imbalanced=name.startswith("skewed"))
    X, y = REAL[name.removesuffix("-5")](return_X_y=True)
    if name.endswith("-5"):
        return Task(name, lambda split: Draw(X, y, _some_of_each(y, 5, split)))
    return Task(name, lambda split: Draw(X, y, few_labels(y, percent / 100, split)))


def drawn(make: Callable[[int], Rows], fraction: float, split: int) -> Draw:
    X, y = make(split)
    return Draw(X, y, few_labels(y, fraction, split))


def _some_of_each(y: np.ndarray, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shown = np.zeros(len(y), dtype=bool)
    for c in np.unique(y):
        shown[rng.permutation(np.flatnonzero(y == c))[:count]] = True
    return shown
