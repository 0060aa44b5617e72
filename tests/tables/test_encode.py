"""Tables to numbers: the values, what is said about what is lost, and storing the encoder."""

from __future__ import annotations

import datetime
import decimal
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.utils.estimator_checks import check_estimator

from pglearn.errors import InputError
from pglearn.tables.encode import TableEncoder


def test_scikit_learn_contract():
    check_estimator(TableEncoder(), on_skip=None)


def table():
    return pd.DataFrame(
        {
            "age": [20.0, np.nan, 40.0, np.inf],
            "city": ["Rome", None, "Oslo", "Rome"],
            "member": [True, False, True, True],
            "since": pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-04"]),
        }
    )


# Numbers


def test_missing_and_infinite_numbers_take_the_median_and_constant_ones_are_zero_whatever_comes_later():
    encoder = TableEncoder(scale=False).fit([[1.0, 7], [np.nan, 7], [2.0, np.nan], [9.0, 7], [-np.inf, 7]])
    new = [[np.inf, 8], [9, np.nan], [None, 7]]
    assert encoder.transform(new).tolist() == [[2, 0], [9, 0], [2, 0]]
    assert "Of one value only, and so encoded as 0: 'x1'." in encoder.notes_


@settings(max_examples=25)
@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 8), st.just(2)), elements=st.floats(-1e200, 1e200)))
def test_standardised_numbers_have_mean_0_and_deviation_1(X):
    encoded = TableEncoder(scale=True).fit_transform(X)
    for x, original in zip(encoded.T, X.T, strict=True):
        if original.min() == original.max():
            assert not x.any()
        elif np.ptp(original / 2) > 1e-6 * np.abs(original).max() > 1e-200:
            np.testing.assert_allclose([x.mean(), x.std()], [0, 1], atol=1e-6)


@pytest.mark.parametrize(
    ("column", "seconds"),
    [
        (pd.to_datetime(["1970-01-01", "1970-01-02", None]), [0, 86400, 43200]),
        (pd.to_datetime(["1970-01-01 01:00", "1970-01-02 00:00", None]).tz_localize("Europe/Rome"), [0, 82800, 41400]),
        (pd.to_timedelta(["1s", "3s", None]), [1, 3, 2]),
        (pd.Series([datetime.date(1970, 1, 1), None, datetime.date(1970, 1, 3)]), [0, 86400, 172800]),
        (pd.Series([decimal.Decimal("1.5"), None, decimal.Decimal("2.5")]), [1.5, 2, 2.5]),
        (pd.Series([True, None, False], dtype=object), [1, 0.5, 0]),
        (pd.array([1, None, 3], dtype="Int64"), [1, 2, 3]),
        (np.array([1, 2, 3], dtype=np.uint8), [1, 2, 3]),
    ],
)
def test_what_counts_as_a_number(column, seconds):
    frame = pd.DataFrame({"t": column, "u": [0, 1, 0]})
    assert TableEncoder(scale=False).fit_transform(frame)[:, 0].tolist() == seconds


def test_scale_auto():
    alike = pd.DataFrame({"a": [0, 1.0], "b": [0, 19.0]})
    apart = pd.DataFrame({"a": [0, 1.0], "b": [0, 21.0]})
    mixed = alike.assign(c=["u", "v"])
    assert [TableEncoder().fit(frame).scaled_ for frame in (alike, apart, mixed)] == [False, True, True]
    assert TableEncoder(scale=False).fit(mixed).transform(mixed)[:, 1].tolist() == [0, 19]
    assert TableEncoder(scale=True).fit(alike).transform(alike)[:, 1].tolist() == [-1, 1]


# Categories


def test_levels_are_sorted_and_missing_is_one_if_seen():
    encoder = TableEncoder().fit(pd.DataFrame({"c": ["yes", "yes ", "\tno", "  ", None]}))
    assert encoder.feature_names_out_.tolist() == ["c=no", "c=yes", "c=(missing)"]
    for column in ([" yes\n", "no", " ", None, "oh"], pd.Categorical(["yes ", "no", " ", None, "oh"])):
        found = encoder.transform(pd.DataFrame({"c": column}))
        assert found.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]
    encoder = TableEncoder().fit(pd.DataFrame({"c": ["yes", "no"]}))
    assert encoder.transform(pd.DataFrame({"c": [None, "yes"]})).tolist() == [[0, 0], [0, 1]]
    encoder = TableEncoder().fit(pd.DataFrame({"c": pd.Categorical([" ", "", None]), "x": [1, 2, 4]}))
    assert encoder.notes_ == ["Left out for want of a single value: 'c'."]


