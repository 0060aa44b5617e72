"""Paper, ours and difference: a small record per table, then the terminal, CSV or Markdown.

Ranks are by mean accuracy on each data set, averaged over data sets, ties sharing their ranks. The methods of the paper
are ranked among themselves; another one as if it alone had joined them.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table as RichTable
from scipy.stats import rankdata

from pglearn.datasets import NAMES
from pglearn.reproduction.experiments import Experiment
from pglearn.reproduction.methods import REFERENCE
from pglearn.reproduction.rows import Row
from pglearn.reproduction.significance import LEVEL, Comparison, compared

MEAN = "mean"
SHOWN = {"coil": "COIL", "usps": "USPS", "mnist": "MNIST", "umist": "UMIST", "yale": "Yale"}


@dataclass(frozen=True)
class Printed:
    """A figure of the paper, with its mark and, in table 3, its rank."""

    accuracy: float
    mark: str = ""
    rank: float | None = None


@dataclass(frozen=True)
class Entry:
    """A method on a data set (table 3: with a share of labels): what the paper prints and what was measured."""

    group: str
    method: str
    paper: Printed | None
    ours: float | None
    deviation: float
    splits: int
    rank: float | None
    seconds: float
    comparison: Comparison | None

    @property
    def difference(self) -> float | None:
        return None if self.paper is None or self.ours is None else self.ours - self.paper.accuracy


@dataclass(frozen=True)
class Table:
    """Entries in the order in which they are shown, and a line that says how they were made."""

    experiment: Experiment
    entries: tuple[Entry, ...]

    @property
    def has_ranks(self) -> bool:
        return self.experiment.by_share

    @property
    def setting(self) -> str:
        experiment = self.experiment
        labels = "" if self.has_ranks else f", {experiment.percents[0]} % labels"
        noise = "" if experiment.noise == "none" else f", {experiment.noise} noise"
        return f"{experiment.budget} for every method{labels}{noise}, at most {experiment.splits} splits"


@cache
def published(name: str) -> dict[tuple[str, str], Printed]:
    """Every figure of one of the paper's tables, by (data set or share of labels, method)."""
    text = files("pglearn.reproduction").joinpath("paper", f"{name}.csv").read_text(encoding="utf-8")
    figures = {}
    for line in csv.DictReader(text.splitlines()):
        group = line.get("data") or f"{line['percent']} %"
        rank = float(line["rank"]) if "rank" in line else None
        figures[group, line["method"]] = Printed(float(line["accuracy"]), line["mark"], rank)
    return figures


def table_of(experiment: Experiment, rows: Iterable[Row], sets: Sequence[str]) -> Table:
    """The table of those rows that belong to the experiment."""
    wanted = set(experiment.cells(sets))
    frame = pd.DataFrame(
        [
            (row.cell.method, row.cell.data, row.cell.percent, row.cell.split, row.accuracy, row.seconds)
            for row in rows
            if row.cell in wanted and row.ok
        ],
        columns=["method", "data", "percent", "split", "accuracy", "seconds"],
    )
    if experiment.by_share:
        groups = {f"{percent} %": frame[frame["percent"] == percent] for percent in experiment.percents}
    else:
        groups = {data: frame[frame["data"] == data] for data in sets} | {MEAN: frame}
    entries = [
        _entry(experiment, group, method, part) for group, part in groups.items() for method in experiment.methods
    ]
    return Table(experiment, tuple(entry for entry in entries if entry.ours is not None or entry.paper is not None))


def _entry(experiment: Experiment, group: str, method: str, frame: pd.DataFrame) -> Entry:
    mine = frame[frame["method"] == method]
    by_set = mine.groupby("data")["accuracy"]
    return Entry(
        group=group,
        method=method,
        paper=_printed(experiment, group, method, mine["data"].unique()),
        ours=float(by_set.mean().mean()) if len(mine) else None,
        deviation=float(by_set.std(ddof=1).mean()),
        splits=int(by_set.count().max()) if len(mine) else 0,
        rank=_rank(experiment, method, frame),
        seconds=float(mine["seconds"].mean()),
        comparison=None if method == REFERENCE else _against_reference(frame, method),
    )


def _printed(experiment: Experiment, group: str, method: str, sets: Collection[str]) -> Printed | None:
    """The paper's figure; for the mean, that of its figures on the data sets that were measured.

    A figure over all data sets is no match for one that was measured on some of them.
    """
    figures = published(experiment.name)
    if experiment.by_share and 0 < len(sets) < len(NAMES):
        return None
    if group != MEAN:
        return figures.get((group, method))
    of_sets = [figures[data, method].accuracy for data in sets if (data, method) in figures]
    return Printed(float(np.mean(of_sets))) if of_sets else None


