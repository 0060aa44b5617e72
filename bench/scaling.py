"""What a large table costs: label spreading against scikit-learn's, steps of a search, and a whole fit.

    python bench/scaling.py [--only lgc steps million] [--quick]

lgc      label spreading on a plain graph of 100,000 × 50 (k = 10, 10 classes, 1 % labels), the graph included, warm,
         against LabelSpreading(kernel="knn", alpha=.99) with the iterations that the same residual takes
steps    of a search in float32: memory on 20,000 × 500, from the given float64 on; log-log slope of processor seconds
         on 5,000 × 50 to 80,000 × 50
million  a default fit of 1,000,000 × 64 with 1,000 labels

Each runs in a process of its own. Memory is what it grows by at most while it is measured, over the size of X. Points
are clouds of ten dimensions in as many features as it says.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.semi_supervised import LabelSpreading

from common import Clock, Figure, Rows, few_labels, hidden, in_a_process, made_up, print_sections
from pglearn import PGLearnClassifier
from pglearn.engine import Configuration, CPUEngine
from pglearn.engine.choose import chosen_neighbours
from pglearn.objective import searched as sample
from pglearn.objective.graph import Edges, mean_distance
from pglearn.objective.graph.approximate import k_near
from pglearn.objective.graph.weights import graph_of_exponents
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC
from pglearn.objective.views import given_view
from pglearn.runtime.threads import one_thread

K, CLASSES, ALPHA, RESIDUAL = 10, 10, 0.99, 1e-6
ITERATIONS = 1_063  # F ← αPF + Y, which take 100,000 rows to that residual


def main(arguments: Sequence[str] | None = None) -> None:
    print_sections(SECTIONS, __doc__, arguments)


def embedded_clouds(n: int, d: int, latent: int = 10) -> Rows:
    """Overlapping clouds of 10 dimensions in d features that each measure a mixture of them, with errors."""
    Z, y = made_up(n, latent, CLASSES, separation=2.0)
    rng = np.random.default_rng(1)
    X = Z @ rng.normal(size=(latent, d)) / np.sqrt(latent)
    X += 0.1 * rng.standard_normal(X.shape)
    return X, y


def our_spreading(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    edges = Edges.between_neighbours(k_near(X, K)[0])
    graph = graph_of_exponents(edges, np.zeros(len(edges)))
    Y = (1 - ALPHA) * (y[:, None] == np.arange(CLASSES))
    return LGC(ALPHA, tolerance=RESIDUAL).linear_system(graph).solve(Y).F.argmax(axis=1)


def peers_spreading(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged to a tolerance of 0
        model = LabelSpreading(kernel="knn", n_neighbors=K, alpha=ALPHA, max_iter=ITERATIONS, tol=0)
        return model.fit(X, y).transduction_


def spread(method: Callable[..., np.ndarray], n: int, d: int) -> dict[str, float]:
    for rows in (n // 20, n):  # what is imported at first is not counted
        X, y = embedded_clouds(rows, d)
        shown = few_labels(y, 0.01)
        with Clock() as clock:
            labels = method(X, hidden(y, shown))
    accuracy = float((labels == y)[~shown].mean())
    return {"seconds": clock.seconds, "memory": clock.grown / X.nbytes, "accuracy": accuracy}


def step(n: int, d: int) -> dict[str, float]:
    """Of a search on all rows, in processor seconds: the mean of four, two of them with the edges of another."""
    sample.ALL_UP_TO = max(n, sample.ALL_UP_TO)
    for rows in (2_000, n):  # what is imported at first is not counted
        X, y = embedded_clouds(rows, d)
        labels, a = hidden(y, few_labels(y, 100 / rows)), np.full(d, mean_distance(X) ** -2)
        engine, carried, ended = CPUEngine(neighbours=chosen_neighbours("auto", n)).for_search("float32"), {}, []
        with Clock() as clock, one_thread():
            _, searched = sample.searched_problem(Problem.from_labels(X, labels), [given_view(X)], "float32", seed=0)
            for number in range(6):
                engine.value_and_gradient(searched, [Configuration(K, 1.1**number * a, owner=0)], carried)
                ended.append(time.process_time())
    return {"seconds": (ended[5] - ended[1]) / 4, "memory": clock.grown / X.nbytes}


def fit(n: int, labels: int, parameters: dict[str, Any]) -> dict[str, float]:
    X, y = embedded_clouds(n, 64)
    shown = few_labels(y, labels / n)
    model, before = PGLearnClassifier(random_state=0, **parameters), time.process_time()
    with Clock() as clock:
        model.fit(X, hidden(y, shown))
    found = {"seconds": clock.seconds, "of processors": time.process_time() - before, "peak": clock.peak}
    recall = float(model.search_results_["recall"][model.search_results_["selected"]].min())
    return found | {"accuracy": float((model.transduction_ == y)[~shown].mean()), "recall": recall}


def lgc(quick: bool) -> list[Figure]:
    n, d = (2_000, 10) if quick else (100_000, 50)
    methods = our_spreading, peers_spreading
    ours, peers = (in_a_process(spread, here=quick, method=method, n=n, d=d) for method in methods)
    shown = "{seconds:.3g} s, memory {memory:.2f}× of X, accuracy {accuracy:.4f}"
    return [
        Figure(f"label spreading {n:,} × {d}", shown.format(**ours)),
        Figure(f"LabelSpreading, {ITERATIONS} iterations", shown.format(**peers)),
        Figure("times faster", f"{peers['seconds'] / ours['seconds']:.1f}×", "≥ 5×"),
    ]


def steps(quick: bool) -> list[Figure]:
    wide, rows = ((1_000, 10), (500, 1_000)) if quick else ((20_000, 500), (5_000, 10_000, 20_000, 40_000, 80_000))
    memory = in_a_process(step, here=quick, n=wide[0], d=wide[1])["memory"]
    seconds = [in_a_process(step, here=quick, n=n, d=50)["seconds"] for n in rows]
    slope, _ = np.polyfit(np.log(rows), np.log(seconds), 1)
    shown = f"{slope:.2f} ({', '.join(f'{each:.2g} s' for each in seconds)})"
    return [
        Figure(f"memory of a step on {wide[0]:,} × {wide[1]}", f"{memory:.2f}× of X", "≤ 1.5×"),
        Figure(f"growth of its time, {rows[0]:,} to {rows[-1]:,} × 50", shown, "≤ 1.1"),
    ]


def million(quick: bool) -> list[Figure]:
    n, labels = (500, 40) if quick else (1_000_000, 1_000)
    found = in_a_process(fit, here=quick, n=n, labels=labels, parameters={"budget": 2} if quick else {})
    took = f"{found['seconds'] / 60:.1f} min, {found['of processors'] / 60:.1f} of processors"
    return [
        Figure(f"fit {n:,} × 64, {labels} labels", took, "≤ 6 min"),
        Figure("its memory, all of the process", f"{found['peak'] / 2**30:.2f} GiB"),
        Figure("its accuracy, and recall of neighbours", f"{found['accuracy']:.4f}, {found['recall']:.3f}"),
    ]


SECTIONS = {"lgc": lgc, "steps": steps, "million": million}

if __name__ == "__main__":
    main()
