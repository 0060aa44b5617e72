"""Large tables: searched on a sample of their rows, answered on all of them."""

from __future__ import annotations

import signal
import time
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from rich.console import Console
from tests.memory import traced

from pglearn import PGLearnClassifier
from pglearn.arrays import BLOCK
from pglearn.objective import searched as sample
from pglearn.objective.problem import Problem
from pglearn.objective.searched import searched_rows
from pglearn.runtime.progress import progress_bar
from pglearn.tables.scaling import Scaling

N, LABELLED = 900, 40


def sheets(n=N, seed=0):
    """Two bent lines in the plane and three features of noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, n)
    X = np.column_stack([np.cos(angle) + y, np.sin(angle) * (1 - 2 * y) + 0.4 * y])
    return np.hstack([X + 0.05 * rng.normal(size=(n, 2)), 0.3 * rng.normal(size=(n, 3))]).astype(np.float32), y


def hidden(y):
    return np.where(np.arange(len(y)) < LABELLED, y, -1)


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(sample, "ALL_UP_TO", 400)
    monkeypatch.setattr(sample, "SEARCHED_ROWS", 200)
    monkeypatch.setattr("pglearn.engine.choose.APPROXIMATE_FROM", 601)


def model(**options):
    return PGLearnClassifier(**{"budget": 2, "n_candidates": 4, "random_state": 0, "engine": "cpu", **options})


def of_rows(n, labels):
    """A problem of n rows without features, of which these positions have these labels."""
    y = np.full(n, -1)
    y[list(labels)] = list(labels.values())
    return Problem.from_labels(np.empty((n, 0)), y)


def test_few_labels_and_a_sample_of_the_others_are_searched():
    labels = {3: 0, 70_000: 0, 80_000: 1}
    rows = searched_rows(of_rows(100_000, labels), seed=0)
    assert len(rows) == sample.SEARCHED_ROWS + 3
    assert set(labels) <= set(rows)
    few = {0: 0, 1: 0, 2: 1}
    assert searched_rows(of_rows(sample.ALL_UP_TO + 4, few), seed=0) is not None
    assert searched_rows(of_rows(sample.ALL_UP_TO + 3, few), seed=0) is None


def test_of_many_labels_the_scored_ones_are_searched_and_a_sample_of_the_others_by_class():
    classes = np.repeat([0, 1, 2], [30_000, 9_997, 3])
    y = np.append(np.random.default_rng(0).permutation(classes), np.full(25_000, -1))
    problem = Problem.from_labels(np.arange(len(y))[:, None], y)
    rows = searched_rows(problem, seed=0)
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, searched_rows(problem, seed=0))
    assert not np.array_equal(rows, searched_rows(problem, seed=1))
    part = problem.among(rows)
    assert (y[rows] < 0).sum() == sample.SEARCHED_ROWS
    assert sample.SEARCHED_ROWS <= (~part.scored).sum() <= sample.SEARCHED_ROWS + 3
    shares = np.bincount(part.codes[~part.scored]) / (~part.scored).sum()
    np.testing.assert_allclose(shares, [0.75, 0.25, 0], atol=0.001)
    assert shares[2] > 0, "of every class there is one"
    np.testing.assert_array_equal(part.X, problem.X[rows])
    np.testing.assert_array_equal(y[rows[part.labelled]], part.codes)
    np.testing.assert_array_equal(rows[part.labelled][part.scored], problem.labelled[problem.scored])
    np.testing.assert_array_equal(part.fold, problem.fold[np.isin(problem.labelled, rows)])


def test_the_answer_uses_the_labels_that_the_search_left_out(small_limits, monkeypatch):
    monkeypatch.setattr(sample, "SEARCHED_ROWS", 50)
    X, y = sheets()
    shown = np.where(np.arange(N) < 450, y, -1)
    events = []
    fitted = model(views=["given"]).fit(X, shown, listeners=(events.append,))
    assert (events[0]["searched"], events[0]["labelled"], events[0]["scored"]) == (200, 450, 100)
    np.testing.assert_array_equal(fitted._ensemble.labelled, np.arange(450))
    np.testing.assert_array_equal(fitted.transduction_[:450], y[:450])


def test_a_large_table_is_searched_on_a_sample_and_labelled_as_a_whole(small_limits):
    X, y = sheets()
    events = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # being large is no reason to warn
        fitted = model().fit(X, hidden(y), listeners=(events.append,))
    assert (events[0]["points"], events[0]["searched"], events[0]["neighbors"]) == (N, 240, "exact")
    assert (fitted.transduction_ == y).mean() > 0.95
    assert fitted.graph_.shape == (N, N)
    assert fitted.neighbors_ == "approximate"
    selected = fitted.search_results_["selected"]
    built = [event for event in events if event["event"] == "member_graph_built"]
    told = {event["candidate"]: event["recall"] for event in built}
    assert told == dict(zip(np.flatnonzero(selected).tolist(), fitted.search_results_["recall"][selected], strict=True))
    assert (fitted.search_results_["recall"][selected] > 0.95).all()
    assert [event["number"] for event in events] == list(range(len(events)))
    (started,) = [event for event in events if event["event"] == "answer_started"]
    done = sum(event["event"] in ("member_graph_built", "member_solved") for event in events)
    assert done == started["total"] == 2 * len(built)
    assert (fitted.predict(X[:20]) == fitted.transduction_[:20]).mean() > 0.9


def test_what_is_done_by_less_than_all_rows_or_labels_is_logged(small_limits, caplog, monkeypatch):
    X, y = sheets()
    caplog.set_level("INFO", "pglearn")
    assert model().fit(X, hidden(y)).n_searched_ == 240
    assert caplog.messages == [
        "The search looks at 240 of 900 rows; all of them are labelled.",
        "Neighbours of 900 rows are found approximately, being 601 or more: neighbors='exact' finds all of them.",
    ]
    caplog.clear()
    exact = model(neighbors="exact").fit(X, hidden(y))
    assert [message.split()[0] for message in caplog.messages] == ["The"], "that a part is searched on, and no more"
    assert exact.neighbors_ == "exact"
    assert (exact.search_results_["recall"] == 1).all()
    caplog.clear()
    assert model().fit(X[:400], hidden(y)[:400]).n_searched_ == 400
    monkeypatch.setattr("pglearn.objective.folds.MOST_SCORED", 20)
    model(validation="kfold").fit(X[:400], hidden(y)[:400])
    assert not caplog.messages
    model().fit(X[:400], hidden(y)[:400])
    assert caplog.messages == ["Leave-one-out hides 20 of 40 labels, one after another; all of them spread."]


def test_a_graph_that_lacks_neighbours_is_warned_of_in_the_answer_and_in_suggestions(small_limits, monkeypatch):
    monkeypatch.setattr("pglearn.objective.graph.approximate.LOOKED_AT", (1,))
    monkeypatch.setattr("pglearn.objective.graph.approximate.EXACT_AT_MOST", 0)
    X, y = sheets(3000)
    words = r"^Approximate neighbours have a recall of 0\.\d\d only, below 0\.95: "
    with pytest.warns(UserWarning, match=words) as of_the_answer:
        fitted = model(views=["given"], selection="best").fit(X, hidden(y))
    with pytest.warns(UserWarning, match=words) as of_suggestions:
        fitted.suggest(2)
    assert {warning.filename for warning in (*of_the_answer, *of_suggestions)} == {__file__}, "who called pglearn"


def test_the_progress_bar_shows_the_search_and_then_the_answer(small_limits):
    X, y = sheets()
    console = Console(record=True, width=120, force_terminal=True)
    with progress_bar(True, console) as listeners:
        model().fit(X, hidden(y), listeners=listeners)
    shown = console.export_text()
    assert "240 of 900 rows" in shown
    assert "best loss" in shown
    assert "labels of all rows" in shown


@pytest.mark.usefixtures("interruptible")
@pytest.mark.xdist_group("signals")
@pytest.mark.parametrize("reason", ["interrupted", "out of time"])
def test_the_answer_of_a_large_table_ends_early_with_the_members_there_are(small_limits, reason, monkeypatch):
    X, y = sheets()
    told = []

    def end(event):
        told.append(event["event"])
        if event["event"] == "member_solved":
            if reason == "interrupted":
                signal.raise_signal(signal.SIGINT)
            else:
                late = time.time() + 1000
                monkeypatch.setattr(time, "time", lambda: late)

    warned = pytest.warns(UserWarning, match="The search was interrupted") if reason == "interrupted" else nullcontext()
    with warned:
        fitted = model(n_candidates=6, max_time=500).fit(X, hidden(y), listeners=(end,))
    assert fitted.stop_reason_ == reason
    assert told.count("member_solved") == fitted.search_results_["selected"].sum() == 1
    assert (fitted.transduction_ == y).mean() > 0.6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaling_makes_no_second_table_in_float64(dtype):
    X = (np.random.default_rng(0).normal(size=(100_000, 10)) * np.logspace(0, 3, 10)).astype(dtype)
    scaling = Scaling.for_points(X, True)
    scaled, peak = traced(lambda: scaling.transform(X))
    assert scaled.dtype == dtype
    np.testing.assert_array_equal(scaled, ((X - scaling.centre) / scaling.spread).astype(dtype))
    assert peak < X.nbytes + 4 * 8 * BLOCK
