"""What one gradient costs, each figure a ratio measured in one run.

    python bench/gradient.py [--only speed adjoint imports] [--quick]

speed    loss_and_gradient on COIL, all 241 derivatives, against the paper's forward mode (forward_mode.py); both build
         the graph, both on one thread. The two gradients are compared too.
adjoint  the whole gradient on a given graph against the forward solve alone.
imports  pglearn and its classifier against sklearn.semi_supervised, in new interpreters.

``--quick`` runs the first two on small problems, in this process.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

import data_sets
import pglearn
from common import Figure, best_of, hidden, print_sections
from forward_mode import forward_mode_gradient
from pglearn.engine import Configuration, CPUEngine
from pglearn.objective.graph import mean_distance
from pglearn.objective.loss import Ranking
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC

K, ALPHA = 10, 0.99
SETTING = {"k": K, "loss": "ranking", "validation": "holdout", "alpha": ALPHA}


def main(arguments: Sequence[str] | None = None) -> None:
    print_sections(SECTIONS, __doc__, arguments)


def even_weights(X: np.ndarray) -> np.ndarray:
    return np.full(X.shape[1], mean_distance(X) ** -2)


def speed(quick: bool) -> Iterator[Figure]:
    """One gradient against the paper's d forward propagations."""
    X, y, shown = data_sets.draw("wine" if quick else "coil", 0)
    a, y_shown = even_weights(X), hidden(y, shown)
    problem = Problem.from_labels(X, y_shown, validation="holdout")
    train, valid = problem.labelled[~problem.scored], problem.labelled[problem.scored]
    with threadpool_limits(1):
        ours, (_, dg_da) = best_of(8, lambda: pglearn.loss_and_gradient(X, y_shown, a=a, **SETTING))
        theirs, (_, paper_dg_da, _) = best_of(2, lambda: forward_mode_gradient(X, y, train, valid, a, K, ALPHA))
    yield Figure("loss_and_gradient", f"{1e3 * ours:.4g} ms")
    yield Figure("the paper's forward mode", f"{theirs:.4g} s")
    yield Figure("forward mode / loss_and_gradient", f"{theirs / ours:.0f}×", "≥ 100×")
    apart = np.abs(dg_da - paper_dg_da).max() / np.abs(paper_dg_da).max()
    yield Figure("largest difference of the gradients / largest entry", f"{apart:.1e}")


def adjoint(quick: bool) -> Iterator[Figure]:
    """The gradient on a given graph against the solve for the shown labels that it starts with."""
    X, y, shown = data_sets.draw("wine" if quick else "coil", 0)
    problem = Problem.from_labels(X, hidden(y, shown), validation="holdout")
    engine = CPUEngine(Ranking(), LGC(ALPHA))
    train = ~problem.scored
    B = np.zeros((len(X), problem.n_classes))
    B[problem.labelled[train], problem.codes[train]] = engine.propagation.source
    with threadpool_limits(1):
        configuration = Configuration(K, even_weights(X))
        graph, edges = engine.graph(problem, configuration), engine.searched(problem, configuration)
        forward, _ = best_of(20, lambda: engine.propagation.linear_system(graph).solve(B))
        whole, _ = best_of(20, lambda: engine.on_edges(problem, configuration, replace(edges, solutions={})))
    yield Figure("forward solve on a given graph", f"{1e3 * forward:.4g} ms")
    yield Figure("loss and gradient on it / forward solve", f"{whole / forward:.3g}×", "≤ 3×")


def imports(quick: bool) -> Iterator[Figure]:
    if quick:
        return
    peer = import_seconds("import sklearn.semi_supervised")
    yield Figure("import sklearn.semi_supervised", f"{1e3 * peer:.0f} ms")
    for statement in ("import pglearn", "from pglearn import PGLearnClassifier"):
        yield Figure(f"{statement}, in its time", f"{import_seconds(statement) / peer:.2f}×", "≤ 1.5×")


def import_seconds(statement: str) -> float:
    """The shortest of seven."""
    clocked = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    return min(float(subprocess.check_output([sys.executable, "-c", clocked])) for _ in range(7))


SECTIONS = {"speed": speed, "adjoint": adjoint, "imports": imports}

if __name__ == "__main__":
    main()
