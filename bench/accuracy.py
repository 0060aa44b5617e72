"""Test accuracy of PGLearnClassifier beside the methods one could use in its place, run by the same script.

    python bench/accuracy.py --jobs 8                           # the paper's five data sets, ten published splits
    python bench/accuracy.py --noise uniform --no-peers         # with as many columns of noise as features
    python bench/accuracy.py --percent 20                       # of the labels, and so on to 50
    python bench/accuracy.py --sklearn --splits 5               # tables that ship with scikit-learn
    python bench/accuracy.py --keel even --r even --splits 5    # of KEEL and R, a tenth or five of each class labelled
    python bench/accuracy.py --unseen --splits 5                # fourteen by somebody who does not know the method
    python bench/accuracy.py --calibration --no-peers           # whether confidence is what it says, too
    python bench/accuracy.py --only coil yale --rows rows.jsonl # kept: stopped and started again, it goes on from there
    python bench/accuracy.py --quick                            # two small tables

A name that ends in -5 has five labels of each class. Every method sees the labels of the labelled rows and nothing
else; every other row is a test row. Seconds are of the processor, per fit.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

import data_sets
import fits
from common import machine, print_columns
from fits import Fit, Method, Score
from peers import PEERS

OURS = "pglearn"
PAPER = dict(zip(data_sets.NAMES, (0.9232, 0.9066, 0.8241, 0.9321, 0.8234), strict=True))
PAPER_NOISE = dict(zip(data_sets.NAMES, (0.9044, 0.9154, 0.8634, 0.8789, 0.6859), strict=True))
PAPER_MEAN = {10: 0.8819, 20: 0.8900, 30: 0.9085, 40: 0.9153, 50: 0.9251}
COLUMNS_ABREAST = 8
FAR_BEHIND = 0.02

Means = dict[str, dict[str, float]]  # by method and column


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    methods = chosen_methods(options)
    print(f"{options.percent} % labels, noise {options.noise}, {options.splits} draws; {machine()}")
    if "Laplace" not in PEERS and not options.no_peers:
        print("Without Laplace and Poisson learning: `pip install graphlearning` adds them.")
    found = fits.scores(
        [
            Fit(method, table, options.seed + split, options.percent, options.noise)
            for table in options.only
            for split in range(options.splits)
            for method in methods
        ],
        methods,
        options.jobs,
        options.rows,
    )
    means = mean_accuracies(found, methods)
    print_means(means, paper_figures(options), found)
    print(longest_fit(found))
    if options.calibration:
        print_calibration(found)
    if len(methods) > 1:
        print(beside_the_best_peer(means))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these tables")
    parser.add_argument("--sklearn", action="store_true", help="tables that ship with scikit-learn")
    for source in data_sets.SOURCES:
        parser.add_argument(f"--{source}", choices=data_sets.HALVES, help=f"half of {source.upper()}'s tables")
    parser.add_argument("--unseen", action="store_true", help="fourteen that chose nothing")
    parser.add_argument("--splits", type=int, default=10, help="published splits, or draws of another table")
    parser.add_argument("--seed", type=int, default=0, help="the first split or draw")
    parser.add_argument("--percent", type=int, default=10, choices=sorted(PAPER_MEAN))
    parser.add_argument("--noise", default="none", choices=("none", *data_sets.NOISE))
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=PEERS, metavar="PEER")
    parser.add_argument("--no-peers", action="store_true", help="ours alone")
    parser.add_argument("--paper", action="store_true", help="ours is PGLearnClassifier.paper()")
    parser.add_argument("--parameters", type=json.loads, default={}, help='of ours, as JSON: {"n_candidates": 32}')
    parser.add_argument("--calibration", action="store_true", help="confidence of ours beside its accuracy")
    parser.add_argument("--jobs", type=int, default=1, help="processes, a fit in each")
    parser.add_argument("--rows", type=Path, help="a file that takes a line per fit; what is in it is not done again")
    parser.add_argument("--quick", action="store_true", help="two small tables, two peers, a small budget")
    options = parser.parse_args(arguments)
    if options.quick:
        options.only, options.splits, options.peers = ["iris", "wine-5"], 1, ["LDA", "SVC"]
        options.parameters = {"budget": 2, "n_candidates": 4}
    asked = [
        *options.only,
        *(data_sets.SKLEARN if options.sklearn else ()),
        *(data_sets.UNSEEN if options.unseen else ()),
    ]
    for source in data_sets.SOURCES:
        half = getattr(options, source)
        asked += data_sets.halves(source, half) if half else []
    options.only = asked or list(data_sets.NAMES)
    return options


def chosen_methods(options: argparse.Namespace) -> dict[str, Method]:
    changes = [f"{name}={value}" for name, value in options.parameters.items()]
    ours = " ".join([OURS, *(["paper()"] if options.paper else []), *changes])
    peers = [] if options.no_peers else options.peers
    return {
        ours: partial(fits.pglearn, paper=options.paper, **options.parameters),
        **{name: partial(fits.peer, name=name) for name in peers},
    }


def mean_accuracies(found: dict[Fit, Score], methods: dict[str, Method]) -> Means:
    """By table and over the tables: all and, where some have five labels of each class, these and the others."""
    tables = list(dict.fromkeys(fit.table for fit in found))
    five = [table for table in tables if table.endswith(data_sets.FIVE)]
    groups = {"mean": tables}
    if 0 < len(five) < len(tables):
        groups |= {"mean of a share": [table for table in tables if table not in five], "mean of five": five}
    means: Means = {}
    for method in methods:
        row = {
            table: float(
                np.mean([s.accuracy for fit, s in found.items() if (fit.method, fit.table) == (method, table)])
            )
            for table in tables
        }
        means[method] = row | {name: float(np.mean([row[table] for table in group])) for name, group in groups.items()}
    return means


def print_means(means: Means, paper: dict[str, float], found: dict[Fit, Score]) -> None:
    """The table, a few columns at a time, with the paper's figures as a row where there are any."""
    columns = [*next(iter(means.values())), "s per fit"]
    rows = {"the paper's PG-learn": [f"{paper[c]:.4f}" if c in paper else "" for c in columns]} if paper else {}
    for method, of_method in means.items():
        seconds = np.mean([score.seconds for fit, score in found.items() if fit.method == method])
        rows[method] = [*(f"{mean:.4f}" for mean in of_method.values()), f"{seconds:.2f}"]
    for first in range(0, len(columns), COLUMNS_ABREAST):
        abreast = slice(first, first + COLUMNS_ABREAST)
        print_columns([["method", *columns[abreast]], *([name, *row[abreast]] for name, row in rows.items())])
        print()


