"""`pglearn reproduce`: check what is asked for, run what is missing of it, show and write the result."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.markup import escape

from pglearn.errors import InputError
from pglearn.files import whole_file
from pglearn.paper.datasets import NAMES, NOISE, PERCENTS, SPLITS
from pglearn.paper.experiments import EXPERIMENTS, expected_time
from pglearn.paper.figures import FIGURES, draw_figures
from pglearn.paper.methods import methods_with
from pglearn.paper.session import ROWS, Session
from pglearn.paper.tables import markdown, table_of
from pglearn.parameters import check_positive_or_none, check_whole
from pglearn.tables.frames import write_table

FAILED, STOPPED = 1, 130
BELONGS_TO = {
    "percents": ("table3", "table4", "figures"),
    "noise": ("table4", "figures"),
    "only": ("figures",),
}


def reproduce(options: argparse.Namespace) -> int:
    """Run the experiment that the command line names; returns the exit code."""
    check(options)  # everything that can be wrong is found before any time is spent
    session = Session.from_options(options)
    show = session.console.print
    try:
        draw_figures(session) if options.experiment == "figures" else show_table(session)
    except KeyboardInterrupt:
        there = f"{session.rows.path} has {len(session.rows)} rows"
        show(f"Stopped. {escape(there)}; the same command goes on from there.")
        return STOPPED
    for cell, failure in list(session.failures.items())[:5]:
        show(f"[yellow]note[/] {escape(f'{cell} failed: {failure}')}")
    if session.failures:
        show(f"{len(session.failures)} fits failed; the same command tries them again.")
    return FAILED if session.failures else 0


def show_table(session: Session) -> None:
    """Table 2, 3 or 4: run what is missing, print it, and write it as CSV and as Markdown."""
    name, show = session.options.experiment, session.console.print
    experiment = session.experiment(name)
    rows = session.fit(experiment.cells(session.data))
    table = table_of(experiment, rows, tuple(session.data))
    text = markdown(experiment, table)
    show(text, markup=False)
    write_table(table.assign(budget=str(experiment.budget), noise=experiment.noise), session.folder / f"{name}.csv")
    with whole_file(session.folder / f"{name}.md") as file:
        file.write(f"{text}\n\n`{session.circumstances['command']}`\n".encode())
    programs = sorted({versions.split(",")[0] for versions in rows["versions"]})
    if len(programs) > 1:
        show(f"[yellow]note[/] The rows are of several versions: {escape(' and '.join(programs))}.")
    show(f"Written: {name}.csv, {name}.md and {ROWS} in {escape(str(session.folder))}")
    if session.options.quick:
        usual = EXPERIMENTS[name]
        time = expected_time(usual.cells(session.data))
        show(f"The full run ({usual.budget}, {usual.splits} splits) would take about {time}, one fit at a time.")


def check(options: argparse.Namespace) -> None:
    for option, experiments in BELONGS_TO.items():
        if getattr(options, option) and options.experiment not in experiments:
            raise InputError(f"--{option} is for {', '.join(experiments)}, not for {options.experiment}: leave it out.")
    _check_among("sets", options.sets, NAMES)
    _check_among("methods", options.methods, tuple(methods_with(options.method_file)))
    _check_among("percents", options.percents, PERCENTS)
    _check_among("noise", options.noise and [options.noise], tuple(NOISE))
    _check_among("only", options.only, tuple(FIGURES))
    if options.experiment == "table4" and len(set(options.percents or ())) > 1:
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
