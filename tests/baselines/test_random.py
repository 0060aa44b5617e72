"""What Rand_d draws."""

from __future__ import annotations

import numpy as np
import pytest

from pglearn.baselines import Clock, Rand, search
from pglearn.baselines.random import WeightDraws
from pglearn.baselines.spread import Spread
from pglearn.problem import Problem
from pglearn.search.candidate import Draws, Space
from tests.problems import partly_labelled, points


class Remembered(Spread):
    """Keeps what it was asked to judge."""

    def graph(self, problem, k, a):
        self.asked.append((k, a))
        return super().graph(problem, k, a)

    @property
    def asked(self):
        return self.__dict__.setdefault("_asked", [])


@pytest.fixture(scope="module")
def asked():
    problem, spread = Problem.of(points(20), partly_labelled(20, 9)), Remembered(0.9)
    method = Rand(Draws((Space(4, 2.0),), (3, 8), (0.5, 4.0), seed=1), spread)
    found = search(method, problem, Clock(400))
    return spread.asked, found


def test_k_is_uniform_on_its_range(asked):
    counts = np.bincount([k for k, _ in asked[0]])[3:]
    assert len(counts) == 6
    assert (np.abs(counts - 400 / 6) < 4 * np.sqrt(400 / 6)).all()


def test_bandwidths_are_uniform_and_drawn_feature_by_feature(asked):
    bandwidths = np.array([a**-0.5 for _, a in asked[0]])
    assert bandwidths.shape == (400, 4)
    assert (bandwidths >= 1.0).all()
    assert (bandwidths <= 8.0).all()
    quarters = np.histogram(bandwidths, np.linspace(1, 8, 5))[0] / bandwidths.size
    np.testing.assert_allclose(quarters, 0.25, atol=0.05)
    assert np.abs(np.corrcoef(bandwidths.T) - np.eye(4)).max() < 0.2


def test_ties_keep_the_first(asked):
    accuracies = [record.accuracy for record in asked[1].records]
    assert accuracies.count(max(accuracies)) > 1
    assert asked[1].best.candidate == accuracies.index(max(accuracies))


def test_the_papers_text_draws_weights_from_the_same_interval():
    space = (Space(500, 2.0),)
    drawn = WeightDraws(space, (3, 8), (0.5, 4.0), seed=1).candidate(7)
    assert drawn.k == Draws(space, (3, 8), (0.5, 4.0), seed=1).candidate(7).k
    quarters = np.histogram(drawn.a, np.linspace(1, 8, 5))[0]
    assert quarters.sum() == 500
    np.testing.assert_allclose(quarters / 500, 0.25, atol=0.08)
