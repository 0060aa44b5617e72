"""Loops over the non-zeros of rows (CSR) and columns (CSC), for large problems. Sums are float64."""

from __future__ import annotations

import numpy as np

from pglearn.compiled import compiled
from pglearn.ties import EXACT


@compiled
def k_nearest(
    start, stop, data, columns, starts, of_column, rows, column_starts, squares, squares_asking, exclude_own, nearest
):
    """The nearest rows to each query (`data`, `columns`, `starts`), nearest first; the rows are given by column.

    ‖z_j‖² − 2 ⟨q, z_j⟩ orders the rows by their distance. Only columns that the query has are looked at.
    """
    n, k = len(squares), nearest.shape[1]
    order, best = np.empty(n), np.empty(k)
    for q in range(start, stop):
        order[:] = squares
        for at in range(starts[q], starts[q + 1]):
            m, twice = columns[at], 2.0 * data[at]
            for there in range(column_starts[m], column_starts[m + 1]):
                order[rows[there]] -= twice * of_column[there]
        found = 0
        for j in range(n):
            value = np.inf if np.isnan(order[j]) else order[j]  # what is beyond all floats is far
            norms = squares_asking[q] + squares[j]
            alike = EXACT * norms if np.isfinite(norms) else 0.0  # of equals the first stay where they are
            if (exclude_own and j == q) or (found == k and value + alike >= best[k - 1]):
                continue
            to = found if found < k else k - 1
            found = min(found + 1, k)
            while to > 0 and best[to - 1] > value + alike:
                best[to] = best[to - 1]
                nearest[q, to] = nearest[q, to - 1]
                to -= 1
            best[to] = value
            nearest[q, to] = j


@compiled
def squared_distances(start, stop, u, u_columns, u_starts, v, v_columns, v_starts, i, j, d2):
    """‖u_i − v_j‖² per pair (i, j): two sorted rows, merged."""
    for e in range(start, stop):
        p, q = u_starts[i[e]], v_starts[j[e]]
        p_end, q_end = u_starts[i[e] + 1], v_starts[j[e] + 1]
        total = 0.0
        while p < p_end or q < q_end:
            if q == q_end or (p < p_end and u_columns[p] < v_columns[q]):
                difference = np.float64(u[p])
                p += 1
            elif p == p_end or v_columns[q] < u_columns[p]:
                difference = np.float64(v[q])
                q += 1
            else:
                difference = np.float64(u[p] - v[q])
                p += 1
                q += 1
            total += difference * difference
        d2[e] = total


@compiled
def contracted(x, columns, starts, i, j, B, dg_da):
    """dg_da −= 2 B_ij (x_im − x_jm)² over the edges."""
    for e in range(len(i)):
        p, q = starts[i[e]], starts[j[e]]
        p_end, q_end = starts[i[e] + 1], starts[j[e] + 1]
        b = 2.0 * B[e]
        while p < p_end or q < q_end:
            if q == q_end or (p < p_end and columns[p] < columns[q]):
                m, difference = columns[p], np.float64(x[p])
                p += 1
            elif p == p_end or columns[q] < columns[p]:
                m, difference = columns[q], np.float64(x[q])
                q += 1
            else:
                m, difference = columns[p], np.float64(x[p] - x[q])
                p += 1
                q += 1
            dg_da[m] -= b * difference * difference
