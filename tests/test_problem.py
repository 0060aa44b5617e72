"""Reading labels, and which of them are hidden to be scored."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pglearn.errors import InputError
from pglearn.problem import KFOLDS, Problem, class_codes

NAN = float("nan")
OBJECT = {"dtype": object}


def problem_of(y, validation="loo", seed=0):
    return Problem.of(np.zeros((len(y), 2)), y, validation=validation, seed=seed)


def refused(text):
    """With this whole sentence."""
    return pytest.raises(InputError, match=f"^{re.escape(text)}$")


# Labels


@pytest.mark.parametrize(
    ("y", "codes", "classes"),
    [
        pytest.param([3, -1, 7, 3], [0, -1, 1, 0], [3, 7], id="integers"),
        pytest.param(np.array([200, 3], dtype=np.uint8), [1, 0], [3, 200], id="unsigned"),
        pytest.param(np.array([-2, -1, 5]), [0, -1, 1], [-2, 5], id="only -1 of the negatives is unlabelled"),
        pytest.param(np.array([3.0, NAN, -1.0, 7.0]), [0, -1, -1, 1], [3.0, 7.0], id="floats"),
        pytest.param(["b", "-1", "nan"], [1, 0, 2], ["-1", "b", "nan"], id="strings that look missing are classes"),
        pytest.param([True, None, False], [1, -1, 0], [False, True], id="booleans with None"),
        pytest.param([2**63 + 1, 2**63, None], [1, 0, -1], [2**63, 2**63 + 1], id="whole numbers of 64 bits"),
        pytest.param(np.array([7.0, 3, NAN, None], **OBJECT), [1, 0, -1, -1], [3, 7], id="object array of numbers"),
        pytest.param(["b", NAN, -1, None, pd.NA, pd.NaT, "a"], [1, *[-1] * 5, 0], ["a", "b"], id="every kind of gap"),
        pytest.param(pd.Series([7, None, 3], dtype="Int64"), [1, -1, 0], [3, 7], id="pandas Int64"),
        pytest.param(pd.Series([True, None], dtype="boolean"), [0, -1], [True], id="pandas boolean"),
        pytest.param(pd.Series(["b", None, "a"]), [1, -1, 0], ["a", "b"], id="pandas strings"),
        pytest.param(pd.Series(["b", None, "a"], dtype="category"), [1, -1, 0], ["a", "b"], id="pandas category"),
        pytest.param(pl.Series(["b", None, "a"]), [1, -1, 0], ["a", "b"], id="polars strings"),
        pytest.param(pl.Series([7, None, 3]), [1, -1, 0], [3, 7], id="polars integers"),
    ],
)
def test_labels_become_codes_in_the_order_of_the_sorted_classes(y, codes, classes):
    found_codes, found_classes = class_codes(y)
    assert found_codes.tolist() == codes
    assert found_classes.tolist() == classes
    assert [type(name) is bool for name in found_classes.tolist()] == [type(name) is bool for name in classes]


@pytest.mark.parametrize(
    ("y", "kinds"),
    [
        (np.array(["a", 1, None], **OBJECT), "numbers and strings"),
        (["a", 1], "numbers and strings"),
        ([True, 2], "booleans and numbers"),
    ],
)
def test_kinds_do_not_mix(y, kinds):
    with pytest.raises(InputError, match=rf"^y mixes {kinds}: make all labels of one kind, for example \["):
        class_codes(y)


@pytest.mark.parametrize("y", [np.array([0.5, 1.0, -1]), [0.5, None, 1], pd.Series([0.5, None], dtype="Float64")])
def test_fractions_are_no_classes(y):
    with refused(
        "Unknown label type: continuous. y holds numbers with fractions, but pglearn predicts classes: "
        "bin the target or use strings."
    ):
        class_codes(y)


@pytest.mark.parametrize("y", [np.array([np.inf, 1.0]), [-np.inf, None, 1]])
def test_infinity_is_no_class(y):
    with pytest.raises(InputError, match=r"^y has infinite labels: use -1 or NaN for unlabelled rows"):
        class_codes(y)


@pytest.mark.parametrize("y", [np.array([1j, 2j]), np.array(["2020-01-01"], dtype="datetime64[D]")])
def test_other_types_are_no_labels(y):
    with refused(f"y has type {y.dtype}, which is no label: use numbers or strings."):
        class_codes(y)


@pytest.mark.parametrize(
    ("y", "found"),
    [
        ([date(2024, 5, 1), None, date(2024, 6, 1)], "date objects (the first is datetime.date(2024, 5, 1))"),
        (pd.Series([(1, 2), (3,)]).array, "tuple objects (the first is (1, 2))"),
        ([Decimal(1), Decimal(2)], "Decimal objects (the first is Decimal('1'))"),
        (pd.cut(pd.Series([1, 2, 3]), [0, 1, 3]), "Interval objects (the first is Interval(0, 1, closed='right'))"),
    ],
)
def test_objects_that_no_model_can_hold_are_no_labels(y, found):
    with refused(f"y holds {found}, which are no labels: use strings or numbers."):
        class_codes(y)


@pytest.mark.parametrize("y", [[2**63 + 1, 2**63 + 2, -5], [2**64 + 1, 3, None]])
def test_whole_numbers_that_would_be_rounded_are_refused(y):
    with refused(f"y holds whole numbers beyond 64 bits (such as {max(y[:2])}): use strings."):
        class_codes(y)


@pytest.mark.parametrize("y", [["a", "b", -1], ["a", "b", NAN], ["a", ""], [b"a", b"b", -1]])
def test_what_numpy_makes_of_gaps_among_strings_is_no_class(y):
    assert np.array(y).dtype.kind in "US"
    with pytest.raises(InputError, match=r"^y has the labels '', 'nan' or '-1', which is what NumPy makes of gaps"):
        class_codes(np.array(y))


def test_labels_are_one_column():
    with refused("y must be one column of labels, but has shape (2, 1): pass a 1-d array."):
        class_codes([[0], [1]])


# The problem


def test_problem_keeps_only_what_is_labelled():
    problem = problem_of(["b", None, "a", "b", None, "a", "b"])
    assert problem.labelled.tolist() == [0, 2, 3, 5, 6]
    assert problem.codes.tolist() == [1, 0, 1, 0, 1]
    assert problem.n_classes == 2
    np.testing.assert_array_equal(problem.Y, [[0, 1], [1, 0], [0, 1], [1, 0], [0, 1]])
    np.testing.assert_allclose(problem.prior, [0.4, 0.6])


@pytest.mark.parametrize("y", [[-1, -1], [None, None], [NAN, NAN]])
def test_no_labelled_row_is_an_error(y):
    with refused(
        "No row is labelled: give at least two rows of each class a label and leave the others unlabelled "
        "(blank in a table, -1 or None in Python)."
    ):
        problem_of(y)


def test_one_class_is_an_error():
    with refused(
        "Only one class is labelled (cat): there is nothing to tell apart. Label rows of at least two classes, and if "
        "-1 is one of yours, give it another name, for -1 means unlabelled."
    ):
        problem_of(["cat", None, "cat"])


@pytest.mark.parametrize("n_labels", [2, 5])
def test_y_of_another_length_is_an_error(n_labels):
    with refused(f"X has 4 rows but y has {n_labels} entries: give one label per row, -1 where unknown."):
        Problem.of(np.zeros((4, 1)), [0, 1, 0, 1, 0][:n_labels])


def test_single_label_is_explained_under_holdout():
    with refused(
        "Class b has a single labelled row, and validation='holdout' hides half of the labels of every class: "
        "label one more row of it, or use validation='loo'."
    ):
        problem_of(["a", "a", "b", None], "holdout")


@pytest.mark.parametrize("validation", ["loo", "kfold"])
def test_single_label_is_shown_but_not_scored(validation):
    problem = problem_of(["a", "b", "a", None], validation)
    assert problem.labelled.tolist() == [0, 1, 2]
    assert problem.scored.tolist() == [True, False, True]
    assert (problem.fold[problem.scored] != problem.fold[1]).all()
    with refused(
        "Every class has a single labelled row, so no label can be checked against another of its class: "
        "label at least one more row of some class."
    ):
        problem_of(["a", "b", "c", None], validation)


@pytest.mark.parametrize("validation", ["LOO", None, ["loo"]])
def test_unknown_validation_lists_what_there_is(validation):
    with refused(f"validation={validation!r} is not known: choose one of 'loo', 'kfold', 'holdout'."):
        problem_of([0, 1, 0, 1], validation)


# Folds

labels = st.lists(st.integers(0, 3), min_size=4, max_size=40).filter(
    lambda y: len(set(y)) > 1 and min(np.bincount(y)[np.unique(y)]) > 1
)
some = settings(max_examples=25)


@some
@given(labels)
def test_loo_makes_every_label_its_own_scored_fold(y):
    problem = problem_of(y, "loo")
    assert len(set(problem.fold)) == len(y)
    assert problem.scored.all()


def test_loo_scores_each_class_its_share_of_200_labels():
    y = np.repeat([0, 1, 2, 3], [500, 250, 249, 1])
    problem = problem_of(y, "loo", seed=3)
    assert len(set(problem.fold)) == len(y)
    shares = np.bincount(problem.codes[problem.scored], minlength=4)
    assert shares.sum() == 200
    assert np.abs(shares - 200 * np.array([500, 250, 249, 0]) / 999).max() <= 1
    other = problem_of(y, "loo", seed=4)
    assert (problem.scored != other.scored).any()


@pytest.mark.parametrize(("validation", "shown"), [("loo", 220), ("kfold", 220), ("holdout", 110)])
def test_only_holdout_keeps_labels_from_a_method_that_hides_none(validation, shown):
    """Of 220 labels `loo` scores 200, but the method may learn from them all."""
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
def test_kfold_scores_everything_with_folds_of_equal_size_that_never_hold_a_whole_class(y, seed):
    problem = problem_of(y, "kfold", seed)
    sizes = np.bincount(problem.fold)
    assert len(sizes) == min(KFOLDS, len(y))
    assert sizes.max() - sizes.min() <= 1
    assert problem.scored.all()
    for code in range(problem.n_classes):
        per_fold = np.bincount(problem.fold[problem.codes == code], minlength=len(sizes))
        assert per_fold.max() - per_fold.min() <= 1


@pytest.mark.parametrize("validation", ["holdout", "kfold"])
def test_folds_depend_on_the_seed_alone(validation):
    folds = [problem_of([0, 1, 2] * 10, validation, seed).fold.tolist() for seed in (0, 0, 1)]
    assert folds[0] == folds[1] != folds[2]


# The same points in other coordinates


def test_views_differ_in_their_points_alone():
    plain = Problem.of(np.eye(4), [0, 0, 1, 1], validation="kfold")
    assert plain.views == (plain,)
    other = np.arange(8.0).reshape(4, 2)
    problem = replace(plain, others=(other,))
    first, second = problem.views
    assert first.X is plain.X
    assert second.X is other
    for view in problem.views:
        assert view.others == ()
        assert (view.labelled is plain.labelled, view.codes is plain.codes, view.fold is plain.fold) == (True,) * 3
    np.testing.assert_array_equal(second.centre, [3, 4])
    assert problem.views is problem.views


def test_labels_spread_and_beliefs_where_there_is_none():
    problem = Problem.of(np.eye(4), [0, -1, 1, 1])
    np.testing.assert_array_equal(problem.sources(), [[1, 0], [0, 0], [0, 1], [0, 1]])
    beliefs = np.full((4, 2), 0.5)
    np.testing.assert_array_equal(problem.sources(beliefs), [[1, 0], [0.5, 0.5], [0, 1], [0, 1]])
    assert (beliefs == 0.5).all()
