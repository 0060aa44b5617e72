"""Figures: what they show, and that they are drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pglearn.paper import figures
from pglearn.paper.methods import Budget
from pglearn.paper.traces import Trace

pytest.importorskip("matplotlib")
ROWS = pd.DataFrame(
    [
        ("PG-learn", "coil", 20, 0.8, 3.0),
        ("PG-learn", "coil", 10, 0.6, 1.0),
        ("PG-learn", "coil", 10, 0.8, 3.0),
        ("mine", "coil", 10, 0.5, 1.0),
        ("PG-learn", "yale", 10, 0.9, 1.0),
        ("PG-learn", "another", 10, 0.9, 1.0),
    ],
    columns=["method", "data", "percent", "accuracy", "seconds"],
)
CURVES = figures.error_curves(ROWS, ROWS["percent"], ROWS["seconds"])
TRACE = Trace(
    rows=pd.DataFrame(
        [(0, 1.0, 3.0, 0.1, 0.5), (1, 1.0, 2.0, 0.2, 0.6), (0, 2.0, 1.0, 0.3, 0.7), (2, 2.0, 4.0, 0.4, 0.8)],
        columns=["candidate", "until", "loss", "validation", "test"],
    ),
    weights=np.array([4.0, 4.0, 1.0, 1.0]),
)
DRAWINGS = {
    "validation loss": lambda: figures.draw_search(Budget(4, 4), points=48, resolution=5),
    "COIL": lambda: figures.draw_progress(dict.fromkeys(("coil", "yale"), TRACE), "title"),
    "mine": lambda: figures.draw_errors(CURVES, "title", "seconds", xscale="log"),
    "Yale": lambda: figures.draw_weights({"coil": TRACE.weights, "yale": TRACE.weights}),
}


@pytest.mark.parametrize("word", DRAWINGS)
def test_every_figure_is_the_same_twice(word, tmp_path):
    path, drawn = tmp_path / "figure.svg", []
    for _ in range(2):
        figures.save(DRAWINGS[word](), path)
        drawn.append(path.read_text(encoding="utf-8"))
    assert drawn[0] == drawn[1]
    assert word in drawn[0]


def test_the_error_is_the_mean_over_splits_and_so_is_the_time():
    line = DRAWINGS["mine"]().axes[0].lines[0]
    np.testing.assert_allclose(line.get_xydata(), [[2.0, 0.3], [3.0, 0.2]])


def test_the_best_has_the_lowest_loss_of_its_round_and_a_trace_comes_back_from_its_file(tmp_path):
    TRACE.save(tmp_path / "trace.npz")
    read = Trace.load(tmp_path / "trace.npz")
    assert read.rows.equals(TRACE.rows)
    np.testing.assert_array_equal(read.weights, TRACE.weights)
    assert read.best[["candidate", "test"]].to_numpy().tolist() == [[1, 0.6], [0, 0.7]]


def test_the_paths_of_a_search_lie_in_the_landscape_of_its_loss():
    axes = DRAWINGS["validation loss"]().axes[0]
    paths = [line for line in axes.lines if line.get_marker() != "*"]
    assert len(paths) == 8, "four candidates and two new ones at each of two eliminations"
    assert sum(path.get_color() == figures.TEST for path in paths) == 4, "alive at the end"
    assert max(len(path.get_xdata()) for path in paths) == 3, "rounds"
    low, high = np.transpose([axes.get_xlim(), axes.get_ylim()])
    assert all(((low < path.get_xydata()) & (path.get_xydata() < high)).all() for path in paths)


def test_the_best_is_bold_and_every_candidate_thin_and_noise_is_drawn_beside_the_given_features():
    lines = DRAWINGS["COIL"]().axes[0].lines
    assert [line.get_linewidth() for line in lines] == [0.5, 0.5, 0.5, 2.5] * 2, "of validation and of test"
    assert [list(line.get_ydata()) for line in lines[4:]] == [[0.5, 0.7], [0.6], [0.8], [0.6, 0.7]]
    axes = DRAWINGS["Yale"]().axes[0]
    medians = [float(line.get_ydata()[0]) for line in axes.lines if line.get_color() == "black"]
    assert {medians[0], medians[-1]} == {1.0, 0.25}
