"""What one gradient costs: figures for the targets of the gradient, each a ratio measured in one run.

    python bench/gradient.py [speed] [adjoint] [memory] [import] [--data FOLDER] [--quick]

speed    loss_and_gradient on COIL, all 241 derivatives, against the paper's forward mode
         (forward_mode.py); both build the graph, both on one thread. The two gradients are compared too.
adjoint  the whole gradient on a given graph against the forward solve alone.
memory   the most that one loss_and_gradient on 20,000 × 500 adds to the process, over the size of X.
import   ``import pglearn`` and its classifier against ``import sklearn.semi_supervised``.

``--quick`` runs all of it on small made-up problems, to see that it works; the targets are not judged.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from common import (
    DataSet,
    Figure,
    best_of,
    data_folder,
    even_weights,
    few_labels,
    hidden,
    load,
    machine,
    made_up,
    one_thread,
    print_table,
)
from forward_mode import forward_mode_gradient

K, ALPHA = 10, 0.99
SETTING = {"k": K, "loss": "ranking", "validation": "holdout", "alpha": ALPHA}


@dataclass(frozen=True)
class Scale:
    """How large the problems are and how often each is timed."""

    data: DataSet
    labelled: np.ndarray
    memory_shape: tuple[int, int]
    repetitions: int
    import_repetitions: int


def full_scale(folder: Path) -> Scale:
    coil = load("coil", folder)
    if coil is None:
        print(f"There is no coil.npz in {folder} (see --data): a made-up problem of its size instead.")
        coil = made_up(1500, 241, 6)
        labelled = few_labels(coil.y, 0.1)
    else:
        labelled = coil.labelled(percent=10, split=0)
    return Scale(coil, labelled, memory_shape=(20_000, 500), repetitions=7, import_repetitions=7)


def quick_scale() -> Scale:
    data = made_up(300, 20, 3)
    return Scale(data, few_labels(data.y, 0.1), (2_000, 100), repetitions=1, import_repetitions=1)


def speed(scale: Scale) -> Iterator[Figure]:
    """One gradient against the paper's d forward propagations."""
    import pglearn

    X, y, a = scale.data.X, hidden(scale.data.y, scale.labelled), even_weights(scale.data.X)
    train, valid = holdout_rows(X, y)
    with one_thread():
        ours, (g, dg_da) = best_of(1 + scale.repetitions, lambda: pglearn.loss_and_gradient(X, y, a=a, **SETTING))
        theirs, (paper_g, paper_dg_da, _) = best_of(
            min(2, scale.repetitions),
            lambda: forward_mode_gradient(X, scale.data.y, train, valid, a, K, ALPHA, tol=1e-6),
        )
    where = f"{scale.data.name} {scale.data.size}"
    yield Figure(f"loss_and_gradient, {where}", f"{1e3 * ours:.4g} ms")
    yield Figure("the paper's forward mode", f"{theirs:.4g} s")
    yield Figure.at_least("forward mode / loss_and_gradient", theirs / ours, 100)
    yield Figure("relative difference of the losses", f"{abs(g - paper_g) / abs(paper_g):.1e}")
    apart = np.abs(dg_da - paper_dg_da).max() / np.abs(paper_dg_da).max()
    yield Figure("largest difference of the gradients / largest entry", f"{apart:.1e}")


def adjoint(scale: Scale) -> Iterator[Figure]:
    """The gradient on a given graph against the solve for the shown labels that it starts with."""
    from pglearn.engine import Configuration, CPUEngine
    from pglearn.loss import Ranking
    from pglearn.problem import Problem
    from pglearn.propagation import LGC

    X, y, a = scale.data.X, hidden(scale.data.y, scale.labelled), even_weights(scale.data.X)
    problem = Problem.of(X, y, validation="holdout")
    engine = CPUEngine(Ranking(), LGC(ALPHA))
    shown = ~problem.scored
    B = np.zeros((len(X), problem.n_classes))
    B[problem.labelled[shown], problem.codes[shown]] = engine.propagation.source
    with one_thread():
        graph = engine.graph(problem, Configuration(K, a))
        graph.P  # noqa: B018 - made on first use, and part of the graph
        # A new system each time: neither side finds a factor that the other has left.
        forward, solution = best_of(3 * scale.repetitions, lambda: engine.propagation.system(graph).solve(B))
        whole, _ = best_of(3 * scale.repetitions, lambda: engine.on_graph(problem, graph))
    where = f"{scale.data.name} {scale.data.size}"
    yield Figure(f"forward solve, {where}, c = {problem.n_classes}", f"{1e3 * forward:.4g} ms")
    yield Figure("products in it", f"{solution.iterations}")
    yield Figure.at_most("loss and gradient on a given graph / forward solve", whole / forward, 3)


