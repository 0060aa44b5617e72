"""The passes of conjugate gradients over a block of columns, each reading every number once.

Columns lie side by side in a row, so that an edge fetches one stretch of memory for all of them. What is summed over a
row's edges is in the precision of the columns; what is summed over rows, in float64.
"""

from __future__ import annotations

import numpy as np

from pglearn.compiled import compiled


@compiled
def product(indptr, indices, data, mu, direction, result, curvature):
    """result = (I − μP) direction, and ⟨direction, result⟩ per column."""
    n, columns = direction.shape
    row = np.empty(columns, dtype=direction.dtype)
    curvature[:] = 0
    for i in range(n):
        row[:] = 0
        for at in range(indptr[i], indptr[i + 1]):
            neighbour, w = direction[indices[at]], data[at]
            for c in range(columns):
                row[c] += w * neighbour[c]
        for c in range(columns):
            value = direction[i, c] - mu * row[c]
            result[i, c] = value
            curvature[c] += np.float64(direction[i, c]) * np.float64(value)


@compiled
def reduced(R, product, step, rho):
    """R −= step · product, and ‖R‖² per column."""
    n, columns = R.shape
    rho[:] = 0
    for i in range(n):
        for c in range(columns):
            value = R[i, c] - step[c] * product[i, c]
            R[i, c] = value
            rho[c] += np.float64(value) * np.float64(value)


@compiled
def moved(F, direction, R, step, turn):
    """F += step · direction, then direction = R + turn · direction."""
    n, columns = F.shape
    for i in range(n):
        for c in range(columns):
            d = direction[i, c]
            F[i, c] += step[c] * d
            direction[i, c] = R[i, c] + turn[c] * d
