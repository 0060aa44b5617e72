"""The paper's figures: each runs the fits that it needs, some of them watched, and is drawn from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.markup import escape

from pglearn import PGLearnClassifier, loss_and_gradient
from pglearn.arrays import Array
from pglearn.errors import InputError
from pglearn.files import writable_folder
from pglearn.paper.experiments import Experiment, budgets_over_time
from pglearn.paper.methods import REFERENCE, Budget
from pglearn.paper.session import Session
from pglearn.paper.tables import SHOWN
from pglearn.paper.traces import Trace
from pglearn.search import Event

FIGURE_1_BUDGET = Budget(16, 8)  # the T and B of the paper's worked example
FIGURE_3_SETS = ("coil", "mnist")  # those of the paper
FIGURE_4_SPLITS = 3  # as in the paper
VALIDATION, TEST = "tab:blue", "tab:red"
NEIGHBOURS = 8


def draw_figures(session: Session) -> None:
    """The figures asked for, each drawn as soon as what it needs is there."""
    try:
        import matplotlib  # noqa: F401  before any time is spent on what could not be drawn
    except ImportError as error:
        raise InputError(
            'Figures need matplotlib, which is not installed. Run: pip install "pglearn[report]"'
        ) from error
    folder = writable_folder(session.folder / "figures")
    for name in dict.fromkeys(session.options.only or FIGURES):
        figure = FIGURES[name](session)
        if figure is None:
            session.console.print(f"Figure {name} is not drawn: nothing that it needs went through.")
            continue
        path = folder / f"figure{name}.svg"
        save(figure, path)
        session.console.print(f"Figure {name}: {escape(str(path))}")


def figure_1(session: Session) -> Any:
    return draw_search(FIGURE_1_BUDGET)


def figure_3(session: Session) -> Any:
    sets = [name for name in FIGURE_3_SETS if name in session.data] or list(session.data)
    percents = session.experiment("table2").percents
    return _progress(session, _of_reference(session, splits=1, noise="none", percents=percents), sets)


def figure_4(session: Session) -> Any:
    experiment = session.experiment("table3")
    if not session.options.splits:
        experiment = replace(experiment, splits=min(experiment.splits, FIGURE_4_SPLITS))
    rows = session.fit(experiment.cells(session.data))
    title = f"Test error by share of labels, {experiment.splits} splits, {experiment.budget}"
    curves = error_curves(rows, rows["percent"], rows["percent"])
    return draw_errors(curves, title, "labels, %") if len(rows) else None


def figure_5a(session: Session) -> Any:
    full = session.experiment("table4")
    experiments = [replace(full, budget=budget) for budget in budgets_over_time(full.budget)]
    rows = session.fit([cell for experiment in experiments for cell in experiment.cells(session.data)])
    setting = f"{full.noise} noise, {full.percents[0]} % labels, {full.splits} splits, up to {full.budget}"
    curves = error_curves(rows, rows["budget"] * rows["candidates"], rows["seconds"])
    return draw_errors(curves, f"Test error by time with {setting}", "seconds", xscale="log") if len(rows) else None


def figure_5b(session: Session) -> Any:
    return _progress(session, _of_reference(session, splits=1), session.data)


def figure_6(session: Session) -> Any:
    """Each search is brought to a sum of one first: only ratios between weights of one search mean something."""
    shares: dict[str, list[Array]] = {}
    for cell, trace in session.watch(_of_reference(session).cells(session.data)).items():
        shares.setdefault(cell.data, []).append(trace.weights / trace.weights.sum())
    return draw_weights({name: np.mean(of_set, axis=0) for name, of_set in shares.items()}) if shares else None


# Searches to watch first: they are fits that others show.
FIGURES = {"1": figure_1, "3": figure_3, "5b": figure_5b, "6": figure_6, "4": figure_4, "5a": figure_5a}


def _of_reference(session: Session, **changes: Any) -> Experiment:
    """The parallel experiment with PG-learn alone, and with what else a figure changes."""
    return replace(session.experiment("table4"), methods=(REFERENCE,), **changes)


def _progress(session: Session, experiment: Experiment, sets: Iterable[str]) -> Any:
    """Figures 3 and 5b."""
    traces = {cell.data: trace for cell, trace in session.watch(experiment.cells(sets)).items()}
    noise = "" if experiment.noise == "none" else f"{experiment.noise} noise, "
    title = f"{REFERENCE} with {noise}{experiment.percents[0]} % labels, one run each, {experiment.budget}"
    return draw_progress(traces, title) if traces else None


def error_curves(rows: pd.DataFrame, step: pd.Series, x: pd.Series) -> pd.DataFrame:
    """Figures 4 and 5a: the mean test error of each method and data set step by step, and the mean of x."""
    rows = rows.assign(step=step, x=x, error=1 - rows["accuracy"]).sort_values("step", kind="stable")
    return rows.groupby(["data", "method", "step"], as_index=False, sort=False)[["x", "error"]].mean()


def draw_search(budget: Budget, points: int = 120, resolution: int = 41) -> Any:
    """Figure 1: a search on a made-up table with two features, of which the second says little, over the landscape of
    its loss. A path is where the best point of a candidate was at the end of each round."""
    rng = np.random.default_rng(0)
    classes = np.arange(points) % 3
    X = np.column_stack([classes + 0.35 * rng.normal(size=points), 0.3 * classes + 1.5 * rng.normal(size=points)])
    y = np.where(np.arange(points) < points // 4, classes, -1)
    events: list[Event] = []
    ranges: dict[str, Any] = {"k_range": (NEIGHBOURS, NEIGHBOURS), "bandwidth_range": (0.1, 3.0)}
    model = PGLearnClassifier.paper(validation="loo", random_state=0, **ranges, **budget.parameters)
    model.fit(X, y, listeners=(events.append,))
    told = pd.DataFrame([event for event in events if event["event"] == "candidate_advanced"])
    a = np.stack(told["a"].to_list())
    logs = np.log10(np.maximum(a, 1e-4 * a.max(axis=0)))  # smaller ones are at the edge
    told["first"], told["second"] = logs.T
    across, up = np.linspace(logs.min(axis=0) - 0.2, logs.max(axis=0) + 0.2, resolution).T
    setting: dict[str, Any] = {"k": NEIGHBOURS, "loss": "ranking", "validation": "loo"}
    loss = [[loss_and_gradient(X, y, a=[10**x1, 10**x2], **setting)[0] for x1 in across] for x2 in up]

    figure, ((axes,),) = _panels(1, 1, size=5.5)
    colours = axes.contourf(across, up, loss, levels=12, cmap="Blues")
    colours.set_rasterized(True)
    figure.colorbar(colours, ax=axes, label="validation loss").solids.set_rasterized(True)
    survived = set(told.loc[told["round"] == told["round"].max(), "candidate"])
    for candidate, path in told.groupby("candidate"):
        colour, width = (TEST, 1.2) if candidate in survived else ("dimgray", 0.7)
        axes.plot(path["first"], path["second"], color=colour, linewidth=width)
        axes.plot(path["first"].iloc[0], path["second"].iloc[0], "*", color=colour, markersize=7)
    axes.set(xlabel="log₁₀ a₁", ylabel="log₁₀ a₂", title="Candidates from their first round (★); red: alive at the end")
    return figure


def draw_progress(traces: Mapping[str, Trace], title: str) -> Any:
    """Figures 3 and 5b: every candidate thin, the best so far bold."""
    figure, panels = _panels(len(traces), 3)
    for axes, (name, trace) in zip(panels.flat, traces.items(), strict=False):
        axes.set_xscale("log", base=2)
        for column, colour in (("validation", VALIDATION), ("test", TEST)):
            for _, candidate in trace.rows.groupby("candidate"):
                axes.plot(candidate["until"], candidate[column], color=colour, linewidth=0.5, alpha=0.5)
            axes.plot(trace.best["until"], trace.best[column], color=colour, linewidth=2.5, label=column)
        axes.set(title=SHOWN.get(name, name), xlabel="units", ylabel="accuracy")
    _finish(figure, panels, title)
    return figure


def draw_errors(curves: pd.DataFrame, title: str, xlabel: str, xscale: str = "linear") -> Any:
    """Figures 4 and 5a: a panel per data set, a line per method."""
    colours = {method: f"C{number % 10}" for number, method in enumerate(curves["method"].unique())}
    figure, panels = _panels(curves["data"].nunique(), 3)
    for axes, (name, of_set) in zip(panels.flat, curves.groupby("data", sort=False), strict=False):
        for method, curve in of_set.groupby("method", sort=False):
            width = 2.5 if method == REFERENCE else 1.2
            axes.plot(curve["x"], curve["error"], color=colours[method], linewidth=width, label=method)
        axes.set(title=SHOWN.get(str(name), name), xlabel=xlabel, ylabel="test error", xscale=xscale)
    _finish(figure, panels, title)
    return figure


def draw_weights(weights: Mapping[str, Array]) -> Any:
    """Figure 6: weights of the given features beside those of the noise, as shares of the largest mean.

    The second half of each array belongs to columns of noise.
    """
    figure, ((axes,),) = _panels(1, 1, size=5.5)
    for first, colour in enumerate((VALIDATION, TEST)):
        axes.boxplot(
            [np.split(a / a.max(), 2)[first] for a in weights.values()],
            positions=[3 * at + first for at in range(len(weights))],
            widths=0.8,
            showfliers=False,
            patch_artist=True,
            boxprops={"facecolor": colour, "alpha": 0.5},
            medianprops={"color": "black"},
        )
    axes.set_xticks([3 * at + 0.5 for at in range(len(weights))], [SHOWN.get(name, name) for name in weights])
    axes.set(ylabel="mean weight a, largest = 1", title="Weights: given features (blue), columns of noise (red)")
    return figure


def save(figure: Any, path: Path) -> None:
    """As SVG, the same on every run."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": path.name, "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")


def _finish(figure: Any, panels: Any, title: str) -> None:
    """A title, and one legend for all panels below them, where it hides no curve."""
    lines, names = panels.flat[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=4, fontsize="small", frameon=False)
    figure.suptitle(title)


def _panels(count: int, columns: int, size: float = 3.6) -> tuple[Any, Any]:
    """A figure that belongs to no window, and a grid of axes, of which the last may stay empty."""
    from matplotlib.figure import Figure

    columns = max(1, min(columns, count))
    rows = -(-count // columns)
    figure = Figure(figsize=(size * columns, 0.85 * size * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes in panels.flat[count:]:
        axes.set_axis_off()
    return figure, panels
