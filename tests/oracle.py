"""The objective by the book: dense, float64, one function per equation, for n ≤ 30.

Nothing here imports pglearn, shares code with it or tries to be fast; the tests compare the two.

======================  ============================================================  ===========
symbol                  meaning                                                       shape
======================  ============================================================  ===========
``X``                   features, one point per row                                   n × d
``a``                   feature weights, a_m = 1/σ_m² ≥ 0                             d
``k``                   neighbours per point                                          scalar
``edges``               which pairs are joined, symmetric, no self-loops              n × n, bool
``W``, ``P``            weights on the edges; P = D^−½ W D^−½                         n × n
``mu``                  μ, the public parameter ``alpha``                             scalar
``Y``, ``F``            one-hot labels (zero rows where hidden); (I − μP) F = (1−μ)Y  n × c
``labelled``            rows of X that carry a label                                  l
``codes``, ``fold``     class and fold of each labelled point                         l, l
``scored``              which labelled points are scored: a mask or positions         ≤ l
``S``, ``y``            scores of the scored points, in order, and their classes      s × c, s
``g``                   the loss of S: a sum over the scored points, not a mean       scalar
======================  ============================================================  ===========

The three validation schemes are three choices of ``fold`` and ``scored``. Holdout: the points shown are
fold 0, the points hidden are fold 1, and only fold 1 is scored. K-fold: K folds, all points scored.
Leave-one-out: every point is its own fold, all points scored.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def distances(X, a):
    """D²_ij = Σ_m a_m (x_im − x_jm)²."""
    X, a = np.asarray(X, dtype=np.float64), np.asarray(a, dtype=np.float64)
    n = len(X)
    D2 = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            D2[i, j] = np.sum(a * (X[i] - X[j]) ** 2)
    return D2


def neighbours(X, a, k):
    """edges_ij: i is among the k nearest of j under diag(a), or j among the k nearest of i.

    A point is not its own neighbour (it is left out by index, so its duplicates are neighbours); of equally
    near points the one with the smaller index comes first; k is at most n − 1.
    """
    D2 = distances(X, a)
    n = len(D2)
    nearest = np.zeros((n, n), dtype=bool)
    for i in range(n):
        others = sorted((D2[i, j], j) for j in range(n) if j != i)
        for _, j in others[: min(k, n - 1)]:
            nearest[i, j] = True
    return nearest | nearest.T


def weights(X, a, edges):
    """W_ij = exp(−Σ_m a_m (x_im − x_jm)²) on the edges, 0 elsewhere (paper, eq. wrbf)."""
    return np.where(edges, np.exp(-distances(X, a)), 0.0)


def normalised(W):
    """P = D^−½ W D^−½ with D_i = Σ_j W_ij; a point without edges has a zero row."""
    D = W.sum(axis=1)
    P = np.zeros_like(W)
    for i, j in np.argwhere(W > 0):
        P[i, j] = W[i, j] / np.sqrt(D[i] * D[j])
    return P


def lgc(P, Y, mu):
    """F solves (I − μP) F = (1−μ) Y: the fixed point of the paper's eq. power."""
    return np.linalg.solve(np.eye(len(P)) - mu * P, (1 - mu) * np.asarray(Y, dtype=np.float64))


def power_iteration(P, Y, mu, steps):
    """So many steps of F ← μPF + (1−μ)Y from nothing (paper, eq. power): it may be ended at any time."""
    F = np.zeros((len(P), np.shape(Y)[1]))
    for _ in range(steps):
        F = mu * P @ F + (1 - mu) * np.asarray(Y, dtype=np.float64)
    return F


def scores(P, labelled, codes, n_classes, fold, scored, mu):
    """S_v = F_v where F is propagated from the labels u with fold_u ≠ fold_v, for each scored v in turn."""
    labelled, codes, fold = (np.asarray(array) for array in (labelled, codes, fold))
    rows = []
    for v in np.arange(len(labelled))[np.asarray(scored)]:
        Y = np.zeros((len(P), n_classes))
        for u in range(len(labelled)):
            if fold[u] != fold[v]:
                Y[labelled[u], codes[u]] = 1.0
        rows.append(lgc(P, Y, mu)[labelled[v]])
    return np.array(rows).reshape(-1, n_classes)


def row_normalised(S):
    """S_vc / Σ_c' S_vc'; a row that no label reaches (sum 0) becomes 1/c."""
    S = np.asarray(S, dtype=np.float64)
    total = S.sum(axis=1, keepdims=True)
    reached = total > 0
    return np.where(reached, S / np.where(reached, total, 1.0), 1.0 / S.shape[1])


def ranking(S, y):
    """g = Σ_c' Σ_{v: y_v = c', v': y_v' ≠ c'} −log σ(S_vc' − S_v'c') (paper, eq. rankobj)."""
    g = 0.0
    for c in range(S.shape[1]):
        for v in range(len(S)):
            for w in range(len(S)):
                if y[v] == c and y[w] != c:
                    g += np.logaddexp(0.0, -(S[v, c] - S[w, c]))
    return g


def log(S, y):
    """g = Σ_v −log S_vy."""
    return np.sum(-np.log(_of_true_class(S, y)))


def error(S, y):
    """g = Σ_v (1 − S_vy)."""
    return np.sum(1.0 - _of_true_class(S, y))


def power(S, y):
    """g = Σ_v (1 − S_vy)²."""
    return np.sum((1.0 - _of_true_class(S, y)) ** 2)


def exponential(S, y):
    """g = Σ_v 2^(−S_vy)."""
    return np.sum(2.0 ** -_of_true_class(S, y))


LOSSES: dict[str, Callable[..., float]] = {
    "ranking": ranking,
    "log": log,
    "error": error,
    "power": power,
    "exponential": exponential,
}


def objective(X, a, edges, labelled, codes, n_classes, fold, scored, *, loss="ranking", mu=0.99):
    """g(a) = loss(row_normalised(S), y) with the edges held fixed."""
    P = normalised(weights(X, a, edges))
    S = row_normalised(scores(P, labelled, codes, n_classes, fold, scored, mu))
    return float(LOSSES[loss](S, np.asarray(codes)[np.asarray(scored)]))


def central_differences(f, a, h=1e-6):
    """∂f/∂a_m ≈ (f(a + h_m e_m) − f(a − h_m e_m)) / 2h_m; ``h`` is one step or one per coordinate."""
    a = np.asarray(a, dtype=np.float64)
    steps = np.broadcast_to(np.asarray(h, dtype=np.float64), a.shape)
    derivative = np.zeros_like(a)
    for m, step in enumerate(steps):
        e = np.zeros_like(a)
        e[m] = step
        derivative[m] = (f(a + e) - f(a - e)) / (2 * step)
    return derivative


def _of_true_class(S, y):
    return np.array([S[v, y[v]] for v in range(len(S))])
