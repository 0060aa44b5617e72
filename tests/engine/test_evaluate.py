"""`pglearn.loss_and_gradient`: defaults, and a sentence for everything that cannot be meant. test_adjoint.py has the
values."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import EXTRAS
from tests.problems import partly_labelled, points

import pglearn
from pglearn.errors import InputError
from pglearn.objective.graph import mean_distance
from pglearn.paper import datasets

X, Y, A = points(20), partly_labelled(20, 9), np.full(4, 0.3)

FOLDER = Path(os.environ.get("PGLEARN_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
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


def test_plain_lists_are_taken_and_the_defaults_are_those_documented():
    options = {"k": 10, "loss": "ranking", "validation": "loo", "propagation": "lgc", "alpha": 0.99, "engine": "cpu"}
    expected_g, expected = pglearn.loss_and_gradient(X, Y, a=A)
    for g, dg_da in (
        pglearn.loss_and_gradient(X.tolist(), Y.tolist(), a=A.tolist()),
        pglearn.loss_and_gradient(X, Y, a=A, **options, neighbors="auto", dtype="float64"),
    ):
        assert g == expected_g
        np.testing.assert_array_equal(dg_da, expected)
    g, dg_da = pglearn.loss_and_gradient(X, Y, a=A, dtype="float32")
    assert type(g) is float
    assert dg_da.dtype == np.float64


@pytest.mark.parametrize("validation", ["kfold", "holdout"])
def test_the_split_follows_the_random_state(validation):
    losses = [pglearn.loss_and_gradient(X, Y, a=A, validation=validation, random_state=seed)[0] for seed in (0, 0, 1)]
    assert losses[0] == losses[1] != losses[2]


BROKEN = np.where(np.arange(20)[:, None] == 3, np.nan, X)
WEIGHTS = "a must be 4 finite numbers ≥ 0, one weight per column of X."
SHAPE = "give a table of at least two rows, one point per row."


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"loss": "hinge"},
            "loss='hinge' is not known: choose one of 'log', 'ranking', 'error', 'power', 'exponential'",
        ),
        ({"validation": "half"}, "validation='half' is not known: choose one of 'loo', 'kfold', 'holdout'."),
        ({"propagation": "none"}, "propagation='none' is not known: choose one of 'lgc'"),
        ({"engine": "abacus"}, "engine='abacus' is not known: choose one of 'auto', 'cpu', 'torch'."),
        ({"neighbors": "some"}, "neighbors='some' is not known: choose one of 'auto', 'exact', 'approximate'."),
        ({"dtype": "float16"}, "dtype='float16' is not known: choose one of 'float64', 'float32'."),
        ({"alpha": 1.0}, "alpha=1.0 is not between 0 and 1"),
        ({"k": 0}, "k=0 must be a whole number of at least 1."),
        ({"a": np.ones(3)}, WEIGHTS),
        ({"a": 1.0}, WEIGHTS),
        ({"a": [1, 1, 1, -1e-9]}, WEIGHTS),
        ({"a": [1, 1, 1, np.nan]}, WEIGHTS),
        ({"X": BROKEN}, "X has NaN or infinite values: fill or drop them first."),
        ({"X": np.zeros(20)}, f"X has shape (20,): {SHAPE}"),
        ({"X": np.zeros((1, 4))}, f"X has shape (1, 4): {SHAPE}"),
        ({"X": [["a"]]}, "X is no table of numbers"),
        ({"y": Y[:-1]}, "X has 20 rows but y has 19 entries: give one label per row, -1 where unknown."),
        (
            {"X": 1e150 * X, "a": 1e100 * A},
            "The loss at these weights, or its gradient, is beyond all numbers in float64",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_meant_is_refused_with_a_sentence(changes, sentence):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}"):
        pglearn.loss_and_gradient(**({"X": X, "y": Y, "a": A} | changes))
