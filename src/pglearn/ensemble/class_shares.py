"""Class shares: probabilities brought to the shares that the classes should have (class-mass normalisation).

Labels spread further from some classes than from others. Where the shares of the classes are known, each class's
probabilities are multiplied by a factor, the same for all rows, so that they add up to its share, or nearly. A factor
stays within [½, 2] and the rounds are few: clear rows keep their class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pglearn.arrays import Array
from pglearn.errors import InputError

MAX_FACTOR = 2.0
ROUNDS = 5
MAX_CHANGED = 1 / 8


def class_factors(class_prior: str | Array | None, probabilities: Array, answered: Array, shares: Array) -> Array:
    """A factor per class, from the estimator's `class_prior`; ones where classes are left as they are.

    `shares` are those given, or else those among the labels. With "auto" these count, unless they would change more
    than an eighth of the answers: the rows `answered`, which are those without a label.
    """
    ones = np.ones(len(shares))
    if class_prior is None or not len(probabilities):
        return ones
    factors = _factors_towards(shares, probabilities)
    if isinstance(class_prior, str) and class_prior == "auto":
        before, after = probabilities.argmax(axis=1), scaled(probabilities, factors).argmax(axis=1)
        changed = (before != after)[answered]
        return ones if len(changed) and changed.mean() > MAX_CHANGED else factors
    return factors


def _factors_towards(shares: Array, probabilities: Array) -> Array:
    factors = np.ones(len(shares))
    for _ in range(ROUNDS):
        present = scaled(probabilities, factors).mean(axis=0)
        factors = factors * shares / np.maximum(present, 1e-12)
        factors = factors / np.exp(np.log(factors).mean())  # only their ratios count
        factors = np.clip(factors, 1 / MAX_FACTOR, MAX_FACTOR)
    return factors


def scaled(probabilities: Array, factors: Array) -> Array:
    """Rows times the factors, summing to one again."""
    if (factors == 1).all():
        return probabilities
    scaled = probabilities * factors
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def checked_prior(prior: Any, classes: Array | None = None) -> str | Array | None:
    """`class_prior` as given: "auto", "labels", None, or one share per class."""
    if prior is None or (isinstance(prior, str) and prior in ("auto", "labels")):
        return prior
    if isinstance(prior, str):
        raise InputError(f"class_prior={prior!r} is not known: choose 'auto', 'labels', None, or give the shares.")
    if type(prior).__name__ == "Series":
        prior = dict(prior)
    if isinstance(prior, dict) and classes is not None:
        prior = _in_order(prior, classes.tolist())
    if isinstance(prior, dict):
        return None
    try:
        shares = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"class_prior is no list of shares ({error}): give one number per class.") from error
    if shares.ndim != 1 or not np.isfinite(shares).all() or (shares <= 0).any():
        raise InputError("class_prior must be one share above 0 per class, in the order of the sorted classes.")
    if classes is not None and len(shares) != len(classes):
        raise InputError(f"class_prior has {len(shares)} shares, but there are {len(classes)} classes: give one each.")
    shares = shares / shares.max()
    return np.asarray(shares / shares.sum())


def _in_order(prior: dict[Any, Any], classes: list[Any]) -> list[Any]:
    """The share of each class, found by its value (0 is 0.0, for NaN makes floats of y) or else by its text."""
    by_text = {str(name): share for name, share in prior.items()}
    lacking = [str(name) for name in classes if name not in prior and str(name) not in by_text]
    if lacking or len(prior) != len(classes):
        raise InputError(
            f"class_prior must have one share for each class ({', '.join(map(str, classes))}), "
            + (f"but has none for {', '.join(lacking)}." if lacking else "and no others.")
        )
    return [prior[name] if name in prior else by_text[str(name)] for name in classes]
