"""The torch engine: milliseconds for a step of a whole population, and default fits.

    python bench/gpu.py [--only steps fits large] [--quick]

steps  loss and gradient of 32 candidates on the paper's data sets, results on the host
fits   fifty default fits with 32 candidates, ten published splits of each data set
large  a default fit of 1,000,000 × 128: searched on a sample, labelled as a whole

``--quick`` takes small tables, on the CPU if need be.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import torch

import data_sets
from common import Figure, best_of, few_labels, hidden, made_up, print_sections
from pglearn import PGLearnClassifier
from pglearn.engine import Configuration
from pglearn.engine.torch import TorchEngine
from pglearn.objective.graph import mean_distance
from pglearn.objective.loss import Log
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC

CANDIDATES = 32
STEP_AIMS = {"coil": "≤ 10 ms", "mnist": "≤ 6 ms", "yale": "≤ 2.5 ms"}


def main(arguments: Sequence[str] | None = None) -> None:
    print(f"torch {torch.__version__}, {TorchEngine(Log()).name}")
    print_sections(SECTIONS, __doc__, arguments)


def steps(quick: bool) -> Iterator[Figure]:
    engine = TorchEngine(Log(), LGC(tolerance=1e-8, precision=1e-2))  # as the search has it
    for name in ("iris-5", "wine-5") if quick else data_sets.NAMES:
        X, y, shown = data_sets.draw(name, 0)
        problem, population = Problem.from_labels(X, hidden(y, shown)), drawn_population(X)
        seconds, _ = best_of(15, partial(engine.value_and_gradient, problem, population))
        yield Figure(f"{name}, step of {CANDIDATES} candidates", f"{1e3 * seconds:.2f} ms", STEP_AIMS.get(name, ""))


def drawn_population(X: np.ndarray) -> list[Configuration]:
    rng = np.random.default_rng(0)
    bandwidths = mean_distance(X) * rng.uniform(0.1, 10, size=(CANDIDATES, X.shape[1]))
    return [Configuration(int(rng.integers(5, 21)), bandwidth**-2) for bandwidth in bandwidths]


def fits(quick: bool) -> Iterator[Figure]:
    tables, splits, small = (("iris-5",), 1, {"budget": 2}) if quick else (data_sets.NAMES, 10, {})
    total = 0.0
    for name in tables:
        accuracies, seconds = [], []
        for split in range(splits):
            X, y, shown = data_sets.draw(name, split)
            model = PGLearnClassifier(n_candidates=CANDIDATES, random_state=split, engine="torch", **small)
            started = time.perf_counter()
            model.fit(X, hidden(y, shown))
            seconds.append(time.perf_counter() - started)
            accuracies.append((model.transduction_ == y)[~shown].mean())
        total += sum(seconds)
        first = f"{np.mean(seconds):.2f} s (the first {seconds[0]:.2f} s)"
        yield Figure(f"{name}, accuracy and seconds of {splits} fits", f"{np.mean(accuracies):.4f}, {first}")
    yield Figure(f"all {splits * len(tables)} fits", f"{total:.1f} s", "≤ 120 s of fifty")


def large(quick: bool) -> Iterator[Figure]:
    n, d, small = (4_500, 4, {"budget": 1, "n_candidates": 2, "views": ["given"]}) if quick else (1_000_000, 128, {})
    X, y = made_up(n, d, 10)
    shown = few_labels(y, 0, of_each=5 if quick else 100)
    model = PGLearnClassifier(random_state=0, engine="torch", **small)
    started = time.perf_counter()
    model.fit(X.astype(np.float32), hidden(y, shown))
    seconds, accuracy = time.perf_counter() - started, (model.transduction_ == y)[~shown].mean()
    yield Figure(f"{n:,} × {d}, accuracy and seconds of a fit", f"{accuracy:.4f}, {seconds:.1f} s")


SECTIONS = {"steps": steps, "fits": fits, "large": large}

if __name__ == "__main__":
    main()
