"""The clock of the baselines, and what a search tells."""

from __future__ import annotations

import time
from itertools import islice

import numpy as np
import pytest
from tests.problems import partly_labelled, points

from pglearn.objective.problem import Problem
from pglearn.paper.baselines import Clock, Rand, Trial, search
from pglearn.paper.baselines.search import log_uniform
from pglearn.search import Draws, Space


class Script:
    """A method whose trials have given accuracies and tie breaks."""

    name = "script"

    def __init__(self, accuracies, tie_breaks=None, pause=0.0):
        self.given = list(zip(accuracies, tie_breaks or [0.0] * len(accuracies), strict=True))
        self.pause = pause

    def trials(self, problem, clock):
        for number, (accuracy, tie_break) in enumerate(self.given):
            time.sleep(self.pause)
            clock.tick()
            yield Trial(number, 0, 5, np.ones(2), accuracy, tie_break=tie_break)


def test_a_unit_is_so_many_seconds_and_the_time_is_overrun_by_one_evaluation_at_most():
    begun = time.monotonic()
    found = search(Script([0.5] * 1000, pause=0.02), None, Clock(units=2, unit_seconds=0.1))
    assert 0.2 <= time.monotonic() - begun < 0.4
    assert 2 <= len(found.trials["k"]) <= 11
    assert (found.reason, found.trials["spent"][-1]) == ("finished", 2)
    found = search(Script([0.5] * 1000, pause=0.02), None, Clock(units=1000, max_time=0.1))
    assert found.reason == "out of time"
    assert len(found.trials["k"]) <= 6


@pytest.mark.parametrize(
    ("accuracies", "tie_breaks", "best"),
    [([0.1, 0.9, 0.3, 0.9], None, 1), ([0.5, 0.7, 0.7, 0.7, 0.6], [0.0, 3.0, 2.0, 2.0, 1.0], 2)],
)
def test_ties_go_to_the_lowest_tie_break_and_then_to_the_first(accuracies, tie_breaks, best):
    found = search(Script(accuracies, tie_breaks), None, Clock(100))
    assert found.best.candidate == np.flatnonzero(found.trials["selected"]).item() == best
    assert found.reason == "finished", "there is nothing more to try"


def test_scales_are_as_likely_in_any_octave():
    rng = np.random.default_rng(0)
    drawn = np.array([log_uniform(rng, 1.0, 16.0) for _ in range(2000)])
    np.testing.assert_allclose(np.histogram(np.log2(drawn), 4, (0, 4))[0] / 2000, 0.25, atol=0.04)


def test_rand_judges_the_draws_that_pglearn_starts_from_or_weights_from_the_same_interval():
    problem = Problem.of(points(20), partly_labelled(20, 9))
    draws = Draws((Space(4, 2.0),), (3, 8), (0.5, 4.0), seed=1)
    for draw in ("bandwidths", "weights"):
        for number, trial in enumerate(islice(Rand(0.9, draws, draw).trials(problem, Clock(9)), 9)):
            expected = draws.draw(number)
            assert trial.k == expected.k
            uniform = trial.a**-0.5 if draw == "bandwidths" else trial.a
            np.testing.assert_allclose(uniform, expected.a**-0.5)
            assert ((uniform >= 1) & (uniform <= 8)).all()
