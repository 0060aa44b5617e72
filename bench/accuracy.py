"""Test accuracy of PGLearnClassifier beside the methods one could use in its place, run in the same script.

    python bench/accuracy.py                                # the paper's five data sets, ten published splits
    python bench/accuracy.py --noise uniform                # with as many columns of noise as features
    python bench/accuracy.py --other                        # small data sets that are not the paper's
    python bench/accuracy.py --later --last                 # fifteen that came later, and ten after these
    python bench/accuracy.py --seen --newest                # eight more, and ten after these
    python bench/accuracy.py --odd --r-odd                  # 37 tables (KEEL, R) that chose nothing
    python bench/accuracy.py --fresh --unseen               # ten and fourteen others that chose nothing
    python bench/accuracy.py --peers none --selection best  # ours alone, with another setting
    python bench/accuracy.py --sets claims --by-share       # where rare classes count as much as common ones
    python bench/accuracy.py --record results.csv           # kept: stopped and started again, it goes on from there
    python bench/accuracy.py --quick                        # small made-up data

Every method sees the labels of the labelled rows and nothing else; every other row is a test row.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import balanced_accuracy_score

from catalogue import OTHERS, drawn, other_task
from common import (
    DATA_SETS,
    Figure,
    data_folder,
    few_labels,
    hidden,
    load,
    machine,
    one_thread,
    print_columns,
    print_table,
)
from fresh_data import FRESH
from keel_data import EVEN, ODD
from newest_data import NEWEST
from other_data import LAST, LATER, NAMES, skewed
from peers import PEERS, Peer
from pglearn import PGLearnClassifier
from r_data import R_EVEN, R_ODD
from record import Cell, Record, Score
from seen_data import SEEN
from tasks import NOISE, Draw, Task, published, with_noise
from unseen_data import UNSEEN

OURS = "pglearn"
PAPER = dict(zip(DATA_SETS, (0.9232, 0.9066, 0.8241, 0.9321, 0.8234), strict=True))
PAPER_NOISE = dict(zip(DATA_SETS, (0.9044, 0.9154, 0.8634, 0.8789, 0.6859), strict=True))
PAPER_MEAN = {10: 0.8819, 20: 0.8900, 30: 0.9085, 40: 0.9153, 50: 0.9251}
LONGEST_FIT = 60.0
MOST_SHORTFALL = 0.02  # against the best peer, on data that is not the paper's
COLUMNS_ABREAST = 8


@dataclass(frozen=True)
class Table:
    """By method: the mean over draws in each column, and the seconds of every fit (data sets × draws).

    An imbalanced data set has two columns, accuracy and balanced accuracy.
    """

    data_sets: list[str]
    columns: list[str]
    means: dict[str, np.ndarray]
    seconds: dict[str, np.ndarray]


def main() -> None:
    options = parsed()
    tasks = chosen_tasks(options)
    ours, methods = chosen_methods(options)
    print(f"{options.percent} % labels, noise {options.noise}, {options.splits} draws; {machine()}")
    print(f"{ours}: {model(options)!r}")
    if "Laplace" not in PEERS:
        print("Without Laplace and Poisson learning: `pip install graphlearning` adds them.")
    record = Record(options.record, options.again)
    for task in tasks:
        run(task, methods, options, record)
    table = table_of(tasks, methods, options, record)
    paper = paper_figures(options)
    print_means(table, paper)
    if ours in methods:
        print_table(list(longest_fits(table, ours)))
        for line in verdicts(table, ours, paper, options.other):
            print(line)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of the .npz files (default: PGLEARN_DATA or ../shared/data)")
    parser.add_argument("--other", action="store_true", help="small data sets, not the paper's")
    parser.add_argument("--later", action="store_true", help="fifteen that were written later")
    parser.add_argument("--last", action="store_true", help="ten that came after these")
    parser.add_argument("--seen", action="store_true", help="eight that came after those")
    parser.add_argument("--newest", action="store_true", help="ten that came after them")
    parser.add_argument("--even", action="store_true", help="19 tables of KEEL, which chose defaults")
    parser.add_argument("--odd", action="store_true", help="19 others of it, which did not")
    parser.add_argument("--r-even", action="store_true", help="18 tables of R's packages, which chose defaults")
    parser.add_argument("--r-odd", action="store_true", help="18 others of them, which did not")
    parser.add_argument("--fresh", action="store_true", help="ten that were written when all was chosen")
    parser.add_argument("--unseen", action="store_true", help="fourteen by somebody who does not know the method")
    parser.add_argument("--sets", nargs="+", choices=(*DATA_SETS, *OTHERS), metavar="SET")
    parser.add_argument("--percent", type=int, default=10, choices=sorted(PAPER_MEAN))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--noise", default="none", choices=("none", *NOISE), help="as many columns as features")
    parser.add_argument("--peers", nargs="+", default=["all"], choices=("all", "none", *PEERS), metavar="PEER")
    parser.add_argument("--without-ours", action="store_true", help="the peers alone")
    parser.add_argument("--selection", help="ensemble or best")
    parser.add_argument("--candidates", type=int, help="T")
    parser.add_argument("--basis", help="coordinates in which features are weighted")
    parser.add_argument("--engine", default="cpu", help="cpu, torch or auto")
    parser.add_argument("--paper-setting", action="store_true", help="PGLearnClassifier.paper()")
    parser.add_argument(
        "--by-share", action="store_true", help="ours: what is most probable against its share of labels"
    )
    parser.add_argument("--jobs", type=int, default=-1, help="processes; a peer's fit has one thread")
    parser.add_argument("--record", type=Path, help="CSV file that results are added to, and taken from if there")
    parser.add_argument(
        "--again", nargs="+", default=[], choices=(OURS, *PEERS), metavar="METHOD", help="measured anew"
    )
    parser.add_argument("--quick", action="store_true", help="small made-up data, two peers, a small budget")
    options = parser.parse_args()
    if options.quick:
        options.splits, options.peers, options.jobs = 2, ["LabelSpreading", "LDA"], 1
    if options.sets is None:
        asked = {
            NAMES: options.other or options.quick,
            tuple(LATER): options.later,
            tuple(LAST): options.last,
            tuple(SEEN): options.seen,
            tuple(NEWEST): options.newest,
            tuple(EVEN): options.even,
            tuple(ODD): options.odd,
            tuple(FRESH): options.fresh,
            tuple(R_EVEN): options.r_even,
            tuple(R_ODD): options.r_odd,
            tuple(UNSEEN): options.unseen,
        }
        options.sets = [name for names, wanted in asked.items() if wanted for name in names] or DATA_SETS
    options.other = not set(options.sets) <= set(DATA_SETS)
    return options


def chosen_tasks(options: argparse.Namespace) -> list[Task]:
    if options.quick:
        return [small_task(), other_task("species", options.percent)]
    return [with_noise(task_named(name, options), options.noise) for name in options.sets]


def task_named(name: str, options: argparse.Namespace) -> Task:
    if name in OTHERS:
        return other_task(name, options.percent)
    folder = data_folder(options.data)
    data = load(name, folder)
    if data is None:
        raise SystemExit(f"{folder} has no {name}.npz. Name the folder with --data; --other and --quick need none.")
    return published(data, options.percent)


def small_task() -> Task:
    make = partial(skewed, (90, 40, 20))
    return Task("small", partial(drawn, make, partial(few_labels, fraction=0.1)), imbalanced=True)


def model(options: argparse.Namespace) -> PGLearnClassifier:
    jobs = None if options.engine == "torch" else options.jobs
    make = PGLearnClassifier.paper if options.paper_setting else PGLearnClassifier
    return make(engine=options.engine, n_jobs=jobs, **settings(options))


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """What the command line changes of PGLearnClassifier's defaults."""
    asked = {
        "selection": options.selection,
        "n_candidates": options.candidates,
        "basis": options.basis,
        "budget": 2 if options.quick else None,
    }
    return {name: value for name, value in asked.items() if value is not None}


