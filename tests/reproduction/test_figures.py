"""Figures: what they show, and that they are drawn."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import pglearn
from pglearn.errors import InputError
from pglearn.loss import Yardstick
from pglearn.reproduction import figures
from pglearn.reproduction.methods import Budget
from pglearn.reproduction.traces import Trace
from pglearn.search import Descent

ROWS = pd.DataFrame(
    [
        ("PG-learn", "coil", 20, 0.8, 3.0),
        ("PG-learn", "coil", 10, 0.6, 1.0),
        ("PG-learn", "coil", 10, 0.8, 3.0),
        ("mine", "coil", 10, 0.5, 1.0),
        ("PG-learn", "yale", 10, 0.9, 1.0),
        ("PG-learn", "usps", 10, 0.9, 1.0),
        ("PG-learn", "another", 10, 0.9, 1.0),
    ],
    columns=["method", "data", "percent", "accuracy", "seconds"],
)
TRACE = Trace(
    rows=pd.DataFrame(
        {
            "candidate": [0, 1, 0, 2],
            "until": [1.0, 1.0, 2.0, 2.0],
            "loss": [3.0, 2.0, 1.0, 4.0],
            "validation": [0.1, 0.2, 0.3, 0.4],
            "test": [0.5, 0.6, 0.7, 0.8],
        }
    ),
    weights=np.array([4.0, 4.0, 1.0, 1.0]),
)


def curves(x="percent"):
    return figures.error_curves(ROWS, ROWS["percent"], ROWS[x])


def test_the_error_is_the_mean_over_splits_and_so_is_the_time():
    found = curves("seconds")
    coil = found[(found["data"] == "coil") & (found["method"] == "PG-learn")]
    np.testing.assert_allclose(coil["error"], [0.3, 0.2])
    np.testing.assert_allclose(coil["x"], [2.0, 3.0])


def test_weights_are_averaged_as_shares():
    np.testing.assert_allclose(figures.mean_shares([TRACE.weights, np.ones(4)]), [0.325, 0.325, 0.175, 0.175])


def test_the_best_has_the_lowest_loss_of_its_round_and_a_trace_comes_back_from_its_file(tmp_path):
    TRACE.save(tmp_path / "trace.npz")
    read = Trace.load(tmp_path / "trace.npz")
    assert read.rows.equals(TRACE.rows)
    np.testing.assert_array_equal(read.weights, TRACE.weights)
    assert read.best["candidate"].tolist() == [1, 0]
    assert read.best["test"].tolist() == [0.6, 0.7]


@pytest.fixture(scope="module")
def picture():
    return figures.search_picture(Budget(4, 4), points=48, resolution=5)


def test_the_search_picture_has_the_loss_over_all_that_the_search_saw(picture):
    assert np.isfinite(picture.loss).all()
    assert picture.loss.shape == (5, 5)
    assert len(picture.paths) == 8, "four candidates and two new ones at each of two eliminations"
    assert max(len(path) for path in picture.paths) == 5, "a draw and four steps"
    assert sum(picture.survived) == 4
    for axis in range(2):
        every = np.concatenate([path[:, axis] for path in picture.paths])
        assert picture.axes[axis][0] <= every.min()
        assert every.max() <= picture.axes[axis][-1]


def test_a_path_is_a_draw_and_its_steps(picture):
    X, y = figures.made_up_table(48, 0)
    a, after, *_ = 10 ** picture.paths[0]
    _, dg_da = pglearn.loss_and_gradient(X, y, a=a, k=8, loss="ranking", validation="loo")
    step = Descent(Yardstick(0.0, 1.0)).step(a, dg_da)
    assert (step > 0).all()
    np.testing.assert_allclose(after, step, rtol=1e-6)


def test_the_paths_go_where_the_search_went(picture):
    X, y = figures.made_up_table(48, 0)
    options = {"validation": "loo", "k_range": (8, 8), "bandwidth_range": (0.1, 3.0), "random_state": 0}
    events = []
    model = pglearn.PGLearnClassifier.paper(**options, **Budget(4, 4).parameters)
    model.fit(X, y, listeners=(events.append,))
    best = {event["candidate"]: event["a"] for event in events if event["event"] == "candidate_advanced"}
    for number, a in best.items():
        if a.all():  # else it is off the picture
            assert np.isclose(10 ** picture.paths[number], a, rtol=1e-6).all(axis=1).any()


DRAWINGS = {
    "search": lambda picture: figures.draw_search(picture),
    "progress": lambda _: figures.draw_progress(dict.fromkeys(("coil", "yale"), TRACE), "title"),
    "errors": lambda _: figures.draw_errors(curves(), "title", "labels, %"),
    "errors by time": lambda _: figures.draw_errors(curves("seconds"), "title", "seconds", log_x=True),
    "weights": lambda _: figures.draw_weights({"coil": TRACE.weights, "yale": TRACE.weights}),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_figure_is_a_small_drawing_that_is_the_same_twice(name, picture, tmp_path):
    pytest.importorskip("matplotlib")
    drawn = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        figures.save(DRAWINGS[name](picture), tmp_path / folder / "figure.svg")
        drawn.append((tmp_path / folder / "figure.svg").read_text())
    assert drawn[0] == drawn[1]
    assert drawn[0].rstrip().endswith("</svg>")
    assert {"search": "validation loss", "progress": "COIL", "weights": "Yale"}.get(name, "mine") in drawn[0]
    assert len(drawn[0]) < 30_000


def test_data_sets_stand_in_the_order_of_the_tables():
    pytest.importorskip("matplotlib")
    drawn = figures.draw_errors(curves(), "title", "labels, %").axes
    assert [axes.get_title() for axes in drawn if axes.axison] == ["COIL", "USPS", "Yale", "another"]


def test_the_best_is_bold_and_every_candidate_thin():
    pytest.importorskip("matplotlib")
    axes = figures.draw_progress({"coil": TRACE}, "title").axes[0]
    assert [line.get_linewidth() for line in axes.lines] == [0.5, 2.5, 0.5, 2.5], "of validation and of test"
    thin = np.array([0.5, 0.7, np.nan, 0.6, np.nan, 0.8, np.nan])
    np.testing.assert_array_equal(axes.lines[2].get_ydata(), thin, "three candidates with gaps between them")
    np.testing.assert_allclose(axes.lines[3].get_ydata(), [0.6, 0.7])


def test_noise_is_drawn_beside_the_given_features():
    pytest.importorskip("matplotlib")
    axes = figures.draw_weights({"coil": TRACE.weights}).axes[0]
    medians = [float(line.get_ydata()[0]) for line in axes.lines if line.get_color() == "black"]
    assert {medians[0], medians[-1]} == {1.0, 0.25}


def test_without_matplotlib_there_is_a_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r'pip install "pglearn\[report\]"'):
        figures.check_matplotlib()
