"""The passes of conjugate gradients over some rows of a block of columns, each reading every number once.

Columns lie side by side in a row, so that an edge fetches one stretch of memory for all of them. What is summed over a
row's edges is in the precision of the columns; what is summed over rows, in float64, and written down at the end:
threads that write side by side wait for each other.
"""

from __future__ import annotations

import numpy as np

from pglearn.compiled import compiled


@compiled
def product(start, stop, indptr, indices, data, mu, direction, result, curvature):
    """result = (I − μP) direction, and ⟨direction, result⟩ per column."""
    columns = direction.shape[1]
    row = np.empty(columns, dtype=direction.dtype)
    sums = np.zeros(columns)
    for i in range(start, stop):
        row[:] = 0
        for at in range(indptr[i], indptr[i + 1]):
            neighbour, w = direction[indices[at]], data[at]
            for c in range(columns):
                row[c] += w * neighbour[c]
        for c in range(columns):
            value = direction[i, c] - mu * row[c]
            result[i, c] = value
            sums[c] += np.float64(direction[i, c]) * np.float64(value)
    curvature[:] = sums


@compiled
def left(start, stop, indptr, indices, data, mu, b_indptr, b_columns, b_data, F, R, rho):
    """R = B − (I − μP) F, from numbers in float64, and ‖R‖² per column."""
    columns = F.shape[1]
    row = np.empty(columns)
    sums = np.zeros(columns)
    for i in range(start, stop):
        row[:] = 0
        for at in range(indptr[i], indptr[i + 1]):
            neighbour, w = F[indices[at]], data[at]
            for c in range(columns):
                row[c] += w * neighbour[c]
        for c in range(columns):
            row[c] = mu * row[c] - F[i, c]
        for at in range(b_indptr[i], b_indptr[i + 1]):
            row[b_columns[at]] += b_data[at]
        for c in range(columns):
            R[i, c] = row[c]
            sums[c] += row[c] * row[c]
    rho[:] = sums


@compiled
def reduced(start, stop, R, product, step, rho):
    """R −= step · product, and ‖R‖² per column."""
    columns = R.shape[1]
    sums = np.zeros(columns)
    for i in range(start, stop):
        for c in range(columns):
            value = R[i, c] - step[c] * product[i, c]
            R[i, c] = value
            sums[c] += np.float64(value) * np.float64(value)
    rho[:] = sums


@compiled
def moved(start, stop, F, direction, R, step, turn):
    """F += step · direction, then direction = R + turn · direction."""
    columns = F.shape[1]
    for i in range(start, stop):
        for c in range(columns):
            d = direction[i, c]
            F[i, c] += step[c] * d
            direction[i, c] = R[i, c] + turn[c] * d
