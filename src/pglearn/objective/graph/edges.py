"""Which points are joined: the union of everyone's neighbours, without weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pglearn.arrays import Array


@dataclass(frozen=True, eq=False)
class Edges:
    """Undirected edges i < j over n points, and how their values fill a symmetric CSR matrix."""

    n: int
    i: Array
    j: Array
    indptr: Array
    indices: Array
    order: Array

    @classmethod
    def between_neighbours(cls, neighbours: Array) -> Edges:
        """Join p and q if q is among p's neighbours or p among q's."""
        n, k = neighbours.shape
        return cls.between(n, np.repeat(np.arange(n, dtype=np.int32), k), neighbours.ravel())

    @classmethod
    def between(cls, n: int, p: Array, q: Array) -> Edges:
        """Join the points p to the points q, each pair once however often and in whichever order it is given."""
        pairs = np.minimum(p, q).astype(np.int64)
        pairs *= n
        pairs += np.maximum(p, q)
        pairs.sort()
        first = np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]  # np.unique hashes first, which takes longer
        pairs = pairs[first]
        i, j = (part.astype(np.int32) for part in np.divmod(pairs, n))
        del pairs, first
        # Given row by row, first those before it, the columns of a row come out in order.
        entries = np.arange(2 * len(i), dtype=np.int32)
        entries = np.concatenate([entries[len(i) :], entries[: len(i)]])
        ends = np.concatenate([j, i]), np.concatenate([i, j])
        matrix = sparse.coo_matrix((entries, ends), shape=(n, n)).tocsr()
        return cls(n, i, j, matrix.indptr, matrix.indices, matrix.data)

    def __len__(self) -> int:
        return len(self.i)

    def matrix(self, values: Array) -> sparse.csr_matrix:
        """The symmetric n × n matrix with `values` on the edges."""
        return self.directed(values, values)

    def directed(self, ij: Array, ji: Array) -> sparse.csr_matrix:
        """The n × n matrix with `ij` at (i, j) and `ji` at (j, i)."""
        data = np.concatenate([ij, ji])[self.order]
        matrix = sparse.csr_matrix((data, self.indices, self.indptr), shape=(self.n, self.n), copy=False)
        matrix.has_sorted_indices = True
        return matrix

    def sums(self, at_i: Array, at_j: Array) -> Array:
        """Sum over each point's edges, where an edge gives `at_i` to its point i and `at_j` to its point j."""
        return np.bincount(self.i, at_i, self.n) + np.bincount(self.j, at_j, self.n)
