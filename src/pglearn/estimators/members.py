"""The candidates that answer together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pglearn.problem import Array
from pglearn.propagation import Solution
from pglearn.propagation.inductive import spread_to
from pglearn.search import Candidate


@dataclass(frozen=True, eq=False)
class Member:
    """A learned configuration and what it says about every row of the table."""

    k: int
    a: Array
    F: Array
    """Class probabilities, n × c; zeros where no label reaches."""

    @classmethod
    def of(cls, candidate: Candidate, solution: Solution) -> Member:
        F = np.maximum(solution.F, 0)
        sums = F.sum(axis=1, keepdims=True)
        reached = sums > F.shape[1] * solution.error
        return cls(candidate.k, candidate.answer.a, np.where(reached, F / np.where(reached, sums, 1), 0))

    def predict(self, X_new: Array, X: Array) -> Array:
        """Class probabilities of rows that need not be in the table; they sum to the share of reached neighbours."""
        return spread_to(X_new, X, self.a, self.k, self.F)


def averaged(opinions: Sequence[Array], prior: Array) -> tuple[Array, Array]:
    """Mean class probabilities over the members that reach a row, and which rows none of them reaches (the prior)."""
    total = np.sum(opinions, axis=0)
    weight = total.sum(axis=1, keepdims=True)
    return np.where(weight > 0, total / np.where(weight > 0, weight, 1), prior), weight[:, 0] == 0


def mean_graph(graphs: Sequence[sparse.csr_matrix]) -> sparse.csr_matrix:
    total = graphs[0]
    for graph in graphs[1:]:
        total = total + graph
    return total / len(graphs)
