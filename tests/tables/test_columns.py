"""What fit takes a column for, what it says about that, and that transform keeps to it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pglearn.errors import InputError
from pglearn.tables.encode import TableEncoder
from pglearn.tables.read import read_table

N = 40
RNG = np.random.default_rng(0)


def fitted(**columns):
    """An encoder fitted on these columns beside a plain one."""
    return TableEncoder(scale=False).fit(
        pd.DataFrame({**columns, "x": RNG.normal(size=len(next(iter(columns.values()))))})
    )


def encoded(encoder, name, values):
    """What the encoder makes of the values in the column of that name."""
    frame = pd.DataFrame({name: values, "x": 0.0})
    return encoder.transform(frame)[:, encoder.feature_names_out_.tolist().index(name)].tolist()


# Columns that number the rows


@pytest.mark.parametrize("column", [np.arange(20), np.arange(1000.0, 1000.0 + N), np.arange(N, dtype=np.uint8)[::-1]])
def test_column_that_numbers_the_rows_is_left_out(column):
    encoder = fitted(id=column)
    assert encoder.columns_ == ["x"]
    assert encoder.notes_ == ["Left out for only numbering the rows: 'id'."]
    for one in (encoder, TableEncoder.from_arrays(encoder.to_arrays())):
        assert one.transform(pd.DataFrame({"x": [1.5]})).tolist() == [[1.5]]


@pytest.mark.parametrize(
    "column",
    [
        np.arange(19),
        RNG.permutation(N),
        np.arange(N) * 2,
        np.where(np.arange(N) == 7, np.nan, np.arange(N)),
        np.arange(N) // 2,
        np.arange(N) % 2 == 0,
    ],
)
def test_column_that_may_be_more_than_a_count_is_kept(column):
    encoder = fitted(id=column)
    assert encoder.columns_ == ["id", "x"]
    assert not any("numbering the rows" in note for note in encoder.notes_)


@pytest.mark.parametrize(
    ("index", "is_left_out"),
    [([0, 1, 2], True), ([1, 2, 3], True), ([2, 0, 1], True), ([0, 1, 1], False)],
)
def test_index_that_pandas_wrote_is_left_out_of_any_table(tmp_path, index, is_left_out):
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": [5.0, 7.0, 6.0]}, index=index).to_csv(path)
    encoder = TableEncoder(scale=False).fit(read_table(path))
    assert encoder.columns_ == (["x"] if is_left_out else ["Unnamed: 0", "x"])
    assert encoder.notes_ == ["Left out for only numbering the rows: 'Unnamed: 0'."] * is_left_out


# Dates written as text

DATES = ["1970-01-02", None, " 1970-01-03 ", "1970-01-01 01:00", "1970-01-01T01:00:30Z"]


def test_iso_text_is_a_date_in_seconds():
    encoder = fitted(t=DATES)
    assert encoded(encoder, "t", DATES) == [86400, 45015, 172800, 3600, 3630]
    assert encoder.notes_ == [
        "Missing or infinite numbers take the median of their column: 't' (1).",
        "Text of column 't' is dates.",
    ]
    words = r"'t' held a date in fit and now holds '01/05/2024'\. Correct .* 2024-05-31\), or leave it blank"
    with pytest.raises(InputError, match=words):
        encoded(encoder, "t", ["2024-05-01", "01/05/2024"])


def test_dates_are_the_same_as_text_and_as_dates():
    moments = pd.Series(pd.to_datetime(["2024-05-01 13:30", "2024-05-02 00:00", None]))
    texts = ["2024-05-01T13:30", "2024-05-02", None]
    for column in (texts, moments, moments.dt.tz_localize("UTC")):
        encoder = fitted(t=column)
        expected = encoded(encoder, "t", column)
        assert expected[:2] == [1714570200, 1714608000]
        for other in (texts, moments, moments.dt.tz_localize("UTC"), moments.astype(object)):
            assert encoded(encoder, "t", other) == expected
    assert encoded(encoder, "t", [None, " ", "2024-05-01 13:30:00+02:00"]) == [expected[2], expected[2], 1714563000]
    assert encoded(encoder, "t", ["9999-12-31"]) == [253402214400]  # beyond what pandas takes


@pytest.mark.parametrize("word", ["01/05/2024", "2024-02-30", "20240501", "2024-W18", "2024-05-01T"])
def test_one_text_that_is_no_iso_date_makes_a_category(word):
    encoder = fitted(t=["2024-05-01", word, None])
    assert f"t={word}" in encoder.feature_names_out_


# Numbers among stray words


def with_stray(stray, rows=N):
    """Text of numbers 0.5, 1.5, ... with the stray values first."""
    return [*stray, *(f"{i}.5" for i in range(rows - len(stray)))]


@pytest.mark.parametrize("word", ["?", "1,5", "inf"])
def test_few_stray_words_among_numbers_count_as_missing(word):
    encoder = fitted(v=with_stray([word, f" {word}"]))
    assert encoder.feature_names_out_.tolist() == ["v", "x"]
    assert encoder.notes_ == [
        "Missing or infinite numbers take the median of their column: 'v' (2).",
        "Column 'v' is taken as numbers: what is none counts as missing, in 2 rows (first "
        f"{word!r}). Correct what should be a number.",
    ]
    for one in (encoder, TableEncoder.from_arrays(encoder.to_arrays())):
        assert encoded(one, "v", [word, "7", None]) == [19.0, 7, 19.0]
        assert encoded(one, "v", [word]) == [19.0]
        assert encoded(one, "v", [7.0]) == [7]
    with pytest.raises(InputError, match=r"'v' held a number in fit and now holds '-'\. Correct that value"):
        encoded(encoder, "v", ["1", word, "-"])


@pytest.mark.parametrize(
    ("column", "is_told"),
    [
        (with_stray(["12 m", "?", "?"]), False),
        (with_stray(["?"] * 10, rows=49), False),
        (["1", "2", "3", "4", "x", "y"] * 9, False),
        (["1,5", "a,b"] * 9, False),
        (["3", "1,5"], True),
        (["-0,5", "1,5"], True),
        (["1.000,50", "1,5"], True),
    ],
)
def test_numbers_among_more_stray_words_are_categories_and_those_with_commas_are_named(column, is_told):
    encoder = fitted(v=column)
    assert f"v={column[0]}" in encoder.feature_names_out_
    sentence = "Numbers of column 'v' have commas, and count as text: write them with decimal points."
    assert encoder.notes_ == [sentence] * is_told
