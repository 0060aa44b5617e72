"""What the baselines share: the choice of the best trial, and where random starts come from."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import partly_labelled, points

from pglearn import GridClassifier, RandClassifier
from pglearn.objective.graph import mean_distance
from pglearn.paper.baselines.base import Trial, random_start
from pglearn.parameters import seed
from pglearn.search import Draws, Space

X, Y = points(20), partly_labelled(20, 9)


def scripted(given):
    """A method whose trials have given accuracies and tie breaks."""

    class Script(GridClassifier):
        def trials(self, problem, clock, seed):
            for number, (accuracy, tie_break) in enumerate(given):
                clock.tick()
                yield Trial(number, 0, 5, np.ones(4), accuracy, tie_break=tie_break)

    return Script()


@pytest.mark.parametrize(
    ("given", "best"),
    [
        ([(0.1, 0.0), (0.9, 0.0), (0.3, 0.0), (0.9, 0.0)], 1),
        ([(0.5, 0.0), (0.7, 3.0), (0.7, 2.0), (0.7, 2.0), (0.6, 1.0)], 2),
    ],
)
def test_ties_go_to_the_lowest_tie_break_and_then_to_the_first(given, best):
    model = scripted(given).fit(X, Y)
    assert np.flatnonzero(model.search_results_["selected"]).tolist() == [best]
    assert model.stop_reason_ == "finished", "there is nothing more to try"


def test_scales_are_as_likely_in_any_octave():
    rng = np.random.default_rng(0)
    drawn = np.array([random_start(rng, (5, 9), (1.0, 16.0), (0.1,))[1] for _ in range(2000)])
    np.testing.assert_allclose(np.histogram(np.log2(drawn), 4, (0, 4))[0] / 2000, 0.25, atol=0.04)


@pytest.mark.parametrize("draw", ["bandwidths", "weights"])
def test_rand_judges_the_draws_that_pglearn_starts_from_or_weights_from_the_same_interval(draw):
    model = RandClassifier(draw=draw, k_range=(3, 8), bandwidth_range=(0.5, 4.0), budget=9, random_state=1).fit(X, Y)
    draws = Draws((Space(4, mean_distance(X, seed(1))),), (3, 8), (0.5, 4.0), seed(1))
    results, drawn = model.search_results_, [draws.draw(number) for number in range(9)]
    assert results["k"].tolist() == [candidate.k for candidate in drawn]
    expected = drawn[results["selected"].argmax()].a ** -0.5
    uniform = model.feature_weights_ ** (-0.5 if draw == "bandwidths" else 1)
    np.testing.assert_allclose(uniform, expected)
