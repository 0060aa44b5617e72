"""Class shares: probabilities brought to the shares that the classes should have (class-mass normalisation).

Labels spread further from some classes than from others. Where the shares of the classes are known, each class's
probabilities are multiplied by a factor, the same for all rows, so that they add up to its share, or nearly. A factor
stays within [½, 2] and the rounds are few: rows that are sure of themselves are not argued with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pglearn.errors import InputError
from pglearn.problem import Array

LARGEST_FACTOR = 2.0
ROUNDS = 5
LABELS_PER_CLASS = 6
LARGEST_DIFFERENCE, CLOSER_THAN_CHANCE = 0.125, 0.9


def shares_to_reach(prior: str | Array | None, probabilities: Array, label_shares: Array, labels: int) -> Array | None:
    """What `prior` comes to; None where the shares are left as they are.

    "auto" takes the shares among the labels to be those of the table if there are at least six labels per class on
    average and the predicted classes agree with them: an eighth of the rows, at most, would have to change class, and
    fewer than chance would have it if the labels were drawn at random. Random labels know less about the shares than
    the predictions do; labels that were drawn class by class know them exactly.
    """
    if not isinstance(prior, str):
        return prior
    if prior == "auto" and not _is_credible(probabilities, label_shares, labels):
        return None
    return label_shares


def class_factors(probabilities: Array, shares: Array | None) -> Array:
    """A factor per class that brings the classes to `shares`; ones where there are none to reach."""
    factors = np.ones(probabilities.shape[1])
    if shares is None:
        return factors
    for _ in range(ROUNDS):
        present = scaled(probabilities, factors).mean(axis=0)
        factors = factors * shares / np.maximum(present, 1e-12)
        factors = factors / np.exp(np.log(factors).mean())  # only their ratios count
        factors = np.clip(factors, 1 / LARGEST_FACTOR, LARGEST_FACTOR)
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


def _is_credible(probabilities: Array, label_shares: Array, labels: int) -> bool:
    if labels < LABELS_PER_CLASS * len(label_shares):
        return False
    predicted = np.bincount(probabilities.argmax(axis=1), minlength=len(label_shares)) / len(probabilities)
    difference = float(np.abs(predicted - label_shares).sum() / 2)
    # Of labels drawn at random, whatever their class, the shares are off by this much in the mean.
    by_chance = float(np.sqrt(2 * label_shares * (1 - label_shares) / (np.pi * labels)).sum() / 2)
    return difference <= min(LARGEST_DIFFERENCE, CLOSER_THAN_CHANCE * by_chance)