def chosen_methods(options: argparse.Namespace) -> tuple[str, dict[str, Peer]]:
    """Our name, which tells its setting, and all methods by name."""
    changed = [f"{name}={value}" for name, value in settings(options).items()]
    paper = ["paper"] if options.paper_setting else []
    engine = [] if options.engine == "cpu" else [f"engine={options.engine}"]
    rule = ["by share"] if options.by_share else []
    ours = " ".join([OURS, *paper, *engine, *rule, *changed])
    names = PEERS if "all" in options.peers else [name for name in options.peers if name != "none"]
    methods = {} if options.without_ours else {ours: labels_by(model(options), options.by_share)}
    return ours, methods | {name: PEERS[name] for name in names}


def labels_by(model: PGLearnClassifier, by_share: bool = False) -> Peer:
    """Our labels: the most probable class or, `by_share`, the most probable one against its share of the labels."""

    def labels(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
        fitted = model.set_params(random_state=seed).fit(X, y)
        if not by_share:
            return fitted.transduction_
        shares = np.bincount(y[y >= 0]) / (y >= 0).sum()
        return np.asarray((fitted.label_distributions_ / shares).argmax(axis=1))

    return labels


def run(task: Task, methods: dict[str, Peer], options: argparse.Namespace, record: Record) -> None:
    """Measure what the record lacks. Ours has the processes to itself; peers share them, a fit each."""
    missing = [cell for cell in cells(task, methods, options) if cell not in record.scores]
    print(f"{task.name}: {len(missing)} of {options.splits * len(methods)} fits to do", flush=True)
    for cell in missing:
        if cell.method not in PEERS:
            record.add(cell, measured(methods[cell.method], task.draw(cell.split), cell.split))
    of_peers = [cell for cell in missing if cell.method in PEERS]
    calls = (delayed(measured_peer)(cell, task.draw(cell.split)) for cell in of_peers)
    for cell, score in Parallel(options.jobs, return_as="generator_unordered")(calls):
        record.add(cell, score)


def cells(task: Task, methods: Iterable[str], options: argparse.Namespace) -> Iterator[Cell]:
    for split in range(options.splits):
        for method in methods:
            yield Cell(task.name, options.percent, options.noise, split, method)


def measured_peer(cell: Cell, draw: Draw) -> tuple[Cell, Score]:
    with one_thread():
        return cell, measured(PEERS[cell.method], draw, cell.split)


def measured(method: Peer, draw: Draw, seed: int) -> Score:
    started = time.perf_counter()
    labels = method(draw.X, hidden(draw.y, draw.shown), seed)
    seconds = time.perf_counter() - started
    test = ~draw.shown
    balanced = balanced_accuracy_score(draw.y[test], labels[test])
    return Score(float((labels == draw.y)[test].mean()), float(balanced), seconds)


def table_of(tasks: Sequence[Task], methods: dict[str, Peer], options: argparse.Namespace, record: Record) -> Table:
    means, seconds = {}, {}
    for method in methods:
        of_tasks = [[record.scores[cell] for cell in cells(task, [method], options)] for task in tasks]
        means[method] = np.concatenate([mean_scores(*both) for both in zip(tasks, of_tasks, strict=True)])
        seconds[method] = np.array([[score.seconds for score in scores] for scores in of_tasks])
    return Table([task.name for task in tasks], [name for task in tasks for name in columns_of(task)], means, seconds)


def columns_of(task: Task) -> list[str]:
    return [task.name, f"{task.name} bal."] if task.imbalanced else [task.name]


def mean_scores(task: Task, scores: Sequence[Score]) -> list[float]:
    """One for each of columns_of."""
    accuracy = float(np.mean([score.accuracy for score in scores]))
    return [accuracy, float(np.mean([score.balanced for score in scores]))] if task.imbalanced else [accuracy]


def print_means(table: Table, paper: dict[str, float]) -> None:
    """The table, a few columns at a time, with the paper's figures as a row where there are any."""
    head = [*table.columns, "mean", "s per fit"]
    rows = {"paper's PG-learn": [f"{paper[column]:.4f}" if column in paper else "" for column in head]} if paper else {}
    for method, means in table.means.items():
        cells = [f"{mean:.4f}" for mean in (*means, means.mean())]
        rows[method] = [*cells, f"{table.seconds[method].mean():.2f}"]
    for first in range(0, len(head), COLUMNS_ABREAST):
        abreast = slice(first, first + COLUMNS_ABREAST)
        print_columns([["method", *head[abreast]], *([name, *row[abreast]] for name, row in rows.items())])
        print()


def paper_figures(options: argparse.Namespace) -> dict[str, float]:
    """By column: every data set at 10 % without noise and, with noise, at 10 or 20 %, whichever it was; else means."""
    if options.other:
        return {}
    known = {(10, "none"): PAPER, (10, "uniform"): PAPER_NOISE, (20, "uniform"): PAPER_NOISE}
    every = known.get((options.percent, options.noise), {})
    means = {"none": PAPER_MEAN, "uniform": dict.fromkeys((10, 20), float(np.mean(list(PAPER_NOISE.values()))))}
    figures = {name: every[name] for name in options.sets if name in every}
    if set(options.sets) == set(DATA_SETS) and options.percent in means.get(options.noise, {}):
        figures["mean"] = means[options.noise][options.percent]
    return figures


def longest_fits(table: Table, ours: str) -> Iterator[Figure]:
    for name, seconds in zip(table.data_sets, table.seconds[ours].max(axis=1), strict=True):
        yield Figure.at_most(f"{name}, longest fit of ours", seconds, LONGEST_FIT, " s")


def verdicts(table: Table, ours: str, paper: dict[str, float], other: bool) -> Iterator[str]:
    means = table.means[ours]
    if paper:
        measured = dict(zip(table.columns, means, strict=True)) | {"mean": means.mean()}
        below = [
            f"{name} {measured[name]:.4f} against {paper[name]:.4f}" for name in paper if measured[name] <= paper[name]
        ]
        where = "in the mean" if set(paper) == {"mean"} else "on every data set"
        yield f"above the paper {where}: {yes_or_which(below)}"
    rivals = {name: row for name, row in table.means.items() if name != ours}
    if rivals and other:
        yield best_peer_line(table.columns, means, rivals)
    elif rivals:
        below = [
            f"{name} on {column} by {100 * (theirs - own):.2f} points"
            for name, row in rivals.items()
            for column, own, theirs in zip(table.columns, means, row, strict=True)
            if own <= theirs
        ]
        yield f"above every peer on every data set: {yes_or_which(below)}"


def yes_or_which(exceptions: list[str]) -> str:
    return f"NO ({'; '.join(exceptions)})" if exceptions else "yes"


def best_peer_line(columns: Sequence[str], means: np.ndarray, rivals: dict[str, np.ndarray]) -> str:
    shortfall = np.max(list(rivals.values()), axis=0) - means
    far = [
        f"{columns[at]} by {100 * shortfall[at]:.1f}" for at in np.argsort(-shortfall) if shortfall[at] > MOST_SHORTFALL
    ]
    line = f"at or above the best peer on {(shortfall <= 0).sum()} of {len(columns)}"
    return f"{line}; more than {100 * MOST_SHORTFALL:g} points below it: {', '.join(far) or 'none'}"


if __name__ == "__main__":
    main()
