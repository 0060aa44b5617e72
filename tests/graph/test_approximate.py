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
from pglearn.graph import k_nearest
from pglearn.graph.approximate import exact_of, found_neighbours, k_near, pool_of, sampled_recall
from pglearn.graph.descent import _cut, near_points
from pglearn.graph.neighbours import scaled_points
from pglearn.loss import Log
from pglearn.problem import Problem
from pglearn.propagation import LGC

N, K = 1500, 8


def problem_of(n=N, d=6):
    return Problem.of(points(n, d), partly_labelled(n, 30))


def share_found(neighbours, exact):
    return np.mean([len(set(p) & set(q)) for p, q in zip(neighbours, exact, strict=True)]) / exact.shape[1]


@pytest.fixture(scope="module")
def cloud():
    Z = points(N, 6)
    return Z, near_points(Z, 24)


def test_near_points_are_distinct_others_nearest_first(cloud):
    Z, near = cloud
    assert near.shape == (N, 24)
    assert (near >= 0).all()
    assert (near != np.arange(N)[:, None]).all()
    assert all(len(set(row)) == 24 for row in near)
    d2 = ((Z[near] - Z[:, None]) ** 2).sum(axis=2)
    assert (np.diff(d2, axis=1) >= -1e-5 * d2[:, 1:]).all()


def test_what_is_known_is_kept_and_added_to(cloud):
    Z, _ = cloud
    few = near_points(Z, 24, tried=2)
    more = near_points(Z, 30, tried=12, known=few)
    exact = k_nearest(Z, 24)
    assert share_found(few, exact) < 0.97 < share_found(more[:, :24], exact)
    assert (more != np.arange(N)[:, None]).all()
    assert all(len(set(row)) == 30 for row in more)


@pytest.mark.parametrize(
    ("recalls", "efforts"),
    [([0.98], [0]), ([0.95, 0.98], [0, 1]), ([0.8, 0.98], [0, 2]), ([0.5, 0.98], [0, 3]), ([0.5] * 3, [0, 3, 4])],
)
def test_the_next_effort_is_as_large_as_the_last_one_was_far_off(recalls, efforts, monkeypatch):
    said, made = iter(recalls), []

    def near(Z, m, tried, known):
        made.append(tried)
        return np.zeros((len(Z), m), dtype=np.int32)

    monkeypatch.setattr("pglearn.graph.descent.near_points", near)
    monkeypatch.setattr("pglearn.graph.approximate.sampled_recall", lambda *_: next(said))
    module._searched(points(200), 5)
    assert made == [module.EFFORTS[effort][1] for effort in efforts]


def test_the_search_is_a_function_of_points_and_seed(cloud):
    Z, near = cloud
    np.testing.assert_array_equal(near_points(Z, 24), near)


