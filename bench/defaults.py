"""How Algorithm 1's two numbers were chosen: the step `rate` and when a loss is `enough`.

Every start of every split is followed for the whole budget, with its validation loss and, kept apart, its test
accuracy. The default schedule is then played on the recorded losses for each value of `enough`, which needs no further
fits. Test accuracy never enters a search. The last rows say what each data set would get from the setting that is
best on the *other* data sets.

    python bench/defaults.py --rates 0.25 0.5 0.7          # hours on two cores
    python bench/defaults.py --sets umist yale --splits 3  # minutes
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from common import DATA_SETS, DataSet, Figure, data_folder, few_labels, hidden, load, machine, made_up, print_table
from pglearn.engine import CPUEngine
from pglearn.graph import mean_distance
from pglearn.loss import Log, Yardstick
from pglearn.problem import Problem
from pglearn.propagation import LGC
from pglearn.search import Descent, Schedule
from pglearn.search.candidate import Draws, Space
from pglearn.search.limits import one_thread

ENOUGH = (0.2, 0.1, 0.07, 0.05, 0.035, 0.02, 0.01, 0.0)
SCHEDULE = Schedule(budget=16, rate=2, population=8)
UNIT_STEPS = 2


@dataclass(frozen=True)
class Paths:
    """Share of chance and test accuracy of every start (columns) after every step (rows)."""

    remaining: np.ndarray
    accuracy: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of the .npz files (default: PGLEARN_DATA or ../shared/data)")
    parser.add_argument("--sets", nargs="+", choices=DATA_SETS, default=DATA_SETS)
    parser.add_argument("--rates", nargs="+", type=float, default=[0.5])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--quick", action="store_true", help="one rate on two small made-up problems")
    options = parser.parse_args()
    print(machine())

    if options.quick:
        sets, options.splits = [made_up(120, 6, 3, seed) for seed in (0, 1)], 1
    else:
        sets = [load(name, data_folder(options.data)) for name in options.sets]
        if None in sets:
            parser.error("the published data sets are not in that folder; --quick needs none")
    table = {}
    for rate in options.rates:
        runs = [
            Parallel(options.jobs)(delayed(paths)(data, split, rate) for split in range(options.splits))
            for data in sets
        ]
        for enough in ENOUGH:
            table[rate, enough] = [np.mean([played(path, enough) for path in of_set]) for of_set in runs]
    figures = []
    for (rate, enough), accuracies in table.items():
        row = "  ".join(f"{accuracy:.4f}" for accuracy in accuracies)
        figures.append(Figure(f"rate {rate:g}, enough {enough:g}", f"{row}  mean {np.mean(accuracies):.4f}"))
    for at, data in enumerate(sets):
        others = {setting: np.mean(np.delete(accuracies, at)) for setting, accuracies in table.items()}
        best = max(others, key=others.__getitem__)
        figures.append(Figure(f"{data.name}, with the others' best (rate, enough) = {best}", f"{table[best][at]:.4f}"))
    print("columns:", "  ".join(data.name for data in sets))
    print_table(figures)


def paths(data: DataSet, split: int, rate: float) -> Paths:
    """Follow every start that the default search could draw on this split."""
    shown = data.labelled(10, split) if data.splits else few_labels(data.y, 0.1, split)
    problem = Problem.of(data.X, hidden(data.y, shown), validation="loo")
    draws = Draws((Space(data.X.shape[1], mean_distance(data.X)),), (5, 20), (0.1, 10.0), seed=split)
    engine = CPUEngine(Log(), LGC(tolerance=1e-6))
    descent = Descent(Yardstick.of(Log(), problem.scored_codes, problem.n_classes), rate)
    steps = SCHEDULE.budget * UNIT_STEPS
    remaining = np.empty((steps + 1, SCHEDULE.configurations))
    accuracy = np.empty_like(remaining)
    with one_thread():
        for start in range(SCHEDULE.configurations):
            candidate = draws.candidate(start)
            for step in range(steps + 1):
                graph = engine.graph(problem, candidate.here)
                evaluation = engine.on_graph(problem, graph)
                remaining[step, start] = descent.yardstick.share_of_chance(evaluation.loss)
                labels = engine.propagate(problem, graph).F.argmax(axis=1)
                accuracy[step, start] = (labels == data.y)[~shown].mean()
                candidate.a = descent.step(candidate.a, evaluation.dg_da)
    return Paths(remaining, accuracy)


def played(paths: Paths, enough: float) -> float:
    """Test accuracy of the candidate that the default schedule would answer with."""
    starts = np.arange(SCHEDULE.configurations)
    good = paths.remaining <= enough
    last = np.where(good.any(axis=0), good.argmax(axis=0), len(paths.remaining) - 1)

    def best_step(start: int, steps: float) -> int:
        end = min(int(steps), last[start])
        return int(paths.remaining[: end + 1, start].argmin())

    born = dict.fromkeys(starts[: SCHEDULE.population].tolist(), 0.0)
    for milestone in SCHEDULE.milestones:
        at = {start: best_step(start, (milestone - birth) * UNIT_STEPS) for start, birth in born.items()}
        order = sorted(born, key=lambda start: (paths.remaining[at[start], start], start))
        if milestone < SCHEDULE.budget:
            new = range(max(born) + 1, max(born) + 1 + SCHEDULE.population - SCHEDULE.survivors)
            born = {start: born[start] for start in order[: SCHEDULE.survivors]} | dict.fromkeys(new, milestone)
    return float(paths.accuracy[at[order[0]], order[0]])


if __name__ == "__main__":
    main()