def paper_figures(options: argparse.Namespace) -> dict[str, float]:
    """By column: every data set at 10 % without noise and, with noise, at 10 or 20 %, whichever it was; else means."""
    asked = (options.percent, options.noise)
    by_set = {(10, "none"): PAPER, (10, "uniform"): PAPER_NOISE, (20, "uniform"): PAPER_NOISE}.get(asked, {})
    figures = {name: by_set[name] for name in options.only if name in by_set}
    if set(options.only) == set(data_sets.NAMES):
        if figures:
            figures["mean"] = float(np.mean(list(figures.values())))
        elif options.noise == "none":
            figures["mean"] = PAPER_MEAN[options.percent]
    return figures


def longest_fit(found: dict[Fit, Score]) -> str:
    fit = max((fit for fit in found if fit.method.startswith(OURS)), key=lambda fit: found[fit].seconds)
    return f"longest fit of ours: {found[fit].seconds:.1f} s, {fit.table}"


def print_calibration(found: dict[Fit, Score]) -> None:
    """Expected calibration error of ours, in bins of a fifteenth."""
    rows = [["table", "accuracy", "mean confidence", "expected calibration error"]]
    for table in dict.fromkeys(fit.table for fit in found):
        ours = [score for fit, score in found.items() if fit.table == table and score.confidence is not None]
        figures = np.mean([(s.accuracy, s.confidence, s.calibration_error) for s in ours], axis=0)
        rows.append([table, *(f"{figure:.4f}" for figure in figures)])
    print_columns(rows)
    print()


def beside_the_best_peer(means: Means) -> str:
    ours, *peers = means.values()
    tables = [column for column in ours if not column.startswith("mean")]
    behind = {table: max(peer[table] for peer in peers) - ours[table] for table in tables}
    far = [
        f"{table} by {100 * by:.1f}" for table, by in sorted(behind.items(), key=lambda of: -of[1]) if by > FAR_BEHIND
    ]
    level = sum(by <= 0 for by in behind.values())
    return (
        f"at or above the best peer on {level} of {len(tables)}; "
        f"more than {100 * FAR_BEHIND:g} points below it: {', '.join(far) or 'none'}"
    )


if __name__ == "__main__":
    main()
