"""Paper, ours and difference: a frame per table, then Markdown.

Whether PG-learn is better than a method is tested split by split, by paired Wilcoxon signed-rank tests. The paper marks
a method with ▲ where PG-learn is better at p < 0.005 and with △ at p < 0.01. It does not say whether its tests have one
side or two; these have two, which is the stricter reading (ten splits won of ten: p = 2/1024).

Ranks are by mean accuracy on each data set, averaged over data sets, ties sharing their ranks. The methods of the paper
are ranked among themselves; another one as if it alone had joined them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from operator import add
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import wilcoxon

from pglearn.paper.datasets import NAMES
from pglearn.paper.experiments import Experiment
from pglearn.paper.methods import REFERENCE

MEAN, NAN = "mean", float("nan")
SHOWN = {"coil": "COIL", "usps": "USPS", "mnist": "MNIST", "umist": "UMIST", "yale": "Yale"}

MARKS = ((0.005, "▲"), (0.01, "△"))
LEVEL = 0.01
"""At which the paper speaks of a significant difference."""
DIGITS = 12
"""Equal shares of test rows differ in later ones, and are ties."""


class Comparison(NamedTuple):
    """PG-learn beside a method on the same splits: mean difference (PG-learn less the method) and p of the test."""

    pairs: int
    advantage: float
    p: float

    @property
    def mark(self) -> str:
        """The paper's, where PG-learn is the better one."""
        return next((mark for level, mark in MARKS if self.advantage > 0 and self.p < level), "")


def compared(reference: ArrayLike, other: ArrayLike) -> Comparison:
    """Accuracies of PG-learn and of a method, paired by position."""
    differences = np.subtract(reference, other).round(DIGITS)
    if not len(differences):
        return Comparison(0, NAN, NAN)
    p = 1.0
    if differences.any():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sample size too small")  # few splits cannot reach a mark anyway
            warnings.filterwarnings("ignore", "Exact p-value calculation does not work")
            p = float(wilcoxon(differences).pvalue)
    return Comparison(len(differences), float(differences.mean()), p)


@cache
def published(name: str) -> pd.DataFrame:
    """Every figure of one of the paper's tables, by group (data set or share of labels) and method."""
    with files("pglearn.paper").joinpath("published", f"{name}.csv").open(encoding="utf-8") as lines:
        figures = pd.read_csv(lines, dtype={"mark": str}, keep_default_na=False)
    figures["group"] = [f"{percent} %" for percent in figures["percent"]] if "percent" in figures else figures["data"]
    return figures.set_index(["group", "method"])


def table_of(experiment: Experiment, rows: pd.DataFrame, sets: Sequence[str]) -> pd.DataFrame:
    """A line per group and method that the paper or we have, from the rows of the experiment.

    A group is a data set or, in table 3, a share of labels. `advantage` is PG-learn's over the method, a mean over
    pairs, and p its significance.
    """
    if experiment.by_share:
        groups = {f"{percent} %": rows[rows["percent"] == percent] for percent in experiment.percents}
    else:
        groups = {data: rows[rows["data"] == data] for data in sets} | {MEAN: rows}
    parts = [(group, method, part) for group, part in groups.items() for method in experiment.methods]
    table = pd.DataFrame([_entry(experiment, *part) for part in parts])
    if not experiment.by_share:
        table = table.drop(columns=["paper_rank", "rank"])
    return table[table["ours"].notna() | table["paper"].notna()].reset_index(drop=True)


