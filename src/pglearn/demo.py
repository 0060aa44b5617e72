"""The demonstration: scikit-learn's digits with nine labels in ten hidden."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from rich.console import Console
from sklearn.datasets import load_digits
from sklearn.semi_supervised import LabelSpreading

from pglearn.estimators.table_model import TableModel
from pglearn.problem import Array

SHARE = 0.1
SIDE = 8
SHADES = " ░▒▓█"


@dataclass(frozen=True, eq=False)
class Digits:
    """1797 handwritten digits of 8 × 8 pixels; the true digits stay here, the learner sees `labels`."""

    features: pd.DataFrame
    labels: Array
    digits: Array
    hidden: Array

    @classmethod
    def load(cls, seed: int = 0) -> Digits:
        X, digits = load_digits(return_X_y=True)
        hidden = np.random.default_rng(seed).random(len(digits)) >= SHARE
        names = [f"pixel {row},{column}" for row in range(SIDE) for column in range(SIDE)]
        labels = np.where(hidden, -1, digits)
        return cls(pd.DataFrame(X / X.max(), columns=names), labels, digits, hidden)

    def accuracy(self, labels: Array) -> float:
        return float((labels[self.hidden] == self.digits[self.hidden]).mean())


def show(digits: Digits, model: TableModel) -> None:
    """Accuracy beside scikit-learn's on the same split, and a picture of the pixels that count."""
    console = Console(highlight=False)
    ours = digits.accuracy(model.classifier.transduction_)
    console.print(f"\nAccuracy on the {digits.hidden.sum()} hidden labels:")
    console.print(f"  [bold]{'pglearn':<34} {ours:.4f}[/]")
    for name, peer in {
        "LabelSpreading, its default (rbf)": LabelSpreading(),
        "LabelSpreading, kernel='knn'": LabelSpreading(kernel="knn"),
    }.items():
        peer.fit(digits.features.to_numpy(), digits.labels)
        console.print(f"  {name:<34} {digits.accuracy(peer.transduction_):.4f}")
    console.print("\nThe pixels that count most (darker: more of the distance):")
    for line in _picture(model, digits.features):
        console.print("  " + line)


def _picture(model: TableModel, features: pd.DataFrame) -> list[str]:
    share = model.weights(features).set_index("column")["share"]
    grid = share.reindex(features.columns, fill_value=0).to_numpy().reshape(SIDE, SIDE)
    levels = np.ceil(grid / grid.max() * (len(SHADES) - 1)).astype(int)
    return ["".join(2 * SHADES[level] for level in row) for row in levels]
