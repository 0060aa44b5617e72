"""What a command line asks to be reproduced, checked, and the rows that are there."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from pglearn.reproduction.expected import Timing, calibrated, expected_seconds, in_words
from pglearn.reproduction.experiments import EXPERIMENTS, QUICK_SPLITS, Experiment
from pglearn.reproduction.methods import Budget, methods_with
from pglearn.reproduction.rows import Cell, Circumstances, Row, Rows
from pglearn.reproduction.run import run

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
    circumstances: Circumstances
    console: Console
    failed: list[Row] = field(default_factory=list)
    short_fits: list[Timing] = field(default_factory=list)

    @classmethod
    def of(cls, options: argparse.Namespace) -> Session:
        """Everything that can be wrong is found here, before any time is spent."""
        for name in ("sets", "methods", "percents", "only"):
            if given := getattr(options, name):
                setattr(options, name, list(dict.fromkeys(given)))  # what is named twice is meant once
        _check(options)
        if options.experiment == "figures":
            figures.check_matplotlib()
        data = {name: load_benchmark(name, options.data) for name in options.sets or NAMES}
        folder = writable_folder(options.output, ROWS)
        circumstances = Circumstances.here(shlex.join(["pglearn", *options.given]))
        console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDTH)
        return cls(options, data, Rows(folder / ROWS), circumstances, console)

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

    def run(self, cells: Sequence[Cell]) -> None:
        """Fit what is missing, after saying how long that takes."""
        missing = [cell for cell in cells if not self.rows.has(cell)]
        where = escape(str(self.rows.path))
        self.console.print(f"{len(missing)} of {len(cells)} fits to do; rows are kept in {where}.")
        if not missing or self.options.no_run:
            return
        weights = self.tell_time(missing)
        with progress_bar(self.options.quiet, "fits", weights) as advance:

            def done(row: Row) -> None:
                advance(row.cell)
                if not row.ok:
                    self.failed.append(row)

            run(missing, self.data, self.rows, self.circumstances, self.options.method_file, self.jobs, done)

    def tell_time(self, missing: Sequence[Cell]) -> dict[Cell, float]:
        """Say how long these fits take, where all can be told; returns the seconds by which each fills a bar."""
        known = self.timings
        timings = calibrated(missing, known, self.data, self.options.method_file)
        self.short_fits.extend(timings[len(known) :])
        seconds = {cell: expected_seconds(cell, timings) for cell in missing}
        told = [expected for expected in seconds.values() if expected is not None]
        if len(told) == len(missing):
            self.console.print(f"Expected time: about {in_words(sum(told) / self.jobs)}, {self.jobs} at a time.")
        usual = sum(told) / len(told) if told else 1.0
        return {cell: usual if expected is None else expected for cell, expected in seconds.items()}

    @property
    def timings(self) -> list[Timing]:
        return [Timing(row.cell, row.seconds) for row in self.rows if row.ok] + self.short_fits

    def trace_path(self, cell: Cell) -> Path:
        return self.folder / "traces" / _trace_name(cell)

    def rows_of(self, cells: Sequence[Cell]) -> list[Row]:
        wanted = set(cells)
        return [row for row in self.rows if row.cell in wanted]

    def report_failures(self) -> int:
        for row in self.failed[:5]:
            cell = row.cell
            where = f"{cell.method} on {cell.data}, {cell.percent} %, split {cell.split}"
            self.console.print(f"[yellow]note[/] {escape(f'{where} failed: {row.failure}')}")
        if self.failed:
            self.console.print(f"{len(self.failed)} fits failed; the same command tries them again.")
        return FAILED if self.failed else 0


def _trace_name(cell: Cell) -> str:
    budget = cell.budget
    unit = f"{budget.unit_steps}" if budget.unit_seconds is None else f"{budget.unit_seconds:g}s"
    return f"{cell.data}-{cell.noise}-{cell.percent}-{cell.split}-{budget.units}x{budget.candidates}x{unit}.npz"


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
    _among("--sets", options.sets, NAMES)
    _among("--methods", options.methods, methods_with(options.method_file))
    _among("--percents", options.percents, PERCENTS)
    if options.experiment == "table4" and len(options.percents or ()) > 1:
        raise InputError("table4 has one share of labels: give one number after --percents, and run it once for each.")
    _among("--noise", options.noise and [options.noise], NOISE)
    _among("--only", options.only, FIGURES)
    for name, least in {"budget": 1, "candidates": 2, "unit_steps": 1, "splits": 1, "jobs": 1}.items():
        if getattr(options, name) is not None:
            check_whole(f"--{name.replace('_', '-')}", getattr(options, name), least)
    check_positive_or_none("--unit-seconds", options.unit_seconds)
    if options.unit_steps is not None and options.unit_seconds is not None:
        raise InputError("A unit is either steps or seconds: give --unit-steps or --unit-seconds, not both.")
    if (options.splits or 0) > SPLITS:
        raise InputError(f"--splits {options.splits}: there are {SPLITS} published splits.")


def listed(names: Sequence[str]) -> str:
    """In a sentence."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _among(option: str, chosen: Sequence[Any] | None, known: Any) -> None:
    for value in chosen or ():
        if value not in known:
            raise InputError(f"{option} {value} is not known: choose among {', '.join(str(name) for name in known)}.")


@contextmanager
def progress_bar(quiet: bool, what: str, weights: Mapping[Cell, float]) -> Iterator[Callable[[Cell], None]]:
    """A bar that fills by the expected seconds of each fit, with the time left."""
    columns = (
        TextColumn("{task.fields[done]}/{task.fields[count]} " + what),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("· left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=Console(stderr=True), disable=quiet, speed_estimate_period=3600) as progress:
        task = progress.add_task(what, total=sum(weights.values()), done=0, count=len(weights), last="")
        done: list[Cell] = []

        def advance(cell: Cell) -> None:
            done.append(cell)
            last = escape(f"{cell.method}, {cell.data} {cell.percent} %, split {cell.split}")
            progress.update(task, advance=weights[cell], done=len(done), last=last)

        yield advance
