"""Information-theoretic metric learning (Davis et al. 2007), with a diagonal metric A = diag(a) or a full one.

Among metrics that bring similar pairs within l and hold dissimilar ones u apart, the one nearest to a prior a⁰:

min Σ_m D(a_m, a⁰_m) + γ Σ_p D(ξ_p, ξ⁰_p)   such that   Σ_m a_m z_pm² ≤ ξ_p (similar)  or  ≥ ξ_p (dissimilar),

| symbol | meaning                                                        | shape |
|--------|----------------------------------------------------------------|-------|
| D(x,y) | x/y − log(x/y) − 1, the LogDet divergence of a number          |       |
| z_p    | differences of pair p, feature by feature                      | p × d |
| ξ⁰_p   | l for similar pairs, u for dissimilar ones; ξ is what it became | p     |
| δ_p    | 1 for similar pairs, −1 for dissimilar ones                    | p     |
| λ_p    | dual, ≥ 0                                                      | p     |

At the minimum 1/a_m = 1/a⁰_m + Σ_p δ_p λ_p z_pm² and 1/ξ_p = 1/ξ⁰_p − δ_p λ_p / γ. A Bregman projection changes one λ_p
so that its pair is at ξ_p, or as near as λ_p ≥ 0 allows. For a diagonal A, t = δ_p Δλ_p is the root of
1/Σ_m z_m²/(1/a_m + t z_m²) + t/γ − 1/ξ, which is concave and increasing in t, and almost straight: a few steps of
Newton. For a full A, with D(A, A⁰) = tr(A A⁰⁻¹) − log det(A A⁰⁻¹) − d and w = zᵀAz, it has a closed form,
t = (1/ξ − 1/w) γ/(γ+1), and A⁻¹ gains t zzᵀ. Projections go round the pairs until a round changes the duals by less
than 1 %, or 25 times.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.blas import dger

from pglearn.problem import Array

GAMMA = 1.0
ENOUGH = 0.01
MOST_ROUNDS = 25  # with a few features and many pairs that contradict each other, the last digits take long


@dataclass(frozen=True, eq=False)
class Pairs:
    """Differences of pairs, which of them are similar, and the bound of each."""

    z: Array
    similar: Array
    bound: Array

    @cached_property
    def z2(self) -> Array:
        return self.z * self.z

    @property
    def movable(self) -> list[int]:
        """Pairs at the same point have no distance to change."""
        return [int(p) for p in np.flatnonzero(self.z.any(axis=1))]

    @property
    def sign(self) -> Array:
        """δ."""
        return np.where(self.similar, 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class Metric:
    """a, or the root L, and the duals and slack bounds that go with it."""

    a: Array
    duals: Array
    bounds: Array


def learned_metric(
    pairs: Pairs, prior: Array, gamma: float = GAMMA, enough: float = ENOUGH, rounds: int = MOST_ROUNDS
) -> Metric:
    """The diagonal metric nearest to `prior` that respects the pairs, up to slack."""
    inverse_a, inverse_bound = 1 / prior, 1 / pairs.bound
    duals, signs = np.zeros(len(pairs.z)), pairs.sign.tolist()
    for _ in range(rounds):
        before = duals.copy()
        for p in pairs.movable:
            z2, sign = pairs.z2[p], signs[p]
            if duals[p] == 0 and sign * (inverse_bound[p] * (z2 / inverse_a).sum() - 1) <= 0:
                continue
            change = max(-duals[p], sign * _projection(inverse_a, z2, inverse_bound[p], gamma))
            duals[p] += change
            inverse_a = inverse_a + sign * change * z2
            inverse_bound[p] -= sign * change / gamma
        if _settled(duals, before, enough):
            break
    return Metric(1 / inverse_a, duals, 1 / inverse_bound)


def learned_root(pairs: Pairs, gamma: float = GAMMA, enough: float = ENOUGH, rounds: int = MOST_ROUNDS) -> Metric:
    """L (d × d), LLᵀ being the full metric nearest to I that respects the pairs, up to slack.

    Another prior is I for points that are seen through its root. Directions in which no pair differs stay as they are:
    only those that the pairs span, Q, are looked at.
    """
    Q, R = np.linalg.qr(pairs.z.T)
    z, M = np.ascontiguousarray(R.T), np.asfortranarray(np.eye(len(R)))
    inverse_bound, duals, signs = 1 / pairs.bound, np.zeros(len(z)), pairs.sign.tolist()
    for _ in range(rounds):
        before = duals.copy()
        for p in pairs.movable:
            Mz = M @ z[p]
            w, sign = float(z[p] @ Mz), signs[p]
            change = max(-duals[p], sign * (inverse_bound[p] - 1 / w) * gamma / (gamma + 1))
            if change == 0:
                continue
            t = sign * change
            duals[p] += change
            inverse_bound[p] -= t / gamma
            M = dger(-t / (1 + t * w), Mz, Mz, a=M, overwrite_a=True)
        if _settled(duals, before, enough):
            break
    root = np.eye(len(Q)) + Q @ (np.linalg.cholesky(M) - np.eye(len(M))) @ Q.T
    return Metric(root, duals, 1 / inverse_bound)


def _settled(duals: Array, before: Array, enough: float) -> bool:
    return bool(np.abs(duals - before).sum() <= enough * np.abs(duals).sum())


def _projection(inverse_a: Array, z2: Array, inverse_bound: float, gamma: float) -> float:
    """t, by Newton's method; a step out of the domain goes half of the way to its end."""
    end = -1 / float((z2 / inverse_a).max())
    t = 0.0
    for _ in range(50):
        part = z2 / (inverse_a + t * z2)
        distance = float(part.sum())
        f = 1 / distance + t / gamma - inverse_bound
        slope = float(part @ part) / distance**2 + 1 / gamma
        step = f / slope
        t = t - step if t - step > end else (t + end) / 2
        if abs(step) <= 1e-6 * inverse_bound:
            break
    return t
