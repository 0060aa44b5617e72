"""The union of everyone's neighbours."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.problems import joined

from pglearn.graph import Edges


@st.composite
def neighbour_lists(draw):
    """k different others for each of n points."""
    n = draw(st.integers(2, 10))
    k = draw(st.integers(1, n - 1))
    order = [draw(st.permutations([j for j in range(n) if j != i])) for i in range(n)]
    return np.array(order)[:, :k]


@given(neighbour_lists())
def test_two_points_are_joined_once_if_either_is_a_neighbour_of_the_other(neighbours):
    edges = Edges.between_neighbours(neighbours)
    chosen = np.zeros((len(neighbours),) * 2, dtype=bool)
    chosen[np.arange(len(neighbours))[:, None], neighbours] = True
    assert (edges.i < edges.j).all()
    assert len(edges) == len(set(zip(edges.i.tolist(), edges.j.tolist(), strict=True)))
    np.testing.assert_array_equal(joined(edges), chosen | chosen.T)


@given(neighbour_lists())
def test_the_matrix_of_values_is_symmetric_with_sorted_rows(neighbours):
    edges = Edges.between_neighbours(neighbours)
    values = np.arange(1.0, len(edges) + 1)
    matrix = edges.matrix(values)
    matrix.check_format(full_check=True)
    assert all((np.diff(matrix.indices[matrix.indptr[r] : matrix.indptr[r + 1]]) > 0).all() for r in range(edges.n))
    dense = np.zeros((edges.n, edges.n))
    dense[edges.i, edges.j] = dense[edges.j, edges.i] = values
    np.testing.assert_array_equal(matrix.toarray(), dense)


@given(neighbour_lists())
def test_sums_give_each_end_of_an_edge_its_own_value(neighbours):
    edges = Edges.between_neighbours(neighbours)
    at_i, at_j = np.arange(len(edges)) + 1.0, np.arange(len(edges)) * 10.0
    sums = np.zeros(edges.n)
    for i, j, x, y in zip(edges.i, edges.j, at_i, at_j, strict=True):
        sums[i] += x
        sums[j] += y
    np.testing.assert_allclose(edges.sums(at_i, at_j), sums)
