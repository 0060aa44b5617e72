"""What a large table costs: against peers, per step, as it grows, and for a whole fit.

    python bench/scaling.py [--only lgc step growth million] [--quick] [--no-install]

Sections, each with its targets beside the figures:

    lgc      label spreading on a plain graph (k = 10, 10 classes), building it included, warm, against scikit-learn's
             LabelSpreading(kernel="knn", alpha=.99) to the same residual, and graphlearning
    step     one gradient step, the graph brought up to date, warm, against one exact search by scikit-learn
    growth   slopes of the time of a step in rows and in features, and its memory
    million  a default fit of 1,000,000 × 64 with 1,000 labels against the plain graph

Everything is measured in processes of its own, with a limit of memory and time; one that dies is shown as such.
Memory is what a process grows by at most while it is measured, of which `lgc` shows the sum with X; of `growth`, all
that it has. Points are clouds of ten dimensions in as many features as it says, and for `million` curved sheets with
irrelevant features; float64 for `lgc`, float32 otherwise. Steps have 100 labels, 10 per class, all hidden in turn.
``--quick`` takes small problems.

Where graphlearning is missing it is installed, into an environment of its own that looks into this one as well
(.venv-peers in the repository's folder); not with ``--no-install`` or ``--quick``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from common import Figure, curved_sheets, embedded_clouds, few_labels, hidden, machine, print_table

STEPS = 3  # of which the fastest counts: others may be at work on the machine
K, CLASSES, RESIDUAL = 10, 10, 1e-6
GIB = 2**30


@dataclass(frozen=True)
class Sizes:
    """Of the problems; the quick ones only show that it runs."""

    lgc: tuple[tuple[int, int, float], ...] = ((20_000, 50, 2.0), (100_000, 50, 5.0))
    """Rows, features and how many times faster."""
    step: tuple[int, int] = (100_000, 100)
    rows: tuple[int, ...] = (10_000, 31_623, 100_000, 316_228, 1_000_000)
    features: tuple[int, ...] = (32, 128, 512, 2048)
    rows_of_features: int = 20_000
    million: int = 1_000_000
    labels: int = 1_000
    options: str = "{}"
    """Of the fit: none, but for the quick form."""
    install: bool = True
    """Whether peers that are missing are installed."""


QUICK = Sizes(
    lgc=((2_000, 10, 2.0),),
    step=(2_000, 10),
    rows=(1_000, 2_000),
    features=(8, 16),
    rows_of_features=1_000,
    million=2_000,
    labels=40,
    options='{"budget": 2, "n_candidates": 4}',
    install=False,
)


# What runs in a process of its own


class Clock:
    """Seconds, and the memory that the process grew by at most."""

    def __enter__(self) -> Clock:
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts here
        self._resident = _kilobytes("VmRSS")
        self._begun = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._begun
        self.grown = (_kilobytes("VmHWM") - self._resident) * 1024
        self.all = _kilobytes("VmHWM") * 1024


def _kilobytes(field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found.group(1))


def _clouds(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    data = embedded_clouds(n, d, CLASSES)
    return data.X.astype(np.float64), hidden(data.y, few_labels(data.y, 0.01))


def ours_lgc(n: int, d: int, exact: bool = False) -> dict[str, float]:
    from pglearn.graph import Edges, k_nearest
    from pglearn.graph.approximate import k_near, sampled_recall
    from pglearn.graph.weights import graph_of_exponents
    from pglearn.propagation import LGC

    def spread(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        neighbours = (k_nearest if exact else k_near)(X, K)
        edges = Edges.between_neighbours(neighbours)
        Y = (y[:, None] == np.arange(CLASSES)).astype(float)
        solution = LGC(0.99, tolerance=RESIDUAL).system(graph_of_exponents(edges, np.zeros(len(edges)))).solve(0.01 * Y)
        return solution.F, neighbours, solution.residual

    X, y = _clouds(n, d)
    spread(*_clouds(5_000, d))
    with Clock() as clock:
        _, neighbours, residual = spread(X, y)
    recall = 1.0 if exact else sampled_recall(X, neighbours)
    return {"seconds": clock.seconds, "grown": clock.grown / X.nbytes, "residual": residual, "recall": recall}


def same_labels(n: int, d: int) -> dict[str, float]:
    """Ours and scikit-learn's labels on one exact graph, and the iterations that the latter needs."""
    from sklearn.semi_supervised import LabelSpreading

    from pglearn.graph import Edges, k_nearest
    from pglearn.graph.weights import graph_of_exponents
    from pglearn.propagation import LGC

    X, y = _clouds(n, d)
    edges = Edges.between_neighbours(k_nearest(X, K))
    graph = graph_of_exponents(edges, np.zeros(len(edges)))
    Y = 0.01 * (y[:, None] == np.arange(CLASSES))
    iterations = LGC(0.99, "power", RESIDUAL).system(graph).solve(Y).iterations
    F = LGC(0.99, tolerance=RESIDUAL).system(graph).solve(Y).F
    warnings.simplefilter("ignore")  # that it did not converge to a tolerance of 0
    peer = LabelSpreading(kernel=lambda *_: graph.W, alpha=0.99, max_iter=iterations, tol=0).fit(X, y)
    answered, by_peer = F.sum(axis=1) > 0, peer.label_distributions_.sum(axis=1) > 0
    # A row that no label reaches has no answer, whatever its first class is called: there both must have none.
    same = np.where(answered & by_peer, F.argmax(axis=1) == peer.transduction_, answered == by_peer)
    return {"iterations": iterations, "same": float(same.mean()), "unreached": float((~answered).sum())}


