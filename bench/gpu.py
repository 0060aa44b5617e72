"""The torch engine: milliseconds per step of a whole population, whole searches, a million points.

    python bench/gpu.py                        # everything, on the CUDA device torch sees
    python bench/gpu.py steps stages           # only these sections
    python bench/gpu.py --quick                # small made-up problems, on the CPU if need be

Sections: steps (32 candidates, a step of the search), stages (where a step goes), fits (fifty default fits with 32
candidates), million (1,000,000 × 128, 30 steps), cpu and cpu_million (these on the CPU engine, on all cores of the
machine).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np
import torch

from common import DATA_SETS, DataSet, Figure, data_folder, few_labels, hidden, load, machine, made_up, print_table
from pglearn import PGLearnClassifier
from pglearn.engine import Configuration, CPUEngine
from pglearn.engine.torch import TorchEngine, cholesky, dense
from pglearn.engine.torch.placed import Placed
from pglearn.graph import mean_distance
from pglearn.graph.neighbours import k_nearest, scaled_points
from pglearn.graph.weights import graph_on_edges
from pglearn.loss import Log, Yardstick
from pglearn.problem import Problem
from pglearn.propagation import LGC
from pglearn.search.candidate import Candidate, Draws, Space
from pglearn.search.gradient import Descent, Stint, advance

CANDIDATES = 32
STEP_TARGETS = {"coil": 10.0, "mnist": 6.0, "yale": 2.5}
MILLION_STEPS, REFRESH = 30, 5
SECTIONS = ("steps", "stages", "fits", "million", "cpu", "cpu_million")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all by default")
    parser.add_argument("--data", help="folder of the .npz files (default: PGLEARN_DATA or ../shared/data)")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--basis", default="both", help="of the fits: both, raw or pca")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    engine = TorchEngine(Log(), search_lgc())
    print(f"{engine.name}, torch {torch.__version__}, {os.cpu_count()} cores; {machine()}")
    if options.quick:
        sets = [made_up(200, 10, 3)]
    else:
        sets = [load(name, data_folder(options.data)) for name in DATA_SETS]
        if None in sets:
            parser.error("the published data sets are not in that folder; --quick needs none")
    figures: list[Figure] = []
    for section in options.sections or SECTIONS:
        figures += globals()[section](engine, sets, options)
        print(f"{section} done", flush=True)
    print_table(figures)


def steps(engine: TorchEngine, sets: list[DataSet], options: argparse.Namespace) -> list[Figure]:
    """A step of the search with 32 candidates: weights, graphs, labels, losses and gradients, results on the host."""
    figures = []
    for data in sets:
        problem, population = first_split(data)
        seconds = device_step(engine, problem, population, 2 if options.quick else 15)
        name = f"{data.name} {data.size}, step of {len(population)} candidates"
        target = STEP_TARGETS.get(data.name)
        ms = 1e3 * seconds
        figures.append(Figure(name, f"{ms:.2f} ms") if target is None else Figure.at_most(name, ms, target, " ms"))
    return figures


def device_step(engine: TorchEngine, problem: Problem, population: list[Candidate], repetitions: int) -> float:
    yardstick = Yardstick.of(engine.loss, problem.scored_codes, problem.n_classes)
    descent = Descent(yardstick, enough=-1)  # none converges, so every repetition moves all of them
    advance(engine, problem, population, descent, Stint(steps=0))
    return best_seconds(lambda: advance(engine, problem, population, descent, Stint(steps=1)), repetitions)


def stages(engine: TorchEngine, sets: list[DataSet], options: argparse.Namespace) -> list[Figure]:
    """Where a step goes, stage by stage, beside the arithmetic each needs."""
    return [figure for data in sets for figure in stages_of(data, engine, 2 if options.quick else 10)]


def stages_of(data: DataSet, engine: TorchEngine, repetitions: int) -> list[Figure]:
    problem, population = first_split(data)
    placed = Placed.on(engine.where, problem, torch.float32)
    operations = dense._operations(placed.X)
    a = torch.as_tensor(np.stack([c.a for c in population])).to(placed.X)
    on_host = torch.as_tensor([c.k for c in population])
    k, slots, mu = on_host.to(placed.X.device), dense.slots_for(on_host), engine.propagation.coupling
    (n, d), T, labels = placed.X.shape, len(population), placed.n_labels
    G, h = operations.gram(placed.X * a.sqrt()[:, None, :])
    cut = operations.cut(G, h, k, slots)
    log_d = operations.log_degrees(G, h, cut)
    M = operations.systems(G, h, cut, log_d, mu)
    E = placed.one_per_label
    Z = cholesky.solved(M.clone(), E.expand(T, -1, -1).clone())
    figures = []
    for name, call, flop in (
        ("Gram matrices", lambda: operations.gram(placed.X * a.sqrt()[:, None, :]), 2 * n * n * d),
        ("neighbours", lambda: operations.cut(G, h, k, slots), 0),
        ("degrees and systems", lambda: operations.systems(G, h, cut, operations.log_degrees(G, h, cut), mu), 0),
        (
            "factor and solve",
            lambda: cholesky.solved(M.clone(), E.expand(T, -1, -1).clone()),
            n**3 // 3 + 2 * n * n * labels,
        ),
        ("scores and loss", lambda: dense._scored(placed, Z[:, placed.labelled], Log(), 0.01), 0),
        ("gradient", lambda: operations.gradient(placed.X, E, Z, mu * Z, G, h, k, cut, log_d, mu), 0),
    ):
        ms = 1e3 * best_seconds(call, repetitions)
        rate = f", {T * flop / ms / 1e9:.1f} TFLOP/s" if flop else ""
        figures.append(Figure(f"{data.name}: {name}", f"{ms:.2f} ms{rate}"))
    return figures


def fits(engine: TorchEngine, sets: list[DataSet], options: argparse.Namespace) -> list[Figure]:
    """Default fits with 32 candidates, every split, in the basis asked for."""
    figures, total = [], 0.0
    splits = 1 if options.quick else options.splits
    budget = {"budget": 2} if options.quick else {}
    for data in sets:
        accuracies, seconds = [], []
        for split in range(splits):
            shown = data.labelled(10, split) if data.splits else few_labels(data.y, 0.1, split)
            model = PGLearnClassifier(
                n_candidates=CANDIDATES, basis=options.basis, random_state=split, engine="torch", **budget
            )
            started = time.perf_counter()
            model.fit(data.X, hidden(data.y, shown))
            seconds.append(time.perf_counter() - started)
            accuracies.append((model.transduction_ == data.y)[~shown].mean())
        total += sum(seconds)
        figures.append(Figure(f"{data.name}, accuracy of {splits} fits", f"{np.mean(accuracies):.4f}"))
        figures.append(Figure(f"{data.name}, seconds per fit", f"{np.mean(seconds):.2f} s (first {seconds[0]:.2f} s)"))
    name = f"all {splits * len(sets)} fits"
    full = splits * len(sets) == 50
    return [*figures, Figure.at_most(name, total, 120, " s") if full else Figure(name, f"{total:.1f} s")]


def million(engine: TorchEngine, sets: list[DataSet], options: argparse.Namespace) -> list[Figure]:
    """One candidate, five folds of 1,000 labels, neighbours searched anew at every fifth step, 12 GiB to work in."""
    problem, a = million_points(options)
    n_steps = 3 if options.quick else MILLION_STEPS
    refreshing = TorchEngine(Log(), search_lgc(), memory=12 << 30, refresh=REFRESH)
    if engine.where.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    losses = []
    for step in range(n_steps):
        (evaluation,) = refreshing.value_and_gradient(problem, [Configuration(10, a, owner=0)])
        a = np.maximum(a - 0.1 * a.mean() * evaluation.dg_da / np.sqrt(np.mean(evaluation.dg_da**2)), 0)
        losses.append(evaluation.loss)
        if step == 0:
            first = time.perf_counter() - started
    seconds = time.perf_counter() - started
    n, d = problem.X.shape
    name = f"{n:,}×{d}, {n_steps} steps, neighbours at every fifth"
    full = not options.quick
    figures = [Figure.at_most(name, seconds, 120, " s") if full else Figure(name, f"{seconds:.1f} s")]
    figures.append(Figure("its first step, neighbours included", f"{first:.1f} s"))
    figures.append(Figure("its loss, first and last", f"{losses[0]:.1f}, {losses[-1]:.1f}"))
    if engine.where.type == "cuda":
        gigabytes = torch.cuda.max_memory_reserved() / 1e9
        figures.append(Figure.at_most("its memory on the device", gigabytes, 40, " GB"))
    return figures


def cpu(engine: TorchEngine, sets: list[DataSet], options: argparse.Namespace) -> list[Figure]:
    """Steps and fits of the first split on the CPU engine, on all cores of this machine."""
    return [*cpu_steps(engine, sets, options), *cpu_fits(sets, options)]


def cpu_steps(engine: TorchEngine, sets: list[DataSet], options: argparse.Namespace) -> list[Figure]:
    """The same population, candidates spread over the cores."""
    from joblib import Parallel, delayed

    figures = []
    for data in sets:
        problem, population = first_split(data)
        reference = CPUEngine(Log(), search_lgc())
        with Parallel(-1) as parallel:

            def step(parallel=parallel, reference=reference, problem=problem, population=population):
                return parallel(delayed(one_thread_step)(reference, problem, c.here) for c in population)

            step()
            on_cpu = best_seconds(step, 1 if options.quick else 3)
        on_device = device_step(engine, problem, population, 5)
        figures.append(
            Figure(
                f"{data.name}, step on the CPU engine, all cores", f"{1e3 * on_cpu:.0f} ms, {on_cpu / on_device:.0f}×"
            )
        )
    return figures


def cpu_fits(sets: list[DataSet], options: argparse.Namespace) -> list[Figure]:
    """One default fit with 32 candidates of each data set, on both engines."""
    budget = {"budget": 2} if options.quick else {}
    figures, totals = [], {"torch": 0.0, "cpu": 0.0}
    for data in sets:
        shown = data.labelled(10, 0) if data.splits else few_labels(data.y, 0.1)
        seconds = {}
        for name, jobs in (("torch", {}), ("cpu", {"n_jobs": -1})):
            model = PGLearnClassifier(
                n_candidates=CANDIDATES, basis=options.basis, random_state=0, engine=name, **jobs, **budget
            )
            started = time.perf_counter()
            model.fit(data.X, hidden(data.y, shown))
            seconds[name] = time.perf_counter() - started
            totals[name] += seconds[name]
        figures.append(
            _beside(f"{data.name}, fit of the first split on the CPU engine", seconds["cpu"], seconds["torch"])
        )
    return [*figures, _beside(f"these {len(sets)} fits on the CPU engine", totals["cpu"], totals["torch"])]


def cpu_million(engine: TorchEngine, sets: list[DataSet], options: argparse.Namespace) -> list[Figure]:
    """The million points: a fiftieth of one neighbour search and one whole step, from which the run is reckoned."""
    problem, a = million_points(options)
    n, n_steps = len(problem.X), 3 if options.quick else MILLION_STEPS
    Z = scaled_points(problem.X, a, problem.centre)
    sample = np.random.default_rng(0).choice(n, n // 50, replace=False)
    started = time.perf_counter()
    k_nearest(Z, 10, queries=Z[sample])
    search = 50 * (time.perf_counter() - started)
    graph = TorchEngine(Log(), search_lgc(), memory=12 << 30).graph(problem, Configuration(10, a))
    reference = CPUEngine(Log(), search_lgc())
    started = time.perf_counter()
    reference.on_graph(problem, graph_on_edges(Z, graph.edges))
    step = time.perf_counter() - started
    on_cpu = -(-n_steps // REFRESH) * search + n_steps * step
    refreshing = TorchEngine(Log(), search_lgc(), memory=12 << 30, refresh=REFRESH)
    started = time.perf_counter()
    for _ in range(REFRESH):
        refreshing.value_and_gradient(problem, [Configuration(10, a, owner=0)])
    on_device = (time.perf_counter() - started) * n_steps / REFRESH
    return [
        Figure(f"{n:,} points, one neighbour search on the CPU, 50 × a fiftieth", f"{search:.0f} s"),
        Figure("a step on known edges there", f"{step:.1f} s"),
        _beside(f"so {n_steps} steps, neighbours at every fifth", on_cpu, on_device),
    ]


def _beside(name: str, on_cpu: float, on_device: float) -> Figure:
    return Figure(name, f"{on_cpu:.0f} s, {on_cpu / on_device:.0f}×")


def million_points(options: argparse.Namespace) -> tuple[Problem, np.ndarray]:
    """Ten overlapping clouds, 1,000 labels in five folds, and even weights to start from."""
    n, d = (5_000, 8) if options.quick else (1_000_000, 128)
    data = made_up(n, d, 10, separation=0.3)
    shown = few_labels(data.y, 1_000 / n)
    problem = Problem.of(data.X.astype(np.float32), hidden(data.y, shown), validation="kfold")
    return problem, np.full(d, mean_distance(problem.X) ** -2)


def one_thread_step(reference: CPUEngine, problem: Problem, configuration: Configuration) -> float:
    from pglearn.search.limits import one_thread

    with one_thread():
        return reference.value_and_gradient(problem, [configuration])[0].loss


def search_lgc() -> LGC:
    return LGC(tolerance=1e-8, precision=1e-2)


def first_split(data: DataSet) -> tuple[Problem, list[Candidate]]:
    shown = data.labelled(10, 0) if data.splits else few_labels(data.y, 0.1)
    problem = Problem.of(data.X, hidden(data.y, shown), validation="loo")
    draws = Draws((Space(data.X.shape[1], mean_distance(data.X)),), (5, 20), (0.1, 10.0), seed=0)
    return problem, [draws.candidate(id) for id in range(CANDIDATES)]


def best_seconds(call: Callable[[], object], repetitions: int) -> float:
    """Shortest wall-clock time, the device waited for."""
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    call()
    best = float("inf")
    for _ in range(repetitions):
        wait()
        started = time.perf_counter()
        call()
        wait()
        best = min(best, time.perf_counter() - started)
    return best


if __name__ == "__main__":
    main()
