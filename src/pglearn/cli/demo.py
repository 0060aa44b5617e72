"""The demonstration: scikit-learn's digits with nine labels in ten hidden."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.semi_supervised import LabelSpreading

from pglearn.arrays import Array

SHARE = 0.1


def digits() -> tuple[pd.DataFrame, Array, Array]:
    """1797 handwritten digits of 8 × 8 pixels; the labels of a tenth of them, -1 for the others; and all labels."""
    X, y = load_digits(return_X_y=True)
    names = [f"pixel {row},{column}" for row in range(8) for column in range(8)]
    hidden = np.random.default_rng(0).random(len(y)) >= SHARE
    return pd.DataFrame(X / X.max(), columns=names), np.where(hidden, -1, y), y


def show(features: pd.DataFrame, labels: Array, y: Array, ours: Array) -> None:
    """Print the accuracy of our labels beside that of scikit-learn's on the same split."""
    hidden = labels == -1
    X = features.to_numpy()
    answers = {
        "pglearn": ours,
        "LabelSpreading, its default (rbf)": LabelSpreading().fit(X, labels).transduction_,
        "LabelSpreading, kernel='knn'": LabelSpreading(kernel="knn").fit(X, labels).transduction_,
    }
    print(f"\nAccuracy on the {hidden.sum()} hidden labels:")
    for name, found in answers.items():
        print(f"  {name:<34} {(found == y)[hidden].mean():.4f}")
