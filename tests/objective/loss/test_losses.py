"""One contract for every loss: its equation, its gradient, and a scale on which it compares."""

from __future__ import annotations

import numpy as np
import pytest
from tests import oracle
from tests.problems import LABEL_LOSSES

from pglearn.objective.loss import LOSSES, Log, Ranking, Yardstick, row_normalised

losses = pytest.mark.parametrize("name", LABEL_LOSSES)


def scores(s=12, c=4):
    """s rows that sum to one, and the true class of each."""
    S = np.random.default_rng(0).random((s, c)) + 0.05
    return S / S.sum(axis=1, keepdims=True), np.arange(s) % c


def differences(g, S, h=1e-6):
    """∂g/∂S by central differences, entry by entry."""
    return oracle.central_differences(lambda flat: g(flat.reshape(S.shape)), S.ravel(), h).reshape(S.shape)


@losses
@pytest.mark.parametrize(("s", "c"), [(1, 2), (12, 4)])
def test_value_is_the_equations_and_the_gradient_that_of_central_differences(name, s, c):
    (S, codes), loss = scores(s, c), LOSSES[name]()
    before = S.copy()
    g, dg_dS = loss(S, codes)
    assert g == pytest.approx(oracle.LOSSES[name](S, codes), rel=1e-12)
    expected = differences(lambda S: loss(S, codes)[0], S)
    np.testing.assert_allclose(dg_dS, expected, rtol=0, atol=1e-6 * max(1, np.abs(expected).max()))
    np.testing.assert_array_equal(S, before)


@losses
@pytest.mark.parametrize("wrong", [0, 1])
def test_perfect_and_utterly_wrong_scores_have_no_nan(name, wrong):
    codes = np.arange(6) % 3
    g, dg_dS = LOSSES[name]()(np.eye(3)[(codes + wrong) % 3], codes)
    assert np.isfinite(g)
    assert np.isfinite(dg_dS).all()


@losses
def test_share_of_chance_is_zero_for_perfect_and_one_for_uniform_scores(name):
    codes, loss = np.arange(12) % 4, LOSSES[name]()
    perfect, _ = loss(np.eye(4)[codes], codes)
    uniform, _ = loss(np.full((12, 4), 0.25), codes)
    yardstick = Yardstick.from_loss(loss, codes, 4)
    shares = [yardstick.share_of_chance(g) for g in (perfect, (perfect + uniform) / 2, uniform)]
    np.testing.assert_allclose(shares, [0, 0.5, 1], atol=1e-12)


def test_share_of_chance_is_zero_where_nothing_can_be_told_apart():
    # One scored class leaves the ranking loss without a pair.
    assert Yardstick.from_loss(Ranking(), np.zeros(3, dtype=int), 2).share_of_chance(0.0) == 0.0


def test_log_charges_a_score_below_one_in_a_million_as_that_and_lets_it_be():
    p = np.array([2e-6, 5e-7, 0.0, -1e-9])
    g, dg_dS = Log()(np.column_stack([p, 1 - p]), np.zeros(4, dtype=int))
    assert g == pytest.approx(-np.log(2e-6) - 3 * np.log(1e-6))
    np.testing.assert_allclose(dg_dS[:, 0], [-1 / 2e-6, 0, 0, 0])


# Row normalisation


def test_rows_are_normalised_and_one_of_zeros_becomes_uniform_and_moves_with_nothing():
    S = np.random.default_rng(0).random((6, 3)) * np.logspace(-2, 3, 6)[:, None]
    S[4] = [0, -1e-17, -1e-18]  # rounding below zero counts as zero
    N, reached, pullback = row_normalised(S)
    np.testing.assert_allclose(N, oracle.row_normalised(np.maximum(S, 0)), rtol=1e-12)
    assert reached.tolist() == [True, True, True, True, False, True]
    dg_dS, _ = pullback(np.random.default_rng(5).normal(size=(6, 3)))
    assert dg_dS.any(axis=1).tolist() == reached.tolist()
    np.testing.assert_allclose((dg_dS * S).sum(axis=1), 0, atol=1e-12)  # what only rescales a row changes nothing


@losses
def test_gradient_through_the_normalisation_is_that_of_central_differences(name):
    raw = np.random.default_rng(3).random((9, 3)) + 0.1
    codes, loss = np.arange(9) % 3, LOSSES[name]()
    N, _, pullback = row_normalised(raw)
    _, dg_dN = loss(N, codes)
    expected = differences(lambda S: loss(row_normalised(S)[0], codes)[0], raw)
    np.testing.assert_allclose(pullback(dg_dN)[0], expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("smallest", [1.0, 1e-200, 1e-305, 5e-324])
def test_the_gradient_of_a_row_with_the_smallest_sum_has_room_for_products(smallest):
    S = np.array([[0.2, 0.6], [0.0, smallest]])
    _, reached, pullback = row_normalised(S)
    dg_dS, lift = pullback(np.array([[1.0, -2.0], [5.0, -7.0]]))
    assert reached.all()
    assert np.abs(dg_dS).max() < 2.0**993
    assert (lift == 1) == (smallest > 1e-290)
    np.testing.assert_allclose(lift * dg_dS[0], [2.8125, -0.9375], rtol=1e-12)