def test_duplicates_are_cut_apart_and_found():
    Z = np.repeat(points(5, 3), 200, axis=0)
    near = near_points(Z, 10)
    assert (near // 200 == np.arange(1000)[:, None] // 200).mean() > 0.99


@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_every_point_is_in_one_leaf_whatever_the_values(share):
    Z = points(600, 6).astype(np.float32)
    Z[np.random.default_rng(0).random(600) < share] *= np.float32(1e30)  # products are infinite, their sums are NaN
    order, ends = _cut(Z, 32, 0)
    np.testing.assert_array_equal(np.sort(order), np.arange(600))
    assert (ends[0], ends[-1]) == (0, 600)
    assert (np.diff(ends) > 0).all()


def test_points_so_far_apart_that_float32_has_no_number_for_it_have_neighbours():
    Z = points(600, 6).astype(np.float32)
    Z[:50] *= np.float32(1e30)
    near = near_points(Z, 20)
    assert ((near >= -1) & (near < 600)).all()
    assert share_found(near[50:, :5], k_nearest(Z, 5)[50:]) > 0.95
    np.testing.assert_array_equal(np.sort(k_near(Z, 5)[:50]), np.sort(k_nearest(Z, 5)[:50]))


def test_more_neighbours_than_there_are_points_are_all_of_them():
    Z = points(7, 3)
    np.testing.assert_array_equal(np.sort(k_near(Z, 30)), np.sort(k_nearest(Z, 30)))


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
    same = np.tile(points(1, 5), (400, 1))
    others = (np.arange(400)[:, None] + np.arange(1, 11)) % 400
    assert sampled_recall(same, others) == 1.0


def test_a_pool_is_ranked_under_the_present_weights():
    problem = problem_of()
    anchor, a = np.full(6, 0.3), np.array([0.4, 0.3, 0.3, 0.2, 0.3, 0.35])
    found = found_neighbours(problem, a, K, anchor)
    Z = scaled_points(problem.X, a, problem.centre)
    exact = k_nearest(Z, K)
    assert found.anchor is anchor, "no new search"
    assert share_found(found.neighbours, exact) > 0.95
    d2 = ((Z[found.neighbours] - Z[:, None]) ** 2).sum(axis=2)
    assert (np.diff(d2, axis=1) >= 0).all()


def test_near_points_are_searched_for_again_when_the_weights_have_moved_too_far():
    problem = problem_of()
    anchor, a = np.array([1.0, 1, 1, 0, 0, 0]), np.array([0.0, 0, 0, 1, 1, 1])
    stale = module.nearest_in(pool_of(problem, anchor, K), scaled_points(problem.X, a, problem.centre), K)
    assert sampled_recall(scaled_points(problem.X, a, problem.centre), stale) < 0.5
    found = found_neighbours(problem, a, K, anchor)
    assert found.anchor is a
    assert found.recall > 0.95


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


def test_the_gradient_is_that_of_the_graph_that_was_found():
    problem, a = problem_of(), np.full(6, 0.3)
    exact, near = CPUEngine(Log(), LGC()), CPUEngine(Log(), LGC(), "approximate")
    (expected,) = exact.value_and_gradient(problem, [Configuration(K, a)])
    (found,) = near.value_and_gradient(problem, [Configuration(K, a)])
    assert found.recall > 0.99
    assert found.loss == pytest.approx(expected.loss, rel=0.02)
    np.testing.assert_allclose(found.dg_da, expected.dg_da, rtol=0, atol=0.1 * np.abs(expected.dg_da).max())
    assert (expected.recall, expected.anchor) == (1.0, None)
    np.testing.assert_array_equal(near.on_graph(problem, near.graph(problem, Configuration(K, a))).dg_da, found.dg_da)


# How it is chosen, and said


def test_auto_becomes_approximate_above_its_size_without_a_warning(monkeypatch):
    monkeypatch.setattr("pglearn.engine.choose.EXACT_UP_TO", 100)
    assert chosen_neighbours("auto", 100) == "exact"
    assert chosen_neighbours("auto", 101) == "approximate"
    assert chosen_neighbours("exact", 10**9) == "exact"
    assert chosen_neighbours("approximate", 5) == "approximate"


@pytest.mark.parametrize(("neighbors", "logged"), [("auto", 1), ("approximate", 0), ("exact", 0)])
def test_loss_and_gradient_logs_that_auto_has_become_approximate(neighbors, logged, monkeypatch, caplog):
    monkeypatch.setattr("pglearn.engine.choose.EXACT_UP_TO", 200)
    caplog.set_level("INFO", "pglearn")
    X, y = points(300, 6), partly_labelled(300, 30)
    pglearn.loss_and_gradient(X, y, a=np.ones(6), k=5, neighbors=neighbors)
    assert len(caplog.messages) == logged
    assert all(message.startswith("Neighbours of 300 rows are found approximately") for message in caplog.messages)


def test_loss_and_gradient_warns_of_low_recall(monkeypatch):
    X, y = points(300, 6), partly_labelled(300, 30)
    monkeypatch.setattr("pglearn.graph.descent.TREES", 1)
    monkeypatch.setattr("pglearn.graph.descent.MOST_ROUNDS", 0)
    with pytest.warns(UserWarning, match=r"^Approximate neighbours have a recall of 0\.\d\d only, below 0\.95: "):
        pglearn.loss_and_gradient(X, y, a=np.ones(6), k=5, neighbors="approximate")


def fitted(neighbors, **options):
    events = []
    X, y = points(400, 5), partly_labelled(400, 40)
    model = PGLearnClassifier(
        budget=4, n_candidates=4, views=["given"], neighbors=neighbors, random_state=0, engine="cpu", **options
    )
    return model.fit(X, y, listeners=(events.append,)), events


@pytest.fixture(scope="module")
def approximately():
    return fitted("approximate")


def test_recall_is_reported_in_results_and_events(approximately):
    model, events = approximately
    recall = model.search_results_["recall"]
    assert ((recall > 0.9) & (recall <= 1)).all()
    assert next(event for event in events if event["event"] == "search_started")["neighbors"] == "approximate"
    told = {event["candidate"]: event["recall"] for event in events if event["event"] == "candidate_advanced"}
    assert told == dict(enumerate(recall.tolist()))
    exactly, events = fitted("exact")
    assert (exactly.search_results_["recall"] == 1).all()
    assert events[0]["neighbors"] == "exact"
    assert (model.transduction_ == exactly.transduction_).mean() > 0.97


def test_the_answer_does_not_depend_on_who_kept_what(approximately):
    processes, _ = fitted("approximate", n_jobs=2, executor="threads")
    np.testing.assert_array_equal(processes.label_distributions_, approximately[0].label_distributions_)
    np.testing.assert_array_equal(processes.history_["loss"], approximately[0].history_["loss"])


def test_a_search_goes_on_from_its_checkpoint_with_the_same_near_points(approximately, tmp_path):
    class Stop(Exception):
        pass

    def stop(event):
        if event["event"] == "round_started" and event["round"] == 2:
            raise Stop

    X, y = points(400, 5), partly_labelled(400, 40)
    model = approximately[0].__class__(**{**approximately[0].get_params(), "checkpoint": tmp_path})
    with pytest.raises(Stop):
        model.fit(X, y, listeners=(stop,))
    module._pools.clear()
    model.fit(X, y)
    np.testing.assert_array_equal(model.label_distributions_, approximately[0].label_distributions_)
    np.testing.assert_array_equal(model.search_results_["recall"], approximately[0].search_results_["recall"])