def memory(scale: Scale) -> Iterator[Figure]:
    """The peak of one gradient over the size of X."""
    n, d = scale.memory_shape
    measured = fresh_python(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); "
        f"import gradient; gradient.print_peak({n}, {d})"
    )
    size, before, peak = (json.loads(measured)[key] for key in ("size", "before", "peak"))
    yield Figure(f"X, {n:,}×{d:,} float64", f"{size / 2**20:.4g} MiB")
    yield Figure.at_most("peak of loss_and_gradient / X, X itself not counted", (peak - before) / size, 2.5)


def imports(scale: Scale) -> Iterator[Figure]:
    """Seconds to import, in fresh interpreters, taken in turns."""
    statements = {
        "import sklearn.semi_supervised": float("inf"),
        "import pglearn": float("inf"),
        "from pglearn import PGLearnClassifier": float("inf"),
    }
    for _ in range(scale.import_repetitions):
        for statement, best in statements.items():
            clocked = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
            statements[statement] = min(best, float(fresh_python(clocked)))
    peer, *ours = statements
    yield Figure(peer, f"{1e3 * statements[peer]:.4g} ms")
    for statement in ours:
        yield Figure.at_most(f"{statement} / {peer}", statements[statement] / statements[peer], 1.5)


SECTIONS: dict[str, Callable[[Scale], Iterator[Figure]]] = {
    "speed": speed,
    "adjoint": adjoint,
    "memory": memory,
    "import": imports,
}


def holdout_rows(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows whose labels loss_and_gradient shows, and those it hides and scores."""
    from pglearn.problem import Problem

    problem = Problem.of(X, y, validation="holdout")
    return problem.labelled[~problem.scored], problem.labelled[problem.scored]


def print_peak(n: int, d: int) -> None:
    """Run in a process of its own: what one loss_and_gradient adds at most, as JSON."""
    import pglearn

    small = made_up(200, 10, 3)  # what is imported or compiled on first use is not the call's memory
    pglearn.loss_and_gradient(small.X, hidden(small.y, few_labels(small.y, 0.1)), a=even_weights(small.X), **SETTING)
    data = made_up(n, d, 10)
    y, a = hidden(data.y, few_labels(data.y, 0.1)), even_weights(data.X)
    # The kernel's high-water mark, reset here: ru_maxrss cannot be reset, and starts from the parent's peak.
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    pglearn.loss_and_gradient(data.X, y, a=a, **SETTING)
    print(json.dumps({"size": data.X.nbytes, "before": before, "peak": _resident("VmHWM")}))


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{field}:"))
    return 1024 * int(line.split()[1])


def fresh_python(code: str) -> str:
    """What the code prints last, run in a new interpreter."""
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"of {', '.join(SECTIONS)}; default all")
    parser.add_argument("--data", metavar="FOLDER", help="holds coil.npz; default PGLEARN_DATA or shared/data")
    parser.add_argument("--quick", action="store_true", help="small made-up problems, once each")
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    scale = quick_scale() if options.quick else full_scale(data_folder(options.data))
    figures = [figure for name in options.sections or SECTIONS for figure in SECTIONS[name](scale)]
    if options.quick:
        figures = [replace(figure, met=None) for figure in figures]
    print(machine())
    print_table(figures)


if __name__ == "__main__":
    main()
