"""A data set of three clouds with splits like the published ones, small enough to run everything on."""

from __future__ import annotations

import numpy as np

from pglearn.paper.datasets import PERCENTS, SPLITS, Benchmark

POINTS, FEATURES, CLASSES = 60, 3, 3


def arrays(seed=0):
    """As they are in a file: the first class at random, the others shifted away."""
    rng = np.random.default_rng(seed)
    y = np.arange(POINTS) % CLASSES
    X = rng.normal(size=(POINTS, FEATURES)) + 1.5 * y[:, None]
    found = {"X": X.astype(np.float32), "y": y.astype(np.uint8)}
    for percent in PERCENTS:
        train, valid = np.zeros((2, SPLITS, POINTS), dtype=bool)
        half = max(2, round(percent / 200 * POINTS / CLASSES))
        for split in range(SPLITS):
            for c in range(CLASSES):
                rows = rng.permutation(np.flatnonzero(y == c))
                train[split, rows[:half]] = valid[split, rows[half : 2 * half]] = True
        found |= {f"train_{percent}": train, f"valid_{percent}": valid}
    return found


def benchmark():
    content = arrays()
    splits = {percent: content[f"train_{percent}"] | content[f"valid_{percent}"] for percent in PERCENTS}
    return Benchmark("tiny", content["X"].astype(float), content["y"].astype(int), splits)
