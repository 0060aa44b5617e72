"""Features of whatever unit, and columns that say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from pglearn import GridClassifier, PGLearnClassifier
from pglearn.errors import InputError
from pglearn.estimators.scaling import Scaling
from pglearn.sparse import sparse_rows

N = 30


def with_column(column):
    """Two features on different scales, beside `column`."""
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=N), 1000 * rng.normal(size=N), np.broadcast_to(column, N)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", [0.0, 0.1, 1.1, 1e-3, -7.7, 123456.789])
def test_a_constant_column_is_not_standardised_by_its_rounding(value, dtype):
    X = with_column(value).astype(dtype)
    scaling = Scaling.for_points(X, scale=True)
    assert scaling.spread[2] == 1
    np.testing.assert_allclose(scaling.of(X)[:, 2], 0, atol=1e-10)
    new = X[:1].copy()
    new[0, 2] += 2
    np.testing.assert_allclose(scaling.of(new)[0, 2], 2, rtol=1e-6)


def test_neither_is_one_that_is_constant_but_for_rounding():
    X = with_column(np.where(np.arange(N) % 2, 0.1 + 0.2, 0.3))
    assert Scaling.for_points(X, scale=True).spread[2] == 1


def test_a_small_range_far_from_zero_is_none_of_rounding():
    X = with_column(1e9 + np.arange(N) % 2)
    np.testing.assert_allclose(Scaling.for_points(X, scale=True).of(X)[:, 2], np.where(np.arange(N) % 2, 1, -1))


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
    expected = Scaling.for_points(X, scale).of(X)
    found = Scaling.for_points(scaled, scale).of(scaled)
    assert found.dtype == np.float32
    unit = found[0, 0] / expected[0, 0]
    assert 1e-4 < unit < 1e4
    np.testing.assert_allclose(found / unit, expected, rtol=1e-5)


# Logarithms of columns with a long tail


def incomes(n=400, seed=0):
    """A column with a tail to the right, one with a tail to the left, one without."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.lognormal(10, 1, n), 100 - rng.lognormal(2, 0.8, n), rng.normal(size=n)])


def skewness(X):
    return (((X - X.mean(axis=0)) / X.std(axis=0)) ** 3).mean(axis=0)


def test_columns_with_a_long_tail_are_taken_in_logarithms():
    X = incomes()
    assert skewness(X)[0] > 1 > -1 > skewness(X)[1]
    scaling = Scaling.for_points(X, "auto")
    assert scaling.logarithms.tolist() == [True, True, False]
    Z = scaling.of(X)
    assert (np.abs(skewness(Z)) < 0.6).all()
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(Z.std(axis=0), 1)
    np.testing.assert_array_equal(Z.argsort(axis=0), X.argsort(axis=0))


def test_neither_unit_nor_origin_of_a_tail_matters():
    X = incomes()
    expected = Scaling.for_points(X, "auto").of(X)
    moved = X * [0.125, 1024, 3] - [1e5, -7, 2]
    np.testing.assert_allclose(Scaling.for_points(moved, "auto").of(moved), expected, rtol=1e-6, atol=1e-8)


def test_a_table_that_somebody_has_standardised_is_looked_at_too():
    X = incomes()
    given = (X - X.mean(axis=0)) / X.std(axis=0)
    scaling = Scaling.for_points(given, "auto")
    assert scaling.logarithms.tolist() == [True, True, False]
    np.testing.assert_allclose(scaling.of(given), Scaling.for_points(X, "auto").of(X), atol=1e-9)


def test_all_rows_are_looked_at_for_that():
    """Of a long tail every second row may have another deviation."""
    X = np.exp(1.5 * np.random.default_rng(0).normal(size=(20_001, 4)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[1::2], X[::2] = np.sort(X, axis=0)[:10_000], np.sort(X, axis=0)[10_000:]
    assert Scaling.for_points(X, "auto").logarithms.all()


def test_tails_alone_on_demand():
    X = incomes()
    scaling = Scaling.for_points(X, "tails")
    assert scaling.logarithms.tolist() == [True, True, False]
    np.testing.assert_array_equal(scaling.of(X)[:, 2], X[:, 2])
    with pytest.raises(InputError, match="scale='tails' is for arrays"):
        Scaling.for_points(sparse_rows(X), "tails")


def on_one_scale():
    rng = np.random.default_rng(0)
    return rng.beta(1, 8, size=(200, 3))


@pytest.mark.parametrize(
    ("X", "scale"),
    [
        (on_one_scale(), "auto"),
        (incomes(), True),
        (incomes(), False),
        (np.column_stack([np.arange(300) % 7 == 0, 1000 * np.random.default_rng(0).normal(size=300)]), "auto"),
        (np.column_stack([np.maximum(incomes()[:, 0] - 5e4, 0), incomes()[:, 2]]), "auto"),
    ],
    ids=["pixels", "standardised on demand", "left alone on demand", "few values", "mostly one value"],
)
def test_others_are_not(X, scale):
    assert not Scaling.for_points(X, scale).logarithms.any()


def test_a_tail_beyond_what_differences_hold_stays_as_it_is():
    X = np.column_stack([np.append(np.geomspace(1, 1e9, 40), 1.5e308), np.arange(41.0)])
    assert np.isfinite(Scaling.for_points(X, "auto").of(X)).all()


def test_new_values_below_the_lowest_are_taken_for_it():
    X = incomes()
    scaling = Scaling.for_points(X, "auto")
    new = X.min(axis=0) * [0.1, 1, 1]
    assert scaling.of(new[None])[0, 0] == scaling.of(X)[:, 0].min()


def test_a_loaded_model_takes_the_same_logarithms(tmp_path):
    X = incomes(60)
    model = PGLearnClassifier(budget=1, n_candidates=2, random_state=0).fit(
        X, np.where(np.arange(60) < 20, X[:, 2] > 0, -1)
    )
    assert model.logarithms_.tolist() == [True, True, False]
    model.save(tmp_path / "model.npz")
    loaded = PGLearnClassifier.load(tmp_path / "model.npz")
    assert loaded.logarithms_.tolist() == [True, True, False]
    np.testing.assert_array_equal(loaded.predict_proba(X + 1), model.predict_proba(X + 1))
