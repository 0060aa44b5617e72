"""What a command line asks to be reproduced, the rows that are there, and how those that lack are made."""

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

from pglearn.files import writable_folder
from pglearn.paper.datasets import NAMES, Benchmark, load_benchmark
from pglearn.paper.experiments import EXPERIMENTS, Cell, Experiment, expected_time
from pglearn.paper.methods import Budget, methods_with
from pglearn.paper.results_file import Rows, circumstances, row_of
from pglearn.paper.run import outcomes
from pglearn.paper.traces import Trace

ROWS = "rows.csv"
WIDTH = 100  # in a file or a pipe


@dataclass(frozen=True, eq=False)
class Session:
    """What the command line asks for, and the rows that are there."""

    options: argparse.Namespace
    data: Mapping[str, Benchmark]
    rows: Rows
    circumstances: dict[str, str]
    console: Console
    failures: dict[Cell, str] = field(default_factory=dict)

    @classmethod
    def from_options(cls, options: argparse.Namespace) -> Session:
        data = {name: load_benchmark(name, options.data) for name in options.sets or NAMES}
        folder = writable_folder(options.output, ROWS)
        here = circumstances(shlex.join(["pglearn", *options.given]))
        console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDTH)
        return cls(options, data, Rows(folder / ROWS), here, console)

    @property
    def folder(self) -> Path:
        return self.rows.path.parent

    def experiment(self, name: str) -> Experiment:
        """One of the paper's, with what the options change. What is named twice is meant once."""
        options, usual = self.options, EXPERIMENTS[name]
        quick_splits = 1 if options.experiment == "figures" else 2
        methods = options.methods or [*usual.methods, *methods_with(options.method_file)]
        percents = tuple(dict.fromkeys(options.percents or usual.percents))
        if len(percents) > 1 and not usual.by_share:  # which only figure 4, of rows of table 3, can use
            percents = usual.percents
        return replace(
            usual,
            budget=_budget(options, usual.quick_budget if options.quick else usual.budget),
            splits=options.splits or (quick_splits if options.quick else usual.splits),
            percents=percents,
            noise=options.noise if options.noise and usual.noise != "none" else usual.noise,
            methods=tuple(dict.fromkeys(methods)),
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
        jobs = self.options.jobs
        self.console.print(f"{len(missing)} of {len(cells)} {what}; rows are kept in {escape(str(self.rows.path))}.")
        if not missing or self.options.no_run:
            return
        if missing[0].budget.unit_seconds is not None:
            self.console.print(f"Expected time: about {expected_time(missing, jobs)}, {jobs} at a time.")
        with Progress(console=Console(stderr=True), disable=self.options.quiet, speed_estimate_period=3600) as progress:
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


def _budget(options: argparse.Namespace, usual: Budget) -> Budget:
    if options.unit_steps is not None:
        usual = replace(usual, unit_seconds=None)
    given = {"units": options.budget, "candidates": options.candidates}
    given |= {"unit_steps": options.unit_steps, "unit_seconds": options.unit_seconds}
    return replace(usual, **{name: value for name, value in given.items() if value is not None})
