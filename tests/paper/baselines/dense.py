"""The baselines' objectives by the book: dense, float64, one function per equation, for n ≤ 30. Nothing here imports
pglearn; the tests compare the two."""

from __future__ import annotations

import numpy as np
from tests import oracle


def transitions(W):
    """T = D⁻¹W."""
    return W / W.sum(axis=1, keepdims=True)


def harmonic(W, labelled, Y, epsilon):
    """All rows of f, with P̃ = εU + (1−ε)D⁻¹W formed: f_u = (I − P̃_uu)⁻¹ P̃_ul Y_l and f_l = Y_l."""
    n = len(W)
    P = epsilon * np.full((n, n), 1 / n) + (1 - epsilon) * transitions(W)
    u = np.setdiff1d(np.arange(n), labelled)
    f = np.zeros((n, Y.shape[1]))
    f[labelled] = Y
    f[u] = np.linalg.solve(np.eye(len(u)) - P[np.ix_(u, u)], P[np.ix_(u, labelled)] @ Y)
    return f


def entropy(f):
    """H = −(1/u) ΣΣ f log f, 0 log 0 = 0."""
    return -np.sum([x * np.log(x) for x in np.ravel(f) if x > 0]) / len(f)


def lgc_entropy(X, a, edges, labelled, Y, mu):
    """H of the row-normalised LGC solution on the rows without a label."""
    sources = np.zeros((len(X), Y.shape[1]))
    sources[labelled] = Y
    F = oracle.lgc(oracle.normalised(oracle.weights(X, a, edges)), sources, mu)
    return entropy(np.delete(oracle.row_normalised(F), labelled, axis=0))


def local_weights(X, ell, edges, s):
    """W_ij = exp(−Σ_m ℓ_m² Δ_m² / (s_i s_j)) on the edges."""
    return np.where(edges, np.exp(-oracle.distances(X, ell**2) / np.outer(s, s)), 0.0)


def reconstruction(X, ell, edges, s):
    """Σ_i ‖x_i − Σ_j W_ij x_j / D_i‖²."""
    T = transitions(local_weights(X, ell, edges, s))
    return sum(float(np.sum((X[i] - T[i] @ X) ** 2)) for i in range(len(X)))