def _entry(experiment: Experiment, group: str, method: str, rows: pd.DataFrame) -> dict[str, Any]:
    """What the paper prints of a method and what was measured."""
    mine = rows[rows["method"] == method]
    by_set = mine.groupby("data")["accuracy"]
    by_split = rows.pivot_table(index=["data", "percent", "split"], columns="method", values="accuracy")
    pairs = by_split.reindex(columns=[REFERENCE, method]).dropna() if method != REFERENCE else by_split[:0]
    test = compared(pairs.get(REFERENCE, []), pairs.get(method, []))
    printed = _printed(experiment, group, method, list(mine["data"].unique()))
    return {
        "group": group,
        "method": method,
        **printed,
        "ours": by_set.mean().mean(),
        "ours_mark": test.mark,
        "difference": by_set.mean().mean() - printed["paper"],
        "deviation": by_set.std(ddof=1).mean(),
        "splits": by_set.count().max() if len(mine) else 0,
        "pairs": test.pairs,
        "p": test.p,
        "advantage": test.advantage,
        "seconds": mine["seconds"].mean(),
        "rank": _rank(experiment, method, rows),
    }


def _printed(experiment: Experiment, group: str, method: str, sets: list[str]) -> dict[str, Any]:
    """The paper's figure with its mark and rank; for the mean, that of its figures on the sets that were measured.

    A figure over all data sets is no match for one that was measured on some of them.
    """
    figures = published(experiment.name)
    if experiment.by_share and 0 < len(sets) < len(NAMES):
        return {"paper": NAN, "paper_mark": "", "paper_rank": NAN}
    if group == MEAN:
        of_sets = [figures["accuracy"].get((data, method), NAN) for data in sets]
        return {"paper": pd.Series(of_sets, dtype=float).mean(), "paper_mark": "", "paper_rank": NAN}
    of_method = figures.reindex([(group, method)]).iloc[0]
    mark = of_method["mark"] if pd.notna(of_method["mark"]) else ""
    return {"paper": of_method["accuracy"], "paper_mark": mark, "paper_rank": of_method.get("rank", NAN)}


def _rank(experiment: Experiment, method: str, rows: pd.DataFrame) -> float:
    of_paper = set(published(experiment.name).index.get_level_values("method"))
    means = rows.pivot_table(index="data", columns="method", values="accuracy")
    means = means[[name for name in means.columns if name in of_paper | {method}]].dropna().round(9)
    return float(means.rank(axis=1, ascending=False).mean().get(method, NAN))


def markdown(experiment: Experiment, table: pd.DataFrame) -> str:
    """Title, setting, the table and the verdicts."""
    columns = []
    for name, texts in _shown(table).items():
        width = max(map(len, [name, *texts]))
        columns.append([text.ljust(width) for text in (name, "-" * width, *texts)])
    lines = [f"| {' | '.join(line)} |" for line in zip(*columns, strict=True)]
    told = [f"- {verdict}" for verdict in verdicts(table)]
    return "\n".join([f"### {experiment.title}", "", f"{experiment.setting}.", "", *lines, "", *told])


def _shown(table: pd.DataFrame) -> dict[str, Iterable[str]]:
    """The columns as they are shown."""

    def texts(column: str, form: str) -> list[str]:
        return ["" if pd.isna(figure) else format(figure, form) for figure in table[column]]

    has_ranks = "rank" in table
    return {
        "labels" if has_ranks else "data set": [SHOWN.get(group, group) for group in table["group"]],
        "method": table["method"],
        "paper": list(map(add, texts("paper", ".4f"), table["paper_mark"])),
        "ours": list(map(add, texts("ours", ".4f"), table["ours_mark"])),
        "difference": texts("difference", "+.4f"),
        **({"rank: paper": texts("paper_rank", ".2f"), "rank: ours": texts("rank", ".2f")} if has_ranks else {}),
        "p": texts("p", ".2g"),
        "splits": texts("splits", "d"),
        "s/fit": texts("seconds", ".1f"),
    }


def verdicts(table: pd.DataFrame) -> list[str]:
    """Where PG-learn is significantly better, method by method."""
    found = []
    tested = table[(table["group"] != MEAN) & (table["pairs"] > 0)]
    for method, tests in tested.groupby("method", sort=False):
        better = (tests["ours_mark"] != "").sum()
        worse = ((tests["advantage"] < 0) & (tests["p"] < LEVEL)).sum()
        less = f", worse on {worse}" if worse else ""
        found.append(f"{REFERENCE} is better than {method} on {better} of {len(tests)} at p < {LEVEL}{less}.")
    return found
