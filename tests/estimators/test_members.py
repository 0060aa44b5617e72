"""How much the candidates of an ensemble count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pglearn.estimators.members import averaged, mean_graph, weights_of
from pglearn.loss import Yardstick
from pglearn.search import Candidate

YARDSTICK = Yardstick(perfect=2.0, chance=12.0)


def candidate(*losses):
    history = [(step, loss, 0.5) for step, loss in enumerate(losses)]
    return Candidate(0, 5, np.ones(1), loss=min(losses), history=history)


def weights_by(*candidates):
    return weights_of(candidates, YARDSTICK)[0]


def weights(*losses):
    return weights_by(*(candidate(loss) for loss in losses))


def test_one_whose_loss_falls_sooner_counts_more_wherever_both_end():
    sooner, later = weights_by(candidate(12.0, 3.0, 3.0, 3.0), candidate(12.0, 12.0, 12.0, 3.0))
    assert sooner / later == pytest.approx(np.exp(2 * 0.9 / 17 / 0.2))


def test_a_loss_that_rises_again_counts_with_what_was_reached():
    assert weights_by(candidate(12.0, 3.0, 9.0), candidate(12.0, 3.0, 3.0)).tolist() == [0.5, 0.5]


def test_what_happens_after_the_first_steps_does_not_count():
    long, longer = candidate(*[5.0] * 17), candidate(*[5.0] * 17, 2.0)
    assert weights_by(long, longer).tolist() == [0.5, 0.5]


def test_weights_sum_to_one_in_the_order_of_the_candidates():
    found = weights(5.0, 3.0, 4.0)
    assert found.sum() == pytest.approx(1)
    assert np.argsort(-found).tolist() == [1, 2, 0]


def test_equals_count_equally():
    assert weights(3.0, 3.0, 3.0, 3.0).tolist() == [0.25] * 4


def test_a_fifth_of_what_chance_loses_is_a_factor_e():
    found = weights(3.0, 5.0, 7.0)
    assert found[0] / found[1] == pytest.approx(np.e)
    assert found[0] / found[2] == pytest.approx(np.e**2)


def test_one_that_is_no_better_than_chance_counts_next_to_nothing():
    assert weights(2.0, 12.0)[1] < 0.01


def test_one_alone_counts_all():
    assert weights(1e6).tolist() == [1]


def test_the_mean_loss_in_the_end_is_a_share_of_chance_by_the_same_weights():
    found, doubt = weights_of([candidate(12.0, 9.0, 4.0), candidate(12.0, 7.0, 11.0)], YARDSTICK)
    assert doubt == pytest.approx(found @ [0.2, 0.5])


def test_opinions_are_averaged_by_weight_over_the_members_that_reach_a_row():
    one, other = np.array([[0.9, 0.1], [0.0, 0.0]]), np.array([[0.5, 0.5], [0.2, 0.8]])
    probabilities, unreached = averaged([one, other], [0.75, 0.25], np.array([0.3, 0.7]))
    np.testing.assert_allclose(probabilities, [[0.8, 0.2], [0.2, 0.8]])
    assert not unreached.any()


def test_graphs_are_averaged_by_weight():
    graphs = [sparse.csr_matrix(np.array([[0.0, w], [w, 0.0]])) for w in (1.0, 0.2)]
    np.testing.assert_allclose(mean_graph(graphs, [0.75, 0.25]).toarray(), [[0, 0.8], [0.8, 0]])
