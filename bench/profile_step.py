"""Where one gradient step of the CPU engine goes.

    python bench/profile_step.py [--rows N ...] [--features D] [--labels L] [--both-ways] [--quick]

Every stage of `CPUEngine.value_and_gradient` is called by itself, in its order, on made-up clouds: k = 10, 10 classes,
leave-one-out, one thread. Seconds are those of the processor, so that others on the machine do not count. The solves
are to the tolerance that the search asks for. ``--both-ways`` times whole steps with compiled loops and without them
instead, which is what `pglearn.compiled.FROM_ROWS` goes by. ``--quick`` takes a small problem.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from common import best_of, even_weights, hidden, machine, made_up, one_thread, print_columns
from pglearn import compiled
from pglearn.engine import Configuration, CPUEngine, adjoint
from pglearn.engine.scores import validation_scores
from pglearn.estimators.pglearn import SEARCH_PRECISION, SEARCH_TOLERANCE
from pglearn.graph import Edges, k_nearest
from pglearn.graph.neighbours import scaled_points
from pglearn.graph.weights import graph_of_exponents, squared_distances
from pglearn.loss import Log, row_normalised
from pglearn.problem import Problem
from pglearn.propagation import LGC
from pglearn.threads import at_most

K, CLASSES = 10, 10


def stages(problem: Problem, a: np.ndarray, k: int) -> Iterator[tuple[str, float]]:
    """Seconds of each stage of a step."""
    lgc = LGC(tolerance=SEARCH_TOLERANCE, precision=SEARCH_PRECISION)
    seconds: list[tuple[str, float]] = []

    def timed(name: str, call: Callable[[], Any]) -> Any:
        started = time.process_time()
        result = call()
        seconds.append((name, time.process_time() - started))
        return result

    Z = timed("scaled points", lambda: scaled_points(problem.X, a, problem.centre))
    neighbours = timed("neighbours, exact", lambda: k_nearest(Z, k))
    edges = timed("edges", lambda: Edges.between_neighbours(neighbours))
    d2 = timed("edge distances", lambda: squared_distances(Z, Z, edges.i, edges.j))
    graph = timed("degrees", lambda: graph_of_exponents(edges, d2))
    timed("P", lambda: graph.P)
    system = lgc.system(graph)
    scores = timed("forward solves", lambda: validation_scores(problem, lgc, system))
    S, _, pullback = row_normalised(scores.S, scores.least)
    _, dg_dS = Log()(S, problem.scored_codes)
    Λ, F = timed("adjoint factors", lambda: scores.factors(pullback(dg_dS)))
    products = timed("edge products", lambda: adjoint.edge_products(graph, Λ, F))
    timed("contraction with X", lambda: adjoint.contracted(problem, graph, products))
    yield from seconds


def profiled(n: int, d: int, labels: int) -> Iterator[tuple[str, str, str]]:
    data = made_up(n, d, CLASSES)
    labelled = np.zeros(n, dtype=bool)
    labelled[np.random.default_rng(0).choice(n, labels, replace=False)] = True
    problem, a = Problem.of(data.X, hidden(data.y, labelled)), even_weights(data.X)
    small = made_up(400, d, CLASSES)
    with one_thread():
        list(stages(Problem.of(small.X, hidden(small.y, np.arange(400) < 50)), a, K))  # imports and compilation
        measured = list(stages(problem, a, K))
    total = sum(seconds for _, seconds in measured)
    yield f"one step, {n:,} × {d}, {labels} labels", f"{total:.4g}", ""
    for name, seconds in measured:
        yield f"  {name}", f"{seconds:.4g}", f"{seconds / total:.1%}"


def both_ways(n: int, d: int, labels: int) -> Iterator[tuple[str, str, str]]:
    """Whole steps, NumPy's and compiled, the shortest of three."""
    data = made_up(n, d, CLASSES)
    problem = Problem.of(data.X, hidden(data.y, np.arange(n) < labels))
    engine = CPUEngine(Log(), LGC(tolerance=SEARCH_TOLERANCE, precision=SEARCH_PRECISION))
    here = [Configuration(K, even_weights(data.X))]
    usual, seconds = compiled.FROM_ROWS, []
    with one_thread(), at_most(1):
        for limit in (n + 1, 0):
            compiled.FROM_ROWS = limit
            engine.value_and_gradient(problem, here)  # imports and compilation
            seconds.append(best_of(3, lambda: engine.value_and_gradient(problem, here))[0])
    compiled.FROM_ROWS = usual
    yield f"one step, {n:,} × {d}, {labels} labels", f"{seconds[0]:.4g}", f"{seconds[1]:.4g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--data", help="not used: the points are made up")
    parser.add_argument("--both-ways", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    rows, labels = ([2_000], 40) if options.quick else (options.rows, options.labels)
    print(machine())
    if options.both_ways:
        table = [row for n in rows for row in both_ways(n, options.features, labels)]
        print_columns([("", "NumPy, seconds", "compiled, seconds"), *table])
        return
    rows_of_table = [row for n in rows for row in profiled(n, options.features, labels)]
    print_columns([("stage", "seconds", "share"), *rows_of_table])


if __name__ == "__main__":
    main()
