"""The paper's figures. Each is a small record of what to show, then a drawing of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pglearn.engine import Configuration, CPUEngine, Evaluation
from pglearn.errors import InputError
from pglearn.files import whole_file
from pglearn.graph import mean_distance
from pglearn.loss import Ranking, Yardstick
from pglearn.problem import Array, Problem
from pglearn.reproduction.methods import METHODS, REFERENCE, Budget
from pglearn.reproduction.rows import Row
from pglearn.reproduction.tables import SHOWN
from pglearn.reproduction.traces import Trace
from pglearn.search import Descent, Schedule, Search
from pglearn.search.candidate import Draws, Space
from pglearn.search.pool import Pool, Task
from pglearn.search.workers import workers_for

VALIDATION, TEST = "tab:blue", "tab:red"


def check_matplotlib() -> None:
    """Before any time is spent on what could not be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError(
            'Figures need matplotlib, which is not installed. Run: pip install "pglearn[report]"'
        ) from error


@dataclass(frozen=True, eq=False)
class SearchPicture:
    """Figure 1: the loss over (log₁₀ a₁, log₁₀ a₂) and the way of each candidate through it, step by step."""

    axes: tuple[Array, Array]
    loss: Array
    paths: list[Array]
    survived: list[bool]


@dataclass(frozen=True)
class _Noting(CPUEngine):
    """Takes note of every configuration that it is asked about."""

    asked: list[Configuration] = field(default_factory=list)

    def value_and_gradient(self, problem: Problem, configurations: Sequence[Configuration]) -> list[Evaluation]:
        self.asked.extend(configurations)
        return super().value_and_gradient(problem, configurations)


