"""The paper's figures: the fits that each needs, some of them watched, and how it is drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.markup import escape

from pglearn.files import writable_folder
from pglearn.reproduction import figures
from pglearn.reproduction.experiments import EXPERIMENTS, Experiment, units_over_time
from pglearn.reproduction.methods import REFERENCE, Budget
from pglearn.reproduction.rows import Cell
from pglearn.reproduction.run import row_of
from pglearn.reproduction.session import FIGURES, Session, percents_of, progress_bar
from pglearn.reproduction.traces import Trace, watched

FIGURE_1_BUDGET = Budget(16, 8)  # the T and B of the paper's worked example
FIGURE_3_SETS = ("coil", "mnist")  # those of the paper
FIGURE_4_SPLITS = 3  # as in the paper
AFTERWARDS = " What the candidates of a watched search answer is worked out after it, beyond the expected time."


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
    percents = percents_of(session.options, EXPERIMENTS["table2"])
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
    with progress_bar(session.options.quiet, "searches to watch", weights) as advance:
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
