"""Tiny data sets in a folder that the command line takes for the published ones."""

from __future__ import annotations

import numpy as np
import pytest
from tests.paper import tiny

from pglearn.files import digest
from pglearn.paper import datasets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two tiny data sets under published names."""
    home = tmp_path / "data"
    home.mkdir()
    for seed, name in enumerate(("umist", "yale")):
        content = tiny.arrays(seed)
        np.savez(home / f"{name}.npz", **content)
        monkeypatch.setitem(datasets.CHECKSUMS, name, digest(content))
    return home