def test_most_frequent_levels_are_kept_and_ties_go_by_name():
    frame = pd.DataFrame({"c": list("dcbbaae")})
    encoder = TableEncoder(max_levels=3).fit(frame)
    assert encoder.feature_names_out_.tolist() == ["c=a", "c=b", "c=c"]
    assert encoder.transform(frame).sum() == 5
    assert encoder.notes_ == [
        "Column 'c' has 5 levels: the 3 most frequent are kept, the rest (2 rows) count as no level."
    ]


def test_text_that_hardly_repeats_is_left_out():
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(51)] + [None], "x": [i * i for i in range(52)]})
    encoder = TableEncoder().fit(frame)
    assert encoder.columns_ == ["x"]
    assert not encoder.scaled_
    assert encoder.notes_ == ["Column 'name' is left out: 51 different values in 51 rows, more a name than a category."]
    assert TableEncoder().fit(frame[:50]).columns_ == ["name", "x"]
    assert TableEncoder().fit(pd.concat([frame, frame])).columns_ == ["name", "x"]


def test_level_has_one_name_however_it_is_written():
    encoder = TableEncoder().fit(pd.DataFrame({"c": ["1", "2", "x"]}))
    for column in ([1, 2], [1.0, 2.0], ["1.0", "2"], pd.Categorical([1.0, 2.0]), pd.Series([1, "2"], dtype=object)):
        assert encoder.transform(pd.DataFrame({"c": column})).tolist() == [[1, 0, 0], [0, 1, 0]]
    encoder = TableEncoder().fit(pd.DataFrame({"c": ["1", "v2", "01"] * 5}))
    assert encoder.category_columns_ == ["c"]
    found = encoder.transform(pd.DataFrame({"c": ["1.0", "01", "v2.0", "3.0"]}))
    assert found.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_categoricals_lists_and_arrays_of_objects():
    frame = pd.DataFrame({"c": pd.Categorical(["u", None, "u"], categories=["z", "u"]), "l": [[1], [2], [1]]})
    assert TableEncoder().fit(frame).feature_names_out_.tolist() == ["c=u", "c=(missing)", "l=[1]", "l=[2]"]
    array = np.array([[1, "u"], [2, "v"]], dtype=object)
    assert TableEncoder().fit(array).feature_names_out_.tolist() == ["x0", "x1=u", "x1=v"]


# Frames and arrays


def test_attributes_of_a_mixed_table():
    encoder = TableEncoder().fit(table().assign(empty=None, nothing=np.inf))
    assert encoder.columns_ == ["age", "city", "member", "since"]
    assert encoder.source_.tolist() == [0, 1, 1, 1, 2, 3]
    assert encoder.n_features_in_ == 6
    assert encoder.notes_ == [
        "Left out for want of a single value: 'empty', 'nothing'.",
        "Missing or infinite numbers take the median of their column: 'age' (2), 'since' (1).",
    ]
    encoder = TableEncoder().fit(np.column_stack([np.ones((2, 12)), [1, 2]]))
    assert encoder.notes_[0].endswith("'x9' and 2 more.")


def test_polars_gives_what_pandas_gives():
    columns = {
        "age": [20, None, 40, 41],
        "city": ["Rome", None, "Oslo", "Rome"],
        "member": [True, None, True, True],
        "since": [datetime.datetime(2020, 1, day) for day in (1, 2, 3, 5)],
        "day": [datetime.date(2020, 1, day) for day in (1, 2, 3, 5)],
    }
    polars = pl.DataFrame(columns, schema_overrides={"city": pl.Categorical})
    encoder = TableEncoder().fit(pd.DataFrame(columns))
    expected = encoder.transform(pd.DataFrame(columns))
    for found in (TableEncoder().fit_transform(polars), encoder.transform(polars)):
        np.testing.assert_array_equal(found, expected)


def test_columns_are_found_by_name():
    frame = table()
    encoder = TableEncoder().fit(frame)
    shuffled = frame.assign(extra="?")[["extra", "since", "city", "age", "member"]]
    np.testing.assert_array_equal(encoder.transform(shuffled), encoder.transform(frame))
    with pytest.raises(InputError, match=r"The table lacks 'city', 'since', which fit has seen\. Add"):
        encoder.transform(frame[["age", "member"]])


