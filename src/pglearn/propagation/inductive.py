"""Labels for rows that were not in the graph: f(x) = Σ_j w(x, x_j) F_j / Σ_j w(x, x_j) over the k nearest points.

It is the value that leaves the energy of the graph least disturbed when x joins it (Delalleau et al. 2005).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pglearn.graph.neighbours import k_nearest, scaled_points
from pglearn.graph.weights import blocks, squared_distances
from pglearn.problem import Array, Points, column_medians


def spreading(X: Points, a: Array, k: int, F: Array) -> Callable[[Points], Array]:
    """What gives new points their rows of F: weighted means over their k nearest points under diag(a).

    The points themselves are made ready once, so that new ones may come batch after batch.
    """
    centre = column_medians(X)
    Z = scaled_points(X, a, centre)
    return lambda X_new: _weighted_means(scaled_points(X_new, a, centre), Z, k, F)


def _weighted_means(Z_new: Points, Z: Points, k: int, F: Array) -> Array:
    neighbours = k_nearest(Z, k, Z_new)
    k = neighbours.shape[1]
    log_w = -squared_distances(Z_new, Z, np.repeat(np.arange(Z_new.shape[0]), k), neighbours.ravel()).reshape(-1, k)
    # Only ratios count: the nearest gets weight one, and nothing underflows altogether.
    w = np.exp(log_w - log_w.max(axis=1, keepdims=True))
    w /= w.sum(axis=1, keepdims=True)
    result = np.empty((Z_new.shape[0], F.shape[1]))
    for part in blocks(Z_new.shape[0], k * F.shape[1]):
        result[part] = np.einsum("ik,ikc->ic", w[part], F[neighbours[part]])
    return result
