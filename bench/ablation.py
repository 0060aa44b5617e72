"""What each rule of PGLearnClassifier's default is worth: accuracy with one rule taken out at a time.

    python bench/ablation.py --published --splits 0 5 --jobs 8            # splits of the paper's data sets
    python bench/ablation.py --chosen --jobs 8                            # KEEL's and R's odd tables: they have chosen
    python bench/ablation.py --held-out --seed 41 --draws 2 --jobs 8      # the even ones and the unseen: they report
    python bench/ablation.py --held-out --rules "without linear" "unit beside the five"
    python bench/ablation.py --chosen --rules --against ../old --graphs-alone
    python bench/ablation.py --chosen --rows rows.jsonl                   # kept: started again, it goes on from there
    python bench/ablation.py --quick                                      # two small tables

Differences are of accuracy in points, paired by table and draw: mean ± standard error over the tables on which the
rule does something (a label differs), worst and best. Below eight such tables a rule is not judged. Of the paper's
data sets there are five, so each split counts as a table. Seconds are of the processor, all of a rule's fits over the
default's. A file of rows is of one state of the code: begin another one when the code has changed.

--against runs the default of another checkout, from its folder, with PYTHONPATH on its src. --graphs-alone keeps the
models that this checkout may have beside its graphs from answering.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import data_sets
import fits
from common import machine, print_columns
from fits import Answer, Fit, Method, Score

VIEWS = ("given", "components", "shared", "shared components", "linear")
DEFAULT = "default"
FEWEST_TABLES = 8  # on which a rule does something, for it to be judged


class Case(NamedTuple):
    """One draw of a table, and what it counts as in the mean: the table, or the split by itself."""

    table: str
    draw: int
    counts_as: str


def without(*views: str) -> dict[str, Any]:
    return {"views": [view for view in VIEWS if view not in views]}


RULES: dict[str, dict[str, Any]] = {
    **{f"without {view}": without(view) for view in VIEWS},
    "without shared, shared components": without("shared", "shared components"),
    "unit beside the five": {"views": [*VIEWS, "unit"]},
    "class_prior=None": {"class_prior": None},
    "class_prior='labels'": {"class_prior": "labels"},
    "scale=False": {"scale": False},
    "scale=True": {"scale": True},
    "selection='best'": {"selection": "best"},
    "loss='ranking'": {"loss": "ranking"},
    "validation='holdout'": {"validation": "holdout"},
    "budget=16": {"budget": 16},
    "budget=4": {"budget": 4},
    "n_candidates=8": {"n_candidates": 8},
    "n_candidates=32": {"n_candidates": 32},
}


def main(arguments: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parsed(arguments)
    suites = chosen_suites(options)
    if options.is_other:
        method = partial(default_of_the_other, graphs_alone=options.graphs_alone)
        fits.scores(
            all_fits(suites, [name_of_the_other(options)]),
            {name_of_the_other(options): method},
            options.jobs,
            options.rows,
        )
        return
    small = {"budget": 2} if options.quick else {}
    methods: dict[str, Method] = {DEFAULT: partial(fits.pglearn, **small)}
    methods |= {rule: partial(fits.pglearn, **(small | RULES[rule])) for rule in options.rules}
    found = fits.scores(all_fits(suites, methods), methods, options.jobs, options.rows)
    compared = list(options.rules)
    if options.against:
        compared.append(name_of_the_other(options))
        found |= scores_of_the_other(options, arguments, all_fits(suites, compared[-1:]))
    print(machine())
    for suite, cases in suites.items():
        print(f"\n{suite}: {len(cases)} fits")
        head = ["", "tables", "with an effect", "mean ± standard error", "worst", "best", "seconds"]
        print_columns([head, *(line(rule, cases, found) for rule in compared)])


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
    parser.add_argument("--quick", action="store_true", help="two small tables, a small budget, two rules")
    parser.add_argument("--is-other", action="store_true", help=argparse.SUPPRESS)  # run with its src
    options = parser.parse_args(arguments)
    if options.quick:
        options.rules = ["without linear", "n_candidates=8"]
    if not (options.published or options.chosen or options.held_out or options.quick):
        parser.error("say on which tables: --published, --chosen, --held-out or --quick")
    return options


def chosen_suites(options: argparse.Namespace) -> dict[str, list[Case]]:
    chosen = [*data_sets.halves("keel", "odd"), *data_sets.halves("r", "odd")]
    held_out = [*data_sets.halves("keel", "even"), *data_sets.halves("r", "even"), *data_sets.UNSEEN]
    draws = range(options.seed, options.seed + options.draws)
    suites = {}
    if options.published:
        splits = [(table, split) for table in data_sets.NAMES for split in options.splits]
        suites["published"] = [Case(table, split, f"{table} {split}") for table, split in splits]
    if options.chosen:
        suites["chosen"] = [Case(table, draw, table) for table in chosen for draw in draws]
    if options.held_out:
        suites["held out"] = [Case(table, draw, table) for table in held_out for draw in draws]
    if options.quick:
        suites["quick"] = [Case(table, 0, table) for table in ("iris", "wine-5")]
    return suites


def all_fits(suites: dict[str, list[Case]], methods: Iterable[str]) -> list[Fit]:
    methods = list(methods)
    return [Fit(method, case.table, case.draw) for cases in suites.values() for case in cases for method in methods]


def line(rule: str, cases: list[Case], found: dict[Fit, Score]) -> list[str]:
    """Of one rule: how it differs from the default on the tables on which any label does."""
    differences: dict[str, list[float]] = {}
    changed, seconds, by_default = set(), 0.0, 0.0
    for case in cases:
        usual, other = (found[Fit(method, case.table, case.draw)] for method in (DEFAULT, rule))
        differences.setdefault(case.counts_as, []).append(100 * (other.accuracy - usual.accuracy))
        seconds, by_default = seconds + other.seconds, by_default + usual.seconds
        if other.labels != usual.labels:
            changed.add(case.counts_as)
    of_tables = np.array([np.mean(differences[table]) for table in sorted(changed)])
    figures = ["-", "-", "-"]
    if len(of_tables) >= FEWEST_TABLES:
        error = of_tables.std(ddof=1) / np.sqrt(len(of_tables))
        figures = [f"{of_tables.mean():+.2f} ± {error:.2f}", f"{of_tables.min():+.1f}", f"{of_tables.max():+.1f}"]
    return [rule, str(len(differences)), str(len(changed)), *figures, f"{seconds / by_default:.2f}"]


# Another checkout


def name_of_the_other(options: argparse.Namespace) -> str:
    return f"{options.against.resolve().name}{', graphs alone' if options.graphs_alone else ''}"


def scores_of_the_other(options: argparse.Namespace, arguments: Sequence[str], wanted: list[Fit]) -> dict[Fit, Score]:
    """By this script again, in a process that imports pglearn from there."""
    source = options.against.resolve() / "src"
    if not (source / "pglearn").is_dir():
        raise SystemExit(f"There is no {source / 'pglearn'}: --against names the folder of a checkout.")
    with tempfile.TemporaryDirectory() as folder:
        rows = options.rows or Path(folder) / "rows.jsonl"
        command = [sys.executable, __file__, *arguments, "--rows", str(rows), "--is-other"]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(source)})
        stored = fits.stored(rows)
    return {fit: stored[fit] for fit in wanted}


def default_of_the_other(X: np.ndarray, y: np.ndarray, seed: int, graphs_alone: bool) -> Answer:
    if graphs_alone:
        _silence_other_models()
    return fits.pglearn(X, y, seed)


def _silence_other_models() -> None:
    """In a checkout that weighs other models beside its graphs, let none of them count."""
    try:
        judgement = importlib.import_module("pglearn.estimators.rehearsal").Judgement
    except ModuleNotFoundError:
        return  # it has none
    importlib.import_module("pglearn.estimators.pglearn").judged = lambda *_: judgement(None, {})


if __name__ == "__main__":
    main()