def test_columns_of_an_array_are_found_by_place():
    encoder = TableEncoder(scale=False).fit(pd.DataFrame({"a": [1, 2], "b": [3, 5]}))
    with pytest.warns(UserWarning, match="TableEncoder was fitted with feature names"):
        assert encoder.transform(np.array([[7, 8]])).tolist() == [[7, 8]]
    encoder = TableEncoder.from_arrays(TableEncoder().fit(np.eye(2)).to_arrays())
    assert not hasattr(encoder, "feature_names_in_")
    with pytest.raises(ValueError, match="X has 3 features, but TableEncoder is expecting 2 features"):
        encoder.transform(np.eye(3))


# What is said


@pytest.mark.parametrize(
    ("X", "parameters", "words"),
    [
        (pd.DataFrame({"a": []}), {}, "has 1 columns and 0 rows. Give at least one of each"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, "two columns called 'a'. Rename"),
        (pd.DataFrame({"a": [None], "b": [np.nan]}), {}, "No column can be used.*'a', 'b'.*Add a column"),
        (pd.DataFrame({"a": [1j]}), {}, "Complex data not supported: column 'a'"),
        (np.eye(2), {"scale": "yes"}, "scale='yes' is not known: choose 'auto', True or False"),
        (np.eye(2), {"max_levels": 0}, "max_levels=0 must be a whole number of at least 1"),
    ],
)
def test_what_fit_refuses(X, parameters, words):
    with pytest.raises(InputError, match=words):
        TableEncoder(**parameters).fit(X)


@pytest.mark.parametrize(
    ("fitted", "new", "sentence"),
    [
        ([1, 2], ["3", "?", "old"], r"Column 't' held a number in fit and now holds '\?'\. Correct"),
        ([1, 2], pd.to_datetime(["2020-01-01"]), "'t' held a number in fit and now holds a date"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), [1], "'t' held a date in fit and now holds a number"),
    ],
)
def test_column_that_now_holds_something_else(fitted, new, sentence):
    encoder = TableEncoder().fit(pd.DataFrame({"t": fitted}))
    with pytest.raises(InputError, match=sentence):
        encoder.transform(pd.DataFrame({"t": new}))
    encoder = TableEncoder(scale=False).fit([[1], [2]])
    for column, found in ((["3", None], [3, 1.5]), ([None, None], [1.5, 1.5])):
        assert encoder.transform(pd.DataFrame({"x0": column}))[:, 0].tolist() == found


# Weights


def test_weights_by_column():
    frame = pd.DataFrame({"x": [0.0, 4.0], "c": ["u", "v"], "k": [1, 1]})
    encoder = TableEncoder().fit(frame)
    assert encoder.weights_by_column([1.0, 2.0, 4.0, 5.0]).tolist() == [0.25, 3.0, 0.0]


def test_importance_is_the_share_in_the_mean_squared_distance():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=20), "c": rng.choice(list("uvw"), 20), "z": rng.random(20)})
    encoder = TableEncoder().fit(frame)
    encoded, a = encoder.transform(frame), rng.random(5)
    squared = a * ((encoded[:, None] - encoded[None]) ** 2).mean(axis=(0, 1))
    expected = [squared[encoder.source_ == place].sum() / squared.sum() for place in range(3)]
    np.testing.assert_allclose(encoder.importance_by_column(a, encoded), expected, rtol=1e-12)
    assert encoder.importance_by_column(np.zeros(5), encoded).tolist() == [0, 0, 0]


# Storing


@pytest.mark.parametrize("scale", ["auto", True, False])
def test_stored_encoder_transforms_alike(scale):
    frame = table().assign(né=[None, "a", " ", "ü"], blank=None)
    encoder = TableEncoder(scale=scale).fit(frame[:3])
    file = io.BytesIO()
    np.savez(file, **encoder.to_arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        again = TableEncoder.from_arrays(stored)
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))
    assert again.get_params() == encoder.get_params()
    for attribute in ("notes_", "scaled_", "columns_"):
        assert getattr(again, attribute) == getattr(encoder, attribute)
    assert again.feature_names_in_.tolist() == encoder.feature_names_in_.tolist()
    assert np.isfinite(again.transform(frame)).all()