def label_spreading(n: int, d: int, iterations: int) -> dict[str, float]:
    from sklearn.semi_supervised import LabelSpreading

    X, y = _clouds(n, d)
    warnings.simplefilter("ignore")
    with Clock() as clock:
        LabelSpreading(kernel="knn", n_neighbors=K, alpha=0.99, max_iter=iterations, tol=0).fit(X, y)
    return {"seconds": clock.seconds, "grown": clock.grown / X.nbytes}


def graph_learning(n: int, d: int) -> dict[str, float]:
    import graphlearning

    X, y = _clouds(n, d)
    rows = np.flatnonzero(y >= 0)
    with Clock() as clock:
        found = graphlearning.weightmatrix.knnsearch(X, K, method="kdtree")  # annoy needs a compiler
        W = graphlearning.weightmatrix.knn(X, K, kernel="uniform", knn_data=found)
        graphlearning.ssl.laplace(W).fit_predict(rows, y[rows])
    return {"seconds": clock.seconds, "grown": clock.grown / X.nbytes}


def exact_search(n: int, d: int) -> dict[str, float]:
    from sklearn.neighbors import NearestNeighbors

    X = embedded_clouds(n, d, CLASSES).X
    with Clock() as clock:
        NearestNeighbors(n_neighbors=K, algorithm="brute").fit(X).kneighbors()
    return {"seconds": clock.seconds}


def step(n: int, d: int, labels: int = 100) -> dict[str, float]:
    """A step after another, from weights 5 % off: near points are known, and ranked anew. The fastest of three."""
    from pglearn.engine import Configuration, CPUEngine
    from pglearn.estimators.pglearn import SEARCH_PRECISION, SEARCH_TOLERANCE
    from pglearn.graph import mean_distance
    from pglearn.loss import Log
    from pglearn.problem import Problem
    from pglearn.propagation import LGC

    engine = CPUEngine(Log(), LGC(tolerance=SEARCH_TOLERANCE, precision=SEARCH_PRECISION), "approximate")
    for rows in (5_000, n):
        data = embedded_clouds(rows, d, CLASSES)
        problem = Problem.of(data.X, hidden(data.y, few_labels(data.y, labels / rows)))
        a = np.full(d, mean_distance(data.X) ** -2)
        (first,) = engine.value_and_gradient(problem, [Configuration(K, a)])
        moved = a * np.random.default_rng(0).uniform(0.95, 1.05, d)
        clocks = [Clock() for _ in range(STEPS)]
        for clock in clocks:
            with clock:
                (second,) = engine.value_and_gradient(problem, [Configuration(K, moved, anchor=first.anchor)])
    assert second.anchor is first.anchor, "a new search is no warm step"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": min(clock.seconds for clock in clocks), "recall": second.recall, "peak": peak}


def fit(n: int, labels: int, options: dict[str, Any]) -> dict[str, float]:
    from pglearn import PGLearnClassifier

    data = curved_sheets(n, 64, CLASSES)
    labelled = few_labels(data.y, labels / n)
    begun = time.perf_counter()
    model = PGLearnClassifier(random_state=0, verbose=1, **options).fit(data.X, hidden(data.y, labelled))
    seconds = time.perf_counter() - begun
    right = model.transduction_ == data.y
    recall = float(model.search_results_["recall"][model.search_results_["selected"]].min())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "accuracy": float(right[~labelled].mean()), "recall": recall, "peak": peak}


