"""The paper's figures: the fits that each needs, some of them watched, and how it is drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.markup import escape

from pglearn.files import writable_folder
from pglearn.reproduction import figures
from pglearn.reproduction.experiments import EXPERIMENTS, Cell, Experiment, units_over_time
from pglearn.reproduction.methods import REFERENCE, Budget
from pglearn.reproduction.session import FIGURES, Session, percents_of

FIGURE_1_BUDGET = Budget(16, 8)  # the T and B of the paper's worked example
FIGURE_3_SETS = ("coil", "mnist")  # those of the paper
FIGURE_4_SPLITS = 3  # as in the paper


@dataclass(frozen=True)
class Drawing:
    """A figure: the fits that it needs, whether they are watched, and how it is drawn; None if none went through."""

    cells: Callable[[Session], list[Cell]]
    draw: Callable[[Session, list[Cell]], Any]
    watches: bool = False


def draw_figures(session: Session) -> None:
    """The figures asked for, each drawn as soon as what it needs is there."""
    folder = writable_folder(session.folder / "figures")
    writable_folder(session.folder / "traces")
    asked = {name: _DRAWINGS[name] for name in session.options.only or FIGURES}
    cells = {name: drawing.cells(session) for name, drawing in asked.items()}
    missing = [session.missing(cells[name], drawing.watches) for name, drawing in asked.items()]
    if sum(map(bool, missing)) > 1:
        every = list(dict.fromkeys(cell for of_figure in missing for cell in of_figure))
        session.console.print(f"{len(every)} fits to do for all figures.")
        session.tell_time(every)
    for name, drawing in asked.items():
        if cells[name]:
            session.run(cells[name], drawing.watches)
        figure = drawing.draw(session, cells[name])
        if figure is None:
            session.console.print(f"Figure {name} is not drawn: nothing that it needs went through.")
            continue
        figures.save(figure, folder / f"figure{name}.svg")
        session.console.print(f"Figure {name}: {escape(str(folder / f'figure{name}.svg'))}")


def _figure_1(session: Session, cells: list[Cell]) -> Any:
    return figures.draw_search(figures.search_picture(FIGURE_1_BUDGET))


def _cells_of_3(session: Session) -> list[Cell]:
    sets = [name for name in FIGURE_3_SETS if name in session.data] or list(session.data)
    percents = percents_of(session.options, EXPERIMENTS["table2"])
    return _of_reference(session, splits=1, noise="none", percents=percents).cells(sets)


def _progress(session: Session, cells: list[Cell]) -> Any:
    """Figures 3 and 5b."""
    traces = {cell.data: trace for cell, trace in session.traces(cells).items()}
    noise = "" if cells[0].noise == "none" else f"{cells[0].noise} noise, "
    title = f"PG-learn with {noise}{cells[0].percent} % labels, one run each, {cells[0].budget}"
    return figures.draw_progress(traces, title) if traces else None


def _cells_of_4(session: Session) -> list[Cell]:
    experiment = session.experiment("table3")
    if not session.options.splits:
        experiment = replace(experiment, splits=min(experiment.splits, FIGURE_4_SPLITS))
    return experiment.cells(session.data)


def _figure_4(session: Session, cells: list[Cell]) -> Any:
    rows = session.rows.frame(cells)
    title = f"Test error by share of labels, {_splits(cells)} splits, {cells[-1].budget}"
    curves = figures.error_curves(rows, rows["percent"], rows["percent"])
    return figures.draw_errors(curves, title, "labels, %") if len(rows) else None


def _cells_of_5a(session: Session) -> list[Cell]:
    experiment = session.experiment("table4")
    budgets = units_over_time(experiment.budget)
    return [cell for budget in budgets for cell in replace(experiment, budget=budget).cells(session.data)]


def _figure_5a(session: Session, cells: list[Cell]) -> Any:
    rows, full = session.rows.frame(cells), cells[-1]
    data = f"{full.noise} noise, {full.percent} % labels, {_splits(cells)} splits"
    title = f"Test error by time with {data}, up to {full.budget}"
    curves = figures.error_curves(rows, rows["budget"] * rows["candidates"], rows["seconds"])
    return figures.draw_errors(curves, title, "seconds", log_x=True) if len(rows) else None


def _cells_of_5b(session: Session) -> list[Cell]:
    return _of_reference(session, splits=1).cells(session.data)


def _cells_of_6(session: Session) -> list[Cell]:
    return _of_reference(session).cells(session.data)


def _figure_6(session: Session, cells: list[Cell]) -> Any:
    weights: dict[str, list[Any]] = {}
    for cell, trace in session.traces(cells).items():
        weights.setdefault(cell.data, []).append(trace.weights)
    return figures.draw_weights({name: figures.mean_shares(of) for name, of in weights.items()}) if weights else None


_DRAWINGS = {
    "1": Drawing(lambda session: [], _figure_1),
    "3": Drawing(_cells_of_3, _progress, watches=True),
    "4": Drawing(_cells_of_4, _figure_4),
    "5a": Drawing(_cells_of_5a, _figure_5a),
    "5b": Drawing(_cells_of_5b, _progress, watches=True),
    "6": Drawing(_cells_of_6, _figure_6, watches=True),
}


def _splits(cells: Sequence[Cell]) -> int:
    return len({cell.split for cell in cells})


def _of_reference(session: Session, **changes: Any) -> Experiment:
    """The parallel experiment with PG-learn alone, and with what else a figure changes."""
    return replace(session.experiment("table4"), methods=(REFERENCE,), **changes)
