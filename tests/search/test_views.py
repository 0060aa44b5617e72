"""Algorithm 2 with several views: candidates compete within theirs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from pglearn.search.ranking import ranked, standing
from tests.search.fakes import NumberedDraws, Scripted, serial_pool, worked_example

from pglearn.search import Candidate, Schedule, Search
from pglearn.search.candidate import Draws, Space


@dataclass(frozen=True)
class ByView(Scripted):
    """What the script says, and 1,000 more in every further view."""

    def judged(self, problem, configuration):
        evaluation = super().judged(problem, configuration)
        return type(evaluation)(evaluation.loss + 1000 * configuration.view, 0.5, evaluation.dg_da)


def search(views, loss_of, population=8, budget=16, rate=2, listeners=()):
    with serial_pool(ByView(loss_of)) as pool:
        return Search(Schedule(budget, rate, population), NumberedDraws(views), unit_steps=1).run(pool, listeners)


def of_view(result, view, died):
    return [c.id for c in result.candidates if c.view == view and c.died == died]


def candidates(losses):
    """Candidates with the given losses, which are {view: losses}, numbered as they come."""
    pairs = [(view, loss) for view, of_view in losses.items() for loss in of_view]
    return [Candidate(id, 5, np.ones(2), view=view, loss=loss) for id, (view, loss) in enumerate(pairs)]


def alive_at(result, milestone):
    """Candidates that run the round ending at `milestone`, by view."""
    return Counter(c.view for c in result.candidates if c.born < milestone and (c.died is None or c.died >= milestone))


# Who goes on


def test_the_best_of_every_view_go_on_however_bad_the_view():
    result = search(2, lambda k: k)
    assert of_view(result, 0, died=1) == [4, 6]
    assert of_view(result, 1, died=1) == [5, 7]
    assert of_view(result, 0, died=None)[:2] == [0, 2]
    assert of_view(result, 1, died=None)[:2] == [1, 3]


def test_new_ones_that_are_better_take_the_place_of_old_ones_of_their_view():
    result = search(2, lambda k: 100 - k)
    assert of_view(result, 0, died=1) == [0, 2]
    assert of_view(result, 1, died=1) == [1, 3]
    assert of_view(result, 0, died=2) == [4, 6]
    assert of_view(result, 1, died=2) == [5, 7]


def test_the_last_place_goes_to_the_lower_loss_among_equal_ranks():
    result = search(3, lambda k: k)  # four survivors: the best of each of three, and one second
    assert [c.id for c in result.candidates if c.born == 0 and c.died is None] == [0, 1, 2, 3]


def test_with_fewer_survivors_than_views_the_better_views_go_on():
    result = search(4, lambda k: k, population=4, budget=2)
    assert [c.id for c in result.candidates if c.died == 1] == [2, 3]


# Who is drawn


@pytest.mark.parametrize("views", [1, 2, 3, 4])
@pytest.mark.parametrize("loss_of", [lambda k: k, lambda k: 100 - k, lambda k: (k * 7) % 11])
def test_new_draws_take_the_views_of_those_they_replace(views, loss_of):
    result = search(views, loss_of)
    for milestone in (1, 2, 4, 8):
        replaced = Counter(c.view for c in result.candidates if c.died == milestone)
        new = Counter(c.view for c in result.candidates if c.born == milestone)
        assert new == replaced
    assert [alive_at(result, milestone) for milestone in (1, 2, 4, 8, 16)] == [alive_at(result, 1)] * 5


@pytest.mark.parametrize("views", [1, 2, 3, 4])
@pytest.mark.parametrize(("population", "budget", "rate"), [(8, 16, 2), (9, 9, 3), (5, 7, 2)])
def test_as_many_are_drawn_as_with_one_view(views, population, budget, rate):
    result = search(views, lambda k: (k * 7) % 11, population, budget, rate)
    assert len(result.candidates) == Schedule(budget, rate, population).configurations
    assert [c.id for c in result.candidates] == list(range(len(result.candidates)))
    assert len(result.ranked) == population


def test_events_name_the_view_of_candidates():
    records = []
    result = search(2, lambda k: k, listeners=[records.append])
    views = {c.id: c.view for c in result.candidates}
    for kind in ("candidate_drawn", "candidate_advanced"):
        told = [(event["candidate"], event["view"]) for event in records if event["event"] == kind]
        assert told
        assert all(views[id] == view for id, view in told)


# In which order


def test_with_one_view_the_order_is_by_loss_alone():
    losses = np.random.default_rng(0).integers(0, 9, 40).astype(float)
    alone = candidates({0: losses})
    assert [c.id for c in standing(alone)] == [c.id for c in ranked(alone)]
    result = worked_example(lambda k: (k * 7) % 11)
    first = sorted(range(8), key=lambda id: ((id * 7) % 11, id))
    assert [c.id for c in result.candidates if c.died == 1] == sorted(first[4:])


def test_with_several_the_best_of_each_come_first_then_the_second_of_each():
    mixed = candidates({0: [5.0, 1.0, 3.0], 1: [20.0, 30.0], 2: [0.5]})
    assert [c.loss for c in standing(mixed)] == [0.5, 1.0, 20.0, 3.0, 30.0, 5.0]
    assert [c.loss for c in ranked(mixed)] == [0.5, 1.0, 3.0, 5.0, 20.0, 30.0]


def test_ties_within_a_view_go_to_the_older_draw():
    mixed = candidates({1: [2.0, 2.0], 0: [2.0, 2.0]})
    assert [c.id for c in standing(mixed)] == [0, 2, 1, 3]
    assert [c.id for c in standing(reversed(mixed))] == [0, 2, 1, 3]


def test_the_answer_is_the_lowest_loss_whatever_its_view():
    result = search(2, lambda k: k)
    assert [c.id for c in result.ranked][:2] == [0, 2]
    assert [c.view for c in result.ranked] == [0] * 4 + [1] * 4


# Draws


def test_views_take_turns_unless_one_is_asked_for():
    draws = Draws((Space(5, 1.0), Space(2, 1.0), Space(5, 1.0)), k_range=(4, 9), bandwidth_range=(0.1, 10.0), seed=1)
    assert [draws.candidate(id).view for id in range(7)] == [0, 1, 2, 0, 1, 2, 0]
    assert [draws.candidate(id, view=1).view for id in range(3)] == [1, 1, 1]


def test_a_draw_has_a_bandwidth_per_coordinate_in_mean_distances_of_its_view():
    draws = Draws((Space(5, 3.0), Space(2, 0.5)), k_range=(6, 6), bandwidth_range=(2.0, 2.0), seed=1)
    np.testing.assert_allclose(draws.candidate(0).a, np.full(5, 1 / 36))
    np.testing.assert_allclose(draws.candidate(1).a, np.full(2, 1.0))


def test_a_configuration_says_which_view_its_weights_are_for():
    candidate = NumberedDraws(3).candidate(2)
    assert (candidate.here.view, candidate.answer.view) == (2, 2)
