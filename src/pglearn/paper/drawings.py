"""The paper's figures: each runs the fits that it needs, some of them watched, and is drawn from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.markup import escape

from pglearn.files import writable_folder
from pglearn.paper import figures
from pglearn.paper.experiments import EXPERIMENTS, Cell, Experiment, budgets_over_time
from pglearn.paper.methods import REFERENCE, Budget
from pglearn.paper.session import FIGURES, Session, percents_of

FIGURE_1_BUDGET = Budget(16, 8)  # the T and B of the paper's worked example
FIGURE_3_SETS = ("coil", "mnist")  # those of the paper
FIGURE_4_SPLITS = 3  # as in the paper


def draw_figures(session: Session) -> None:
    """The figures asked for, each drawn as soon as what it needs is there."""
    figures.check_matplotlib()
    folder = writable_folder(session.folder / "figures")
    for name in session.options.only or FIGURES:
        figure = _DRAWINGS[name](session)
        if figure is None:
            session.console.print(f"Figure {name} is not drawn: nothing that it needs went through.")
            continue
        path = folder / f"figure{name}.svg"
        figures.save(figure, path)
        session.console.print(f"Figure {name}: {escape(str(path))}")


def _figure_1(session: Session) -> Any:
    return figures.draw_search(FIGURE_1_BUDGET)


def _figure_3(session: Session) -> Any:
    sets = [name for name in FIGURE_3_SETS if name in session.data] or list(session.data)
    percents = percents_of(session.options, EXPERIMENTS["table2"])
    return _progress(session, _of_reference(session, splits=1, noise="none", percents=percents).cells(sets))


def _figure_4(session: Session) -> Any:
    experiment = session.experiment("table3")
    if not session.options.splits:
        experiment = replace(experiment, splits=min(experiment.splits, FIGURE_4_SPLITS))
    cells = experiment.cells(session.data)
    rows = session.fit(cells)
    title = f"Test error by share of labels, {_splits(cells)} splits, {experiment.budget}"
    curves = figures.error_curves(rows, rows["percent"], rows["percent"])
    return figures.draw_errors(curves, title, "labels, %") if len(rows) else None


def _figure_5a(session: Session) -> Any:
    full = session.experiment("table4")
    budgets = budgets_over_time(full.budget)
    cells = [cell for budget in budgets for cell in replace(full, budget=budget).cells(session.data)]
    rows = session.fit(cells)
    data = f"{full.noise} noise, {full.percents[0]} % labels, {_splits(cells)} splits"
    title = f"Test error by time with {data}, up to {full.budget}"
    curves = figures.error_curves(rows, rows["budget"] * rows["candidates"], rows["seconds"])
    return figures.draw_errors(curves, title, "seconds", log_x=True) if len(rows) else None


def _figure_5b(session: Session) -> Any:
    return _progress(session, _of_reference(session, splits=1).cells(session.data))


def _figure_6(session: Session) -> Any:
    weights: dict[str, list[Any]] = {}
    for cell, trace in session.watch(_of_reference(session).cells(session.data)).items():
        weights.setdefault(cell.data, []).append(trace.weights)
    return figures.draw_weights({name: figures.mean_shares(of) for name, of in weights.items()}) if weights else None


_DRAWINGS = {"1": _figure_1, "3": _figure_3, "4": _figure_4, "5a": _figure_5a, "5b": _figure_5b, "6": _figure_6}


def _progress(session: Session, cells: list[Cell]) -> Any:
    """Figures 3 and 5b."""
    traces = {cell.data: trace for cell, trace in session.watch(cells).items()}
    noise = "" if cells[0].noise == "none" else f"{cells[0].noise} noise, "
    title = f"PG-learn with {noise}{cells[0].percent} % labels, one run each, {cells[0].budget}"
    return figures.draw_progress(traces, title) if traces else None


def _splits(cells: Sequence[Cell]) -> int:
    return len({cell.split for cell in cells})


def _of_reference(session: Session, **changes: Any) -> Experiment:
    """The parallel experiment with PG-learn alone, and with what else a figure changes."""
    return replace(session.experiment("table4"), methods=(REFERENCE,), **changes)