def _against_reference(frame: pd.DataFrame, method: str) -> Comparison:
    """On the splits that both have."""
    by_split = frame.pivot_table(index=["data", "percent", "split"], columns="method", values="accuracy")
    if not {REFERENCE, method} <= set(by_split.columns):
        return compared([], [])
    both = by_split[[REFERENCE, method]].dropna()
    return compared(both[REFERENCE].to_numpy(), both[method].to_numpy())


def _rank(experiment: Experiment, method: str, frame: pd.DataFrame) -> float | None:
    of_paper = {of for _, of in published(experiment.name)}
    means = frame.pivot_table(index="data", columns="method", values="accuracy")
    means = means[[name for name in means.columns if name in of_paper | {method}]].dropna()
    if method not in means.columns or not len(means):
        return None
    ranks = rankdata(-means.to_numpy().round(9), axis=1).mean(axis=0)
    return float(ranks[list(means.columns).index(method)])


def as_frame(table: Table) -> pd.DataFrame:
    """One line per entry, for CSV."""
    frame = pd.DataFrame(
        [
            {
                "table": table.experiment.name,
                "group": entry.group,
                "method": entry.method,
                "paper": entry.paper.accuracy if entry.paper else None,
                "paper_mark": entry.paper.mark if entry.paper else "",
                "ours": entry.ours,
                "ours_mark": entry.comparison.mark if entry.comparison else "",
                "difference": entry.difference,
                "deviation": entry.deviation,
                "splits": entry.splits,
                "pairs": entry.comparison.pairs if entry.comparison else None,
                "p": entry.comparison.p if entry.comparison else None,
                "seconds": entry.seconds,
                "paper_rank": entry.paper.rank if entry.paper else None,
                "rank": entry.rank,
                "budget": str(table.experiment.budget),
                "noise": table.experiment.noise,
            }
            for entry in table.entries
        ]
    )
    return frame if table.has_ranks else frame.drop(columns=["paper_rank", "rank"], errors="ignore")


def markdown(table: Table) -> str:
    """Title, setting, the table and the verdicts."""
    head, *lines = _cells(table)
    rule = ["---" if column < 2 else "---:" for column in range(len(head))]
    rows = ["| " + " | ".join(line) + " |" for line in (head, rule, *lines)]
    told = [f"- {verdict}" for verdict in verdicts(table)]
    return "\n".join([f"### {table.experiment.title}", "", f"{table.setting}.", "", *rows, "", *told]).rstrip() + "\n"


def for_terminal(table: Table) -> RichTable:
    """The same with lines between the groups."""
    head, *lines = _cells(table)
    shown = RichTable(title=table.experiment.title, caption=table.setting, title_justify="left", box=SIMPLE_HEAD)
    shown.pad_edge, shown.collapse_padding, shown.caption_justify = False, True, "left"
    for column, name in enumerate(head):
        shown.add_column(name, justify="left" if column < 2 else "right", no_wrap=True)
    for at, (line, entry) in enumerate(zip(lines, table.entries, strict=True)):
        last = at + 1 == len(lines) or table.entries[at + 1].group != entry.group
        shown.add_row(*line, end_section=last)
    return shown


def verdicts(table: Table) -> list[str]:
    """Where PG-learn is significantly better, method by method."""
    found = []
    for method in table.experiment.methods:
        tests = [
            entry.comparison
            for entry in table.entries
            if entry.method == method and entry.group != MEAN and entry.comparison and entry.comparison.pairs
        ]
        if tests:
            better = sum(bool(test.mark) for test in tests)
            worse = sum(test.worse for test in tests)
            less = f", worse on {worse}" if worse else ""
            found.append(f"{REFERENCE} is better than {method} on {better} of {len(tests)} at p < {LEVEL}{less}.")
    return found


def _cells(table: Table) -> list[list[str]]:
    ranks = ["rank: paper", "ours"] if table.has_ranks else []
    first = "labels" if table.has_ranks else "data set"
    lines = [[first, "method", "paper", "ours", "difference", *ranks, "p", "splits", "s/fit"]]
    for entry in table.entries:
        comparison, paper = entry.comparison, entry.paper
        line = [
            SHOWN.get(entry.group, entry.group),
            entry.method,
            f"{paper.accuracy:.4f}{paper.mark}" if paper else "",
            "" if entry.ours is None else f"{entry.ours:.4f}{comparison.mark if comparison else ''}",
            "" if entry.difference is None else f"{entry.difference:+.4f}",
        ]
        if table.has_ranks:
            line += [f"{paper.rank:.2f}" if paper and paper.rank else "", f"{entry.rank:.2f}" if entry.rank else ""]
        line += [
            f"{comparison.p:.2g}" if comparison and comparison.pairs else "",
            str(entry.splits or ""),
            "" if np.isnan(entry.seconds) else f"{entry.seconds:.1f}",
        ]
        lines.append(line)
    return lines
