"""Labels for rows that were not in the graph: f(x) = Σ_j w(x, x_j) F_j / Σ_j w(x, x_j) over the k nearest points.

It is the value that leaves the energy of the graph least disturbed when x joins it (Delalleau et al. 2005).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pglearn.arrays import Array, Points, blocks, column_medians
from pglearn.objective.graph.differences import differences
from pglearn.objective.graph.neighbours import k_nearest, scaled_points


def spreading(X: Points, a: Array, k: int, F: Array) -> Callable[[Points], Array]:
    """What gives new points their rows of F: weighted means over their k nearest points under diag(a).

    The points themselves are made ready once, so that new ones may come batch after batch.
    """
    centre = column_medians(X)
    Z = scaled_points(X, a, centre)
    ones = np.ones(X.shape[1])

    def weighted_means(X_new: Points) -> Array:
        Z_new = scaled_points(X_new, a, centre)
        neighbours = k_nearest(Z, k, Z_new)
        n, k_found = neighbours.shape
        pairs = differences(Z_new, Z, np.repeat(np.arange(n), k_found), neighbours.ravel())
        log_w = -pairs.distances(ones).reshape(n, k_found)
        # Only ratios count: the nearest gets weight one, and nothing underflows altogether.
        w = np.exp(log_w - log_w.max(axis=1, keepdims=True))
        w /= w.sum(axis=1, keepdims=True)
        result = np.empty((n, F.shape[1]))
        for part in blocks(n, k_found * F.shape[1]):
            result[part] = np.einsum("ik,ikc->ic", w[part], F[neighbours[part]])
        return result

    return weighted_means
