"""What a command line asks to be reproduced, checked, and the rows that are there."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from pglearn.datasets import NAMES, NOISE, PERCENTS, SPLITS, Benchmark, load_benchmark
from pglearn.errors import InputError
from pglearn.files import writable_folder
from pglearn.parameters import check_positive_or_none, check_whole
from pglearn.reproduction import figures
from pglearn.reproduction.experiments import (
    EXPERIMENTS,
    QUICK_SPLITS,
    Cell,
    Experiment,
    expected_seconds,
    in_words,
)
from pglearn.reproduction.methods import Budget, methods_with
from pglearn.reproduction.rows import Rows, circumstances, row_of
from pglearn.reproduction.run import outcomes
from pglearn.reproduction.traces import Trace

ROWS = "rows.csv"
FIGURES = ("1", "3", "5b", "6", "4", "5a")  # searches to watch first: they are fits that others show
QUICK_FIGURE_SPLITS = 1  # of the fits of tables 3 and 4 and, for figure 5a, of all shorter ones
BELONGS_TO = {
    "percents": ("table3", "table4", "figures"),
    "noise": ("table4", "figures"),
    "only": ("figures",),
    "no_run": ("table2", "table3", "table4"),
}
FAILED = 1
WIDTH = 100  # in a file or a pipe


@dataclass(frozen=True, eq=False)
class Session:
    """What the command line asks for, checked, and the rows that are there."""

    options: argparse.Namespace
    data: Mapping[str, Benchmark]
    rows: Rows
    circumstances: dict[str, str]
    console: Console
    failures: dict[Cell, str] = field(default_factory=dict)

    @classmethod
    def from_options(cls, options: argparse.Namespace) -> Session:
        """Everything that can be wrong is found here, before any time is spent."""
        for name in ("sets", "methods", "percents", "only"):
            if given := getattr(options, name):
                setattr(options, name, list(dict.fromkeys(given)))  # what is named twice is meant once
        _check(options)
        if options.experiment == "figures":
            figures.check_matplotlib()
        data = {name: load_benchmark(name, options.data) for name in options.sets or NAMES}
        folder = writable_folder(options.output, ROWS)
        here = circumstances(shlex.join(["pglearn", *options.given]))
        console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDTH)
        return cls(options, data, Rows(folder / ROWS), here, console)

    @property
    def folder(self) -> Path:
        return self.rows.path.parent

    @property
    def jobs(self) -> int:
        if self.options.jobs is not None:
            return int(self.options.jobs)
        return min(2, os.cpu_count() or 1) if self.options.quick else 1

    def experiment(self, name: str) -> Experiment:
        """One of the paper's, with what the options change."""
        options, usual = self.options, EXPERIMENTS[name]
        quick_splits = QUICK_FIGURE_SPLITS if options.experiment == "figures" else QUICK_SPLITS
        own = [method for method in methods_with(options.method_file) if method not in usual.methods]
        return replace(
            usual,
            budget=_budget(options, usual.quick_budget if options.quick else usual.budget),
            splits=options.splits or (quick_splits if options.quick else usual.splits),
            percents=percents_of(options, usual),
            noise=options.noise if options.noise and usual.noise != "none" else usual.noise,
            methods=tuple(options.methods or (*usual.methods, *own)),
        )

    def missing(self, cells: Sequence[Cell], watch: bool = False) -> list[Cell]:
        """Those that are to be fitted, or watched. What has failed in this session is not tried again."""
        there = (lambda cell: self._trace_path(cell).is_file()) if watch else self.rows.has
        return [cell for cell in cells if cell not in self.failures and not there(cell)]

    def tell_time(self, cells: Sequence[Cell]) -> None:
        """Where units are seconds; else the bar tells what is left."""
        seconds = expected_seconds(cells)
        if cells and seconds is not None:
            told = in_words(seconds / self.jobs)
            self.console.print(f"Expected time: about {told}, {self.jobs} at a time.")

    def run(self, cells: Sequence[Cell], watch: bool = False) -> None:
        """Fit what is missing, after saying how long that takes. A watched search is a fit like any other, and has its
        row; its trace has a file of its own."""
        missing = self.missing(cells, watch)
        where, what = escape(str(self.rows.path)), "searches to watch" if watch else "fits to do"
        self.console.print(f"{len(missing)} of {len(cells)} {what}; rows are kept in {where}.")
        if not missing or self.options.no_run:
            return
        self.tell_time(missing)
        with _progress_bar(self.options.quiet) as progress:
            total = sum(cell.budget.size for cell in missing)
            task = progress.add_task(what, total=total, last="", done=0, count=len(missing))
            found = outcomes(missing, self.data, self.options.method_file, self.jobs, watch)
            for done, outcome in enumerate(found, start=1):
                cell, data = outcome.cell, self.data[outcome.cell.data]
                if outcome.failure:
                    self.failures[cell] = outcome.failure
                if trace := outcome.trace(data):
                    trace.save(self._trace_path(cell))
                if not self.rows.has(cell):
                    self.rows.add(row_of(cell, outcome.figures(data), outcome.failure, self.circumstances))
                progress.update(task, advance=cell.budget.size, done=done, last=escape(str(cell)))

    def traces(self, cells: Sequence[Cell]) -> dict[Cell, Trace]:
        """Those that there are."""
        return {cell: Trace.load(path) for cell in cells if (path := self._trace_path(cell)).is_file()}

    def _trace_path(self, cell: Cell) -> Path:
        budget = cell.budget
        unit = f"{budget.unit_steps}" if budget.unit_seconds is None else f"{budget.unit_seconds:g}s"
        size = f"{budget.units}x{budget.candidates}x{unit}"
        return self.folder / "traces" / f"{cell.data}-{cell.noise}-{cell.percent}-{cell.split}-{size}.npz"

    def report_failures(self) -> int:
        for cell, failure in list(self.failures.items())[:5]:
            self.console.print(f"[yellow]note[/] {escape(f'{cell} failed: {failure}')}")
        if self.failures:
            self.console.print(f"{len(self.failures)} fits failed; the same command tries them again.")
        return FAILED if self.failures else 0


