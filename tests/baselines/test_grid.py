"""Which points Grid visits, and in which order."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from pglearn.baselines import Clock, Grid, search
from pglearn.baselines.grid import halvings, points
from pglearn.problem import Problem
from tests import oracle
from tests.problems import partly_labelled
from tests.problems import points as cloud

K, SIGMA = (5, 20), (0.5, 50.5)


def test_the_first_four_are_all_four_corners():
    assert set(islice(points(K, SIGMA), 4)) == {(k, sigma) for k in K for sigma in SIGMA}


def test_every_level_halves_the_cells():
    visited = list(islice(points(K, SIGMA), 25))
    assert len(set(visited)) == 25, "only new points"
    assert {sigma for _, sigma in visited[:9]} == {0.5, 25.5, 50.5}
    assert {sigma for _, sigma in visited} == {0.5, 13.0, 25.5, 38.0, 50.5}
    assert {k for k, _ in visited[:9]} == {5, 12, 20}
    assert {k for k, _ in visited} == {5, 8, 12, 16, 20}


def test_k_is_a_whole_number_and_all_are_visited_in_time():
    visited = list(islice(points(K, SIGMA), 16 * 17))
    assert all(isinstance(k, int) and 5 <= k <= 20 for k, _ in visited)
    assert {k for k, _ in visited} == set(range(5, 21))


def test_when_k_cannot_be_refined_sigma_is():
    visited = list(islice(points((7, 7), (1.0, 2.0)), 9))
    assert {k for k, _ in visited} == {7}
    assert sorted(sigma for _, sigma in visited) == pytest.approx(np.linspace(1, 2, 9))


@pytest.mark.parametrize(("low", "high"), [(5, 20), (1, 1), (3, 4), (2, 13)])
def test_a_grid_of_whole_numbers_alone_ends(low, high):
    order = halvings(low, high)
    assert sorted(order) == list(range(low, high + 1))
    assert order[:2] == [low, high][: len(order)]


@pytest.mark.parametrize("evaluations", [1, 3, 10])
def test_the_budget_ends_it_exactly_and_the_first_of_the_best_wins(evaluations):
    problem = Problem.of(cloud(40), partly_labelled(40, 12))
    grid = Grid(0.9, (3, 9), (0.3, 30.0))
    found = search(grid, problem, Clock(evaluations))
    assert found.reason == "finished"
    visited = zip(found.trials["k"], found.trials["sigma"], strict=True)
    assert list(visited) == list(islice(points((3, 9), (0.3, 30.0)), evaluations))
    assert found.best.candidate == found.trials["accuracy"].argmax()


def test_a_trial_is_judged_as_the_oracle_does():
    problem = Problem.of(cloud(30), partly_labelled(30, 12), validation="kfold")
    for trial in islice(Grid(0.9, (3, 6), (0.5, 2.0)).trials(problem, Clock(9)), 5):
        P = oracle.normalised(oracle.weights(problem.X, trial.a, oracle.neighbours(problem.X, trial.a, trial.k)))
        S = oracle.scores(P, problem.labelled, problem.codes, 3, problem.fold, problem.scored, 0.9)
        assert trial.accuracy == (S.argmax(axis=1) == problem.scored_codes).mean()
