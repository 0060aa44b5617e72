"""What each rule of PGLearnClassifier's default is worth: accuracy with one rule taken out at a time.

    python bench/ablation.py --published --splits 0 5 --jobs 8            # splits of the paper's data sets
    python bench/ablation.py --chosen --jobs 8                            # KEEL's and R's odd tables: they have chosen
    python bench/ablation.py --held-out --seed 41 --draws 2 --jobs 8      # the even ones and the unseen: they report
    python bench/ablation.py --held-out --rules "without linear" "unit beside the five"
    python bench/ablation.py --chosen --rules --against ../old --graphs-alone
    python bench/ablation.py --quick                                      # two small tables

Differences are of accuracy in points, paired by table and draw: mean ± standard error over the tables on which the
rule does something (a label differs), worst and best. Below eight such tables a rule is not judged. Of the paper's
data sets there are five, so each split counts as a table. Seconds are of the processor, all of a rule's fits over the
default's. A run with --rows that is started again goes on from its file: begin another one when the code has changed.

--against runs the default of another checkout, from its folder. --graphs-alone, for 0c10e5c and before, keeps the
models that it has beside its graphs from answering.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import data_sets
import fits
from common import machine
from fits import Answer, Fit, Method
from pglearn.errors import InputError

VIEWS = ("given", "components", "shared", "shared components", "linear")
DEFAULT, PUBLISHED = "default", "published"
Draw = tuple[str, int]  # a table, and the number of a split or draw
FEWEST_TABLES = 8  # on which a rule does something, for it to be judged


def without(*views: str) -> dict[str, Any]:
    return {"views": [view for view in VIEWS if view not in views]}


RULES: dict[str, dict[str, Any]] = {
    **{f"without {view}": without(view) for view in VIEWS},
    "without shared, shared components": without("shared", "shared components"),
    "unit beside the five": {"views": [*VIEWS, "unit"]},
    "class_prior=None": {"class_prior": None},
    "scale=False": {"scale": False},
    "selection='best'": {"selection": "best"},
    "loss='ranking'": {"loss": "ranking"},
    "validation='holdout'": {"validation": "holdout"},
    "n_candidates=8": {"n_candidates": 8},
}


def main(arguments: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parsed(arguments)
    suites = chosen_suites(options)
    if options.is_other:
        rows_of(suites, {options.is_other: partial(default_of_the_other, options.graphs_alone)}, options)
        return
    small = {"budget": 2} if options.quick else {}
    methods: dict[str, Method] = {DEFAULT: partial(fits.ours, **small)}
    methods |= {rule: partial(ours_with, **(small | RULES[rule])) for rule in options.rules}
    found = rows_of(suites, methods, options)
    if options.against:
        other, rows = rows_of_the_other(options, arguments)
        methods[other], found = fits.ours, pd.concat([found, rows])
    print(machine())
    for suite, draws in suites.items():
        print(f"\n{suite}: {len(draws)} fits")
        compared = [name for name in methods if name != DEFAULT]
        print(pd.DataFrame([line(rule, suite, draws, found) for rule in compared]).set_index("").to_string())


def ours_with(X: np.ndarray, y: np.ndarray, seed: int, **parameters: Any) -> Answer:
    """With these parameters and, of the views that they name, those that the table has."""
    try:
        return fits.ours(X, y, seed, **parameters)
    except InputError:  # of features that have nothing in common "auto" leaves these views out
        if "views" not in parameters:
            raise
        views = [view for view in parameters.pop("views") if not view.startswith("shared")]
        return fits.ours(X, y, seed, views=views, **parameters)


def rows_of(suites: dict[str, list[Draw]], methods: dict[str, Method], options: argparse.Namespace) -> pd.DataFrame:
    wanted = [Fit(method, *draw) for draws in suites.values() for draw in draws for method in methods]
    return fits.rows(wanted, methods, options.jobs, options.rows)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--published", action="store_true", help="splits of the paper's data sets")
    parser.add_argument("--chosen", action="store_true", help="KEEL's and R's odd tables")
    parser.add_argument("--held-out", action="store_true", help="KEEL's and R's even tables, and the unseen")
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 5], help="of --published, from 0 to 9")
    parser.add_argument("--draws", type=int, default=1, help="of each other table")
    parser.add_argument("--seed", type=int, default=7, help="the first of these draws")
    parser.add_argument("--rules", nargs="*", default=list(RULES), choices=RULES, metavar="RULE")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout")
    parser.add_argument("--graphs-alone", action="store_true", help="of that checkout")
    parser.add_argument("--rows", type=Path, help="a file that takes a line per fit; what is in it is not done again")
    parser.add_argument("--jobs", type=int, default=1, help="processes, a fit in each")
    parser.add_argument("--quick", action="store_true", help="two small tables, two rules, a small budget")
    parser.add_argument("--is-other", metavar="NAME", help=argparse.SUPPRESS)  # run with the other checkout's src
    options = parser.parse_args(arguments)
    if options.quick:
        options.rules = ["without linear", "n_candidates=8"]
    if not (options.published or options.chosen or options.held_out or options.quick):
        parser.error("say on which tables: --published, --chosen, --held-out or --quick")
    return options


def chosen_suites(options: argparse.Namespace) -> dict[str, list[Draw]]:
    """Tables and the number of a split or draw."""
    odd, even = ([*data_sets.half("keel", which), *data_sets.half("r", which)] for which in ("odd", "even"))
    draws = range(options.seed, options.seed + options.draws)
    suites = {
        PUBLISHED: list(product(data_sets.NAMES, options.splits)) if options.published else [],
        "chosen": list(product(odd, draws)) if options.chosen else [],
        "held out": list(product([*even, *data_sets.UNSEEN], draws)) if options.held_out else [],
        "quick": [("iris", 0), ("wine-5", 0)] if options.quick else [],
    }
    return {suite: draws for suite, draws in suites.items() if draws}


def line(rule: str, suite: str, draws: list[Draw], found: pd.DataFrame) -> dict[str, Any]:
    """Of one rule: how it differs from the default on the tables on which any label does."""
    by_draw = found.set_index(["method", "table", "draw"])
    usual, other = (by_draw.loc[method].loc[draws] for method in (DEFAULT, rule))
    other = other.assign(points=100 * (other.accuracy - usual.accuracy), changed=other.labels != usual.labels)
    counted = other if suite == PUBLISHED else other.groupby("table").agg({"points": "mean", "changed": "any"})
    points = counted.points[counted.changed]
    judged = len(points) >= FEWEST_TABLES
    return {
        "": rule,
        "tables": len(counted),
        "with an effect": len(points),
        "mean ± standard error": f"{points.mean():+.2f} ± {points.sem():.2f}" if judged else "-",
        "worst": f"{points.min():+.1f}" if judged else "-",
        "best": f"{points.max():+.1f}" if judged else "-",
        "seconds": f"{other.seconds.sum() / usual.seconds.sum():.2f}",
    }


# Another checkout


def rows_of_the_other(options: argparse.Namespace, arguments: Sequence[str]) -> tuple[str, pd.DataFrame]:
    """What it is called, and its rows, by this script again in a process that imports pglearn from there."""
    folder = options.against.resolve()
    if not (folder / "src" / "pglearn").is_dir():
        raise SystemExit(f"There is no src/pglearn in {folder}: --against names the folder of a checkout.")
    name = f"{folder.name}, graphs alone" if options.graphs_alone else folder.name
    with tempfile.TemporaryDirectory() as temporary:
        path = options.rows or Path(temporary) / "rows.jsonl"
        command = [sys.executable, __file__, *arguments, "--rows", str(path), "--is-other", name]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(folder / "src")})
        return name, pd.DataFrame([row for fit, row in fits.stored(path).items() if fit.method == name])


def default_of_the_other(graphs_alone: bool, X: np.ndarray, y: np.ndarray, seed: int) -> Answer:
    if graphs_alone:  # of a checkout that weighs other models beside its graphs
        judgement = importlib.import_module("pglearn.estimators.rehearsal").Judgement
        importlib.import_module("pglearn.estimators.pglearn").judged = lambda *_: judgement(None, {})
    return fits.ours(X, y, seed)


if __name__ == "__main__":
    main()
