"""`pglearn reproduce`: run what is missing of an experiment, show and write the result."""

from __future__ import annotations

import argparse

from rich.markup import escape

from pglearn.files import whole_file
from pglearn.paper.drawings import draw_figures
from pglearn.paper.experiments import EXPERIMENTS, expected_time
from pglearn.paper.session import ROWS, Session
from pglearn.paper.tables import markdown, table_of
from pglearn.tables.frames import write_table

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
    name, print_line = session.options.experiment, session.console.print
    experiment = session.experiment(name)
    rows = session.fit(experiment.cells(session.data))
    table = table_of(experiment, rows, tuple(session.data))
    shown = markdown(experiment, table)
    print_line(shown, markup=False)
    write_table(table.assign(budget=str(experiment.budget), noise=experiment.noise), session.folder / f"{name}.csv")
    with whole_file(session.folder / f"{name}.md") as file:
        file.write(f"{shown}\n\n`{session.circumstances['command']}`\n".encode())
    programs = sorted({versions.split(",")[0] for versions in rows["versions"]})
    if len(programs) > 1:
        print_line(f"[yellow]note[/] The rows are of several versions: {escape(' and '.join(programs))}.")
    print_line(f"Written: {name}.csv, {name}.md and {ROWS} in {escape(str(session.folder))}")
    if session.options.quick:
        usual = EXPERIMENTS[name]
        full = f"{usual.budget}, {usual.splits} splits"
        time = expected_time(usual.cells(session.data))
        print_line(f"The full run ({full}) would take about {time}, one fit at a time.")
