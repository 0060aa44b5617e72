"""The paper's five data sets with the authors' published splits, read from a folder of .npz files.

The data is not part of the package and is never downloaded: `load_benchmark` reads it, checks that it is what the
paper used, and says where it comes from where it is missing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pglearn.arrays import Array
from pglearn.errors import InputError
from pglearn.files import digest, read_arrays
from pglearn.objective.labels import UNLABELLED
from pglearn.parameters import choice

FOLDER_VARIABLE = "PGLEARN_DATA"
PERCENTS = (10, 20, 30, 40, 50)
SPLITS = 10

NOISE = {"uniform": np.random.Generator.uniform, "normal": np.random.Generator.normal}
CHECKSUMS = {
    "coil": "6986a5a8089e6e675aa58335b31f0ee6301633300ec1057b20edf768bf6df9f6",
    "usps": "93af5ea0548eee78743950e0f70f8b22e1ecd291dece8cc4f5ed90fc2246c175",
    "mnist": "c573d7bab57de61e659ea8bbaae518ac9f5681fb1216278d8baafdb7314d05e0",
    "umist": "460bfdadc7650e48918ebf36b79775a90f3c191daa7e993e1e355fddd35dce03",
    "yale": "11f45903e5cbf87e52128b8a5bc0fab5fe94cfcf9e733d55cb03b8b3f3342d15",
}
"""SHA-256 of the arrays of each file."""
NAMES = tuple(CHECKSUMS)
SOURCES = {
    "coil": "COIL of http://olivier.chapelle.cc/ssl-book/index.html, 'benchmark datasets'",
    "usps": "USPS of http://www.cs.huji.ac.il/~shais/datasets/ClassificationDatasets.html",
    "mnist": "MNIST of http://yann.lecun.com/exdb/mnist/",
    "umist": "the UMIST faces of https://www.sheffield.ac.uk/eee/research/iel/research/face",
    "yale": "the extended Yale B faces, subjects 1 to 5, of http://www.cad.zju.edu.cn/home/dengcai/Data/FaceData.html",
}
"""Where the data was first published."""


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Features, classes 0 … c−1 and the splits of one data set.

    ``splits[percent]`` marks the labelled rows of each split (splits × n booleans); all other rows are test rows.
    """

    name: str
    X: Array
    y: Array
    splits: Mapping[int, Array]

    def labelled(self, percent: int, split: int) -> Array:
        """The labelled rows of one split, as a mask."""
        if percent not in self.splits:
            known = ", ".join(map(str, sorted(self.splits)))
            raise InputError(f"{self.name} has no splits with {percent} % labels: choose among {known}.")
        masks = self.splits[percent]
        if not 0 <= split < len(masks):
            raise InputError(f"{self.name} has no split {split}: choose from 0 to {len(masks) - 1}.")
        return np.asarray(masks[split])

    def shown(self, percent: int, split: int) -> Array:
        """The classes with −1 at every row that is not labelled: all that a learner may see."""
        return np.where(self.labelled(percent, split), self.y, UNLABELLED)

    def features(self, noise: str = "none", split: int = 0) -> Array:
        """X, with as many columns of noise beside its own unless the kind is "none"."""
        return self.X if noise == "none" else noisy(self.X, noise, split)


def noisy(X: Array, kind: str, split: int) -> Array:
    """X with as many columns of noise, "uniform" on [0, 1] or standard "normal", the same for a split on every run."""
    noise = choice(kind, NOISE, "noise")(np.random.default_rng([split, 7]), size=X.shape)
    return np.hstack([X, noise])


def load_benchmark(name: str, folder: str | os.PathLike[str] | None = None) -> Benchmark:
    """One of the paper's data sets, in float64, with its published splits; its arrays are read-only.

    `<name>.npz` is read from `folder`, by default the one in the environment variable PGLEARN_DATA. If it is not there,
    or its arrays are not the published ones, an InputError says where the data comes from.
    """
    checksum = choice(name, CHECKSUMS, "name")
    where_from = (
        f"The data is not part of pglearn. {name} is {SOURCES[name]}; the paper's selection of it and its "
        "splits were published with the authors' code, https://github.com/LingxiaoShawn/PG-Learn, in "
        f"datasets/{name}: {name}.mat (fea, gnd) and PPerTrain/i.mat (trainIdx, testIdx) for P = 10 … 50, i = 1 … 10. "
        f"Save them as {name}.npz with the arrays that docs/reproduction.md lists, and name their folder with --data, "
        f"the folder argument or {FOLDER_VARIABLE}."
    )
    folder = folder or os.environ.get(FOLDER_VARIABLE)
    if not folder:
        raise InputError(f"No folder of data is named: give one, or set {FOLDER_VARIABLE}. {where_from}")
    path = Path(folder) / f"{name}.npz"
    if not path.is_file():
        raise InputError(f"There is no {path}. {where_from}")
    try:
        arrays = read_arrays(path)
    except ValueError as error:
        raise InputError(f"{path} cannot be read as an .npz file ({error}): copy it again.") from error
    if digest(arrays) != checksum:
        raise InputError(
            f"{path} does not hold the published arrays (their checksum is {checksum}, not {digest(arrays)}): results "
            f"on it could not be compared with the paper's. {where_from}"
        )
    splits = {percent: arrays[f"train_{percent}"] | arrays[f"valid_{percent}"] for percent in PERCENTS}
    data = Benchmark(name, arrays["X"].astype(np.float64), arrays["y"].astype(np.int64), splits)
    for array in (data.X, data.y, *splits.values()):
        array.setflags(write=False)  # many fits share them, and one that scales in place would change all later ones
    return data
