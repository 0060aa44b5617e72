"""The union of everyone's neighbours."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.problems import joined

from pglearn.objective.graph import Edges


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
    assert 2 * len(edges) == (chosen | chosen.T).sum()
    np.testing.assert_array_equal(joined(edges), chosen | chosen.T)


@given(neighbour_lists())
def test_values_of_edges_make_a_matrix_with_sorted_rows_and_sums_of_its_rows(neighbours):
    edges = Edges.between_neighbours(neighbours)
    at_i, at_j = np.arange(len(edges)) + 1.0, np.arange(len(edges)) * 10.0
    matrix = edges.directed(at_i, at_j)
    matrix.check_format(full_check=True)
    assert all((np.diff(matrix.indices[matrix.indptr[r] : matrix.indptr[r + 1]]) > 0).all() for r in range(edges.n))
    dense = np.zeros((edges.n, edges.n))
    dense[edges.i, edges.j], dense[edges.j, edges.i] = at_i, at_j
    np.testing.assert_array_equal(matrix.toarray(), dense)
    np.testing.assert_allclose(edges.sums(at_i, at_j), dense.sum(axis=1))
