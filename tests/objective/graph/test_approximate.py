"""Approximate neighbours: nearly all exact, measured, and the same however they are shared."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import partly_labelled, points

import pglearn
from pglearn import PGLearnClassifier
from pglearn.engine.choose import chosen_neighbours
from pglearn.objective.graph import approximate as module
from pglearn.objective.graph import k_nearest
from pglearn.objective.graph.approximate import LEAST_RECALL, exact_of, k_near, share_found

N, K = 3000, 8


@pytest.fixture
def hasty(monkeypatch):
    """One list is looked at, and nothing is searched exactly after all."""
    monkeypatch.setattr(module, "LOOKED_AT", (1,))
    monkeypatch.setattr(module, "EXACT_AT_MOST", 0)


def common(neighbours, exact):
    return np.mean([np.isin(*both).mean() for both in zip(neighbours, exact, strict=True)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_neighbours_are_distinct_others_and_as_many_are_exact_as_is_said(dtype):
    Z = points(N, 6).astype(dtype)
    near, recall = k_near(Z, K)
    assert ((near >= 0) & (near != np.arange(N)[:, None])).all()
    assert all(len(set(row)) == K for row in near.tolist())
    exact = k_nearest(Z, K)
    assert LEAST_RECALL <= recall < 1
    assert common(near, exact) == pytest.approx(recall, abs=0.02)
    rows = np.arange(0, N, 10)
    assert share_found(Z, rows, near[rows], exact[rows]) == pytest.approx(recall, abs=0.02)


def test_more_lists_are_looked_at_until_recall_is_good(monkeypatch):
    found = []
    for looked_at in ((8,), (1, 2, 8, 40), (40,)):
        monkeypatch.setattr(module, "LOOKED_AT", looked_at)
        found.append(k_near(points(500, 6), K))
    (near, recall), (of_several, _), (of_more, _) = found
    assert recall >= LEAST_RECALL
    np.testing.assert_array_equal(of_several, near)
    assert (of_more != near).any()


def test_where_lists_do_not_do_neighbours_are_exact_unless_rows_are_too_many(monkeypatch):
    Z = points(500, 6)
    monkeypatch.setattr(module, "LOOKED_AT", (1,))
    near, recall = k_near(Z, K)
    np.testing.assert_array_equal(near, k_nearest(Z, K))
    assert recall == 1
    monkeypatch.setattr(module, "EXACT_AT_MOST", 499)
    near, recall = k_near(Z, K)
    assert recall < LEAST_RECALL
    assert common(near, k_nearest(Z, K)) < 1


def test_rows_whose_lists_have_too_few_have_exact_neighbours(hasty):
    Z = points(500, 6)
    in_a_list = common(k_near(Z, K)[0], k_nearest(Z, K))
    assert 0.1 < in_a_list < 0.9
    near, _ = k_near(Z, 100)
    np.testing.assert_array_equal(np.sort(near), np.sort(k_nearest(Z, 100)))


@pytest.mark.parametrize("n", [2, 3, 9, 40])
def test_few_rows_and_duplicates_have_neighbours(n):
    for Z in (points(n, 3), np.ones((n, 3))):
        near, recall = k_near(Z, K)
        assert near.shape == (n, min(K, n - 1))
        assert ((near >= 0) & (near != np.arange(n)[:, None])).all()
        assert recall >= LEAST_RECALL


@pytest.mark.parametrize("scale", [1e-60, 1e100])
def test_no_scale_changes_who_is_near(scale):
    Z = points(300, 6)
    for found, expected in zip(k_near(scale * Z, 5), k_near(Z, 5), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_distances_beyond_all_numbers_are_an_error():
    with pytest.raises(OverflowError, match="beyond all numbers: scale X"):
        k_near(1e200 * points(300, 6), 5)


def test_exact_neighbours_of_some_rows_leave_out_the_row_itself_even_among_duplicates():
    Z, rows = np.vstack([points(20, 3), np.tile(points(1, 3), (10, 1))]), np.array([3, 25, 29])
    exact = exact_of(Z, rows, 4)
    assert sorted(exact[0]) == sorted(k_nearest(Z, 4)[3])
    assert (exact != rows[:, None]).all()
    assert (exact[1:] >= 20).all()


def test_recall_counts_what_is_as_near_as_the_exact_neighbours():
    Z, rows = points(400, 5), np.arange(0, 400, 2)
    exact = k_nearest(Z, 10)[rows]
    assert share_found(Z, rows, exact, exact) == 1.0
    half = exact.copy()
    half[:, 5:] = k_nearest(Z, 60)[rows, 50:55]
    assert share_found(Z, rows, half, exact) == pytest.approx(0.5)
    half[:, 5:] = -1
    assert share_found(Z, rows, half, exact) == 0.5
    others = (rows[:, None] + np.arange(1, 11)) % 400
    assert share_found(np.tile(Z[:1], (400, 1)), rows, others, exact) == 1.0


# How it is chosen, and said


@pytest.mark.parametrize(("neighbors", "logged"), [("auto", 1), ("approximate", 0), ("exact", 0)])
def test_auto_becomes_approximate_from_its_size_on_and_it_is_logged(neighbors, logged, monkeypatch, caplog):
    monkeypatch.setattr("pglearn.engine.choose.APPROXIMATE_FROM", 300)
    assert chosen_neighbours(neighbors, 299) == ("exact" if neighbors == "auto" else neighbors)
    caplog.set_level("INFO", "pglearn")
    pglearn.loss_and_gradient(points(300, 6), partly_labelled(300, 30), a=np.ones(6), k=5, neighbors=neighbors)
    assert len(caplog.messages) == logged
    assert all(message.startswith("Neighbours of 300 rows are found approximately") for message in caplog.messages)


def test_loss_and_gradient_warns_of_low_recall(hasty):
    X, y = points(300, 6), partly_labelled(300, 30)
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


def test_the_answer_does_not_depend_on_who_searches_nor_on_where_a_search_goes_on(tmp_path):
    expected = fitted("approximate")
    fitted("approximate", checkpoint=tmp_path, max_time=1e-6)
    on_threads = fitted("approximate", n_jobs=2, executor="threads")
    for model in (on_threads, fitted("approximate", checkpoint=tmp_path)):
        np.testing.assert_array_equal(model.label_distributions_, expected.label_distributions_)
        np.testing.assert_array_equal(model.search_results_["recall"], expected.search_results_["recall"])
        np.testing.assert_array_equal(model.history_["loss"], expected.history_["loss"])