def percents_of(options: argparse.Namespace, usual: Experiment) -> tuple[int, ...]:
    """Table 3 takes several shares of labels, the others one: of several, which only figure 4 can use, none."""
    if not options.percents or (len(options.percents) > 1 and not usual.by_share):
        return usual.percents
    return tuple(options.percents)


def _budget(options: argparse.Namespace, usual: Budget) -> Budget:
    changed = {
        "units": options.budget,
        "candidates": options.candidates,
        "unit_steps": options.unit_steps,
        "unit_seconds": options.unit_seconds,
    }
    if options.unit_steps is not None:
        usual = replace(usual, unit_seconds=None)
    return replace(usual, **{name: value for name, value in changed.items() if value is not None})


def _check(options: argparse.Namespace) -> None:
    for option, experiments in BELONGS_TO.items():
        if getattr(options, option) and options.experiment not in experiments:
            name = option.replace("_", "-")
            raise InputError(f"--{name} is for {listed(experiments)}, not for {options.experiment}: leave it out.")
    _check_among("--sets", options.sets, NAMES)
    _check_among("--methods", options.methods, methods_with(options.method_file))
    _check_among("--percents", options.percents, PERCENTS)
    if options.experiment == "table4" and len(options.percents or ()) > 1:
        raise InputError("table4 has one share of labels: give one number after --percents, and run it once for each.")
    _check_among("--noise", options.noise and [options.noise], NOISE)
    _check_among("--only", options.only, FIGURES)
    for name, least in {"budget": 1, "candidates": 2, "unit_steps": 1, "splits": 1, "jobs": 1}.items():
        if getattr(options, name) is not None:
            check_whole(f"--{name.replace('_', '-')}", getattr(options, name), least)
    check_positive_or_none("--unit-seconds", options.unit_seconds)
    if options.unit_steps is not None and options.unit_seconds is not None:
        raise InputError("A unit is either steps or seconds: give --unit-steps or --unit-seconds, not both.")
    if (options.splits or 0) > SPLITS:
        raise InputError(f"--splits {options.splits}: there are {SPLITS} published splits.")


def _check_among(option: str, chosen: Sequence[Any] | None, known: Any) -> None:
    for value in chosen or ():
        if value not in known:
            raise InputError(f"{option} {value} is not known: choose among {', '.join(str(name) for name in known)}.")


def listed(names: Sequence[str]) -> str:
    """In a sentence."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _progress_bar(quiet: bool) -> Progress:
    """A bar that fills by the budget of each fit, with the time left."""
    return Progress(
        TextColumn("{task.fields[done]}/{task.fields[count]} {task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("· left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}"),
        console=Console(stderr=True),
        disable=quiet,
        speed_estimate_period=3600,
    )