def plain_graph(n: int, labels: int) -> dict[str, float]:
    """Labels spread over the graph of the points as they are, found as well as one effort does."""
    from pglearn.engine import CPUEngine
    from pglearn.graph import mean_distance, weighted_graph
    from pglearn.graph.approximate import k_near, sampled_recall
    from pglearn.problem import Problem

    data = curved_sheets(n, 64, CLASSES)
    labelled = few_labels(data.y, labels / n)
    problem = Problem.of(data.X, hidden(data.y, labelled))
    recall = []

    def nearest(Z: np.ndarray, k: int) -> np.ndarray:
        neighbours = k_near(Z, k, recall=0)
        recall.append(sampled_recall(Z, neighbours))
        return neighbours

    graph = weighted_graph(data.X, np.full(64, mean_distance(data.X) ** -2), K, nearest=nearest)
    F = CPUEngine().propagate(problem, graph).F
    return {"accuracy": float((F.argmax(axis=1) == data.y)[~labelled].mean()), "recall": recall[0]}


TASKS: dict[str, Callable[..., dict[str, float]]] = {
    task.__name__: task
    for task in (ours_lgc, same_labels, label_spreading, graph_learning, exact_search, step, fit, plain_graph)
}
HERE: set[str] = set()  # tasks of the quick form that are not worth a process


# The peers


PEERS = Path(__file__).resolve().parents[1] / ".venv-peers"
PACKAGE = "graphlearning"


@dataclass(frozen=True)
class Peers:
    """A Python that has the peers, or why there is none."""

    python: str = sys.executable
    lacking: str | None = None

    @classmethod
    def found(cls, install: bool) -> Peers:
        """This Python where it has them, else one of their own, made where that is asked for."""
        for python in (sys.executable, str(PEERS / "bin" / "python")):
            if _has_peers(python):
                return cls(python)
        return cls.installed() if install else cls(lacking="not installed")

    @classmethod
    def installed(cls) -> Peers:
        python = str(PEERS / "bin" / "python")
        print(f"{PACKAGE} is being installed into {PEERS.name}", file=sys.stderr, flush=True)
        failure = _failure_of([sys.executable, "-m", "venv", "--clear", "--system-site-packages", str(PEERS)])
        if failure is None:
            _look_into_this_one()
            failure = _failure_of([python, "-m", "pip", "install", PACKAGE])
        if failure is None and not _has_peers(python):
            failure = "it cannot be imported"
        return cls(python) if failure is None else cls(lacking=f"did not install ({failure})")


def _has_peers(python: str) -> bool:
    command = [python, "-c", f"import {PACKAGE}"]
    return Path(python).exists() and subprocess.run(command, capture_output=True, timeout=300).returncode == 0


def _look_into_this_one() -> None:
    """Let the environment see the packages of this Python, which may be an environment itself."""
    (folder,) = PEERS.glob("lib/python*/site-packages")
    (folder / "of_pglearn.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")


def _failure_of(command: list[str], limit: float = 600) -> str | None:
    """What a command that fails says last."""
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"killed after {limit:.0f} s"
    said = [line for line in run.stdout.strip().splitlines() if not line.startswith(("[notice]", "WARNING"))]
    return None if run.returncode == 0 else (said or ["without a word"])[-1][:100]


# The sections


def measured(
    task: str, limit: float = 120, memory: float = 12 * GIB, python: str = sys.executable, **arguments: Any
) -> dict[str, float] | str:
    """What a task says, or how it died."""
    if task in HERE:
        return TASKS[task](**arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        command = [python, __file__, "--task", task, json.dumps(arguments), str(path)]

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))

        try:
            # The progress bar of a fit goes to the terminal; what a task that dies has to say is its last line.
            run = subprocess.run(
                command, preexec_fn=limited, timeout=limit, stderr=None if task == "fit" else subprocess.PIPE
            )
        except subprocess.TimeoutExpired:
            return f"killed after {limit:.0f} s"
        if run.returncode == 0:
            return dict(json.loads(path.read_text()))
        said = (run.stderr or b"").decode().strip().splitlines()
        return f"died ({said[-1][:60] if said else run.returncode})"


