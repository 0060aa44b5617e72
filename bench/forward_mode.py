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

Time O(e·c·t·d) for e edges and t iterations. The derivatives with respect to different features share the
graph, F and ∂g/∂F; those are computed once.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.neighbors import NearestNeighbors


@dataclass(frozen=True)
class Stats:
    """What the computation took: seconds by part, and iterations of each power method."""

    graph_seconds: float
    forward_seconds: float
    derivative_seconds: float
    forward_iterations: int
    derivative_iterations: np.ndarray

    def seconds_for(self, n_features: int) -> float:
        """The time n_features derivatives would have taken, from those computed."""
        computed = len(self.derivative_iterations)
        return self.graph_seconds + self.forward_seconds + self.derivative_seconds * n_features / computed


def knn_weights(X, a, k):
    """W_ij = exp(−Σ_m a_m (x_im − x_jm)²) where i is among j's k nearest or j among i's.

    Of equally near points it takes those scikit-learn's exact search finds first.
    """
    n = len(X)
    k = min(k, n - 1)
    scaled = X * np.sqrt(a)
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(scaled)
    nearest = search.kneighbors(return_distance=False)  # of the fitted rows: leaves a row itself out
    i, j = np.repeat(np.arange(n), k), nearest.ravel()
    mask = sparse.csr_array((np.ones(n * k), (i, j)), shape=(n, n))
    W = (mask + mask.T).tocsr()  # the union; the values are replaced, so an edge of weight 1 is kept
    W.sort_indices()
    rows, columns = _ends(W)
    W.data = np.exp(-np.square(scaled[rows] - scaled[columns]).sum(axis=1))
    if not W.data.all():
        raise ValueError("exp(−distance²) underflows on an edge, which eq. amder divides by; use a smaller a.")
    return W


def normalised(W):
    """P = D^−½ W D^−½, and the degrees."""
    degrees = W.sum(axis=1)
    rows, columns = _ends(W)
    P = W.copy()
    P.data = W.data / np.sqrt(degrees[rows] * degrees[columns])
    return P, degrees


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


def forward_mode_gradient(X, y_codes, train, valid, a, k, alpha=0.99, tol=1e-6, features=None):
    """The ranking loss on held-out labels and its derivatives by forward mode.

    Parameters
    ----------
    X : (n, d) array
    y_codes : (n,) int array
        Classes 0 … c−1; read at ``train`` and ``valid`` only.
    train, valid : index arrays or boolean masks over the rows
        The labels propagated, and those scored.
    a : (d,) array
    k : int
    alpha : float
        μ.
    tol : float
        Relative change at which a power iteration stops; its error is up to μ/(1−μ) times that.
    features : sequence of int, optional
        The coordinates wanted, by default all.

    Returns
    -------
    g : float
    dg_da : (len(features),) array
    stats : Stats
    """
    X, a = np.asarray(X, dtype=np.float64), np.asarray(a, dtype=np.float64)
    y_codes = np.asarray(y_codes)
    train, valid = (np.arange(len(X))[np.asarray(rows)] for rows in (train, valid))
    features = np.arange(X.shape[1]) if features is None else np.asarray(features)
    n_classes = 1 + max(y_codes[train].max(), y_codes[valid].max())

    started = time.perf_counter()
    W = knn_weights(X, a, k)
    P, degrees = normalised(W)
    graph_done = time.perf_counter()

    Y = np.zeros((len(X), n_classes))
    Y[train, y_codes[train]] = 1.0
    F, forward_iterations = power_iteration(P, (1 - alpha) * Y, alpha, tol)
    forward_done = time.perf_counter()

    g, dg_dF = ranking_loss(F[valid], y_codes[valid])
    rows, columns = _ends(W)
    P_by_W = P.data / W.data
    half_P3_by_W2 = 0.5 * P.data * P_by_W**2
    dP = P.copy()
    dg_da, iterations = np.empty(len(features)), np.empty(len(features), dtype=int)
    for at, m in enumerate(features):
        x = X[:, m]
        dW = -W.data * (x[rows] - x[columns]) ** 2
        d_degrees = np.bincount(rows, weights=dW, minlength=len(X))
        dP.data = dW * P_by_W - half_P3_by_W2 * (
            degrees[rows] * d_degrees[columns] + degrees[columns] * d_degrees[rows]
        )
        dF, iterations[at] = power_iteration(P, alpha * (dP @ F), alpha, tol)
        dg_da[at] = np.vdot(dg_dF, dF[valid])
    stats = Stats(
        graph_seconds=graph_done - started,
        forward_seconds=forward_done - graph_done,
        derivative_seconds=time.perf_counter() - forward_done,
        forward_iterations=forward_iterations,
        derivative_iterations=iterations,
    )
    return float(g), dg_da, stats


def _ends(A):
    """Row and column of every stored entry of a CSR matrix, in storage order."""
    return np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices


def main():
    parser = argparse.ArgumentParser(description="Time the paper's forward-mode gradient on a made-up problem.")
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--classes", type=int, default=3)
    parser.add_argument("--neighbours", type=int, default=10)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    y = np.arange(options.rows) % options.classes
    X = rng.normal(size=(options.rows, options.features)) + rng.normal(size=(options.classes, options.features))[y]
    labelled = rng.permutation(options.rows)[: max(4 * options.classes, options.rows // 10)]
    a = np.full(options.features, 1 / (2 * options.features))
    g, dg_da, stats = forward_mode_gradient(X, y, labelled[::2], labelled[1::2], a, options.neighbours)
    steps = stats.derivative_iterations.mean()
    print(f"g = {g:.6f}, |dg/da| = {np.linalg.norm(dg_da):.6f}")
    print(f"graph: {stats.graph_seconds:.3f} s")
    print(f"F: {stats.forward_seconds:.3f} s, {stats.forward_iterations} steps")
    print(f"{len(dg_da)} derivatives: {stats.derivative_seconds:.3f} s, {steps:.0f} steps each")


if __name__ == "__main__":
    main()
