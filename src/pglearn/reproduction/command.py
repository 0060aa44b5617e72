"""`pglearn reproduce`: run what is missing of an experiment, show and write the result."""

from __future__ import annotations

import argparse

from rich.markup import escape

from pglearn.files import whole_file
from pglearn.outputs import write_table
from pglearn.reproduction import tables
from pglearn.reproduction.drawings import draw_figures
from pglearn.reproduction.experiments import EXPERIMENTS, expected_seconds, in_words
from pglearn.reproduction.session import ROWS, Session, listed

STOPPED = 130


def reproduce(options: argparse.Namespace) -> int:
    """Run the experiment that the command line names; returns the exit code."""
    session = Session.from_options(options)
    try:
        draw_figures(session) if options.experiment == "figures" else show_table(session)
    except KeyboardInterrupt:
        there = f"{session.rows.path} has {len(session.rows)} rows"
        session.console.print(f"Stopped. {escape(there)}; the same command goes on from there.")
        return STOPPED
    return session.report_failures()


def show_table(session: Session) -> None:
    """Table 2, 3 or 4: run what is missing, print it, and write it as CSV and as Markdown."""
    name, console = session.options.experiment, session.console
    experiment = session.experiment(name)
    cells = experiment.cells(session.data)
    session.run(cells)
    rows = session.rows.frame(cells)
    table = tables.table_of(experiment, rows, tuple(session.data))
    console.print(tables.for_terminal(experiment, table))
    for verdict in tables.verdicts(table):
        console.print(f"  {verdict}")
    write_table(table.assign(budget=str(experiment.budget), noise=experiment.noise), session.folder / f"{name}.csv")
    with whole_file(session.folder / f"{name}.md") as file:
        file.write(f"{tables.markdown(experiment, table)}\n`{session.circumstances['command']}`\n".encode())
    programs = sorted({versions.split(",")[0] for versions in rows["versions"]})
    if len(programs) > 1:
        console.print(f"[yellow]note[/] {escape(f'The rows are of several versions: {listed(programs)}.')}")
    console.print(f"Written: {name}.csv, {name}.md and {ROWS} in {escape(str(session.folder))}")
    if session.options.quick:
        usual = EXPERIMENTS[name]
        told = in_words(expected_seconds(usual.cells(session.data)) or 0)
        full = f"{usual.budget}, {usual.splits} splits"
        console.print(f"The full run ({full}) would take about {told}, one fit at a time.")
