"""The paper's data sets: read, checked, and asked for in a way that helps."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.paper import tiny

from pglearn.errors import InputError
from pglearn.paper import datasets
from pglearn.paper.datasets import load_benchmark, noisy

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
FOLDER = Path(os.environ.get("PGLEARN_DATA") or BESIDE)


@pytest.mark.parametrize("name", datasets.NAMES)
def test_the_published_files_are_what_the_loader_expects(name):
    if not (FOLDER / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is not here: set PGLEARN_DATA to the folder that holds it")
    data = load_benchmark(name, FOLDER)
    assert data.X.dtype == np.float64
    for percent in datasets.PERCENTS:
        for split in range(datasets.SPLITS):
            labelled = data.labelled(percent, split)
            assert abs(labelled.mean() - percent / 100) < 0.02
            assert set(data.y[labelled]) == set(data.y), "a label of every class"


def test_a_file_that_is_missing_says_where_the_data_comes_from(folder, monkeypatch):
    monkeypatch.delenv("PGLEARN_DATA", raising=False)
    with pytest.raises(InputError, match="No folder of data is named: give one, or set PGLEARN_DATA") as unnamed:
        load_benchmark("coil")
    with pytest.raises(InputError, match=r"There is no .*coil\.npz") as missing:
        load_benchmark("coil", folder)
    for part in ("olivier.chapelle.cc", "github.com/LingxiaoShawn/PG-Learn", "datasets/coil", "--data", "PGLEARN_DATA"):
        assert part in str(unnamed.value)
        assert part in str(missing.value)
    with pytest.raises(InputError, match="name='orl' is not known: choose one of 'coil', 'usps'"):
        load_benchmark("orl", folder)


def test_a_file_that_is_cut_short_or_changed_is_refused_with_a_sentence(folder):
    path = folder / "yale.npz"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match=r"yale.npz cannot be read as an .npz file .*: copy it again"):
        load_benchmark("yale", folder)
    published = tiny.arrays(1)
    for changed in ({"y": published["y"]}, published | {"X": published["X"] + np.float32(1e-6)}):
        np.savez(path, **changed)
        with pytest.raises(InputError, match="does not hold the published arrays"):
            load_benchmark("yale", folder)


def test_what_many_fits_share_cannot_be_written_to_and_only_labelled_rows_show_their_labels(folder, monkeypatch):
    monkeypatch.setenv("PGLEARN_DATA", str(folder))
    data = load_benchmark("yale")
    for array in (data.X, data.y, data.features(), data.labelled(10, 0)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    for own in (data.features("uniform", 1), data.shown(10, 0)):
        own[:] = 0
    shown, labelled = data.shown(10, 3), data.labelled(10, 3)
    assert (shown[labelled] == data.y[labelled]).all()
    assert (shown[~labelled] == -1).all()
    for percent, split, sentence in ((15, 0, "no splits with 15 %"), (10, 10, "no split 10"), (10, -1, "no split -1")):
        with pytest.raises(InputError, match=sentence):
            data.labelled(percent, split)


@pytest.mark.parametrize(("kind", "mean", "deviation"), [("uniform", 0.5, 12**-0.5), ("normal", 0, 1)])
def test_noise_doubles_the_columns_and_is_the_same_for_a_split(kind, mean, deviation):
    X = np.zeros((2000, 3))
    wide = noisy(X, kind, 4)
    assert wide.shape == (2000, 6)
    np.testing.assert_array_equal(wide[:, :3], X)
    np.testing.assert_array_equal(wide, noisy(X, kind, 4))
    assert (wide[:, 3:] != noisy(X, kind, 5)[:, 3:]).all()
    assert wide[:, 3:].mean() == pytest.approx(mean, abs=0.05)
    assert wide[:, 3:].std() == pytest.approx(deviation, abs=0.05)
    with pytest.raises(InputError, match="noise='pink' is not known"):
        noisy(X, "pink", 0)
