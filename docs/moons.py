"""Draws docs/moons.png, the picture of the README: python docs/moons.py (needs matplotlib)."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.semi_supervised import LabelSpreading

from pglearn import PGLearnClassifier

USEFUL, NOISE, LABELS = 2, 8, 10
COLOURS = np.array(["#0072b2", "#d55e00", "#c8c8c8"])  # of the classes, and of rows without a label


def main() -> None:
    rng = np.random.default_rng(1)
    moons, classes = make_moons(400, noise=0.08, random_state=1)
    X = np.hstack([moons, rng.normal(size=(len(moons), NOISE))])
    y = np.full(len(X), -1)
    for c in range(2):
        some = rng.choice(np.flatnonzero(classes == c), LABELS // 2, replace=False)
        y[some] = c
    model = PGLearnClassifier(random_state=0).fit(X, y)
    spread = LabelSpreading(kernel="knn").fit(X, y).transduction_

    figure, (given, plain, learned, weights) = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
    for axes, title, labels in (
        (given, f"{LABELS} labels", y),
        (plain, f"LabelSpreading: {(spread == classes).mean():.0%} right", spread),
        (learned, f"pglearn: {(model.transduction_ == classes).mean():.0%} right", model.transduction_),
    ):
        axes.scatter(*moons[y < 0].T, c=COLOURS[labels[y < 0]], s=8)
        axes.scatter(*moons[y >= 0].T, c=COLOURS[y[y >= 0]], s=60, edgecolors="black")
        axes.set(title=title, xticks=[], yticks=[])
    weights.bar(range(USEFUL + NOISE), model.feature_weights_, color=["#009e73"] * USEFUL + ["#c8c8c8"] * NOISE)
    weights.set(title="learned weights", xlabel="column", yticks=[])
    figure.savefig(Path(__file__).with_name("moons.png"), dpi=110)


if __name__ == "__main__":
    main()
