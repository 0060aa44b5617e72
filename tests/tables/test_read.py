"""Files in, and what is said about files that are not tables."""

from __future__ import annotations

import gzip
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pglearn.errors import InputError
from pglearn.tables.read import read_table, split_target


def says(path: Path, *parts: str) -> str:
    """A pattern for a message that names the path and then holds the parts in this order."""
    return re.escape(str(path)) + "".join(f".*{re.escape(part)}" for part in parts)


@pytest.fixture
def csv(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


# CSV that is read


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separator_is_found_from_the_header(csv, separator):
    frame = read_table(csv(f'a{separator}"b, c; d"{separator}y\n1{separator}2{separator}u\n'))
    assert frame.columns.tolist() == ["a", "b, c; d", "y"]
    assert frame.iloc[0].tolist() == [1, 2, "u"]


@pytest.mark.parametrize("name", ["t.tsv", "T.TSV", "t.tsv.gz", "t.csv.gz", "t.csv"])
def test_endings_and_gzip(csv, name):
    text = b"a,1\tb\n1\t2\n" if "tsv" in name.lower() else b"a\tb\n1\t2\n"
    path = csv(gzip.compress(text) if name.endswith("gz") else text, name)
    assert read_table(path).to_numpy().tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("text", "columns", "values"),
    [
        ("\ufeffa,b\r\n\r\n1,2\r\n   \r\n3,4\r\n\r\n", ["a", "b"], [[1, 2], [3, 4]]),
        ('a,b\n"x\ny, z",1\nw,2\n', ["a", "b"], [["x\ny, z", 1], ["w", 2]]),
        ('a, b, y\n1, 2, "u, v"\n', ["a", "b", "y"], [[1, 2, "u, v"]]),
        (",a,\n0,5,6\n", ["Unnamed: 0", "a", "Unnamed: 2"], [[0, 5, 6]]),
    ],
)
def test_lines_quotes_spaces_and_nameless_columns(csv, text, columns, values):
    frame = read_table(csv(text))
    assert frame.columns.tolist() == columns
    assert frame.to_numpy().tolist() == values


def test_none_is_missing_in_a_feature_and_a_class_in_the_target(csv):
    path = csv("f , y \nNone,None\nNA , NA \nnull,null\nN/A,N/A \nNaN,NaN\n,  \nx,nan\n")
    frame = read_table(path, target="y")
    assert frame["f"].isna().tolist() == [True, False, *[True] * 4, False]  # NA with a space after it is text
    assert split_target(frame, "y")[1].tolist() == ["None", None, None, "N/A", None, None, None]
    assert read_table(path)["y"].isna().tolist() == [True, False, True, False, True, True, True]


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        (["01", "02", ""], ["01", "02", None]),
        (["1", "01", "2"], ["1", "01", "2"]),
        (["-2", "10", ""], [-2, 10, None]),
        (["1.0", "2.0", "NA"], [1, 2, None]),
        (["1e5", "2e5", "1e5 "], ["1e5", "2e5", "1e5"]),
        (["0.50", "1.50", ""], [0.5, 1.5, None]),
        (["9007199254740993", "9007199254740992", ""], [9007199254740993, 9007199254740992, None]),
        (["99999999999999999999", "99999999999999999998", ""], ["99999999999999999999", "99999999999999999998", None]),
    ],
)
def test_labels_come_out_as_they_are_written(csv, written, labels):
    path = csv("x,y\n" + "".join(f"{row},{text}\n" for row, text in enumerate(written)))
    found = split_target(read_table(path, "y"), "y")[1].tolist()
    assert found == labels
    assert [type(value) for value in found] == [type(value) for value in labels]


