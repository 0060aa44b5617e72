"""Differences of pairs: distances and contractions as written out, kept or made again, in either precision. Those of
sparse rows are in test_sparse.py."""

from __future__ import annotations

import numpy as np
import pytest

from pglearn import arrays
from pglearn.arrays import blocks
from pglearn.objective.graph import differences as module
from pglearn.objective.graph.differences import differences
from pglearn.runtime.threads import at_most

PRECISIONS = pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-13), (np.float32, 2e-6)])


def example(dtype, d=7):
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(20, d)).astype(dtype), rng.normal(size=(30, d)).astype(dtype)
    i, j = rng.integers(0, 20, 200), rng.integers(0, 30, 200)
    squares = (U.astype(np.float64)[i] - V.astype(np.float64)[j]) ** 2
    return (U, V, i, j), squares, rng.exponential(size=d), rng.normal(size=200)


@pytest.fixture(params=[0, 1 << 20], ids=["made again", "kept"])
def kept(request, monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK", 100)
    monkeypatch.setattr(module, "KEPT_BYTES", request.param)
    return request.param > 0


@PRECISIONS
@pytest.mark.parametrize("d", [1, 300])
@pytest.mark.parametrize("threads", [1, 3])
def test_distances_and_contractions_are_those_written_out(dtype, accuracy, d, threads, kept):
    pairs, squares, a, B = example(dtype, d)
    pairs[0].flags.writeable = False
    found = differences(*pairs)
    for _ in range(2):
        with at_most(threads):
            d2, pull = found.distances(a), found.contracted(B)
        np.testing.assert_allclose(d2, squares @ a, rtol=accuracy)
        np.testing.assert_allclose(pull, -2 * B @ squares, rtol=0, atol=accuracy * np.abs(B) @ squares.max(axis=1))
        np.testing.assert_array_equal(differences(*pairs).contracted(B), pull)  # by one thread
    assert (found._kept is not None) == kept


@PRECISIONS
@pytest.mark.parametrize("power", [-1000, -300, 300, 1000])
def test_the_size_of_weights_and_pulls_costs_no_digits(dtype, accuracy, power, kept):
    pairs, _, a, B = example(dtype)
    found = differences(*pairs)
    np.testing.assert_array_equal(found.distances(np.ldexp(a, power)), np.ldexp(found.distances(a), power))
    np.testing.assert_array_equal(found.contracted(np.ldexp(B, power)), np.ldexp(found.contracted(B), power))
    assert not found.distances(0 * a).any()


@pytest.mark.parametrize(("n", "width"), [(0, 3), (10, 1), (1000, 300), (5, 10**6), (5, 0)])
def test_blocks_cover_all_rows_once_and_in_order(n, width):
    parts = blocks(n, width)
    assert [row for part in parts for row in range(n)[part]] == list(range(n))
    assert all(part.stop - part.start == 1 or (part.stop - part.start) * width <= arrays.BLOCK for part in parts)