def made_up_table(points: int, seed: int) -> tuple[Array, Array]:
    """Two features, of which the second says little, and labels of three classes for a quarter of the rows."""
    rng = np.random.default_rng(seed)
    classes = np.arange(points) % 3
    X = np.column_stack([classes + 0.35 * rng.normal(size=points), 0.3 * classes + 1.5 * rng.normal(size=points)])
    return X, np.where(np.arange(points) < points // 4, classes, -1)


def search_picture(budget: Budget, points: int = 120, resolution: int = 41, seed: int = 0) -> SearchPicture:
    """A search on a made-up table, with the paper's T = 8 in mind."""
    X, y = made_up_table(points, seed)
    problem = Problem.of(X, y)
    k, space = 8, Space(2, mean_distance(X, seed))
    search = Search(
        Schedule(budget.units, 2, budget.candidates), Draws((space,), (k, k), (0.1, 3.0), seed), budget.unit_steps
    )
    engine = _Noting(Ranking())
    descent = Descent(Yardstick.of(engine.loss, problem.scored_codes, problem.n_classes))
    with Pool(problem, Task(engine, descent), workers_for("serial", 1)) as pool:
        candidates = search.run(pool).candidates
    paths = [np.array([at.a for at in engine.asked if at.owner == candidate.id]) for candidate in candidates]
    axes = tuple(_decades(np.concatenate(paths)[:, m], resolution) for m in range(2))
    surface = [Configuration(k, 10.0 ** np.array([first, second])) for second in axes[1] for first in axes[0]]
    loss = [evaluation.loss for evaluation in engine.value_and_gradient(problem, surface)]
    return SearchPicture(
        axes=(axes[0], axes[1]),
        loss=np.reshape(loss, (resolution, resolution)),
        paths=[_log10(path, axes) for path in paths],
        survived=[candidate.died is None for candidate in candidates],
    )


def _decades(a: Array, resolution: int) -> Array:
    """log₁₀ of a range of weights; a weight of zero is off the picture, at its edge."""
    logs = np.log10(a[a > 0])
    return np.linspace(max(logs.min(), logs.max() - 4) - 0.2, logs.max() + 0.2, resolution)


def _log10(path: Array, axes: tuple[Array, ...]) -> Array:
    low = np.array([axis[0] for axis in axes])
    return np.asarray(np.maximum(np.log10(np.maximum(path, 1e-300)), low))


@dataclass(frozen=True, eq=False)
class Curve:
    """x and the mean of y, by method and data set."""

    method: str
    data: str
    x: Array
    y: Array


def error_by_labels(rows: Iterable[Row]) -> list[Curve]:
    """Figure 4: mean test error against the percentage of labels."""
    return _curves(rows, lambda row: row.cell.percent, lambda of: float(of[0].cell.percent))


def error_by_time(rows: Iterable[Row]) -> list[Curve]:
    """Figure 5a: mean test error with more and more units against the mean seconds that these took."""
    return _curves(rows, lambda row: row.cell.budget.total, lambda of: float(np.mean([row.seconds for row in of])))


def _curves(rows: Iterable[Row], key: Any, x: Any) -> list[Curve]:
    together: dict[tuple[str, str], dict[float, list[Row]]] = {}
    for row in rows:
        if row.ok:
            together.setdefault((row.cell.method, row.cell.data), {}).setdefault(key(row), []).append(row)
    return [
        Curve(
            method,
            data,
            np.array([x(by_x[at]) for at in sorted(by_x)]),
            np.array([1 - np.mean([row.accuracy for row in by_x[at]]) for at in sorted(by_x)]),
        )
        for (method, data), by_x in together.items()
    ]


def draw_search(picture: SearchPicture) -> Any:
    """Figure 1."""
    figure, ((axes,),) = _panels(1, 1, size=5.5)
    colours = axes.contourf(*picture.axes, picture.loss, levels=24, cmap="Blues")
    figure.colorbar(colours, ax=axes, label="validation loss")
    for path, survived in zip(picture.paths, picture.survived, strict=True):
        colour = TEST if survived else "dimgray"
        axes.plot(*path.T, color=colour, linewidth=1.2 if survived else 0.7, marker=".", markersize=3)
        axes.plot(*path[0], marker="*", color=colour, markersize=9 if survived else 6)
    axes.set(xlabel="log₁₀ a₁", ylabel="log₁₀ a₂ (lower edge: 0)")
    axes.set_title("Candidates from their draws (★); red: alive at the end")
    return figure


def draw_progress(traces: Mapping[str, Trace], title: str) -> Any:
    """Figures 3 and 5b: every candidate thin, the best so far bold."""
    figure, panels = _panels(len(traces), 3)
    for axes, (name, trace) in zip(panels.flat, traces.items(), strict=False):
        every = [trace.of(candidate) for candidate in np.unique(trace.candidate)]
        for colour, y in ((VALIDATION, [own.validation for own in every]), (TEST, [own.test for own in every])):
            axes.plot(*_one_line([own.until for own in every], y), color=colour, linewidth=0.5, alpha=0.5)
        best = trace.best
        axes.plot(best.until, best.validation, color=VALIDATION, linewidth=2.5, label="validation")
        axes.plot(best.until, best.test, color=TEST, linewidth=2.5, label="test")
        axes.set_xscale("log", base=2)
        axes.set(title=SHOWN.get(name, name), xlabel="units", ylabel="accuracy")
    _legend_below(figure, panels)
    figure.suptitle(title)
    return figure


def _one_line(x: Sequence[Array], y: Sequence[Array]) -> tuple[Array, Array]:
    """Many lines as one with gaps: a tenth of the file that as many would make."""
    gap = np.array([np.nan])
    joined = [np.concatenate([part for line in lines for part in (line, gap)]) for lines in (x, y)]
    return joined[0], joined[1]


def draw_errors(curves: Sequence[Curve], title: str, xlabel: str, log_x: bool = False) -> Any:
    """Figures 4 and 5a: a panel per data set, a line per method."""
    from matplotlib.ticker import LogLocator, ScalarFormatter

    sets = sorted({curve.data for curve in curves}, key=lambda name: [*SHOWN, name].index(name))
    others = [curve.method for curve in curves if curve.method not in METHODS]
    colours = {method: f"C{at % 10}" for at, method in enumerate([*METHODS, *dict.fromkeys(others)])}
    figure, panels = _panels(len(sets), 3)
    for axes, name in zip(panels.flat, sets, strict=False):
        here = [curve for curve in curves if curve.data == name]
        for curve in sorted(here, key=lambda curve: list(colours).index(curve.method)):
            width = 2.5 if curve.method == REFERENCE else 1.2
            axes.plot(curve.x, curve.y, color=colours[curve.method], linewidth=width, marker=".", label=curve.method)
        if log_x:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter(ScalarFormatter())
            axes.minorticks_off()
        axes.set(title=SHOWN.get(name, name), xlabel=xlabel, ylabel="test error")
    _legend_below(figure, panels)
    figure.suptitle(title)
    return figure


def draw_weights(weights: Mapping[str, Array]) -> Any:
    """Figure 6: weights of the given features beside those of the noise, as shares of the largest mean.

    The second half of each array belongs to columns of noise.
    """
    figure, ((axes,),) = _panels(1, 1, size=5.5)
    for at, (_name, a) in enumerate(weights.items()):
        given, noise = np.split(a / a.max(), 2)
        for half, (values, colour) in enumerate(((given, VALIDATION), (noise, TEST))):
            axes.boxplot(
                values,
                positions=[3 * at + half],
                widths=0.8,
                patch_artist=True,
                boxprops={"facecolor": colour, "alpha": 0.5},
                medianprops={"color": "black"},
                flierprops={"markersize": 2},
            )
    axes.set_xticks([3 * at + 0.5 for at in range(len(weights))], [SHOWN.get(name, name) for name in weights])
    axes.set(ylabel="mean weight a, largest = 1", title="Weights: given features (blue), columns of noise (red)")
    return figure


def mean_weights(traces: Iterable[Trace]) -> Array:
    """Over searches, each brought to a sum of one first: only ratios between weights of one search mean something."""
    return np.asarray(np.mean([trace.weights / trace.weights.sum() for trace in traces], axis=0))


def save(figure: Any, path: Path) -> None:
    """As SVG, the same on every run."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": path.name, "svg.fonttype": "none"}), whole_file(path) as file:
        figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight")


def _legend_below(figure: Any, panels: Any) -> None:
    """One for all panels, where it hides no curve."""
    lines, names = panels.flat[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=4, fontsize="small", frameon=False)


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
