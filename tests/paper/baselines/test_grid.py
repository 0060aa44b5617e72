"""Which points Grid visits, and in which order."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from tests import oracle
from tests.problems import partly_labelled
from tests.problems import points as cloud

from pglearn import GridClassifier
from pglearn.objective.problem import Problem
from pglearn.paper.baselines.grid import points
from pglearn.parameters import seed


def test_the_corners_come_first_and_every_level_halves_the_cells():
    visited = list(islice(points((5, 20), (0.5, 50.5)), 16 * 17))
    assert set(visited[:4]) == {(k, sigma) for k in (5, 20) for sigma in (0.5, 50.5)}
    assert len(set(visited)) == len(visited), "only new points"
    assert {sigma for _, sigma in visited[:9]} == {0.5, 25.5, 50.5}
    assert {sigma for _, sigma in visited[:25]} == {0.5, 13.0, 25.5, 38.0, 50.5}
    assert {k for k, _ in visited[:9]} == {5, 12, 20}
    assert {k for k, _ in visited[:25]} == {5, 8, 12, 16, 20}
    assert {k for k, _ in visited} == set(range(5, 21))
    visited = list(islice(points((7, 7), (1.0, 2.0)), 9))
    assert {k for k, _ in visited} == {7}
    assert sorted(sigma for _, sigma in visited) == pytest.approx(np.linspace(1, 2, 9)), "σ, when k can be no finer"


def test_its_trials_are_judged_as_the_oracle_does_and_the_first_of_the_best_wins():
    X, y = cloud(30), partly_labelled(30, 12)
    problem = Problem.from_labels(X, y, validation="kfold", seed=seed(0))
    options = {"alpha": 0.9, "k_range": (3, 6), "bandwidth_range": (0.2, 0.8), "validation": "kfold"}
    results = GridClassifier(**options, budget=10, random_state=0).fit(X, y).search_results_
    visited, low = list(zip(results["k"], results["sigma"], strict=True)), results["sigma"].min()
    expected = list(islice(points((3, 6), (low, 4 * low)), 10))
    np.testing.assert_allclose(visited, expected)
    for (k, sigma), accuracy in zip(visited, results["accuracy"], strict=True):
        a = np.full(4, sigma**-2)
        P = oracle.normalised(oracle.weights(problem.X, a, oracle.neighbours(problem.X, a, k)))
        S = oracle.scores(P, problem.labelled, problem.codes, 3, problem.fold, problem.scored, 0.9)
        assert accuracy == (S.argmax(axis=1) == problem.scored_codes).mean()
    assert np.flatnonzero(results["selected"]).tolist() == [results["accuracy"].argmax()]
