"""IDML: which rows it labels itself, from which pairs it learns, and how it ends."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
from tests import oracle
from tests.problems import joined, partly_labelled, points

from pglearn import IDMLClassifier
from pglearn.objective.graph import mean_distance
from pglearn.objective.problem import Problem
from pglearn.paper.baselines.base import Clock
from pglearn.paper.baselines.idml import BETAS, confident_rows, distance_bounds, labelled_pairs


@pytest.fixture(scope="module", params=["holdout", "loo"])
def run(request):
    problem = Problem.from_labels(points(60), partly_labelled(60, 12), validation=request.param, seed=1)
    method = IDMLClassifier(alpha=0.9, k_range=(4, 8), bandwidth_range=(0.2, 2.0))
    return problem, method, list(islice(method.trials(problem, Clock(1000), seed=0), 12))


def spread_labels(problem, P, guesses, rows):
    """F from the guesses and the labels of some rows, by the book."""
    Y = np.zeros((60, 3))
    Y[guesses >= 0, guesses[guesses >= 0]] = 1
    Y[problem.labelled[rows]] = problem.Y[rows]
    columns = (F := oracle.lgc(P, Y, 0.9)) / F.sum(axis=0)
    return columns / columns.sum(axis=1, keepdims=True)


def test_rows_with_an_entropy_near_the_smallest_are_chosen():
    F = np.array([[0.9, 0.1], [0.99, 0.01], [0.985, 0.015], [0.5, 0.5], [0.0, 0.0], [1.0, 0.0]])
    codes = np.array([-1, -1, -1, -1, -1, 0])
    assert confident_rows(F, codes, 0.05).tolist() == [1, 2]
    assert confident_rows(F, codes, 0.3).tolist() == [0, 1, 2]
    assert confident_rows(F, np.zeros(6, dtype=int), 0.3).tolist() == []


def test_bounds_are_percentiles_of_squared_distances():
    X = points(30)
    D2 = oracle.distances(X, np.ones(4))[np.triu_indices(30, 1)]
    assert distance_bounds(X, 0) == pytest.approx(np.percentile(D2, [5, 95]))
    assert distance_bounds(np.ones((5, 2)), 0) is None
    assert distance_bounds(np.repeat([[0.0], [2.0]], [99, 1], axis=0), 0) == (4.0, 4.0), "l is not 0"
    offset = np.array([0, 0, 0, 1.7e9])
    assert distance_bounds(X + offset, 0) == distance_bounds(X + offset - offset, 0), "a time stamp costs no digits"


def test_pairs_have_a_new_row_and_are_met_once_but_not_too_many():
    X, codes = np.arange(6.0)[:, None] ** 2, np.array([0, 1, 0, -1, 1, -1])
    found = labelled_pairs(X, codes, np.array([4]), (1.0, 9.0), np.random.default_rng(0))
    assert sorted(zip(np.sqrt(found.z2[:, 0]), found.similar, found.bound, strict=True)) == [
        (12.0, False, 9.0),
        (15.0, True, 1.0),
        (16.0, False, 9.0),
    ]
    for classes, most in ((3, 90), (5, 250), (10, 500)):
        codes = np.arange(300) % classes
        found = labelled_pairs(points(300), codes, np.arange(300), (1.0, 9.0), np.random.default_rng(0))
        assert (found.similar.sum(), (~found.similar).sum()) == (most, most)


def test_draws_and_rounds(run):
    problem, _, trials = run
    shown = problem.labelled[problem.shown]
    starts, mean = [trial for trial in trials if trial.step == 0], mean_distance(problem.X, 0)
    assert len(starts) > 1
    for trial in starts:
        assert 4 <= trial.k <= 8
        assert 0.2 * mean <= trial.settings["sigma"] <= 2 * mean
        assert trial.settings["beta"] in BETAS
        assert (trial.guesses == -1).all()
    for before, after in pairwise(trials):
        if after.candidate == before.candidate:
            added = before.guesses != after.guesses
            assert added.any()
            assert (before.guesses[added] == -1).all(), "no row is added twice"
            assert (after.guesses[shown] == -1).all(), "given labels stay"
            assert (after.guesses != -1).sum() + len(shown) < 0.8 * 60, "it would have ended"


def test_a_round_of_holdout_is_judged_by_its_own_answer_and_others_by_the_given_labels(run):
    problem, method, trials = run
    for trial in trials[:6]:
        graph, solution = method.answer(problem, trial)
        P = oracle.normalised(oracle.weights(problem.X, trial.a, joined(graph.edges)))
        every = np.arange(len(problem.labelled))
        np.testing.assert_allclose(solution.F, spread_labels(problem, P, trial.guesses, every), atol=1e-8)
        S = oracle.scores(P, problem.labelled, problem.codes, 3, problem.fold, problem.scored, 0.9)
        if len(problem.shown) < len(every):
            S = spread_labels(problem, P, trial.guesses, problem.shown)[problem.labelled[problem.scored]]
        assert trial.accuracy == pytest.approx((S.argmax(axis=1) == problem.scored_codes).mean())
    assert any((trial.guesses >= 0).any() for trial in trials[:6])


def test_identical_rows_have_no_metric_to_learn():
    weights = IDMLClassifier(budget=2).fit(np.ones((12, 2)), partly_labelled(12, 6, 2)).feature_weights_
    assert np.ptp(weights) == 0
