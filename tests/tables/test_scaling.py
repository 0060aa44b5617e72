"""Features of whatever unit, and columns that say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from pglearn import GridClassifier, PGLearnClassifier
from pglearn.tables.scaling import Scaling, half_ranges, on_common_scale

N = 30


def with_column(column):
    """Two features on different scales, beside `column`."""
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=N), 1000 * rng.normal(size=N), np.broadcast_to(column, N)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e-3, -123456.789])
def test_a_constant_column_is_not_standardised_by_its_rounding(value, dtype):
    X = with_column(value).astype(dtype)
    scaling = Scaling.for_points(X, scale=True)
    assert scaling.spread[2] == 1
    np.testing.assert_allclose(scaling.transform(X)[:, 2], 0, atol=1e-10)
    new = X[:1].copy()
    new[0, 2] += 2
    np.testing.assert_allclose(scaling.transform(new)[0, 2], 2, rtol=1e-6)


def test_a_column_that_is_constant_but_for_rounding_is_not_standardised_and_a_small_range_far_from_zero_is():
    odd = np.arange(N) % 2
    assert Scaling.for_points(with_column(np.where(odd, 0.1 + 0.2, 0.3)), scale=True).spread[2] == 1
    X = with_column(1e9 + odd)
    np.testing.assert_allclose(Scaling.for_points(X, scale=True).transform(X)[:, 2], np.where(odd, 1, -1))


@pytest.mark.parametrize("classifier", [PGLearnClassifier(n_candidates=2), GridClassifier(scale=True)])
def test_a_constant_column_has_a_weight_in_its_unit(classifier):
    X = with_column(0.1)
    y = np.where(np.arange(N) < 12, X[:, 0] > 0, -1)
    model = classifier.set_params(budget=1, random_state=0).fit(X, y)
    assert model.scaled_
    assert model.feature_weights_[2] < 1e6


@pytest.mark.parametrize("exponent", [-95, -60, 60, 126])
@pytest.mark.parametrize("scale", [True, False])
def test_a_table_of_float32_is_brought_to_where_its_squares_are_floats(exponent, scale):
    X = with_column(np.arange(N)).astype(np.float32) / 4096
    scaled = np.ldexp(X, exponent)
    expected = Scaling.for_points(X, scale).transform(X)
    found = Scaling.for_points(scaled, scale).transform(scaled)
    assert found.dtype == np.float32
    unit = found[0, 0] / expected[0, 0]
    assert 1e-4 < unit < 1e4
    np.testing.assert_allclose(found / unit, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("X", "common"),
    [
        ([[0, 0], [1, 20]], True),
        ([[0, 0], [1, 20.1]], False),
        ([[0, np.nan], [1, np.nan]], True),
        ([[0, 0], [np.inf, 1], [1, 2]], True),
        ([[-1.7e308, -1e307], [1.7e308, 1e307]], True),
        ([[0] * 40, [1, 1] + [100] * 38], False),
        ([[0] * 41, [1, 1] + [100] * 39], True),
    ],
)
def test_on_common_scale(X, common):
    assert on_common_scale(half_ranges(np.array(X))) is common
