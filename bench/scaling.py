"""What a large table costs: label spreading against scikit-learn's, and a whole fit.

    python bench/scaling.py [--only lgc million] [--quick]

lgc      label spreading on a plain graph of 100,000 × 50 (k = 10, 10 classes, 1 % labels), the graph included, warm,
         against LabelSpreading(kernel="knn", alpha=.99) with the iterations that the same residual takes
million  a default fit of 1,000,000 × 64 with 1,000 labels

Each runs in a process of its own. Memory is what it grows by at most while it is measured, over the size of X. Points
are clouds of ten dimensions in as many features as it says.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.semi_supervised import LabelSpreading

from common import Clock, Figure, Rows, few_labels, hidden, in_a_process, made_up, print_sections
from pglearn import PGLearnClassifier
from pglearn.objective.graph import Edges
from pglearn.objective.graph.approximate import k_near
from pglearn.objective.graph.weights import graph_of_exponents
from pglearn.objective.propagation import LGC

K, CLASSES, ALPHA, RESIDUAL = 10, 10, 0.99, 1e-6


def main(arguments: Sequence[str] | None = None) -> None:
    print_sections(SECTIONS, __doc__, arguments)


def embedded_clouds(n: int, d: int, latent: int = 10) -> Rows:
    """Overlapping clouds of 10 dimensions in d features that each measure a mixture of them, with errors."""
    Z, y = made_up(n, latent, CLASSES, separation=2.0)
    rng = np.random.default_rng(1)
    X = Z @ rng.normal(size=(latent, d)) / np.sqrt(latent)
    X += 0.1 * rng.standard_normal(X.shape)
    return X, y


def our_spreading(n: int, d: int) -> dict[str, float]:
    for rows in (5_000, n):  # what is imported at first is not counted
        X, y = embedded_clouds(rows, d)
        shown = few_labels(y, 0.01)
        Y = (1 - ALPHA) * (shown[:, None] & (y[:, None] == np.arange(CLASSES)))
        with Clock() as clock:
            edges = Edges.between_neighbours(k_near(X, K)[0])
            graph = graph_of_exponents(edges, np.zeros(len(edges)))
            F = LGC(ALPHA, tolerance=RESIDUAL).linear_system(graph).solve(Y).F
    found = {"seconds": clock.seconds, "memory": clock.grown / X.nbytes, "iterations": iterations(graph.P, Y)}
    return found | {"accuracy": float((F.argmax(axis=1) == y)[~shown].mean())}


def iterations(P: sparse.csr_matrix, Y: np.ndarray) -> int:
    """How many times F ← αPF + Y has to be taken for a residual as small."""
    F, count = Y, 0
    while np.linalg.norm((moved := ALPHA * (P @ F) + Y) - F) > RESIDUAL * np.linalg.norm(Y):
        F, count = moved, count + 1
    return count


def peers_spreading(n: int, d: int, iterations: int) -> dict[str, float]:
    X, y = embedded_clouds(n, d)
    shown = few_labels(y, 0.01)
    model = LabelSpreading(kernel="knn", n_neighbors=K, alpha=ALPHA, max_iter=iterations, tol=0)
    with warnings.catch_warnings(), Clock() as clock:
        warnings.simplefilter("ignore")  # that it has not converged to a tolerance of 0
        model.fit(X, hidden(y, shown))
    accuracy = float((model.transduction_ == y)[~shown].mean())
    return {"seconds": clock.seconds, "memory": clock.grown / X.nbytes, "accuracy": accuracy}


def fit(n: int, labels: int, parameters: dict[str, Any]) -> dict[str, float]:
    X, y = embedded_clouds(n, 64)
    shown = few_labels(y, labels / n)
    model = PGLearnClassifier(random_state=0, **parameters)
    with Clock() as clock:
        model.fit(X, hidden(y, shown))
    accuracy = float((model.transduction_ == y)[~shown].mean())
    recall = float(model.search_results_["recall"][model.search_results_["selected"]].min())
    return {"seconds": clock.seconds, "peak": clock.peak, "accuracy": accuracy, "recall": recall}


def lgc(quick: bool) -> list[Figure]:
    n, d = (1_000, 10) if quick else (100_000, 50)
    ours = in_a_process(our_spreading, here=quick, n=n, d=d)
    count = ours["iterations"]
    peers = in_a_process(peers_spreading, here=quick, n=n, d=d, iterations=count)
    shown = "{seconds:.3g} s, memory {memory:.2f}× of X, accuracy {accuracy:.4f}"
    return [
        Figure(f"label spreading {n:,} × {d}", shown.format(**ours)),
        Figure(f"LabelSpreading, {count} iterations", shown.format(**peers)),
        Figure("times faster", f"{peers['seconds'] / ours['seconds']:.1f}×", "≥ 5×"),
    ]


def million(quick: bool) -> list[Figure]:
    n, labels = (500, 40) if quick else (1_000_000, 1_000)
    found = in_a_process(fit, here=quick, n=n, labels=labels, parameters={"budget": 2} if quick else {})
    return [
        Figure(f"fit {n:,} × 64, {labels} labels", f"{found['seconds'] / 60:.1f} min", "≤ 40 min"),
        Figure("its memory, all of the process", f"{found['peak'] / 2**30:.2f} GiB"),
        Figure("its accuracy, and recall of neighbours", f"{found['accuracy']:.4f}, {found['recall']:.3f}"),
    ]


SECTIONS = {"lgc": lgc, "million": million}

if __name__ == "__main__":
    main()
