"""Class shares: what probabilities are multiplied with so that the classes have the shares they should."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pglearn import PGLearnClassifier
from pglearn.ensemble.class_shares import checked_prior, class_factors, scaled
from pglearn.errors import InputError

PRIOR = np.array([0.5, 0.3, 0.2])


def unsure(n=400, seed=0):
    """Probabilities of three classes, as likely to be anything as anything else."""
    return np.random.default_rng(seed).dirichlet(np.ones(3), size=n)


def sure(shares, n=100):
    """Probabilities near 1 for classes that have these shares."""
    classes = np.repeat(np.arange(len(shares)), (np.asarray(shares) * n).astype(int))
    return np.where(np.eye(len(shares))[classes] == 1, 0.98, 0.02 / (len(shares) - 1))


def clouds(n=90, labelled=30):
    """Two overlapping classes, the second twice as common among the labels."""
    rng = np.random.default_rng(0)
    classes = (np.arange(n) % 3 > 0).astype(int)
    X = rng.normal(size=(n, 3)) + 1.7 * classes[:, None]
    return X, np.where(np.arange(n) < labelled, classes, -1)


def fit(class_prior, y=None, selection="best"):
    X, labels = clouds()
    model = PGLearnClassifier(budget=2, n_candidates=4, selection=selection, class_prior=class_prior, random_state=0)
    return model.fit(X, labels if y is None else y)


# Factors


def factors(class_prior, probabilities, shares=PRIOR):
    return class_factors(class_prior, probabilities, np.ones(len(probabilities), dtype=bool), np.asarray(shares))


def test_factors_bring_the_classes_to_their_shares():
    found = factors("labels", unsure())
    after = scaled(unsure(), found)
    np.testing.assert_allclose(after.mean(axis=0), PRIOR, atol=1e-3)
    np.testing.assert_allclose(after.sum(axis=1), 1)
    assert np.abs(unsure().mean(axis=0) - PRIOR).max() > 0.1
    assert factors(None, unsure()).tolist() == [1, 1, 1]
    never = np.tile([0.5, 0.5, 0.0], (10, 1))
    assert np.isfinite(factors("labels", never)).all()
    assert not scaled(never, factors("labels", never))[:, 2].any()


@pytest.mark.parametrize("shares", [[0.98, 0.01, 0.01], [0.01, 0.01, 0.98], [0.01, 0.495, 0.495]])
def test_factors_stay_within_a_half_and_two_and_clear_rows_keep_their_class(shares):
    clear = sure([0.2, 0.3, 0.5])
    for probabilities in (unsure(), clear):
        found = factors("labels", probabilities, shares)
        assert ((found >= 0.5) & (found <= 2)).all()
        assert found[np.argmax(shares)] == 2
        assert found[np.argmin(shares)] == 0.5
    np.testing.assert_array_equal(scaled(clear, found).argmax(axis=1), clear.argmax(axis=1))


def in_between(count):
    """A hundred clear rows of two classes that are as common, but for so many rows just on the side of the first."""
    P = np.repeat([[0.98, 0.02], [0.02, 0.98]], 50, axis=0)
    P[:count] = [0.51, 0.49]
    return P


@pytest.mark.parametrize(("count", "answered", "taken"), [(12, 100, True), (13, 100, False), (13, 99, True)])
def test_auto_takes_the_shares_of_the_labels_unless_they_change_more_than_an_eighth_of_the_answers(
    count, answered, taken
):
    """Only rows without a label count as answers: of 13 changed answers one is that of a labelled row."""
    shares, rows = np.array([0.3, 0.7]), np.arange(100) >= 100 - answered
    expected = factors("labels", in_between(count), shares)
    assert (expected != 1).all()
    found = class_factors("auto", in_between(count), rows, shares)
    np.testing.assert_array_equal(found, expected if taken else np.ones(2))


# What may be given


def test_shares_may_be_given_by_name_or_in_the_order_of_the_classes():
    classes = np.array(["ant", "bee", "cat"])
    for prior in ({"cat": 2, "ant": 5, "bee": 3}, [5, 3, 2], (0.5, 0.3, 0.2), np.array([50, 30, 20])):
        np.testing.assert_allclose(checked_prior(prior, classes), PRIOR)
    for classes in (np.arange(2), np.arange(2.0)):  # NaN among the labels makes floats of them
        for prior in ({0: 0.3, 1: 0.7}, {0.0: 0.3, 1.0: 0.7}, {str(name): 0.3 + 0.4 * name for name in classes}):
            np.testing.assert_allclose(checked_prior(prior, classes), [0.3, 0.7])


BAD = [
    ("uniform", "class_prior='uniform' is not known: choose 'auto', 'labels', None, or give the shares."),
    ([0.2, 0.3, 0.5], "class_prior has 3 shares, but there are 2 classes: give one each."),
    ([1.5, -0.5], "class_prior must be one share above 0 per class, in the order of the sorted classes."),
    ([1, 0], "class_prior must be one share above 0 per class"),
    ([0.5, float("nan")], "class_prior must be one share above 0 per class"),
    ([[0.5, 0.5]], "class_prior must be one share above 0 per class"),
    (0.5, "class_prior must be one share above 0 per class"),
    (["many", "few"], "class_prior is no list of shares (could not convert string to float: 'many'): give one number"),
    ({0: 0.5}, "class_prior must have one share for each class (0, 1), but has none for 1."),
    ({0: 0.5, 1: 0.4, 2: 0.1}, "class_prior must have one share for each class (0, 1), and no others."),
    ({"a": 0.5, "b": 0.5}, "class_prior must have one share for each class (0, 1), but has none for 0, 1."),
    ({0: 0.5, 1: None}, "class_prior must be one share above 0 per class"),
]


@pytest.mark.parametrize(("prior", "sentence"), BAD, ids=[str(prior) for prior, _ in BAD])
def test_shares_that_are_none_are_refused_with_a_sentence_before_the_search_starts(prior, sentence):
    events = []
    with pytest.raises(InputError, match=re.escape(sentence)):
        PGLearnClassifier(class_prior=prior).fit(*clouds(), listeners=(events.append,))
    assert events == []


# Through the classifier


def test_new_rows_and_those_of_the_table_have_the_same_factors():
    plain, model = fit(None), fit([0.5, 0.5])
    assert plain.class_factors_.tolist() == [1, 1]
    assert plain.label_distributions_[:, 0].mean() < 0.4
    assert model.label_distributions_[:, 0].mean() == pytest.approx(0.5, abs=1e-3)
    X = clouds()[0]
    for before, after in [
        (plain.label_distributions_, model.label_distributions_),
        (plain.predict_proba(X + 0.1), model.predict_proba(X + 0.1)),
    ]:
        assert not np.allclose(before, after)
        np.testing.assert_allclose(after, scaled(before, model.class_factors_), rtol=1e-12)
    assert (model.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()


def test_members_that_answer_together_are_brought_to_the_shares_too():
    plain, model = fit(None, selection="ensemble"), fit([0.5, 0.5], selection="ensemble")
    assert plain.label_distributions_[:, 0].mean() < 0.4
    assert model.label_distributions_[:, 0].mean() == pytest.approx(0.5, abs=0.05)
    unlabelled = clouds()[1] < 0
    near = model.predict_proba(clouds()[0] + 1e-6)[unlabelled, 0].mean()
    assert near == pytest.approx(model.label_distributions_[unlabelled, 0].mean(), abs=0.02)
    assert near > plain.label_distributions_[unlabelled, 0].mean() + 0.08


def test_the_classifier_takes_names_of_classes_and_a_loaded_model_has_the_factors(tmp_path):
    X, y = clouds()
    names = np.where(y >= 0, np.array(["rare", "common"], dtype=object)[y], None)
    model, in_order = fit({"rare": 0.3, "common": 0.7}, names), fit([0.7, 0.3], names)
    assert model.classes_.tolist() == ["common", "rare"]
    assert model.label_distributions_[:, 0].mean() == pytest.approx(0.7, abs=1e-3)
    np.testing.assert_array_equal(model.label_distributions_, in_order.label_distributions_)
    model.save(tmp_path / "model.npz")
    loaded = PGLearnClassifier.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.class_factors_, model.class_factors_)
    np.testing.assert_array_equal(loaded.predict_proba(X + 0.1), model.predict_proba(X + 0.1))
