"""Trees as plain arrays: those of scikit-learn, and what is made of damaged ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from pglearn.trees import TREES, UNSURE, Forest


def by_rules(n=300, d=8, seed=0):
    """Three classes by rules about two columns, the others say nothing."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, np.where(X[:, 0] > 0, np.where(X[:, 1] > 0.5, 2, 1), 0)


LABELLED = np.arange(60)


def grown(X, y, columns=None):
    columns = np.ones(X.shape[1]) if columns is None else columns
    return Forest.of_labels(columns, X[LABELLED], np.eye(3)[y[LABELLED]])


def test_it_says_what_the_trees_of_scikit_learn_say():
    X, y = by_rules()
    placed = (X - X[LABELLED].mean(axis=0)).astype(np.float32)
    forest = ExtraTreesClassifier(TREES, max_features=None, random_state=0).fit(placed[LABELLED], y[LABELLED])
    expected = (1 - UNSURE) * forest.predict_proba(placed) + UNSURE / 3
    np.testing.assert_allclose(grown(X, y).of(X), expected, atol=1e-12)


def test_rules_are_learned_from_sixty_labels():
    X, y = by_rules()
    said = grown(X, y).of(X)
    np.testing.assert_allclose(said.sum(axis=1), 1)
    assert (said.argmax(axis=1) == y)[60:].mean() > 0.85


def test_a_class_without_a_label_is_unlikely_and_not_impossible():
    X, y = by_rules()
    forest = Forest.of_labels(np.ones(8), X[LABELLED], np.eye(4)[y[LABELLED]])
    np.testing.assert_allclose(forest.of(X)[:, 3], UNSURE / 4)


def test_units_and_rows_far_from_everything_make_no_difference():
    X, y = by_rules()
    far = grown(1e100 * X + 1e102, y, np.full(8, 1e-100))
    np.testing.assert_allclose(far.of(1e100 * X + 1e102), grown(X, y).of(X), atol=0.02)
    assert np.isfinite(far.of(np.full((1, 8), 1e200))).all()


@pytest.mark.parametrize(
    ("name", "damaged"),
    [
        ("left", lambda left: left[::-1]),
        ("right", lambda right: np.zeros_like(right)),
        ("right", lambda right: right + 1),
        ("column", lambda column: column + 8),
        ("column", lambda column: column - 1),
        ("threshold", lambda threshold: threshold[1:]),
        ("shares", lambda shares: np.full_like(shares, np.nan)),
        ("shares", lambda shares: shares[:, :1]),
        ("roots", lambda roots: roots + 10**6),
        ("roots", lambda roots: roots - 1),
        ("middle", lambda middle: middle[1:]),
    ],
)
def test_damaged_trees_are_told(name, damaged):
    forest = grown(*by_rules())
    forest.check(8, 3)
    with pytest.raises(ValueError, match=r"a tree|the nodes of trees"):
        replace(forest, **{name: damaged(getattr(forest, name))}).check(8, 3)
