"""Figures: what they show, and that they are drawn."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import pglearn
from pglearn.errors import InputError
from pglearn.loss import Yardstick
from pglearn.reproduction import figures
from pglearn.reproduction.methods import Budget
from pglearn.reproduction.rows import Cell, Circumstances, Row
from pglearn.reproduction.traces import Trace
from pglearn.search import Descent

CELL = Cell("PG-learn", "coil", 10, 0, "none", Budget(4, 2))


def row(accuracy, seconds=1.0, failure="", **changes):
    return Row(replace(CELL, **changes), accuracy, 0.5, seconds, failure, "", Circumstances("", "", ""))


def trace(weights=(4.0, 4.0, 1.0, 1.0)):
    return Trace(
        candidate=np.array([0, 1, 0, 2]),
        until=np.array([1.0, 1.0, 2.0, 2.0]),
        loss=np.array([3.0, 2.0, 1.0, 4.0]),
        validation=np.array([0.1, 0.2, 0.3, 0.4]),
        test=np.array([0.5, 0.6, 0.7, 0.8]),
        weights=np.array(weights),
    )


def test_the_error_by_share_of_labels_is_the_mean_over_splits():
    rows = [row(0.8, percent=20), row(0.6), row(0.8, split=1), row(0.0, split=2, failure="no"), row(0.9, data="yale")]
    coil, yale = figures.error_by_labels(rows)
    assert (coil.method, coil.data) == ("PG-learn", "coil")
    assert coil.x.tolist() == [10, 20]
    np.testing.assert_allclose(coil.y, [0.3, 0.2])
    np.testing.assert_allclose(yale.y, [0.1])


def test_data_sets_stand_in_the_order_of_the_tables():
    pytest.importorskip("matplotlib")
    rows = [row(0.9, data=data) for data in ("mine", "yale", "usps", "coil")]
    drawn = figures.draw_errors(figures.error_by_labels(rows), "title", "labels, %").axes
    assert [axes.get_title() for axes in drawn if axes.axison] == ["COIL", "USPS", "Yale", "mine"]


def test_the_error_by_time_has_the_mean_seconds_of_each_budget():
    rows = [row(0.9, 8.0, budget=Budget(8, 2)), row(0.5, 3.0), row(0.7, 5.0, split=1)]
    (curve,) = figures.error_by_time(rows)
    np.testing.assert_allclose(curve.x, [4, 8])
    np.testing.assert_allclose(curve.y, [0.4, 0.1])


def test_weights_are_averaged_as_shares():
    np.testing.assert_allclose(
        figures.mean_weights([trace(), trace((1.0, 1.0, 1.0, 1.0))]), [0.325, 0.325, 0.175, 0.175]
    )


def test_the_search_picture_has_the_loss_that_the_search_saw():
    picture = figures.search_picture(Budget(4, 4), points=48, resolution=5)
    assert picture.loss.shape == (5, 5)
    assert np.isfinite(picture.loss).all()
    assert len(picture.paths) == 8, "four candidates and two new ones at each of two eliminations"
    assert sum(picture.survived) == 4
    for axis in range(2):
        every = np.concatenate([path[:, axis] for path in picture.paths])
        assert picture.axes[axis][0] <= every.min()
        assert every.max() <= picture.axes[axis][-1]


def test_a_path_is_a_draw_and_its_steps():
    picture = figures.search_picture(Budget(2, 2), points=48, resolution=3)
    assert sorted(len(path) for path in picture.paths) == [2, 2, 3], "one of two goes on, one is drawn in place of it"
    assert sum(picture.survived) == 2
    X, y = figures.made_up_table(48, 0)
    a, after, *_ = 10 ** picture.paths[0]
    _, dg_da = pglearn.loss_and_gradient(X, y, a=a, k=8, loss="ranking", validation="loo")
    step = Descent(Yardstick(0.0, 1.0)).step(a, dg_da)
    assert (step > 0).all()
    np.testing.assert_allclose(after, step, rtol=1e-6)


def drawings():
    curves = figures.error_by_labels([row(0.8, percent=20), row(0.6), row(0.5, method="mine"), row(0.7, data="yale")])
    return {
        "search": lambda: figures.draw_search(figures.search_picture(Budget(2, 2), points=30, resolution=3)),
        "progress": lambda: figures.draw_progress(dict.fromkeys(("coil", "yale"), trace()), "title"),
        "errors": lambda: figures.draw_errors(curves, "title", "labels, %"),
        "errors by time": lambda: figures.draw_errors(curves, "title", "seconds", log_x=True),
        "weights": lambda: figures.draw_weights({"coil": trace().weights, "yale": trace().weights}),
    }


@pytest.mark.parametrize("name", drawings())
def test_every_figure_is_a_drawing_that_is_the_same_twice(name, tmp_path):
    pytest.importorskip("matplotlib")
    for file in ("a", "b"):
        (tmp_path / file).mkdir()
        figures.save(drawings()[name](), tmp_path / file / "figure.svg")
    drawn = (tmp_path / "a" / "figure.svg").read_text()
    assert drawn == (tmp_path / "b" / "figure.svg").read_text()
    assert drawn.rstrip().endswith("</svg>")
    labels = {"search": "validation loss", "progress": "COIL", "weights": "Yale"}
    assert labels.get(name, "mine") in drawn


def test_the_best_is_bold_and_every_candidate_thin():
    pytest.importorskip("matplotlib")
    axes = figures.draw_progress({"coil": trace()}, "title").axes[0]
    widths = [line.get_linewidth() for line in axes.lines]
    assert widths == [0.5] * 2 + [2.5] * 2, "candidates, validation and test; then the best"
    thin = np.array([0.5, 0.7, np.nan, 0.6, np.nan, 0.8, np.nan])
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), thin, "three candidates with gaps between them")
    np.testing.assert_allclose(axes.lines[-1].get_ydata(), [0.6, 0.7])


def test_noise_is_drawn_beside_the_given_features():
    pytest.importorskip("matplotlib")
    axes = figures.draw_weights({"coil": np.array([4.0, 4.0, 1.0, 1.0])}).axes[0]
    medians = sorted(
        float(line.get_ydata()[0]) for line in axes.lines if line.get_color() == "black" and len(line.get_ydata()) == 2
    )
    assert medians[0] == 0.25
    assert medians[-1] == 1.0


def test_without_matplotlib_there_is_a_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r'pip install "pglearn\[report\]"'):
        figures.check_matplotlib()