def lgc(sizes: Sizes) -> Iterator[Figure]:
    peers = Peers.found(sizes.install)
    for n, d, target in sizes.lgc:
        where = f"{n:,} × {d}"
        ours, agreed = measured("ours_lgc", n=n, d=d), measured("same_labels", n=n, d=d)
        if isinstance(ours, str) or isinstance(agreed, str):
            yield Figure(f"LGC {where}", f"{ours}, {agreed}", met=False)
            continue
        yield Figure(f"LGC {where}, ours", f"{ours['seconds']:.3g} s, recall {ours['recall']:.3f}")
        peer = measured("label_spreading", n=n, d=d, iterations=int(agreed["iterations"]))
        if isinstance(peer, str):
            yield Figure(f"  LabelSpreading, {agreed['iterations']} iterations", peer)
        else:
            yield Figure(f"  LabelSpreading, {agreed['iterations']} iterations", f"{peer['seconds']:.3g} s")
            yield Figure.at_least("  times faster", peer["seconds"] / ours["seconds"], target)
        other = peers.lacking or measured("graph_learning", limit=60, python=peers.python, n=n, d=d)
        yield Figure("  graphlearning (Laplace)", other if isinstance(other, str) else f"{other['seconds']:.3g} s")
        unreached = f", {agreed['unreached']:.0f} rows without any" if agreed["unreached"] else ""
        yield Figure.at_least(f"  same labels on the same exact graph{unreached}", 100 * agreed["same"], 99.9, " %")
        yield Figure("  memory beyond X, in sizes of X", f"{ours['grown']:.4g}×")
        yield Figure.at_most("  memory, X counted", 1 + ours["grown"], 4)


def one_step(sizes: Sizes) -> Iterator[Figure]:
    n, d = sizes.step
    ours, search = measured("step", n=n, d=d), measured("exact_search", n=n, d=d)
    if isinstance(ours, str) or isinstance(search, str):
        yield Figure(f"step {n:,} × {d}", f"{ours}, {search}", met=False)
        return
    yield Figure(f"exact search by scikit-learn, {n:,} × {d}", f"{search['seconds']:.3g} s")
    yield Figure(f"step {n:,} × {d}", f"{ours['seconds']:.3g} s, recall {ours['recall']:.3f}")
    yield Figure.at_most("  as a share of that search", ours["seconds"] / search["seconds"], 1 / 3, "")


def growth(sizes: Sizes) -> Iterator[Figure]:
    by_rows = [(n, measured("step", limit=600, n=n, d=64)) for n in sizes.rows]
    by_features = [(d, measured("step", n=sizes.rows_of_features, d=d)) for d in sizes.features]
    for name, series, target in (("rows", by_rows, 1.15), ("features", by_features, 1.05)):
        for size, found in series:
            died = isinstance(found, str)
            yield Figure(
                f"step, {size:,} {name}",
                found if isinstance(found, str) else f"{found['seconds']:.3g} s, {found['peak'] / GIB:.2f} GiB",
                met=False if died else None,
            )
        there = [(size, found["seconds"]) for size, found in series if not isinstance(found, str)]
        if len(there) > 1:
            slope = np.polyfit(*np.log(np.array(there)).T, 1)[0]
            yield Figure.at_most(f"  slope in {name}", float(slope), target, "")
    last = by_rows[-1][1]
    if not isinstance(last, str):
        yield Figure.at_most(f"  memory at {by_rows[-1][0]:,} × 64", last["peak"] / 1e9, 3, " GB")


def million(sizes: Sizes) -> Iterator[Figure]:
    n, labels = sizes.million, sizes.labels
    options = json.loads(sizes.options)
    found = measured("fit", limit=3000, memory=20 * GIB, n=n, labels=labels, options=options)
    plain = measured("plain_graph", limit=2400, n=n, labels=labels)
    if isinstance(found, str) or isinstance(plain, str):
        yield Figure(f"fit {n:,} × 64", f"{found}, {plain}", met=False)
        return
    yield Figure.at_most(f"fit {n:,} × 64, {labels} labels", found["seconds"] / 60, 40, " min")
    yield Figure("  memory, recall", f"{found['peak'] / GIB:.3g} GiB, {found['recall']:.3f}")
    yield Figure("  recall of the plain graph", f"{plain['recall']:.3f}")
    name, other = f"  accuracy, the plain graph having {plain['accuracy']:.4f}", round(plain["accuracy"], 4)
    yield Figure.at_least(name, found["accuracy"], other, "")


SECTIONS = {"lgc": lgc, "step": one_step, "growth": growth, "million": million}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--data", help="not used: the points are made up")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-install", action="store_true", help="leave out peers that are missing")
    parser.add_argument("--task", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        name, arguments, path = options.task
        Path(path).write_text(json.dumps(TASKS[name](**json.loads(arguments))))
        return
    print(machine(), f"load {os.getloadavg()[0]:.1f}", flush=True)
    sizes = QUICK if options.quick else Sizes(install=not options.no_install)
    HERE.update(set(TASKS) - {"label_spreading", "graph_learning"} if options.quick else ())
    figures = []
    for figure in (figure for name in options.only for figure in SECTIONS[name](sizes)):
        figures.append(figure)
        print(f"{figure.name}: {figure.measured}", file=sys.stderr, flush=True)  # it takes a while to the table
    print_table(figures)


if __name__ == "__main__":
    main()
