"""Approximate neighbours: as near as the exact ones, ranked under the present metric, and measured."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests.problems import partly_labelled, points

import pglearn
from pglearn import PGLearnClassifier
from pglearn.engine import Configuration, CPUEngine
from pglearn.engine.choose import chosen_neighbours
from pglearn.graph import approximate as module
from pglearn.graph import k_nearest, weighted_graph
from pglearn.graph.approximate import approximate_graph, exact_of, k_near, pool_of, sampled_recall
from pglearn.graph.descent import near_points
from pglearn.loss import Log
from pglearn.problem import Problem
from pglearn.propagation import LGC

N, K = 1500, 8


def problem_of(n=N, d=6):
    return Problem.of(points(n, d), partly_labelled(n, 30))


def share_found(neighbours, exact):
    return np.mean([len(set(p) & set(q)) for p, q in zip(neighbours, exact, strict=True)]) / exact.shape[1]


def test_near_points_are_distinct_others_nearest_first_and_nearly_all_exact():
    Z = points(N, 6)
    near = near_points(Z, 24)
    assert ((near >= 0) & (near != np.arange(N)[:, None])).all()
    assert all(len(set(row)) == 24 for row in near)
    d2 = ((Z[near] - Z[:, None]) ** 2).sum(axis=2)
    assert (np.diff(d2, axis=1) >= -1e-5 * d2[:, 1:]).all()
    assert share_found(near, k_nearest(Z, 24)) > 0.97
    np.testing.assert_array_equal(near_points(Z, 24), near)


@pytest.mark.parametrize(("recalls", "efforts"), [([0.98], 1), ([0.5, 0.98], 2), ([0.5] * 3, 3)])
def test_more_is_tried_until_recall_is_good(recalls, efforts, monkeypatch):
    said, tried = iter(recalls), []
    monkeypatch.setattr("pglearn.graph.descent.near_points", lambda Z, m, t: tried.append(t) or near_points(Z, m, t))
    monkeypatch.setattr("pglearn.graph.approximate.sampled_recall", lambda *_: next(said))
    k_near(points(200), 5, recall=0.97)
    assert tried == [tried for _, tried in module.EFFORTS][:efforts]


@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_points_so_far_apart_that_float32_has_no_number_for_it_have_neighbours(share):
    Z = points(600, 6).astype(np.float32)
    far = np.random.default_rng(0).random(600) < share
    Z[far] *= np.float32(1e30)  # products are infinite, their sums are NaN
    near = near_points(Z, 20)
    assert ((near >= -1) & (near < 600)).all()
    exact = k_nearest(Z, 5)
    assert far.all() or share_found(near[~far, :5], exact[~far]) > 0.95
    np.testing.assert_array_equal(np.sort(k_near(Z, 5)[far]), np.sort(exact[far]))


def test_exact_neighbours_of_some_rows_leave_out_the_row_itself_even_among_duplicates():
    Z = np.vstack([points(20, 3), np.tile(points(1, 3), (10, 1))])
    rows = np.array([3, 25, 29])
    exact = exact_of(Z, rows, 4)
    assert exact.shape == (3, 4)
    assert (exact[0] == k_nearest(Z, 4)[3]).all()
    assert (exact != rows[:, None]).all()
    assert (exact[1:] >= 20).all()


def test_recall_counts_what_is_as_near_as_the_exact_neighbours():
    Z = points(400, 5)
    exact = k_nearest(Z, 10)
    assert sampled_recall(Z, exact) == 1.0
    half = exact.copy()
    half[:, 5:] = k_nearest(Z, 60)[:, 50:55]
    assert sampled_recall(Z, half) == pytest.approx(0.5)
    others = (np.arange(400)[:, None] + np.arange(1, 11)) % 400
    assert sampled_recall(np.tile(Z[:1], (400, 1)), others) == 1.0


@pytest.mark.parametrize("near", [True, False])
def test_near_points_are_ranked_anew_and_searched_for_again_when_the_weights_have_moved_too_far(near):
    problem, anchor = problem_of(), np.array([0.3, 0.3, 0.3, 0, 0, 0])
    a = np.array([0.32, 0.3, 0.29, 0, 0, 0]) if near else np.array([0, 0, 0, 0.3, 0.3, 0.3])
    graph, exact = approximate_graph(problem, a, K, anchor), weighted_graph(problem.X, a, K)
    assert graph.anchor is (anchor if near else a)
    assert graph.recall > 0.95
    common = (graph.P > 0).multiply(exact.P > 0).sum()
    assert common > 0.95 * exact.P.nnz
    (expected,), (found,) = (
        CPUEngine(Log(), LGC(), neighbours).value_and_gradient(problem, [Configuration(K, a, anchor=anchor)])
        for neighbours in ("exact", "approximate")
    )
    assert (found.recall, found.anchor) == (graph.recall, graph.anchor)
    assert found.loss == pytest.approx(expected.loss, rel=0.05)
    assert (expected.recall, expected.anchor) == (1.0, None)


def test_pools_are_kept_within_bounds_and_go_with_their_problem(monkeypatch):
    problem = problem_of(300)
    first = pool_of(problem, np.ones(6), 5)
    assert pool_of(problem, np.ones(6), 5) is first
    monkeypatch.setattr(module, "KEPT_BYTES", first.nbytes)
    pool_of(problem, np.full(6, 2.0), 5)
    assert pool_of(problem, np.ones(6), 5) is not first, "it had to make room"
    np.testing.assert_array_equal(pool_of(problem, np.ones(6), 5), first)
    view = id(problem)
    assert any(key[0] == view for key in module._pools)
    del problem
    gc.collect()
    assert not any(key[0] == view for key in module._pools)


# How it is chosen, and said


@pytest.mark.parametrize(("neighbors", "logged"), [("auto", 1), ("approximate", 0), ("exact", 0)])
def test_auto_becomes_approximate_above_its_size_and_it_is_logged(neighbors, logged, monkeypatch, caplog):
    monkeypatch.setattr("pglearn.engine.choose.EXACT_UP_TO", 299)
    assert chosen_neighbours(neighbors, 299) == ("exact" if neighbors == "auto" else neighbors)
    caplog.set_level("INFO", "pglearn")
    pglearn.loss_and_gradient(points(300, 6), partly_labelled(300, 30), a=np.ones(6), k=5, neighbors=neighbors)
    assert len(caplog.messages) == logged
    assert all(message.startswith("Neighbours of 300 rows are found approximately") for message in caplog.messages)


def test_loss_and_gradient_warns_of_low_recall(monkeypatch):
    X, y = points(300, 6), partly_labelled(300, 30)
    monkeypatch.setattr("pglearn.graph.descent.TREES", 1)
    monkeypatch.setattr("pglearn.graph.descent.MOST_ROUNDS", 0)
    with pytest.warns(UserWarning, match=r"^Approximate neighbours have a recall of 0\.\d\d only, below 0\.95: "):
        pglearn.loss_and_gradient(X, y, a=np.ones(6), k=5, neighbors="approximate")


def fitted(neighbors, listeners=(), **options):
    X, y = points(400, 5), partly_labelled(400, 40)
    options = {"budget": 4, "n_candidates": 4, "views": ["given"], "random_state": 0, "engine": "cpu", **options}
    return PGLearnClassifier(neighbors=neighbors, **options).fit(X, y, listeners=listeners)


def test_recall_is_reported_in_results_and_events():
    events = []
    model = fitted("approximate", (events.append,))
    recall = model.search_results_["recall"]
    assert ((recall > 0.9) & (recall <= 1)).all()
    assert next(event for event in events if event["event"] == "search_started")["neighbors"] == "approximate"
    told = {event["candidate"]: event["recall"] for event in events if event["event"] == "candidate_advanced"}
    assert told == dict(enumerate(recall.tolist()))
    exactly = fitted("exact")
    assert (exactly.search_results_["recall"] == 1).all()
    assert (model.transduction_ == exactly.transduction_).mean() > 0.97


def test_the_answer_does_not_depend_on_who_kept_what_nor_on_where_a_search_goes_on(tmp_path):
    expected = fitted("approximate")
    threads = fitted("approximate", n_jobs=2, executor="threads")

    def stop(event):
        if event["event"] == "round_started" and event["round"] == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fitted("approximate", (stop,), checkpoint=tmp_path)
    module._pools.clear()
    for model in (threads, fitted("approximate", checkpoint=tmp_path)):
        np.testing.assert_array_equal(model.label_distributions_, expected.label_distributions_)
        np.testing.assert_array_equal(model.search_results_["recall"], expected.search_results_["recall"])
        np.testing.assert_array_equal(model.history_["loss"], expected.history_["loss"])