# CSV that is not


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("t.csv", b"", ["is empty. Give a table"]),
        ("t.csv", b"a,b\n\n", ["is empty. Give a table"]),
        ("t.csv", b"a,b,c\n1,2,3\n\n1,2\n", ["is ragged: line 4 has 2 fields, the header has 3", "Correct that line"]),
        ("t.csv", b"a,b\n1,2\n1\n", ["line 3 has 1 field, the header has 2"]),
        ("t.csv", b'a,b\n"1\n2",2\n1,2,\n', ["line 4 has 3 fields, the header has 2"]),
        ("t.xlsx", b"a\n1\n", ["not known", ".csv, .csv.gz, .tsv, .tsv.gz, .parquet, .npz"]),
        ("t.csv", b"a,b,a\n1,2,3\n", ["has two columns called 'a'. Rename"]),
        ("t.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", ["cannot be read as a table", "UTF-8"]),
        ("t.csv", "name,y\nRené,1\n".encode("latin-1"), ["0xe9", "UTF-8 encoding"]),
        ("t.csv.gz", b"a,b\n1,2\n", ["Not a gzipped file"]),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99)[:-12], ["cannot be read as a table", "Give all of the file"]),
        ("t.csv", b'a,b\n1,"x\n2,y\n', ["look for a quote that is not closed"]),
        ("t.csv", b'a,b\n1,2\n1,"' + b"x" * 140_000, ["look for a quote that is not closed"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_text_that_is_no_table(csv, name, content, parts):
    path = csv(content, name)
    with pytest.raises(InputError, match=says(path, *parts)):
        read_table(path)


def test_no_file(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name in ("no.csv", "no.parquet", "no.npz", "folder.csv"):
        with pytest.raises(InputError, match=says(tmp_path / name, "cannot be read", "Check the path")):
            read_table(str(tmp_path / name))


cells = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=4)
tables = st.integers(2, 4).flatmap(lambda d: st.lists(st.lists(cells, min_size=d, max_size=d), min_size=1, max_size=5))


@settings(max_examples=25)
@given(rows=tables, separator=st.sampled_from([",", ";", "|"]))
def test_whatever_is_written_as_csv_is_read_with_its_shape(rows, separator):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        names = [f"c{m}" for m in range(len(rows[0]))]
        pd.DataFrame(rows, columns=names).to_csv(path, sep=separator, index=False)
        frame = read_table(path)
    assert frame.shape == (len(rows), len(names))


# Parquet


def test_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    written = pd.DataFrame({"x": [1.5, None], "c": ["NA", None]}, index=pd.Index(["k", "l"], name="key"))
    written.to_parquet(path)
    frame = read_table(path)
    assert frame.columns.tolist() == ["key", "x", "c"]
    assert frame.index.tolist() == [0, 1]
    assert frame["c"][0] == "NA"
    written.reset_index(drop=True).iloc[::-1].to_parquet(path)
    assert read_table(path).columns.tolist() == ["x", "c"]


def test_parquet_that_cannot_be_read(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": [1.5]}).to_parquet(path)
    for content in (b"no parquet at all", path.read_bytes()[:-20], b"PAR1" + b"\0" * 20 + b"PAR1"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=says(path)):
            read_table(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=says(path, "needs pyarrow", 'pip install "pglearn[parquet]"')):
        read_table(path)


def test_parquet_with_two_columns_of_one_name(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
    with pytest.raises(InputError, match=says(path)):
        read_table(path)


# npz


@pytest.fixture
def npz(tmp_path):
    def write(**arrays):
        path = tmp_path / "t.npz"
        np.savez(path, **arrays)
        return path

    return write


X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        (np.array([0, -1, 7]), [0, None, 7]),
        (np.array([0.0, np.nan, 7.0]), [0, None, 7]),
        (np.array(["u", "", "v"]), ["u", None, "v"]),
        (np.array([b"u", b"", b"v"]), ["u", None, "v"]),
        (np.array([True, False, True]), [True, False, True]),
    ],
)
def test_npz_labels(npz, y, labels):
    frame = read_table(npz(X=X, y=y, other=np.zeros(9)))
    assert frame.columns.tolist() == ["x0", "x1", "y"]
    features, found = split_target(frame, "y")
    assert found.tolist() == labels
    assert [type(value) for value in found] == [type(value) for value in labels]
    np.testing.assert_array_equal(features.to_numpy(), X)


def test_npz_names_and_target_and_arrays_that_are_not_needed(npz):
    path = npz(X=X, kind=np.array([1, 2, -1]), feature_names=np.array(["u", "v"]), y=np.array([{}], dtype=object))
    assert read_table(path, target="kind").columns.tolist() == ["u", "v", "kind"]
    assert read_table(npz(X=X), target="kind").columns.tolist() == ["x0", "x1"]


@pytest.mark.parametrize(
    ("arrays", "parts"),
    [
        ({"Z": X, "y": X[:, 0]}, ["X is not a file in the archive"]),
        ({"X": X[0]}, ["X in two dimensions"]),
        ({"X": X, "y": np.zeros(2)}, ["y"]),
        ({"X": X, "feature_names": np.array(["a"])}, ["feature_names"]),
        ({"X": X, "feature_names": np.array(["a", "y"]), "y": X[:, 0]}, ["has two columns called 'y'"]),
        ({"X": X.astype(object)}, ["allow_pickle=False", ".astype(str)"]),
        ({"X": X, "y": np.array(["u", None, 3], dtype=object)}, ["allow_pickle=False", ".astype(str)"]),
    ],
)
def test_npz_that_is_no_table(npz, arrays, parts):
    path = npz(**arrays)
    with pytest.raises(InputError, match=says(path, *parts)):
        read_table(path)


def test_damaged_npz(npz):
    path = npz(X=np.arange(4000.0).reshape(-1, 2))
    whole = path.read_bytes()
    for content in (b"", b"no archive", whole[:1000], whole[:9000] + b"????" + whole[9004:]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=says(path, "cannot be read as a table", "numpy.savez")):
            read_table(path)


# Features and labels


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ([0, 1, None], [0, 1, None]),
        ([0.5, 1.5, None], [0.5, 1.5, None]),
        (["yes ", "", "\tno"], ["yes", None, "no"]),
        (pd.Categorical(["yes", " ", " yes"]), ["yes", None, "yes"]),
        ([True, False, None], [True, False, None]),
        (pd.array([1, None, 2], dtype="Int64"), [1, None, 2]),
        (pd.Categorical([2, 1, None]), [2, 1, None]),
        (pd.to_datetime(["2024-01-02", None]).append(pd.Index([pd.NaT])), ["2024-01-02 00:00:00", None, None]),
    ],
)
def test_labels_keep_their_kind(column, labels):
    frame = pd.DataFrame({"x": [1, 2, 3], "y": column}, index=[5, 6, 7])
    features, found = split_target(frame, "y")
    assert features.columns.tolist() == ["x"]
    assert found.dtype == object
    assert found.tolist() == labels
    assert [type(value) for value in found] == [type(value) for value in labels]


def test_absent_target():
    frame = pd.DataFrame({"label": [1], "x": [2]})
    with pytest.raises(InputError, match=r"no column 'lable' in the table. Did you mean 'label'.*'label', 'x'"):
        split_target(frame, "lable")
    wide = pd.DataFrame(np.zeros((1, 30)), columns=[f"x{m}" for m in range(30)])
    with pytest.raises(InputError, match=r"no column 'zzz' in the table. Its columns are 'x0', .*'x9' and 20 more"):
        split_target(wide, "zzz")


@pytest.mark.parametrize(
    "column", [[0.5, -1.0, 2.0], ["-1", "a", None], pd.array([1, None, -1], dtype="Int64"), pd.Categorical([1, -1, 1])]
)
def test_minus_one_in_the_target(column):
    words = (
        r"'y' holds -1, which means unlabelled to pglearn\. Leave .* blank; if -1 is a class, give it another name\."
    )
    with pytest.raises(InputError, match=words):
        split_target(pd.DataFrame({"x": 0, "y": column}), "y")
