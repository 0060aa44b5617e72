"""Sums over the edges, point after point in an order in which neighbours are close: their rows are then in the cache.

A stored entry (p, q) of the CSR matrix is edge `entry[at]` if that is below the number of edges, and otherwise the
same edge seen from its other end, which is left out.
"""

from __future__ import annotations

import numpy as np

from pglearn.compiled import compiled


@compiled
def edge_products(start, stop, order, indptr, indices, entry, U, V, products):
    """(⟨U_i, V_j⟩ + ⟨U_j, V_i⟩) / 2 per edge."""
    for at_point in range(start, stop):
        i = order[at_point]
        for at in range(indptr[i], indptr[i + 1]):
            e = entry[at]
            if e >= len(products):
                continue
            u_i, v_i, u_j, v_j = U[i], V[i], U[indices[at]], V[indices[at]]
            total = 0.0
            for q in range(len(u_i)):
                total += u_i[q] * v_j[q] + u_j[q] * v_i[q]
            products[e] = 0.5 * total


@compiled
def contracted(start, stop, order, indptr, indices, entry, X, B, dg_da):
    """dg_da −= 2 B_ij (x_im − x_jm)² over the edges."""
    for at_point in range(start, stop):
        i = order[at_point]
        for at in range(indptr[i], indptr[i + 1]):
            e = entry[at]
            if e >= len(B):
                continue
            x_i, x_j, b = X[i], X[indices[at]], 2.0 * B[e]
            for m in range(len(dg_da)):
                difference = np.float64(x_i[m] - x_j[m])
                dg_da[m] -= b * difference * difference
