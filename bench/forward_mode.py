"""The paper's own gradient: forward mode, one propagation per feature, in SciPy sparse matrices.

What ``bench/gradient.py`` measures pglearn against, and an oracle for the tests. It follows the paper's
subsection "Validation Loss g(·) & Gradient Updates" and imports nothing of pglearn:

    F       ←  μ P F + (1−μ) Y                                              until it stops moving   (power)
    for each feature m:
        ∂W      =  −W ∘ ΔX_m,   (ΔX_m)_ij = (x_im − x_jm)²                                         (omega)
        ∂P_ij   =  ∂W_ij P_ij/W_ij − ½ P_ij³/W_ij² (d_i ∂d_j + d_j ∂d_i)                           (amder)
        ∂F     ←  μ P ∂F + μ ∂P F                                           until it stops moving     (F)
        ∂g/∂a_m =  Σ_{v∈V} ⟨∂g/∂F_v, ∂F_v⟩                                                         (gradg)

======================  ============================================================  ===========
symbol                  meaning                                                       shape
======================  ============================================================  ===========
``X``, ``a``            features and their weights                                    n × d, d
``W``, ``P``            kNN weights; P = D^−½ W D^−½ (CSR, same sparsity)             n × n
``degrees``             d_i = Σ_j W_ij                                                n
``Y``, ``F``            one-hot training labels; their propagation                    n × c
``V``                   validation rows (``valid``)                                   v
``g``                   ranking loss of the row-normalised F on V                     scalar
======================  ============================================================  ===========
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.neighbors import NearestNeighbors


def knn_weights(X, a, k):
    """W_ij = exp(−Σ_m a_m (x_im − x_jm)²) where i is among j's k nearest or j among i's."""
    n = len(X)
    scaled = X * np.sqrt(a)
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(scaled)
    nearest = search.kneighbors(return_distance=False)  # of the fitted rows: leaves a row itself out
    i, j = np.repeat(np.arange(n), k), nearest.ravel()
    mask = sparse.csr_array((np.ones(n * k), (i, j)), shape=(n, n))
    W = (mask + mask.T).tocsr()  # the union; the values are replaced, so an edge of weight 1 is kept
    W.sort_indices()
    rows, columns = _ends(W)
    W.data = np.exp(-np.square(scaled[rows] - scaled[columns]).sum(axis=1))
    return W


def power_iteration(P, constant, mu, tol, max_iter=100_000):
    """F ← μ P F + constant until ‖F⁺ − F‖ ≤ tol ‖F⁺‖; returns F and the iterations."""
    F = constant.copy()
    for iteration in range(1, max_iter + 1):
        moved = P @ F
        moved *= mu
        moved += constant
        F -= moved
        change, F = np.linalg.norm(F), moved
        if change <= tol * np.linalg.norm(F):
            return F, iteration
    raise RuntimeError(f"The power iteration has not converged in {max_iter} steps; use a larger tol.")


def ranking_loss(F, codes):
    """g = Σ_c' Σ_{v∈V_c', v'∉V_c'} −log σ(S_vc' − S_v'c') of S, the row-normalised F, and ∂g/∂F.

    S_vc = F_vc / r_v with r_v = Σ_c F_vc, so ∂g/∂F_vc = (∂g/∂S_vc − Σ_c' ∂g/∂S_vc' S_vc') / r_v. A row with
    r_v = 0 counts as uniform, which moves with nothing.
    """
    total = F.sum(axis=1, keepdims=True)
    reached = total > 0
    S = np.where(reached, F / np.where(reached, total, 1.0), 1.0 / F.shape[1])
    g, dg_dS = 0.0, np.zeros_like(S)
    for c in range(S.shape[1]):
        inside, outside = codes == c, codes != c
        gaps = S[inside, c][:, None] - S[outside, c][None, :]
        g += np.logaddexp(0.0, -gaps).sum()
        slope = expit(gaps) - 1.0  # o_vv' − 1 in the paper
        dg_dS[inside, c] += slope.sum(axis=1)
        dg_dS[outside, c] -= slope.sum(axis=0)
    dg_dF = dg_dS - (dg_dS * S).sum(axis=1, keepdims=True)
    return g, np.where(reached, dg_dF / np.where(reached, total, 1.0), 0.0)


def forward_mode_gradient(X, y_codes, train, valid, a, k, alpha=0.99, tol=1e-6):
    """g on held-out labels, ∂g/∂a, and the iterations that each ∂F took.

    ``y_codes`` are classes 0 … c−1, read at the rows of ``train``, which are propagated, and of ``valid``, which are
    scored. A power iteration stops at a relative change of ``tol``; its error is up to μ/(1−μ) times that.
    """
    n, d = X.shape
    n_classes = 1 + max(y_codes[train].max(), y_codes[valid].max())
    W = knn_weights(X, a, k)
    rows, columns = _ends(W)
    degrees = W.sum(axis=1)
    P = W.copy()
    P.data = W.data / np.sqrt(degrees[rows] * degrees[columns])
    Y = np.zeros((n, n_classes))
    Y[train, y_codes[train]] = 1.0
    F, _ = power_iteration(P, (1 - alpha) * Y, alpha, tol)
    g, dg_dF = ranking_loss(F[valid], y_codes[valid])
    P_by_W = P.data / W.data
    half_P3_by_W2 = 0.5 * P.data * P_by_W**2
    dP = P.copy()
    dg_da, iterations = np.empty(d), np.empty(d, dtype=int)
    for m in range(d):
        x = X[:, m]
        dW = -W.data * (x[rows] - x[columns]) ** 2
        d_degrees = np.bincount(rows, weights=dW, minlength=n)
        dP.data = dW * P_by_W - half_P3_by_W2 * (
            degrees[rows] * d_degrees[columns] + degrees[columns] * d_degrees[rows]
        )
        dF, iterations[m] = power_iteration(P, alpha * (dP @ F), alpha, tol)
        dg_da[m] = np.vdot(dg_dF, dF[valid])
    return float(g), dg_da, iterations


def _ends(A):
    """Row and column of every stored entry of a CSR matrix, in storage order."""
    return np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices
