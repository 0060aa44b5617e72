"""Trees as plain arrays: those of scikit-learn, and what is made of damaged ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier

from pglearn.trees import DEPTH, PART_OF_LABELS, ROUNDS, STEP, TREES, UNSURE, Boosted, Forest


def by_rules(n=300, d=8, seed=0):
    """Three classes by rules about two columns, the others say nothing."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, np.where(X[:, 0] > 0, np.where(X[:, 1] > 0.5, 2, 1), 0)


LABELLED = np.arange(60)


def grown(X, y, columns=None, kind=Forest, classes=3):
    columns = np.ones(X.shape[1]) if columns is None else columns
    return kind.of_labels(columns, X[LABELLED], np.eye(classes)[y[LABELLED]])


def test_it_says_what_the_trees_of_scikit_learn_say():
    X, y = by_rules()
    placed = (X - X[LABELLED].mean(axis=0)).astype(np.float32)
    forest = ExtraTreesClassifier(TREES, max_features=None, random_state=0).fit(placed[LABELLED], y[LABELLED])
    expected = (1 - UNSURE) * forest.predict_proba(placed) + UNSURE / 3
    np.testing.assert_allclose(grown(X, y).of(X), expected, atol=1e-12)


@pytest.mark.parametrize(("classes", "d", "looked_at"), [(2, 8, 8), (3, 8, 8), (3, 150, 100)])
def test_boosted_trees_say_what_those_of_scikit_learn_say(classes, d, looked_at):
    X, y = by_rules(d=d)
    y = np.minimum(y, classes - 1)
    placed = (X - X[LABELLED].mean(axis=0)).astype(np.float32)
    setting = {"n_estimators": ROUNDS, "learning_rate": STEP, "max_depth": DEPTH, "subsample": PART_OF_LABELS}
    model = GradientBoostingClassifier(**setting, max_features=looked_at, random_state=0)
    model.fit(placed[LABELLED], y[LABELLED])
    expected = (1 - UNSURE) * model.predict_proba(placed) + UNSURE / classes
    np.testing.assert_allclose(grown(X, y, kind=Boosted, classes=classes).of(X), expected, atol=1e-12)


def test_nothing_is_boosted_where_all_labels_are_of_one_class_or_of_many():
    X, y = by_rules()
    assert grown(X, np.zeros_like(y), kind=Boosted) is None
    assert grown(X, np.arange(300) % 11, kind=Boosted, classes=11) is None


@pytest.mark.parametrize("kind", [Forest, Boosted])
def test_as_many_classes_as_half_of_the_labels(kind):
    X, _ = by_rules()
    y = np.arange(24) % 10
    said = kind.of_labels(np.ones(8), X[:14], np.eye(10)[y[:14]]), kind.of_labels(np.ones(8), X[:24], np.eye(10)[y])
    assert all(np.isfinite(trees.of(X)).all() for trees in said)


@pytest.mark.parametrize("kind", [Forest, Boosted])
def test_rules_are_learned_from_sixty_labels(kind):
    X, y = by_rules()
    said = grown(X, y, kind=kind).of(X)
    np.testing.assert_allclose(said.sum(axis=1), 1)
    assert (said.argmax(axis=1) == y)[60:].mean() > 0.85


@pytest.mark.parametrize("kind", [Forest, Boosted])
def test_a_class_without_a_label_is_unlikely_and_not_impossible(kind):
    X, y = by_rules()
    np.testing.assert_allclose(grown(X, y, kind=kind, classes=4).of(X)[:, 3], UNSURE / 4)


@pytest.mark.parametrize("kind", [Forest, Boosted])
def test_units_and_rows_far_from_everything_make_no_difference(kind):
    X, y = by_rules()
    far = grown(1e100 * X + 1e102, y, np.full(8, 1e-100), kind)
    np.testing.assert_allclose(far.of(1e100 * X + 1e102), grown(X, y, kind=kind).of(X), atol=0.02)
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
        ("values", lambda values: np.full_like(values, np.nan)),
        ("values", lambda values: values[:, :1]),
        ("roots", lambda roots: roots + 10**6),
        ("roots", lambda roots: roots - 1),
        ("roots", lambda roots: roots[:0]),
        ("left", lambda left: left.astype(float)),
        ("column", lambda column: column[0]),
        ("middle", lambda middle: middle[1:]),
    ],
)
@pytest.mark.parametrize("kind", [Forest, Boosted])
def test_damaged_trees_are_told(name, damaged, kind):
    trees = grown(*by_rules(), kind=kind)
    trees.check(8, 3)
    with pytest.raises(ValueError, match=r"a tree|the nodes of trees"):
        replace(trees, **{name: damaged(getattr(trees, name))}).check(8, 3)


@pytest.mark.parametrize("base", [np.zeros(2), np.full(3, np.nan)])
def test_a_damaged_beginning_of_boosted_trees_is_told(base):
    with pytest.raises(ValueError, match="what trees begin with"):
        replace(grown(*by_rules(), kind=Boosted), base=base).check(8, 3)
