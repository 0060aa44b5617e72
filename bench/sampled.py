"""Does it hurt to search on a sample of the rows? Accuracy and seconds with the search on all rows and on 5,000.

    python bench/sampled.py [--rows N] [--labels L] [--seeds S] [--budget B] [--only POINTS ...] [--quick]

Points are curved sheets with irrelevant features, overlapping clouds, and harder ones of both kinds: sheets with more
noise about them, and clouds that overlap more in half of the features and not at all differ in the others. All have 32
features and 10 classes. Both searches are
short (8 candidates, a budget of 4), have the same draws, and label all rows with exact neighbours; accuracy is on those
without a label.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

from common import DataSet, curved_sheets, few_labels, hidden, machine, made_up, print_columns
from pglearn import PGLearnClassifier
from pglearn.estimators import sample


def hard_sheets(n: int, d: int, n_classes: int, seed: int) -> DataSet:
    data = curved_sheets(n, d, n_classes, seed)
    data.X[:, :8] += 0.35 * np.random.default_rng(seed + 1).standard_normal((n, 8), dtype=np.float32)
    return data


def hard_clouds(n: int, d: int, n_classes: int, seed: int) -> DataSet:
    data = made_up(n, d // 2, n_classes, seed, separation=0.8)
    noise = np.random.default_rng(seed + 1).standard_normal((n, d - d // 2))
    return replace(data, X=np.hstack([data.X, noise]))


DATA = {"sheets": curved_sheets, "clouds": made_up, "hard sheets": hard_sheets, "hard clouds": hard_clouds}


def fitted(data: str, n: int, labels: int, budget: int, seed: int, all_up_to: int) -> tuple[float, float]:
    """Accuracy and seconds."""
    points = DATA[data](n, 32, 10, seed)
    labelled = few_labels(points.y, labels / n, seed)
    sample.ALL_UP_TO = all_up_to
    begun = time.perf_counter()
    options = {"budget": budget, "n_candidates": 8, "engine": "cpu", "neighbors": "exact", "random_state": seed}
    model = PGLearnClassifier(**options).fit(points.X, hidden(points.y, labelled))
    right = model.transduction_ == points.y
    return float(right[~labelled].mean()), time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=25_000)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--budget", type=int, default=4)
    parser.add_argument("--only", nargs="+", choices=DATA, default=list(DATA), metavar="POINTS")
    parser.add_argument("--data", help="not used: the points are made up")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    n, seeds, budget = (800, 1, 1) if options.quick else (options.rows, options.seeds, options.budget)
    if options.quick:
        sample.SEARCHED_ROWS = 300
    print(machine())
    rows = [("points", "seed", "all rows", "seconds", f"{sample.SEARCHED_ROWS:,} rows", "seconds")]
    for data, seed in [(data, seed) for data in options.only for seed in range(seeds)]:
        cells: list[str] = []
        for all_up_to in (n, 0):
            accuracy, seconds = fitted(data, n, options.labels, budget, seed, all_up_to)
            cells += [f"{accuracy:.4f}", f"{seconds:.0f}"]
        rows.append((f"{data}, {n:,} × 32, {options.labels} labels", str(seed), *cells))
    print_columns(rows)


if __name__ == "__main__":
    main()
