"""Does more budget hurt? Test accuracy and leave-one-out accuracy as the search runs longer.

    python bench/budget.py                        # budgets 2 … 64, the paper's data sets, two published splits
    python bench/budget.py --budgets 16 256 --sets yale --splits 10
    python bench/budget.py --plot docs/budget.svg # needs matplotlib
    python bench/budget.py --quick                # small made-up data

The leave-one-out accuracy is that of the ensemble's members on the given labels, each hidden in turn.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from answers import chosen_tasks
from common import DATA_SETS, hidden, machine, print_columns, pyplot
from pglearn import PGLearnClassifier
from tasks import Task

BUDGETS = (2, 4, 8, 16, 32, 64)


def main() -> None:
    options = parsed()
    print(f"10 % labels, {options.splits} draws; {machine()}")
    curves: dict[str, np.ndarray] = {}
    for task in chosen_tasks(options):
        curves[task.name] = np.array([measured(task, budget, options) for budget in options.budgets])
        print(f"{task.name} done", flush=True)
    for column, what in enumerate(("test accuracy", "leave-one-out accuracy")):
        print_curves(curves, options.budgets, column, what)
    if options.plot:
        plot(curves, options.budgets, options.plot)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of the .npz files (default: PGLEARN_DATA or ../shared/data)")
    parser.add_argument("--sets", nargs="+", default=DATA_SETS, choices=DATA_SETS, metavar="SET")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS)
    parser.add_argument("--jobs", type=int, default=-1, help="processes of a fit")
    parser.add_argument("--plot", type=Path, help="write the curves to this file")
    parser.add_argument("--quick", action="store_true", help="small made-up data, two budgets")
    options = parser.parse_args()
    options.noise = "none"
    if options.quick:
        options.splits, options.jobs, options.budgets = 1, 1, (2, 4)
    return options


def measured(task: Task, budget: int, options: argparse.Namespace) -> np.ndarray:
    """Mean test accuracy and leave-one-out accuracy of fits with this budget."""
    found = []
    for split in range(options.splits):
        draw = task.draw(split)
        model = PGLearnClassifier(budget=budget, random_state=split, n_jobs=options.jobs)
        model.fit(draw.X, hidden(draw.y, draw.shown))
        results = model.search_results_
        found.append(
            [(model.transduction_ == draw.y)[~draw.shown].mean(), results["accuracy"][results["selected"]].mean()]
        )
    return np.mean(found, axis=0)


def print_curves(curves: dict[str, np.ndarray], budgets: tuple[int, ...], column: int, what: str) -> None:
    rows = [[what, *(f"B = {budget}" for budget in budgets)]]
    rows += [[name, *(f"{value:.4f}" for value in curve[:, column])] for name, curve in curves.items()]
    mean = np.mean([curve[:, column] for curve in curves.values()], axis=0)
    print_columns([*rows, ["mean", *(f"{value:.4f}" for value in mean)]])
    print()


def plot(curves: dict[str, np.ndarray], budgets: tuple[int, ...], path: Path) -> None:
    figure, axes = pyplot().subplots(figsize=(5, 3.5), layout="constrained")
    for name, curve in curves.items():
        (line,) = axes.plot(budgets, curve[:, 0], marker="o", markersize=3, label=name)
        axes.plot(budgets, curve[:, 1], linestyle=":", color=line.get_color())
    axes.set(xscale="log", xlabel="budget B", ylabel="accuracy (dotted: leave-one-out)")
    axes.set_xticks(budgets, [str(budget) for budget in budgets])
    axes.legend(frameon=False)
    figure.savefig(path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
