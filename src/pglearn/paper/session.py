"""What a command line asks to be reproduced, checked, and the rows that are there."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from pglearn.errors import InputError
from pglearn.files import writable_folder
from pglearn.paper.datasets import NAMES, NOISE, PERCENTS, SPLITS, Benchmark, load_benchmark
from pglearn.paper.experiments import EXPERIMENTS, Cell, Experiment, expected_time
from pglearn.paper.methods import Budget, methods_with
from pglearn.paper.results_file import Rows, circumstances, row_of
from pglearn.paper.run import outcomes
from pglearn.paper.traces import Trace
from pglearn.parameters import check_positive_or_none, check_whole

ROWS = "rows.csv"
FIGURES = ("1", "3", "5b", "6", "4", "5a")  # searches to watch first: they are fits that others show
BELONGS_TO = {
    "percents": ("table3", "table4", "figures"),
    "noise": ("table4", "figures"),
    "only": ("figures",),
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
        data = {name: load_benchmark(name, options.data) for name in options.sets or NAMES}
        folder = writable_folder(options.output, ROWS)
        here = circumstances(shlex.join(["pglearn", *options.given]))
        console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDTH)
        return cls(options, data, Rows(folder / ROWS), here, console)

    @property
    def folder(self) -> Path:
        return self.rows.path.parent

    def experiment(self, name: str) -> Experiment:
        """One of the paper's, with what the options change."""
        options, usual = self.options, EXPERIMENTS[name]
        quick_splits = 1 if options.experiment == "figures" else 2
        own = [method for method in methods_with(options.method_file) if method not in usual.methods]
        return replace(
            usual,
            budget=_budget(options, usual.quick_budget if options.quick else usual.budget),
            splits=options.splits or (quick_splits if options.quick else usual.splits),
            percents=percents_of(options, usual),
            noise=options.noise if options.noise and usual.noise != "none" else usual.noise,
            methods=tuple(options.methods or (*usual.methods, *own)),
        )

    def fit(self, cells: Sequence[Cell]) -> pd.DataFrame:
        """The rows of these cells, after fitting what is missing."""
        self._run(cells, "fits to do", self.rows.has)
        return self.rows.frame(cells)

    def watch(self, cells: Sequence[Cell]) -> dict[Cell, Trace]:
        """The traces of these cells, after watching the searches that are missing. Such a search is a fit like any
        other and has its row, too; its trace has a file of its own."""
        writable_folder(self.folder / "traces")
        self._run(cells, "searches to watch", lambda cell: self._trace_path(cell).is_file(), watch=True)
        return {cell: Trace.load(path) for cell in cells if (path := self._trace_path(cell)).is_file()}

    def _run(self, cells: Sequence[Cell], what: str, is_there: Callable[[Cell], bool], watch: bool = False) -> None:
        """Fit what is missing, after saying how long that takes. What has failed in this session is not tried again."""
        missing = [cell for cell in cells if cell not in self.failures and not is_there(cell)]
        rows, jobs = escape(str(self.rows.path)), self.options.jobs
        self.console.print(f"{len(missing)} of {len(cells)} {what}; rows are kept in {rows}.")
        if not missing or self.options.no_run:
            return
        if missing[0].budget.unit_seconds is not None:
            self.console.print(f"Expected time: about {expected_time(missing, jobs)}, {jobs} at a time.")
        console = Console(stderr=True)
        with Progress(console=console, disable=self.options.quiet, speed_estimate_period=3600) as progress:
            task = progress.add_task(what, total=sum(cell.budget.size for cell in missing))
            for outcome in outcomes(missing, self.data, self.options.method_file, jobs, watch):
                cell = outcome.cell
                if outcome.failure:
                    self.failures[cell] = outcome.failure
                if outcome.trace is not None:
                    outcome.trace.save(self._trace_path(cell))
                if not self.rows.has(cell):
                    self.rows.add(row_of(outcome, self.circumstances))
                progress.update(task, advance=cell.budget.size)

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
            raise InputError(f"--{option} is for {', '.join(experiments)}, not for {options.experiment}: leave it out.")
    _check_among("sets", options.sets, NAMES)
    _check_among("methods", options.methods, tuple(methods_with(options.method_file)))
    _check_among("percents", options.percents, PERCENTS)
    _check_among("noise", options.noise and [options.noise], tuple(NOISE))
    _check_among("only", options.only, FIGURES)
    if options.experiment == "table4" and len(options.percents or ()) > 1:
        raise InputError("table4 has one share of labels: give one number after --percents, and run it once for each.")
    for name, least in {"budget": 1, "candidates": 2, "unit_steps": 1, "splits": 1, "jobs": 1}.items():
        if getattr(options, name) is not None:
            check_whole(f"--{name.replace('_', '-')}", getattr(options, name), least)
    check_positive_or_none("--unit-seconds", options.unit_seconds)
    if options.unit_steps is not None and options.unit_seconds is not None:
        raise InputError("A unit is either steps or seconds: give --unit-steps or --unit-seconds, not both.")
    if (options.splits or 0) > SPLITS:
        raise InputError(f"--splits {options.splits}: there are {SPLITS} published splits.")


def _check_among(option: str, chosen: Sequence[object] | None, known: Sequence[object]) -> None:
    for value in chosen or ():
        if value not in known:
            raise InputError(f"--{option} {value} is not known: choose among {', '.join(map(str, known))}.")
