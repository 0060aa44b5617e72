"""How well are workers used? Two loky processes against one, and the share of their time spent in gradient steps.

    python bench/workers.py               # COIL, 10 % labels, T = 16
    python bench/workers.py --sets yale   # others
    python bench/workers.py --quick       # small made-up data

A fit before the clock starts the processes. The share is the time within evaluations of the loss and its gradient, as
the workers measure it (`seconds` in the events), over the time of the search times the number of workers. Every worker
has one thread.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from common import DataSet, Figure, data_folder, few_labels, hidden, load, machine, made_up, one_thread, print_table
from pglearn import PGLearnClassifier


@dataclass(frozen=True)
class Run:
    """One search: how long it took, and how much of that was evaluations, over all workers."""

    seconds: float
    in_steps: float
    answer: np.ndarray

    def share(self, workers: int) -> float:
        return 100 * self.in_steps / (self.seconds * workers)


def main() -> None:
    options = parsed()
    print(machine())
    figures = [figure for data in data_sets(options) for figure in measured(data, options)]
    print_table(figures)


def data_sets(options: argparse.Namespace) -> list[DataSet]:
    if options.quick:
        return [made_up(200, 10, 3)]
    found = [load(name, data_folder(options.data)) for name in options.sets]
    return [data for data in found if data is not None] or [made_up(1500, 241, 6)]


def measured(data: DataSet, options: argparse.Namespace) -> list[Figure]:
    labelled = data.labelled(10, 0) if data.splits else few_labels(data.y, 0.1)
    y = hidden(data.y, labelled)
    runs: dict[int, list[Run]] = {1: [], 2: []}
    with one_thread():
        for _ in range(1 if options.quick else options.repetitions):
            for workers, of in runs.items():  # in turn, so that a busy machine is busy for both
                searched(data.X[labelled], y[labelled], workers, budget=1)  # the processes start
                of.append(searched(data.X, y, workers))
    one, two = (min(of, key=lambda run: run.seconds) for of in runs.values())
    np.testing.assert_array_equal(one.answer, two.answer)
    aims = not options.quick
    name = f"{data.name} {data.size}"
    return [
        Figure(f"{name}: search on one loky process", f"{one.seconds:.2f} s"),
        Figure(f"{name}: search on two", f"{two.seconds:.2f} s"),
        figure(f"{name}: two against one", one.seconds / two.seconds, 1.8, "×", aims),
        figure(f"{name}: share of the time of two in gradient steps", two.share(2), 95, " %", aims),
    ]


def figure(name: str, value: float, target: float, unit: str, aims: bool) -> Figure:
    """With its target, unless the data are too small for it."""
    return Figure.at_least(name, value, target, unit) if aims else Figure(name, f"{value:.4g}{unit}")


def searched(X: np.ndarray, y: np.ndarray, workers: int, budget: int = 16) -> Run:
    events: list[dict[str, object]] = []
    model = PGLearnClassifier(n_candidates=16, budget=budget, n_jobs=workers, executor="loky", random_state=0)
    model.fit(X, y, listeners=(events.append,))
    seconds = sum(event["seconds"] for event in events if event["event"] == "candidate_advanced")  # type: ignore[misc]
    return Run(events[-1]["time"] - events[0]["time"], seconds, model.label_distributions_)  # type: ignore[operator]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["coil"])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--data", help="folder of the published data sets")
    parser.add_argument("--quick", action="store_true", help="small made-up data")
    return parser.parse_args()


if __name__ == "__main__":
    main()
