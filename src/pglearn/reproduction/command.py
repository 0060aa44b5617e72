"""`pglearn reproduce`: run what is missing of an experiment, show and write the result."""

from __future__ import annotations

import argparse

from rich.markup import escape

from pglearn.files import whole_file
from pglearn.outputs import write_table
from pglearn.reproduction import tables
from pglearn.reproduction.drawings import draw_figures
from pglearn.reproduction.expected import expected_seconds, in_words
from pglearn.reproduction.experiments import EXPERIMENTS
from pglearn.reproduction.session import ROWS, Session, listed

STOPPED = 130


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
        session.console.print(f"[yellow]note[/] {escape(f'The rows are of several versions: {listed(programs)}.')}")
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
