"""Ten data sets that were written when all was chosen and measured once, after the tables of KEEL (2026-11-18).

A tenth of fifty is five, so that `petals` and `petals-5` have the same labels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn import datasets

from other_data import Rows, encoded, with_gaps


def halves(seed: int) -> Rows:
    """Handwritten digits, up to four or above."""
    X, y = datasets.load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(X))[:700]
    return X[rows], (y[rows] > 4).astype(int)


def petals(seed: int) -> Rows:
    """Iris in units of its own, a quarter of the readings off by a third of their spread."""
    X, y = datasets.load_iris(return_X_y=True)
    rng = np.random.default_rng(seed)
    off = rng.normal(size=X.shape) * X.std(axis=0) / 3 * (rng.random(X.shape) < 0.25)
    return (X + off) * [1e3, 1e-2, 1.0, 10.0], y


def grapes(seed: int) -> Rows:
    """Wine, beside the same columns of other bottles."""
    X, y = datasets.load_wine(return_X_y=True)
    return np.hstack([X, X[np.random.default_rng(seed).permutation(len(X))]]), y


def biopsies(seed: int) -> Rows:
    """Breast cancer, by means and standard errors alone."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return X[:, :20], y


def sensors(seed: int) -> Rows:
    """Forty columns that are mixtures of few, in noise; three classes by a sum of them."""
    X = datasets.make_low_rank_matrix(540, 40, effective_rank=8, tail_strength=0.2, random_state=seed)
    level = (X / X.std(axis=0))[:, :12].sum(axis=1)
    return X, np.digitize(level, np.quantile(level, [1 / 3, 2 / 3]))


def circuits(seed: int) -> Rows:
    """Impedance of a circuit by four of its parts, in quarters."""
    X, level = datasets.make_friedman2(600, noise=20, random_state=seed)
    return X, np.digitize(level, np.quantile(level, [0.25, 0.5, 0.75]))


def stars(seed: int) -> Rows:
    """Six clouds that overlap in eight dimensions."""
    return datasets.make_blobs(600, 8, centers=6, cluster_std=4.5, random_state=seed)[:2]


def claims(seed: int) -> Rows:
    """One insurance claim in twenty is false: later, larger, of young contracts, by some garages."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [798, 42]))
    table = pd.DataFrame(
        {
            "damage": rng.lognormal(7 + 0.9 * y, 0.7),
            "days": rng.exponential(np.where(y, 25, 9)),
            "months": rng.gamma(2, np.where(y, 8, 20)),
            "garage": np.where(rng.random(840) < np.where(y, 0.6, 0.15), "north", rng.choice(["south", "mill"], 840)),
            "brand": rng.choice(list("ABCDE"), 840),
            "witness": rng.random(840) < np.where(y, 0.2, 0.5),
        }
    )
    return encoded(with_gaps(table, ["damage", "months", "garage"], 0.06, rng)), y


def tickets(seed: int) -> Rows:
    """Three kinds of requests by length, hour, channel and counts of words, with gaps."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(510) % 3)
    table = pd.DataFrame(
        {
            "length": rng.lognormal(np.array([4.0, 5.0, 5.5])[y], 0.6),
            "hour": rng.normal(np.array([11, 14, 12])[y], 3),
            "channel": [rng.choice(["mail", "phone", "chat"], p=p) for p in (np.eye(3) * 0.45 + 0.55 / 3)[y]],
            "exclamations": rng.poisson(np.array([0.3, 1.0, 2.5])[y]).astype(float),
            "numbers": rng.poisson(np.array([4.0, 1.5, 1.0])[y]).astype(float),
            "known": rng.random(510) < np.array([0.8, 0.5, 0.4])[y],
            "office": rng.choice(["east", "west"], 510),
        }
    )
    return encoded(with_gaps(table, ["length", "hour", "channel"], 0.08, rng)), y


FRESH: dict[str, Callable[[int], Rows]] = {
    "halves": halves,
    "petals": petals,
    "grapes": grapes,
    "sensors": sensors,
    "circuits": circuits,
    "stars": stars,
    "claims": claims,
    "biopsies-5": biopsies,
    "tickets-5": tickets,
    "petals-5": petals,
}
