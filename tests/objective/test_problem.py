"""Reading labels, and which of them are hidden to be scored."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pglearn.errors import InputError
from pglearn.objective.folds import KFOLDS
from pglearn.objective.labels import class_codes
from pglearn.objective.problem import Problem

NAN = float("nan")
OBJECT = {"dtype": object}
FRACTIONS = (
    "Unknown label type: continuous. y holds numbers with fractions, but pglearn predicts classes: "
    "bin the target or use strings."
)
GAPS = "y has the labels '', 'nan' or '-1', which is what NumPy makes of gaps"


def problem_of(y, validation="loo", seed=0):
    return Problem.from_labels(np.zeros((len(y), 2)), y, validation=validation, seed=seed)


# Labels


@pytest.mark.parametrize(
    ("y", "codes", "classes"),
    [
        pytest.param([3, -1, 7, 3], [0, -1, 1, 0], [3, 7], id="integers"),
        pytest.param(np.array([-2, -1, 5]), [0, -1, 1], [-2, 5], id="only -1 of the negatives is unlabelled"),
        pytest.param(np.array([3.0, NAN, -1.0, 7.0]), [0, -1, -1, 1], [3.0, 7.0], id="floats"),
        pytest.param(["b", "-1", "nan"], [1, 0, 2], ["-1", "b", "nan"], id="strings that look missing are classes"),
        pytest.param([True, None, False], [1, -1, 0], [False, True], id="booleans with None"),
        pytest.param([2**63 + 1, 2**63, None], [1, 0, -1], [2**63, 2**63 + 1], id="whole numbers of 64 bits"),
        pytest.param(np.array([7.0, 3, NAN, None], **OBJECT), [1, 0, -1, -1], [3, 7], id="object array of numbers"),
        pytest.param(["b", NAN, -1, None, pd.NA, pd.NaT, "a"], [1, *[-1] * 5, 0], ["a", "b"], id="every kind of gap"),
        pytest.param(pd.Series([7, None, 3], dtype="Int64"), [1, -1, 0], [3, 7], id="pandas Int64"),
        pytest.param(pd.Series(["b", None, "a"]), [1, -1, 0], ["a", "b"], id="pandas strings"),
        pytest.param(pd.Series(["b", None, "a"], dtype="category"), [1, -1, 0], ["a", "b"], id="pandas category"),
        pytest.param(pl.Series([7, None, 3]), [1, -1, 0], [3, 7], id="polars integers"),
    ],
)
def test_labels_become_codes_in_the_order_of_the_sorted_classes(y, codes, classes):
    found_codes, found_classes = class_codes(y)
    assert found_codes.tolist() == codes
    assert found_classes.tolist() == classes
    assert [type(name) is bool for name in found_classes.tolist()] == [type(name) is bool for name in classes]


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (np.array(["a", 1, None], **OBJECT), "y mixes numbers and strings: make all labels of one kind, for example ["),
        ([True, 2], "y mixes booleans and numbers: make all labels of one kind"),
        (np.array([0.5, 1.0, -1]), FRACTIONS),
        (pd.Series([0.5, None], dtype="Float64"), FRACTIONS),
        ([-np.inf, None, 1], "y has infinite labels: use -1 or NaN for unlabelled rows"),
        (np.array([1j, 2j]), "y has type complex128, which is no label: use numbers or strings."),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "y has type datetime64[D], which is no label"),
        (pd.Series([(1, 2), (3,)]).array, "y holds tuple objects (the first is (1, 2)), which are no labels: use"),
        ([Decimal(1), None], "y holds Decimal objects (the first is Decimal('1')), which are no labels"),
        ([2**63 + 1, 2**63 + 2, -5], f"y holds whole numbers beyond 64 bits (such as {2**63 + 2}): use strings."),
        ([2**64 + 1, 3, None], f"y holds whole numbers beyond 64 bits (such as {2**64 + 1}): use strings."),
        (np.array(["a", "b", -1]), GAPS),
        (np.array(["a", "b", NAN]), GAPS),
        (np.array([b"a", b""]), GAPS),
        ([[0], [1]], "y must be one column of labels, but has shape (2, 1): pass a 1-d array."),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_what_is_no_label_is_refused_with_a_sentence(y, sentence):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}"):
        class_codes(y)


# The problem


def test_problem_keeps_only_what_is_labelled():
    problem = problem_of(["b", None, "a", "b"])
    assert problem.labelled.tolist() == [0, 2, 3]
    assert problem.codes.tolist() == [1, 0, 1]
    np.testing.assert_array_equal(problem.Y, [[0, 1], [1, 0], [0, 1]])
    np.testing.assert_allclose(problem.prior, [1 / 3, 2 / 3])
    np.testing.assert_array_equal(problem.sources(), [[0, 1], [0, 0], [1, 0], [0, 1]])
    beliefs = np.full((4, 2), 0.5)
    np.testing.assert_array_equal(problem.sources(beliefs), [[0, 1], [0.5, 0.5], [1, 0], [0, 1]])
    assert (beliefs == 0.5).all()


LONELY = (
    "Every class has a single labelled row, so no label can be checked against another of its class: label at least"
)


@pytest.mark.parametrize(
    ("y", "validation", "sentence"),
    [
        ([-1, -1], "loo", "No row is labelled: give at least two rows of each class a label and leave the others"),
        ([NAN, None], "loo", "No row is labelled"),
        (["cat", None, "cat"], "loo", "Only one class is labelled (cat): there is nothing to tell apart."),
        (["a", "b", "c", None], "loo", LONELY),
        (["a", "b", "c", None], "kfold", LONELY),
        (
            *(["a", "a", "b", None], "holdout"),
            "Class b has a single labelled row, and validation='holdout' hides half of the labels of every class: "
            "label one more row of it, or use validation='loo'.",
        ),
        ([0, 1, 0, 1], "LOO", "validation='LOO' is not known: choose one of 'loo', 'kfold', 'holdout'."),
        ([0, 1, 0, 1], ["loo"], "validation=['loo'] is not known"),
    ],
)
def test_labels_that_do_not_suffice_are_refused_with_a_sentence(y, validation, sentence):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}"):
        problem_of(y, validation)


@pytest.mark.parametrize("n_labels", [2, 5])
def test_y_of_another_length_is_an_error(n_labels):
    with pytest.raises(InputError, match=f"^X has 4 rows but y has {n_labels} entries: give one label per row, -1"):
        Problem.from_labels(np.zeros((4, 1)), [0, 1, 0, 1, 0][:n_labels])


@pytest.mark.parametrize("validation", ["loo", "kfold"])
def test_single_label_is_shown_but_not_scored(validation):
    problem = problem_of(["a", "b", "a", None], validation)
    assert problem.labelled.tolist() == [0, 1, 2]
    assert len(problem.shown) == 3
    assert problem.scored.tolist() == [True, False, True]
    assert (problem.fold[problem.scored] != problem.fold[1]).all()


# Folds

labels = st.lists(st.integers(0, 3), min_size=4, max_size=40).filter(
    lambda y: len(set(y)) > 1 and min(np.bincount(y)[np.unique(y)]) > 1
)
some = settings(max_examples=25)


def test_loo_scores_each_class_its_share_of_100_labels():
    y = np.repeat([0, 1, 2, 3], [500, 250, 249, 1])
    problem = problem_of(y, "loo", seed=3)
    shares = np.bincount(problem.codes[problem.scored], minlength=4)
    assert shares.sum() == 100
    assert np.abs(shares - 100 * np.array([500, 250, 249, 0]) / 999).max() <= 1
    assert (problem.scored != problem_of(y, "loo", seed=4).scored).any()


@pytest.mark.parametrize(("validation", "shown"), [("loo", 220), ("kfold", 220), ("holdout", 110)])
def test_only_holdout_keeps_labels_from_a_method_that_hides_none(validation, shown):
    """Of 220 labels `loo` scores 100, but the method may learn from them all."""
    problem = problem_of([0, 1] * 110 + [-1] * 10, validation)
    assert len(problem.shown) == shown
    part = problem.among(np.arange(20, 225))
    assert len(part.shown) == (200 if shown == 220 else (~problem.scored[20:]).sum())
    (first, _) = replace(problem, others=(np.zeros((230, 1)),)).views
    assert len(first.shown) == shown


@some
@given(labels, st.integers(0, 10))
def test_holdout_hides_half_of_every_class(y, seed):
    problem = problem_of(y, "holdout", seed)
    assert set(problem.fold) == {0, 1}
    np.testing.assert_array_equal(problem.scored, problem.fold == 1)
    for code in range(problem.n_classes):
        hidden = problem.scored[problem.codes == code]
        assert abs(hidden.sum() - (~hidden).sum()) <= 1


@some
@given(labels, st.integers(0, 10))
def test_kfold_scores_everything_in_folds_of_equal_size_that_never_hold_a_whole_class_and_loo_in_one_each(y, seed):
    for validation, n_folds in (("kfold", min(KFOLDS, len(y))), ("loo", len(y))):
        problem = problem_of(y, validation, seed)
        sizes = np.bincount(problem.fold)
        assert len(sizes) == n_folds
        assert sizes.max() - sizes.min() <= 1
        assert problem.scored.all()
        for code in range(problem.n_classes):
            per_fold = np.bincount(problem.fold[problem.codes == code], minlength=len(sizes))
            assert per_fold.max() - per_fold.min() <= 1


# The same points in other coordinates


def test_views_differ_in_their_points_alone():
    plain = Problem.from_labels(np.eye(4), [0, 0, 1, 1], validation="kfold")
    assert plain.views == (plain,)
    problem = replace(plain, others=(np.arange(8.0).reshape(4, 2),))
    first, second = problem.views
    assert first.X is plain.X
    assert second.X is problem.others[0]
    for view in problem.views:
        assert view.others == ()
        assert (view.labelled is plain.labelled, view.codes is plain.codes, view.fold is plain.fold) == (True,) * 3
    np.testing.assert_array_equal(second.centre, [3, 4])
    assert problem.views is problem.views
