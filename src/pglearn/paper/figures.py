"""The paper's figures, drawn: figure 1 of a search on a made-up table, the others of rows and traces."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pglearn import PGLearnClassifier, loss_and_gradient
from pglearn.arrays import Array
from pglearn.errors import InputError
from pglearn.files import whole_file
from pglearn.paper.methods import METHODS, REFERENCE, Budget
from pglearn.paper.tables import SHOWN
from pglearn.paper.traces import Trace
from pglearn.search import Event

VALIDATION, TEST = "tab:blue", "tab:red"
NEIGHBOURS = 8


def check_matplotlib() -> None:
    """Before any time is spent on what could not be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError(
            'Figures need matplotlib, which is not installed. Run: pip install "pglearn[report]"'
        ) from error


def error_curves(rows: pd.DataFrame, step: pd.Series, x: pd.Series) -> pd.DataFrame:
    """Figures 4 and 5a: the mean test error of each method and data set step by step, and the mean of x."""
    rows = rows.assign(step=step, x=x, error=1 - rows["accuracy"])
    return rows.groupby(["data", "method", "step"], as_index=False)[["x", "error"]].mean()


def mean_shares(weights: Sequence[Array]) -> Array:
    """Over searches, each brought to a sum of one first: only ratios between weights of one search mean something."""
    return np.asarray(np.mean([a / a.sum() for a in weights], axis=0))


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
    loss = [[_loss(X, y, 10.0 ** np.array([first, second])) for first in across] for second in up]

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


def _loss(X: Array, y: Array, a: Array) -> float:
    return loss_and_gradient(X, y, a=a, k=NEIGHBOURS, loss="ranking", validation="loo")[0]


def draw_progress(traces: Mapping[str, Trace], title: str) -> Any:
    """Figures 3 and 5b: every candidate thin, the best so far bold."""
    figure, panels = _panels(len(traces), 3)
    for axes, (name, trace) in zip(panels.flat, traces.items(), strict=False):
        axes.set_xscale("log", base=2)
        for column, colour in (("validation", VALIDATION), ("test", TEST)):
            thin = [candidate.to_numpy() for _, candidate in trace.rows.groupby("candidate")[["until", column]]]
            axes.plot(*_one_line(thin).T, color=colour, linewidth=0.5, alpha=0.5)
            axes.plot(trace.best["until"], trace.best[column], color=colour, linewidth=2.5, label=column)
        axes.set(title=SHOWN.get(name, name), xlabel="units", ylabel="accuracy")
    _finish(figure, panels, title)
    return figure


def _one_line(lines: Sequence[Array]) -> Array:
    """Many lines as one with gaps: a tenth of the file that as many would make."""
    return np.concatenate([part for line in lines for part in (line, np.full((1, 2), np.nan))])


def draw_errors(curves: pd.DataFrame, title: str, xlabel: str, log_x: bool = False) -> Any:
    """Figures 4 and 5a: a panel per data set, a line per method."""
    from matplotlib.ticker import LogLocator, ScalarFormatter

    methods = list(dict.fromkeys([*METHODS, *curves["method"]]))
    by_set = dict(list(curves.groupby("data")))
    figure, panels = _panels(len(by_set), 3)
    for axes, name in zip(panels.flat, sorted(by_set, key=[*SHOWN, *by_set].index), strict=False):
        of_method = dict(list(by_set[name].groupby("method")))
        for method in sorted(of_method, key=methods.index):
            colour, width = f"C{methods.index(method) % 10}", 2.5 if method == REFERENCE else 1.2
            axes.plot("x", "error", data=of_method[method], color=colour, linewidth=width, label=method)
        if log_x:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter(ScalarFormatter())
            axes.minorticks_off()
        axes.set(title=SHOWN.get(str(name), name), xlabel=xlabel, ylabel="test error")
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
    """As SVG, the same on every run, without comments, blanks and digits that nobody sees."""
    import matplotlib

    drawn = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": path.name, "svg.fonttype": "none", "font.sans-serif": "DejaVu Sans"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None}, bbox_inches="tight")
    with whole_file(path) as file:
        file.write(re.sub(rb"\s*<!--.*?-->|(?<=\n) +|(?<=\.\d\d)\d+", b"", drawn.getvalue()))


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
