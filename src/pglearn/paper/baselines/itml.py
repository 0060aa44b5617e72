"""Information-theoretic metric learning (Davis et al. 2007) with a diagonal metric A = diag(a).

Among metrics that bring similar pairs within l and hold dissimilar ones u apart, the one nearest to a prior a⁰:

min Σ_m D(a_m, a⁰_m) + Σ_p D(ξ_p, ξ⁰_p)   such that   Σ_m a_m z_pm² ≤ ξ_p (similar)  or  ≥ ξ_p (dissimilar),

| symbol | meaning                                                        | shape |
|--------|----------------------------------------------------------------|-------|
| D(x,y) | x/y − log(x/y) − 1, the LogDet divergence of a number          |       |
| z_p    | differences of pair p, feature by feature                      | p × d |
| ξ⁰_p   | l for similar pairs, u for dissimilar ones; ξ is what it became | p     |
| δ_p    | 1 for similar pairs, −1 for dissimilar ones                    | p     |
| λ_p    | dual, ≥ 0                                                      | p     |

At the minimum 1/a_m = 1/a⁰_m + Σ_p δ_p λ_p z_pm² and 1/ξ_p = 1/ξ⁰_p − δ_p λ_p. A Bregman projection changes one λ_p
so that its pair is at ξ_p, or as near as λ_p ≥ 0 allows: t = δ_p Δλ_p is the root of
1/Σ_m z_m²/(1/a_m + t z_m²) + t − 1/ξ, which is concave and increasing in t, and almost straight: a few steps of Newton.
Projections go round the pairs until a round changes the duals by less than 1 %, or 25 times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pglearn.arrays import Array

ENOUGH = 0.01
MOST_ROUNDS = 25  # with a few features and many pairs that contradict each other, the last digits take long


@dataclass(frozen=True, eq=False)
class Pairs:
    """Squared differences of pairs, which of them are similar, and the bound of each."""

    z2: Array
    similar: Array
    bound: Array


def learned_metric(pairs: Pairs, prior: Array, enough: float = ENOUGH, rounds: int = MOST_ROUNDS) -> Array:
    """a, the diagonal metric nearest to `prior` that respects the pairs, up to slack."""
    inverse_a, inverse_bound = 1 / prior, 1 / pairs.bound
    duals = np.zeros(len(pairs.z2))
    signs = np.where(pairs.similar, 1.0, -1.0).tolist()
    movable = np.flatnonzero(pairs.z2.any(axis=1)).tolist()  # pairs at the same point have no distance to change
    for _ in range(rounds):
        before = duals.copy()
        for p in movable:
            z2, sign = pairs.z2[p], signs[p]
            if duals[p] == 0 and sign * (inverse_bound[p] * (z2 / inverse_a).sum() - 1) <= 0:
                continue
            change = max(-duals[p], sign * _projection(inverse_a, z2, inverse_bound[p]))
            duals[p] += change
            inverse_a = inverse_a + sign * change * z2
            inverse_bound[p] -= sign * change
        if np.abs(duals - before).sum() <= enough * np.abs(duals).sum():
            break
    return np.asarray(1 / inverse_a)


def _projection(inverse_a: Array, z2: Array, inverse_bound: float) -> float:
    """t, by Newton's method; a step out of the domain goes half of the way to its end."""
    end = -1 / float((z2 / inverse_a).max())
    t = 0.0
    for _ in range(50):
        part = z2 / (inverse_a + t * z2)
        distance = float(part.sum())
        slope = float(part @ part) / distance**2 + 1
        step = (1 / distance + t - inverse_bound) / slope
        t = t - step if t - step > end else (t + end) / 2
        if abs(step) <= 1e-6 * inverse_bound:
            break
    return t
