"""What ten more labels are worth: the rows that `suggest` names, the least confident ones, or any.

python bench/suggest.py                # digits and two published data sets, two labels per class to begin with
python bench/suggest.py --quick        # small made-up data
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits

import other_data
from common import data_folder, hidden, load, machine, print_columns
from pglearn import PGLearnClassifier

MORE = 10
Ask = Callable[[PGLearnClassifier, np.ndarray, np.random.Generator], np.ndarray]
WAYS: dict[str, Ask] = {
    "suggest": lambda model, free, rng: model.suggest(MORE),
    "least confident": lambda model, free, rng: free[np.argsort(model.confidence_[free])[:MORE]],
    "at random": lambda model, free, rng: rng.choice(free, MORE, replace=False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of the .npz files (default: PGLEARN_DATA or ../shared/data)")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=-1, help="processes of a fit")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.draws, options.jobs = 1, 1
    print(f"two labels per class, then {MORE} more; {options.draws} draws; {machine()}")
    rows = [["test accuracy", "before", *WAYS]]
    for name, (X, y) in chosen_data(options).items():
        found = np.mean([measured(X, y, draw, options) for draw in range(options.draws)], axis=0)
        rows.append([name, *(f"{value:.4f}" for value in found)])
    print_columns(rows)


def chosen_data(options: argparse.Namespace) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    if options.quick:
        return {"small": other_data.skewed((60, 40, 30), 0)}
    X, y = load_digits(return_X_y=True)
    data = {"digits, 800 rows": (X[:800], y[:800])}
    for name in ("usps", "yale"):
        published = load(name, data_folder(options.data))
        if published is not None:
            data[name] = (published.X, published.y)
    return data


def measured(X: np.ndarray, y: np.ndarray, draw: int, options: argparse.Namespace) -> list[float]:
    """Accuracy on the rows that nobody has labelled: before, and after each way to ask."""
    rng = np.random.default_rng(draw)
    shown = np.zeros(len(y), dtype=bool)
    for c in np.unique(y):
        shown[rng.choice(np.flatnonzero(y == c), 2, replace=False)] = True
    first = fitted(X, y, shown, draw, options)
    accuracies = [(first.transduction_ == y)[~shown].mean()]
    for ask in WAYS.values():
        more = shown.copy()
        more[ask(first, np.flatnonzero(~shown), rng)] = True
        accuracies.append((fitted(X, y, more, draw, options).transduction_ == y)[~more].mean())
    return accuracies


def fitted(
    X: np.ndarray, y: np.ndarray, shown: np.ndarray, draw: int, options: argparse.Namespace
) -> PGLearnClassifier:
    model = PGLearnClassifier(budget=2 if options.quick else 8, random_state=draw, n_jobs=options.jobs)
    return model.fit(X, hidden(y, shown))


if __name__ == "__main__":
    main()
