"""Class shares: what probabilities are multiplied with so that the classes have the shares they should."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pglearn import PGLearnClassifier
from pglearn.errors import InputError
from pglearn.estimators.shares import checked_prior, class_factors, scaled, shares_to_reach
from pglearn.problem import class_codes

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


def test_factors_bring_the_classes_to_their_shares():
    factors = class_factors(unsure(), PRIOR)
    np.testing.assert_allclose(scaled(unsure(), factors).mean(axis=0), PRIOR, atol=1e-3)
    assert np.abs(unsure().mean(axis=0) - PRIOR).max() > 0.1


@pytest.mark.parametrize("prior", [[0.98, 0.01, 0.01], [0.01, 0.01, 0.98], [0.01, 0.495, 0.495]])
def test_factors_stay_within_a_half_and_two(prior):
    for probabilities in (unsure(), sure([0.2, 0.3, 0.5])):
        factors = class_factors(probabilities, np.array(prior))
        assert ((factors >= 0.5) & (factors <= 2)).all()
        assert factors[np.argmax(prior)] == 2
        assert factors[np.argmin(prior)] == 0.5


def test_rows_that_are_sure_keep_their_class():
    probabilities = sure([0.2, 0.3, 0.5])
    factors = class_factors(probabilities, np.array([0.9, 0.05, 0.05]))
    after = scaled(probabilities, factors)
    np.testing.assert_array_equal(after.argmax(axis=1), probabilities.argmax(axis=1))
    assert (after[:, 0] > probabilities[:, 0]).all()


def test_a_class_that_is_never_likely_has_a_factor_all_the_same():
    probabilities = np.tile([0.5, 0.5, 0.0], (10, 1))
    factors = class_factors(probabilities, PRIOR)
    assert np.isfinite(factors).all()
    assert not scaled(probabilities, factors)[:, 2].any()


def test_without_a_prior_nothing_changes():
    factors = class_factors(unsure(), shares_to_reach(None, unsure(), PRIOR, 1000))
    assert factors.tolist() == [1, 1, 1]
    assert scaled(unsure(), factors).tolist() == unsure().tolist()


def test_scaled_rows_sum_to_one():
    after = scaled(unsure(), np.array([0.5, 2.0, 1.0]))
    np.testing.assert_allclose(after.sum(axis=1), 1)
    np.testing.assert_allclose(after[:, 0] / after[:, 1], unsure()[:, 0] / unsure()[:, 1] / 4)


# Whether the labels are believed


def test_auto_wants_six_labels_per_class():
    probabilities = sure([0.45, 0.3, 0.25])
    assert shares_to_reach("auto", probabilities, PRIOR, 17) is None
    np.testing.assert_array_equal(shares_to_reach("auto", probabilities, PRIOR, 18), PRIOR)


@pytest.mark.parametrize(("shares", "believed"), [([0.46, 0.33, 0.21], True), ([0.42, 0.36, 0.22], False)])
def test_auto_wants_predictions_that_agree_better_than_with_random_labels(shares, believed):
    found = shares_to_reach("auto", sure(shares), PRIOR, 100)
    assert (found is PRIOR) == believed
    assert (found is None) != believed


@pytest.mark.parametrize(("moved", "believed"), [(0.12, True), (0.13, False)])
def test_auto_wants_predictions_that_agree_for_all_but_an_eighth_of_the_rows(moved, believed):
    even = np.full(20, 0.05)
    counts = np.repeat([50 + 100 * moved, 50 - 100 * moved], 10).round().astype(int)
    probabilities = np.eye(20)[np.repeat(np.arange(20), counts)]
    assert (shares_to_reach("auto", probabilities, even, 120) is even) == believed


def test_random_labels_are_hardly_ever_believed_and_labels_by_class_are():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(10), 180)
    probabilities = np.eye(10)[classes]
    believed = [
        shares_to_reach("auto", probabilities, np.bincount(rng.choice(classes, 180), minlength=10) / 180, 180)
        is not None
        for _ in range(50)
    ]
    assert np.mean(believed) < 0.5
    assert shares_to_reach("auto", probabilities, np.full(10, 0.1), 180) is not None


def test_labels_are_believed_if_that_is_asked_for():
    np.testing.assert_array_equal(shares_to_reach("labels", sure([1, 0, 0]), PRIOR, 3), PRIOR)


def test_shares_that_are_given_are_believed():
    given = np.array([0.2, 0.2, 0.6])
    assert shares_to_reach(given, sure([1, 0, 0]), PRIOR, 3) is given


# What may be given


def test_shares_may_be_given_by_name_or_in_the_order_of_the_classes():
    classes = np.array(["ant", "bee", "cat"])
    for prior in ({"cat": 2, "ant": 5, "bee": 3}, [5, 3, 2], (0.5, 0.3, 0.2), np.array([50, 30, 20])):
        np.testing.assert_allclose(checked_prior(prior, classes), PRIOR)


@pytest.mark.parametrize("prior", [{0: 0.3, 1: 0.7}, {0.0: 0.3, 1.0: 0.7}, {"1.0": 0.7, "0.0": 0.3}])
def test_shares_of_numbers_are_found_where_nan_made_floats_of_them(prior):
    classes = class_codes(np.array([0, 1, np.nan]))[1]
    np.testing.assert_allclose(checked_prior(prior, classes), [0.3, 0.7])


def test_shares_are_found_by_the_text_of_a_class():
    np.testing.assert_allclose(checked_prior({"1": 0.7, "0": 0.3}, np.array([0, 1])), [0.3, 0.7])


@pytest.mark.parametrize("prior", ["auto", "labels", None])
def test_rules_are_passed_on(prior):
    assert checked_prior(prior) == checked_prior(prior, np.arange(2)) == prior


BAD = [
    ("uniform", "class_prior='uniform' is not known: choose 'auto', 'labels', None, or give the shares."),
    ([0.2, 0.3, 0.5], "class_prior has 3 shares, but there are 2 classes: give one each."),
    ([1.5, -0.5], "class_prior must be one share above 0 per class, in the order of the sorted classes."),
    ([1, 0], "class_prior must be one share above 0 per class"),
    ([0.5, float("nan")], "class_prior must be one share above 0 per class"),
    ([0.5, float("inf")], "class_prior must be one share above 0 per class"),
    ([[0.5, 0.5]], "class_prior must be one share above 0 per class"),
    (0.5, "class_prior must be one share above 0 per class"),
    (["many", "few"], "class_prior is no list of shares (could not convert string to float: 'many'): give one number"),
    ({0: 0.5}, "class_prior must have one share for each class (0, 1), but has none for 1."),
    ({0: 0.5, 1: 0.4, 2: 0.1}, "class_prior must have one share for each class (0, 1), and no others."),
    ({"a": 0.5, "b": 0.5}, "class_prior must have one share for each class (0, 1), but has none for 0, 1."),
    ({0: 0.5, 1: -1}, "class_prior must be one share above 0 per class"),
    ({0: 0.5, 1: None}, "class_prior must be one share above 0 per class"),
]
bad = pytest.mark.parametrize(("prior", "sentence"), BAD, ids=[str(prior) for prior, _ in BAD])


@bad
def test_shares_that_are_none_are_refused_with_a_sentence(prior, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        checked_prior(prior, np.array([0, 1]))


@bad
def test_they_are_refused_before_the_search_starts(prior, sentence):
    X, y = clouds()
    heard = []
    with pytest.raises(InputError, match=re.escape(sentence)):
        PGLearnClassifier(class_prior=prior).fit(X, y, listeners=(heard.append,))
    assert heard == []


# Through the classifier


def test_the_classifier_brings_its_probabilities_to_the_shares():
    plain, model = fit(None), fit([0.5, 0.5])
    assert plain.class_factors_.tolist() == [1, 1]
    assert plain.label_distributions_[:, 0].mean() < 0.4
    assert model.label_distributions_[:, 0].mean() == pytest.approx(0.5, abs=1e-3)
    assert model.class_factors_[0] > 1 > model.class_factors_[1]


def test_new_rows_and_those_of_the_table_have_the_same_factors():
    plain, model = fit(None), fit([0.5, 0.5])
    X = clouds()[0]
    for before, after in [
        (plain.label_distributions_, model.label_distributions_),
        (plain.predict_proba(X), model.predict_proba(X)),
        (plain.predict_proba(X + 0.1), model.predict_proba(X + 0.1)),
    ]:
        assert not np.allclose(before, after)
        np.testing.assert_allclose(after, scaled(before, model.class_factors_), rtol=1e-12)
    assert (model.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()


def test_members_that_answer_together_are_brought_to_the_shares_too():
    plain, model = fit(None, selection="ensemble"), fit([0.5, 0.5], selection="ensemble")
    assert plain.class_factors_.tolist() == [1, 1]
    assert plain.label_distributions_[:, 0].mean() < 0.4
    assert model.label_distributions_[:, 0].mean() == pytest.approx(0.5, abs=0.05)
    unlabelled = clouds()[1] < 0
    near = model.predict_proba(clouds()[0] + 1e-6)[unlabelled, 0].mean()
    assert near == pytest.approx(model.label_distributions_[unlabelled, 0].mean(), abs=0.02)
    assert near > plain.label_distributions_[unlabelled, 0].mean() + 0.08


def test_the_classifier_takes_names_of_classes():
    _, y = clouds()
    names = np.where(y >= 0, np.array(["rare", "common"], dtype=object)[y], None)
    by_name, in_order = fit({"rare": 0.5, "common": 0.5}, names), fit([0.5, 0.5], names)
    assert by_name.classes_.tolist() == ["common", "rare"]
    np.testing.assert_array_equal(by_name.label_distributions_, in_order.label_distributions_)
    swapped = fit({"rare": 0.3, "common": 0.7}, names)
    assert swapped.label_distributions_[:, 0].mean() == pytest.approx(0.7, abs=1e-3)


def test_the_default_does_not_believe_few_labels():
    _, y = clouds()
    few = np.where(np.arange(len(y)) < 11, y, -1)
    assert fit("auto", few).class_factors_.tolist() == [1, 1]
    assert fit("labels", few).class_factors_.tolist() != [1, 1]


@pytest.mark.parametrize("prior", ["labels", None, [0.5, 0.5], {0: 0.4, 1: 0.6}])
def test_a_loaded_model_has_the_factors(tmp_path, prior):
    model = fit(prior)
    model.save(tmp_path / "model.npz")
    loaded = PGLearnClassifier.load(tmp_path / "model.npz")
    X = clouds()[0] + 0.1
    np.testing.assert_array_equal(loaded.class_factors_, model.class_factors_)
    np.testing.assert_array_equal(loaded.label_distributions_, model.label_distributions_)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
