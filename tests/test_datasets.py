"""The paper's data sets: read, checked, and asked for in a way that helps."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from pglearn import datasets
from pglearn.datasets import load_benchmark, noisy
from pglearn.errors import InputError
from tests.reproduction import tiny

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDER = Path(os.environ.get("PGLEARN_DATA") or BESIDE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where yale.npz is a tiny file that the loader takes for the published one."""
    content = tiny.arrays()
    np.savez_compressed(tmp_path / "yale.npz", **content)
    monkeypatch.setitem(datasets.PUBLISHED, "yale", tiny.published(content))
    monkeypatch.delenv("PGLEARN_DATA", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", datasets.NAMES)
def test_the_published_files_are_what_the_loader_expects(name):
    if not (FOLDER / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is not here: set PGLEARN_DATA to the folder that holds it")
    data, published = load_benchmark(name, FOLDER), datasets.PUBLISHED[name]
    assert data.X.shape == (published.points, published.features)
    assert data.X.dtype == np.float64
    assert set(data.y) == set(range(published.classes))
    for percent in datasets.PERCENTS:
        for split in range(datasets.SPLITS):
            train, valid = datasets.rows_of(data, percent, split)
            assert not (train & valid).any()
            assert abs(data.labelled(percent, split).mean() - percent / 100) < 0.02
            assert set(data.y[data.labelled(percent, split)]) == set(data.y), "a label of every class"


def test_a_folder_is_an_argument_or_the_environment(folder, monkeypatch):
    by_argument = load_benchmark("yale", folder)
    monkeypatch.setenv("PGLEARN_DATA", str(folder))
    by_environment = load_benchmark("yale")
    np.testing.assert_array_equal(by_argument.X, by_environment.X)
    assert by_argument.size == "60×3"


def test_a_file_that_is_missing_says_where_the_data_comes_from(folder):
    with pytest.raises(InputError, match="No folder of data is named: give one, or set PGLEARN_DATA") as unnamed:
        load_benchmark("coil")
    with pytest.raises(InputError) as missing:
        load_benchmark("coil", folder)
    assert f"There is no {folder / 'coil.npz'}" in str(missing.value)
    for part in ("olivier.chapelle.cc", "github.com/LingxiaoShawn/PG-Learn", "datasets/coil", "--data", "PGLEARN_DATA"):
        assert part in str(unnamed.value)
        assert part in str(missing.value)
    with pytest.raises(InputError, match="name='orl' is not known: choose one of 'coil', 'usps'"):
        load_benchmark("orl", folder)


@pytest.mark.parametrize("share", [0.5, 0.02])
def test_a_file_that_is_cut_short(folder, share):
    path = folder / "yale.npz"
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(InputError, match=r"yale.npz cannot be read as an .npz file .*: copy it again"):
        load_benchmark("yale", folder)


def test_a_file_with_a_changed_byte_is_refused_with_a_sentence(folder):
    path = folder / "yale.npz"
    content, refused = path.read_bytes(), 0
    for position in np.random.default_rng(0).choice(np.arange(60, len(content) // 2), 60, replace=False):
        path.write_bytes(content[:position] + bytes([content[position] ^ 255]) + content[position + 1 :])
        try:
            load_benchmark("yale", folder)  # times of the entries, say, may be others
        except InputError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda content: content | {"X": content["X"][:, :2]}, "X of size 60×2, where 60×3 was published"),
        (lambda content: {"X": content["X"], "y": content["y"]}, "lacks the arrays train_10, train_20"),
        (lambda content: content | {"X": content["X"] + np.float32(1e-6)}, "right sizes but not the published content"),
    ],
)
def test_a_file_that_holds_something_else(folder, change, sentence):
    np.savez(folder / "yale.npz", **change(tiny.arrays()))
    with pytest.raises(InputError, match=sentence):
        load_benchmark("yale", folder)


def test_the_checksum_does_not_depend_on_compression(folder):
    np.savez(folder / "yale.npz", **tiny.arrays())
    assert load_benchmark("yale", folder).size == "60×3"


def test_what_many_fits_share_cannot_be_written_to(folder):
    data = load_benchmark("yale", folder)
    for array in (data.X, data.y, data.features(), *datasets.rows_of(data, 10, 0)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    before = data.X.copy()
    for own in (data.features("uniform", 1), data.shown(10, 0)):
        own[:] = 0
    np.testing.assert_array_equal(data.X, before)


def test_labels_shown_are_those_of_the_labelled_rows_alone():
    data = tiny.benchmark()
    shown, labelled = data.shown(10, 3), data.labelled(10, 3)
    assert (shown[labelled] == data.y[labelled]).all()
    assert (shown[~labelled] == -1).all()


@pytest.mark.parametrize(("percent", "split", "sentence"), [(15, 0, "no splits with 15 %"), (10, 10, "no split 10")])
def test_a_split_that_is_not_there(percent, split, sentence):
    with pytest.raises(InputError, match=sentence):
        tiny.benchmark().labelled(percent, split)


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_noise_doubles_the_columns_and_is_the_same_for_a_split(kind):
    X = np.zeros((2000, 3))
    wide = noisy(X, kind, 4)
    assert wide.shape == (2000, 6)
    np.testing.assert_array_equal(wide[:, :3], X)
    np.testing.assert_array_equal(wide, noisy(X, kind, 4))
    assert (wide[:, 3:] != noisy(X, kind, 5)[:, 3:]).all()
    mean, deviation = {"uniform": (0.5, 12**-0.5), "normal": (0, 1)}[kind]
    assert wide[:, 3:].mean() == pytest.approx(mean, abs=0.05)
    assert wide[:, 3:].std() == pytest.approx(deviation, abs=0.05)


def test_noise_of_another_kind():
    with pytest.raises(InputError, match="noise='pink' is not known"):
        tiny.benchmark().features("pink", 0)
