"""`pglearn reproduce`: choose the fits, say how long they take, run what is missing, show and write the result."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from pglearn.datasets import NAMES, NOISE, PERCENTS, SPLITS, Benchmark, load_benchmark
from pglearn.errors import InputError
from pglearn.files import whole_file, writable_folder
from pglearn.outputs import write_table
from pglearn.parameters import check_positive_or_none, check_whole
from pglearn.reproduction import figures, tables
from pglearn.reproduction.expected import Timing, calibrated, expected_seconds, in_words
from pglearn.reproduction.experiments import EXPERIMENTS, QUICK_SPLITS, Experiment, units_over_time
from pglearn.reproduction.methods import REFERENCE, Budget, methods_with
from pglearn.reproduction.rows import Cell, Circumstances, Row, Rows
from pglearn.reproduction.run import row_of, run
from pglearn.reproduction.traces import Trace, watched

ROWS = "rows.csv"
FIGURES = ("1", "3", "5b", "6", "4", "5a")  # searches to watch first: they are fits that others show
FIGURE_1_BUDGET = Budget(16, 8)  # the T and B of the paper's worked example
FIGURE_3_SETS = ("coil", "mnist")  # those of the paper
FIGURE_4_SPLITS = 3  # as in the paper
QUICK_FIGURE_SPLITS = 1  # of the fits of tables 3 and 4 and, for figure 5a, of all shorter ones
AFTERWARDS = " What the candidates of a watched search answer is worked out after it, beyond the expected time."
BELONGS_TO = {
    "percents": ("table3", "table4", "figures"),
    "noise": ("table4", "figures"),
    "only": ("figures",),
    "no_run": ("table2", "table3", "table4"),
}
FAILED = 1
STOPPED = 130
WIDTH = 100  # in a file or a pipe


def reproduce(options: argparse.Namespace) -> int:
    """Run the experiment that the command line names; returns the exit code."""
    session = Session.of(options)
    try:
        draw_figures(session) if options.experiment == "figures" else show_table(session)
    except KeyboardInterrupt:
        there = f"{session.rows.path} has {len(session.rows)} rows"
        session.console.print(f"Stopped. {escape(there)}; the same command goes on from there.")
        return STOPPED
    return session.report_failures()


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
            percents=_percents(options, usual),
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
        with _bar(self.options.quiet, "fits", weights) as advance:

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


def show_table(session: Session) -> None:
    """Table 2, 3 or 4: run what is missing, print it, and write it as CSV and as Markdown."""
    name = session.options.experiment
    experiment = session.experiment(name)
    cells = experiment.cells(session.data)
    session.run(cells)
    table = tables.table_of(experiment, session.rows, tuple(session.data))
    session.console.print(tables.for_terminal(table))
    for verdict in tables.verdicts(table):
        session.console.print(f"  {verdict}")
    write_table(tables.as_frame(table), session.folder / f"{name}.csv")
    with whole_file(session.folder / f"{name}.md") as file:
        file.write(f"{tables.markdown(table)}\n`{session.circumstances.command}`\n".encode())
    programs = sorted({row.circumstances.program for row in session.rows_of(cells)})
    if len(programs) > 1:
        session.console.print(f"[yellow]note[/] {escape(f'The rows are of several versions: {_listed(programs)}.')}")
    session.console.print(f"Written: {name}.csv, {name}.md and {ROWS} in {escape(str(session.folder))}")
    if session.options.quick:
        _tell_full_time(session, name)


def _tell_full_time(session: Session, name: str) -> None:
    """A quick run has timed every kind of fit: enough to tell what the full one would take."""
    usual = EXPERIMENTS[name]
    cells = usual.cells(session.data)
    seconds = [expected_seconds(cell, session.timings) for cell in cells]
    known = [expected for expected in seconds if expected is not None]
    if len(known) == len(cells):
        full = f"{usual.budget}, {usual.splits} splits"
        session.console.print(f"The full run ({full}) would take about {in_words(sum(known))}, one fit at a time.")


def draw_figures(session: Session) -> None:
    """The figures asked for, each drawn as soon as what it needs is there."""
    folder = writable_folder(session.folder / "figures")
    drawings = {name: _DRAWINGS[name] for name in session.options.only or FIGURES}
    _tell_time_of_all(session, drawings.values())
    for name, drawing in drawings.items():
        figure = drawing.draw(session, drawing.cells(session))
        if figure is None:
            session.console.print(f"Figure {name} is not drawn: nothing that it needs went through.")
            continue
        figures.save(figure, folder / f"figure{name}.svg")
        session.console.print(f"Figure {name}: {escape(str(folder / f'figure{name}.svg'))}")


@dataclass(frozen=True)
class Drawing:
    """A figure: the fits that it needs, whether they are watched, and how it is drawn; None if none went through."""

    cells: Callable[[Session], list[Cell]]
    draw: Callable[[Session, list[Cell]], Any]
    watches: bool = False

    def left(self, session: Session) -> list[Cell]:
        """What is to be run."""
        there = (lambda cell: session.trace_path(cell).is_file()) if self.watches else session.rows.has
        return [cell for cell in self.cells(session) if not there(cell)]


def _tell_time_of_all(session: Session, drawings: Collection[Drawing]) -> None:
    """Of several figures; a single one tells it by itself."""
    parts = [left for drawing in drawings if (left := drawing.left(session))]
    missing = list(dict.fromkeys(cell for part in parts for cell in part))
    if len(parts) > 1:
        afterwards = AFTERWARDS if any(drawing.watches for drawing in drawings) else ""
        session.console.print(f"{len(missing)} fits to do for all figures.{afterwards}")
        session.tell_time(missing)


def _nothing(session: Session) -> list[Cell]:
    return []


def _figure_1(session: Session, cells: list[Cell]) -> Any:
    return figures.draw_search(figures.search_picture(FIGURE_1_BUDGET))


def _cells_of_3(session: Session) -> list[Cell]:
    sets = [name for name in FIGURE_3_SETS if name in session.data] or list(session.data)
    percents = _percents(session.options, EXPERIMENTS["table2"])
    return _of_reference(session, splits=1, noise="none", percents=percents).cells(sets)


def _figure_3(session: Session, cells: list[Cell]) -> Any:
    return _progress(session, cells, f"{cells[0].percent} % labels")


def _cells_of_4(session: Session) -> list[Cell]:
    experiment = session.experiment("table3")
    if not session.options.splits:
        experiment = replace(experiment, splits=min(experiment.splits, FIGURE_4_SPLITS))
    return experiment.cells(session.data)


def _figure_4(session: Session, cells: list[Cell]) -> Any:
    session.run(cells)
    curves = figures.error_by_labels(session.rows_of(cells))
    title = f"Test error by share of labels, {_splits(cells)} splits, {cells[-1].budget}"
    return figures.draw_errors(curves, title, "labels, %") if curves else None


def _cells_of_5a(session: Session) -> list[Cell]:
    experiment = session.experiment("table4")
    budgets = units_over_time(experiment.budget)
    return [cell for budget in budgets for cell in replace(experiment, budget=budget).cells(session.data)]


def _figure_5a(session: Session, cells: list[Cell]) -> Any:
    session.run(cells)
    curves = figures.error_by_time(session.rows_of(cells))
    full = cells[-1]
    data = f"{full.noise} noise, {full.percent} % labels, {_splits(cells)} splits"
    title = f"Test error by time with {data}, up to {full.budget}"
    return figures.draw_errors(curves, title, "seconds", log_x=True) if curves else None


def _cells_of_5b(session: Session) -> list[Cell]:
    return _of_reference(session, splits=1).cells(session.data)


def _figure_5b(session: Session, cells: list[Cell]) -> Any:
    return _progress(session, cells, f"{cells[0].noise} noise, {cells[0].percent} % labels")


def _cells_of_6(session: Session) -> list[Cell]:
    return _of_reference(session).cells(session.data)


def _figure_6(session: Session, cells: list[Cell]) -> Any:
    traces = _traces(session, cells)
    weights = {
        name: figures.mean_weights(trace for cell, trace in traces.items() if cell.data == name)
        for name in dict.fromkeys(cell.data for cell in traces)
    }
    return figures.draw_weights(weights) if weights else None


_DRAWINGS = {
    "1": Drawing(_nothing, _figure_1),
    "3": Drawing(_cells_of_3, _figure_3, watches=True),
    "4": Drawing(_cells_of_4, _figure_4),
    "5a": Drawing(_cells_of_5a, _figure_5a),
    "5b": Drawing(_cells_of_5b, _figure_5b, watches=True),
    "6": Drawing(_cells_of_6, _figure_6, watches=True),
}


def _progress(session: Session, cells: list[Cell], data: str) -> Any:
    traces = {cell.data: trace for cell, trace in _traces(session, cells).items()}
    title = f"PG-learn with {data}, one run each, {cells[0].budget}"
    return figures.draw_progress(traces, title) if traces else None


def _splits(cells: Sequence[Cell]) -> int:
    return len({cell.split for cell in cells})


def _of_reference(session: Session, **changes: Any) -> Experiment:
    """The parallel experiment with PG-learn alone, and with what else a figure changes."""
    return replace(session.experiment("table4"), methods=(REFERENCE,), **changes)


def _traces(session: Session, cells: Sequence[Cell]) -> dict[Cell, Trace]:
    """Searches that were watched, from their files where they are there. Each is also a fit, and has its row; of one
    that fails, this is all that is left."""
    writable_folder(session.folder / "traces")
    tried = {row.cell for row in session.failed}
    missing = [cell for cell in cells if cell not in tried and not session.trace_path(cell).is_file()]
    session.console.print(f"{len(missing)} of {len(cells)} searches to watch.{AFTERWARDS if missing else ''}")
    weights = session.tell_time(missing) if missing else {}
    with _bar(session.options.quiet, "searches to watch", weights) as advance:
        for cell, trace, outcome in watched(missing, session.data, session.jobs):
            row = row_of(cell, outcome, session.data[cell.data], session.circumstances)
            if trace is not None:
                trace.save(session.trace_path(cell))
            else:
                session.failed.append(row)
            if not session.rows.has(cell):
                session.rows.add(row)
            advance(cell)
    return {cell: Trace.load(path) for cell in cells if (path := session.trace_path(cell)).is_file()}


def _trace_name(cell: Cell) -> str:
    budget = cell.budget
    unit = f"{budget.unit_steps}" if budget.unit_seconds is None else f"{budget.unit_seconds:g}s"
    return f"{cell.data}-{cell.noise}-{cell.percent}-{cell.split}-{budget.units}x{budget.candidates}x{unit}.npz"


def _percents(options: argparse.Namespace, usual: Experiment) -> tuple[int, ...]:
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
            raise InputError(f"--{name} is for {_listed(experiments)}, not for {options.experiment}: leave it out.")
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


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _among(option: str, chosen: Sequence[Any] | None, known: Any) -> None:
    for value in chosen or ():
        if value not in known:
            raise InputError(f"{option} {value} is not known: choose among {', '.join(str(name) for name in known)}.")


@contextmanager
def _bar(quiet: bool, what: str, weights: Mapping[Cell, float]) -> Iterator[Callable[[Cell], None]]:
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
