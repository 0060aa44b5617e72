"""`pglearn.loss_and_gradient`: defaults, and a sentence for everything that cannot be meant. test_adjoint.py has the
values."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import pglearn
from pglearn import datasets
from pglearn.errors import InputError
from pglearn.graph import mean_distance
from tests.conftest import EXTRAS
from tests.problems import partly_labelled, points

X, Y, A = points(20), partly_labelled(20, 9), np.full(4, 0.3)

FOLDER = Path(os.environ.get("PGLEARN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
PAIRS = [("ranking", "loo"), ("log", "kfold"), ("error", "holdout"), ("power", "loo"), ("exponential", "kfold")]
ENGINES = [("cpu", "float64")]
if "torch" in EXTRAS:
    ENGINES += [("torch", "float64"), ("torch", "float32")]


@pytest.fixture(scope="module", params=datasets.NAMES)
def published(request):
    """X, y with a tenth of the labels, and the mean distance between rows."""
    if not (FOLDER / f"{request.param}.npz").is_file():
        pytest.skip(f"{request.param}.npz is not here: set PGLEARN_DATA to the folder that holds it")
    data = datasets.load_benchmark(request.param, FOLDER)
    return data.X, data.shown(10, 0), mean_distance(data.X)


@pytest.mark.parametrize(("engine", "dtype"), ENGINES)
@pytest.mark.parametrize("seed", range(5))
def test_loss_and_gradient_are_numbers_or_a_sentence_and_never_nan(published, seed, engine, dtype):
    """With the paper's weights taken at their word, sums of rows underflow."""
    X, y, mean = published
    rng, (loss, validation) = np.random.default_rng(seed), PAIRS[seed]
    literal = rng.uniform(0.1 * mean, 10 * mean, X.shape[1])
    anything = mean * 10.0 ** rng.uniform(-12, 12, X.shape[1])
    for a in (literal, anything, 1e12 * literal, literal / 1e12):
        options = {"loss": loss, "validation": validation, "engine": engine, "dtype": dtype}
        g, dg_da = pglearn.loss_and_gradient(X, y, a=a, **options)
        assert np.isfinite(g)
        assert np.isfinite(dg_da).all()


def test_what_is_beyond_all_numbers_is_a_sentence():
    with pytest.raises(
        InputError, match=r"^The loss at these weights, or its gradient, is beyond all numbers in float64"
    ):
        pglearn.loss_and_gradient(1e150 * X, Y, a=1e100 * A)


def test_plain_lists_are_taken():
    g, dg_da = pglearn.loss_and_gradient(X.tolist(), Y.tolist(), a=A.tolist())
    expected_g, expected = pglearn.loss_and_gradient(X, Y, a=A)
    assert g == expected_g
    np.testing.assert_array_equal(dg_da, expected)


def test_the_defaults_are_those_documented():
    options = {"k": 10, "loss": "ranking", "validation": "loo", "alpha": 0.99, "engine": "cpu"}
    g, dg_da = pglearn.loss_and_gradient(X, Y, a=A, **options, neighbors="auto", dtype="float64")
    expected_g, expected = pglearn.loss_and_gradient(X, Y, a=A)
    assert g == expected_g
    np.testing.assert_array_equal(dg_da, expected)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_value_and_gradient_are_plain_float64(dtype):
    g, dg_da = pglearn.loss_and_gradient(X, Y, a=A, dtype=dtype)
    assert type(g) is float
    assert dg_da.dtype == np.float64


@pytest.mark.skipif("torch" not in EXTRAS, reason="PGLEARN_TEST_EXTRAS does not ask for torch")
@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-8), ("float32", 1e-3)])
def test_the_torch_engine_gives_the_same(dtype, close):
    g, dg_da = pglearn.loss_and_gradient(X, Y, a=A, engine="torch", dtype=dtype)
    expected_g, expected = pglearn.loss_and_gradient(X, Y, a=A)
    assert g == pytest.approx(expected_g, rel=close)
    np.testing.assert_allclose(dg_da, expected, rtol=0, atol=close * np.abs(expected).max())


@pytest.mark.parametrize("validation", ["kfold", "holdout"])
def test_the_split_follows_the_random_state(validation):
    losses = [pglearn.loss_and_gradient(X, Y, a=A, validation=validation, random_state=seed)[0] for seed in (0, 0, 1)]
    assert losses[0] == losses[1] != losses[2]


@pytest.mark.parametrize(
    ("parameter", "value", "known"),
    [
        ("loss", "hinge", "'log', 'ranking', 'error', 'power', 'exponential', 'entropy'"),
        ("validation", "half", "'loo', 'kfold', 'holdout'"),
        ("engine", "abacus", "'auto', 'cpu', 'torch'"),
        ("neighbors", "some", "'auto', 'exact', 'approximate'"),
        ("dtype", "float16", "'float64', 'float32'"),
    ],
)
def test_unknown_values_list_what_there_is(parameter, value, known):
    text = f"{parameter}={value!r} is not known: choose one of {known}."
    with pytest.raises(InputError, match=f"^{re.escape(text)}$"):
        pglearn.loss_and_gradient(X, Y, a=A, **{parameter: value})


@pytest.mark.parametrize(
    "a", [np.ones(3), np.ones((4, 1)), 1.0, [1, 1, 1, -1e-9], [1, 1, 1, np.nan], [1, 1, 1, np.inf]]
)
def test_weights_are_one_finite_number_of_zero_or_more_per_column(a):
    with pytest.raises(InputError, match=r"^a must be 4 finite numbers ≥ 0, one weight per column of X\.$"):
        pglearn.loss_and_gradient(X, Y, a=a)


@pytest.mark.parametrize("k", [0, -3])
def test_k_is_one_or_more(k):
    with pytest.raises(InputError, match=rf"^k={k} must be a whole number of at least 1\.$"):
        pglearn.loss_and_gradient(X, Y, a=A, k=k)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused(value):
    broken = X.copy()
    broken[3, 1] = value
    with pytest.raises(InputError, match=r"^X has NaN or infinite values: fill or drop them first\.$"):
        pglearn.loss_and_gradient(broken, Y, a=A)


@pytest.mark.parametrize("shape", [(20,), (1, 4), (0, 4), (2, 2, 2)])
def test_x_is_a_table_of_at_least_two_rows(shape):
    text = f"X has shape {shape}: give a table of at least two rows, one point per row."
    with pytest.raises(InputError, match=f"^{re.escape(text)}$"):
        pglearn.loss_and_gradient(np.zeros(shape), Y, a=A)


def test_one_label_per_row():
    with pytest.raises(InputError, match=r"^X has 20 rows but y has 19 entries: give one label per row, -1 where"):
        pglearn.loss_and_gradient(X, Y[:-1], a=A)


def test_alpha_lies_between_zero_and_one():
    with pytest.raises(InputError, match=r"^alpha=1\.0 is not between 0 and 1"):
        pglearn.loss_and_gradient(X, Y, a=A, alpha=1.0)
