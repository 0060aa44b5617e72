"""Test accuracy of PGLearnClassifier beside the methods one could use in its place, run by the same script.

    python bench/accuracy.py --jobs 8                           # the paper's five data sets, ten published splits
    python bench/accuracy.py --noise uniform --no-peers         # with as many columns of noise as features
    python bench/accuracy.py --percent 20                       # of the labels, and so on to 50
    python bench/accuracy.py --sklearn --splits 5               # tables that ship with scikit-learn
    python bench/accuracy.py --keel even --r even --splits 5    # of KEEL and R, a tenth or five of each class labelled
    python bench/accuracy.py --unseen --splits 5                # fourteen by somebody who does not know the method
    python bench/accuracy.py --calibration --no-peers           # whether confidence is what it says, too
    python bench/accuracy.py --only coil yale --rows rows.jsonl # kept: started again, it goes on from there
    python bench/accuracy.py --quick                            # two small tables

A name that ends in -5 has five labels of each class. Every method sees the labels of the labelled rows and nothing
else; every other row is a test row. Seconds are of the processor, per fit.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path

import pandas as pd

import data_sets
import fits
from common import machine
from data_sets import FIVE, NAMES
from fits import Fit
from peers import PEERS

PAPERS = "the paper's PG-learn"
NOISY = (0.9044, 0.9154, 0.8634, 0.8789, 0.6859)  # with 10 or 20 % of the labels: the paper does not say
PAPER = {(10, "none"): (0.9232, 0.9066, 0.8241, 0.9321, 0.8234), (10, "uniform"): NOISY, (20, "uniform"): NOISY}
PAPER_MEAN = {10: 0.8819, 20: 0.8900, 30: 0.9085, 40: 0.9153, 50: 0.9251}
FAR_BEHIND = 0.02


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    ours = " ".join(["pglearn", *(f"{name}={value}" for name, value in options.parameters.items())])
    methods = {ours: partial(fits.ours, **options.parameters)}
    methods |= {name: partial(fits.peer, name=name) for name in options.peers}
    draws = range(options.seed, options.seed + options.splits)
    cases = product(options.only, draws, methods)
    wanted = [Fit(method, table, draw, options.percent, options.noise) for table, draw, method in cases]
    print(f"{options.percent} % labels, noise {options.noise}, draws {draws.start} to {draws.stop - 1}; {machine()}")
    found = fits.rows(wanted, methods, options.jobs, options.rows)
    means = found.pivot_table("accuracy", "method", "table", sort=False)
    print(with_means(means, found, options).to_string(float_format="%.4f", na_rep="", line_width=120))
    if options.peers:
        print(beside_the_best_peer(means))
        if "Laplace" not in PEERS:
            print("Without Laplace and Poisson learning: `pip install graphlearning` adds them.")
    if options.calibration:
        figures = found[found.method == ours].groupby("table", sort=False)
        print(figures[["accuracy", "confidence", "calibration_error"]].mean().to_string(float_format="%.4f"))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these tables")
    parser.add_argument("--sklearn", action="store_true", help="tables that ship with scikit-learn")
    parser.add_argument("--keel", choices=data_sets.HALVES, help="half of the tables of KEEL")
    parser.add_argument("--r", choices=data_sets.HALVES, help="half of the tables of R's packages")
    parser.add_argument("--unseen", action="store_true", help="fourteen that chose nothing")
    parser.add_argument("--splits", type=int, default=10, help="published splits, or draws of another table")
    parser.add_argument("--seed", type=int, default=0, help="the first split or draw")
    parser.add_argument("--percent", type=int, default=10, choices=PAPER_MEAN)
    parser.add_argument("--noise", default="none", choices=("none", "uniform", "normal"), help="as many columns again")
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=PEERS, metavar="PEER")
    parser.add_argument("--no-peers", dest="peers", action="store_const", const=[], help="ours alone")
    parser.add_argument("--parameters", type=json.loads, default={}, help='of ours, as JSON: {"n_candidates": 32}')
    parser.add_argument("--calibration", action="store_true", help="mean confidence and calibration error of ours")
    parser.add_argument("--jobs", type=int, default=1, help="processes, a fit in each")
    parser.add_argument("--rows", type=Path, help="a file that takes a line per fit; what is in it is not done again")
    parser.add_argument("--quick", action="store_true", help="two small tables, two peers, a small budget")
    options = parser.parse_args(arguments)
    if options.quick:
        options.only, options.splits, options.peers = ["iris", "wine-5"], 1, ["LDA", "SVC"]
        options.parameters = {"budget": 2, "n_candidates": 4}
    options.only += data_sets.SKLEARN if options.sklearn else ()
    options.only += data_sets.UNSEEN if options.unseen else ()
    for source, which in (("keel", options.keel), ("r", options.r)):
        options.only += data_sets.half(source, which) if which else ()
    options.only = options.only or list(NAMES)
    return options


def with_means(means: pd.DataFrame, found: pd.DataFrame, options: argparse.Namespace) -> pd.DataFrame:
    """Beside the tables their mean and, where some have five labels of each class, that of these and of the others;
    seconds per fit; and the paper's figures as a row where there are any."""
    tables = means
    if figures := PAPER.get((options.percent, options.noise)):
        paper = pd.DataFrame([figures], index=[PAPERS], columns=NAMES)
        tables = pd.concat([paper, means])[means.columns].dropna(how="all")
    shown = tables.assign(mean=tables.mean(axis=1, skipna=False))
    five = means.columns.str.endswith(FIVE)
    if five.any() and not five.all():
        shown["mean of five"] = means.loc[:, five].mean(axis=1)
        shown["mean of a share"] = means.loc[:, ~five].mean(axis=1)
    if options.noise == "none" and set(means) == set(NAMES):
        shown.loc[PAPERS, "mean"] = PAPER_MEAN[options.percent]
    return shown.assign(seconds=found.groupby("method").seconds.mean())


def beside_the_best_peer(means: pd.DataFrame) -> str:
    behind = (means.iloc[1:].max() - means.iloc[0]).sort_values(ascending=False)
    far = ", ".join(f"{table} by {100 * by:.1f}" for table, by in behind[behind > FAR_BEHIND].items()) or "none"
    level = f"at or above the best peer on {(behind <= 0).sum()} of {len(behind)}"
    return f"{level}; more than {100 * FAR_BEHIND:g} points below it: {far}"


if __name__ == "__main__":
    main()
