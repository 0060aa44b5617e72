"""The paper's five data sets with the authors' published splits, read from a folder of .npz files.

The data is not part of the package and is never downloaded: `load_benchmark` reads it, checks that it is what the
paper used, and says where it comes from where it is missing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pglearn.errors import InputError
from pglearn.files import UNREADABLE, digest, read_arrays
from pglearn.parameters import choice
from pglearn.problem import UNLABELLED, Array

FOLDER_VARIABLE = "PGLEARN_DATA"
PERCENTS = (10, 20, 30, 40, 50)
SPLITS = 10

NOISE: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
    "uniform": lambda rng, shape: rng.uniform(size=shape),
    "normal": lambda rng, shape: rng.normal(size=shape),
}


@dataclass(frozen=True)
class Published:
    """What a file must hold: its size, the SHA-256 of its arrays, and where the data was first published."""

    points: int
    features: int
    classes: int
    sha256: str
    source: str


PUBLISHED = {
    "coil": Published(
        1500,
        241,
        6,
        "6986a5a8089e6e675aa58335b31f0ee6301633300ec1057b20edf768bf6df9f6",
        "COIL of http://olivier.chapelle.cc/ssl-book/index.html, 'benchmark datasets'",
    ),
    "usps": Published(
        1000,
        256,
        10,
        "93af5ea0548eee78743950e0f70f8b22e1ecd291dece8cc4f5ed90fc2246c175",
        "USPS of http://www.cs.huji.ac.il/~shais/datasets/ClassificationDatasets.html",
    ),
    "mnist": Published(
        1000,
        784,
        10,
        "c573d7bab57de61e659ea8bbaae518ac9f5681fb1216278d8baafdb7314d05e0",
        "MNIST of http://yann.lecun.com/exdb/mnist/",
    ),
    "umist": Published(
        575,
        644,
        20,
        "460bfdadc7650e48918ebf36b79775a90f3c191daa7e993e1e355fddd35dce03",
        "the UMIST faces of https://www.sheffield.ac.uk/eee/research/iel/research/face",
    ),
    "yale": Published(
        320,
        1024,
        5,
        "11f45903e5cbf87e52128b8a5bc0fab5fe94cfcf9e733d55cb03b8b3f3342d15",
        "the extended Yale B faces, subjects 1 to 5, of http://www.cad.zju.edu.cn/home/dengcai/Data/FaceData.html",
    ),
}
NAMES = tuple(PUBLISHED)


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Features, classes 0 … c−1 and the splits of one data set.

    ``splits[percent]`` is a pair of boolean arrays (splits × n): the labels shown while tuning, and those kept for
    validation. Together they are the labelled set; every other row is a test row.
    """

    name: str
    X: Array
    y: Array
    splits: Mapping[int, tuple[Array, Array]]

    @property
    def size(self) -> str:
        return f"{self.X.shape[0]:,}×{self.X.shape[1]:,}"

    def labelled(self, percent: int, split: int) -> Array:
        """The labelled rows of one split, as a mask."""
        train, valid = rows_of(self, percent, split)
        return np.asarray(train | valid)

    def shown(self, percent: int, split: int) -> Array:
        """The classes with −1 at every row that is not labelled: all that a learner may see."""
        return np.where(self.labelled(percent, split), self.y, UNLABELLED)

    def features(self, noise: str = "none", split: int = 0) -> Array:
        """X, with as many columns of noise beside its own unless the kind is "none"."""
        return self.X if noise == "none" else noisy(self.X, noise, split)


def rows_of(data: Benchmark, percent: int, split: int) -> tuple[Array, Array]:
    """The labels shown while tuning and those kept for validation, in one split."""
    if percent not in data.splits:
        known = ", ".join(str(percent) for percent in sorted(data.splits))
        raise InputError(f"{data.name} has no splits with {percent} % labels: choose among {known}.")
    train, valid = data.splits[percent]
    if not 0 <= split < len(train):
        raise InputError(f"{data.name} has no split {split}: choose from 0 to {len(train) - 1}.")
    return train[split], valid[split]


def noisy(X: Array, kind: str, split: int) -> Array:
    """X with as many columns of noise, "uniform" on [0, 1] or standard "normal", the same for a split on every run."""
    noise = choice(kind, NOISE, "noise")(np.random.default_rng([split, 7]), X.shape)
    return np.hstack([X, noise])


def load_benchmark(name: str, folder: str | os.PathLike[str] | None = None) -> Benchmark:
    """One of the paper's data sets, in float64, with its published splits; its arrays are read-only.

    Parameters
    ----------
    name : {"coil", "usps", "mnist", "umist", "yale"}
        The data set.
    folder : path, optional
        Where `<name>.npz` is; by default the folder in the environment variable PGLEARN_DATA.

    Raises
    ------
    InputError
        If there is no such file, with a sentence that says where the data comes from; or if the file does not hold the
        published data, by size and by SHA-256 checksum of the arrays.
    """
    published: Published = choice(name, PUBLISHED, "name")
    folder = folder or os.environ.get(FOLDER_VARIABLE)
    if not folder:
        raise InputError(f"No folder of data is named: give one, or set {FOLDER_VARIABLE}. {_where_from(name)}")
    path = Path(folder) / f"{name}.npz"
    if not path.is_file():
        raise InputError(f"There is no {path}. {_where_from(name)}")
    arrays = _arrays(path)
    _check_sizes(path, arrays, published)
    if digest(arrays) != published.sha256:
        raise InputError(
            f"{path} has the right sizes but not the published content (its checksum is {digest(arrays)}, not "
            f"{published.sha256}): results on it could not be compared with the paper's. {_where_from(name)}"
        )
    splits = {percent: (arrays[f"train_{percent}"], arrays[f"valid_{percent}"]) for percent in PERCENTS}
    data = Benchmark(name, arrays["X"].astype(np.float64), arrays["y"].astype(np.int64), splits)
    for array in (data.X, data.y, *(part for pair in splits.values() for part in pair)):
        array.setflags(write=False)  # many fits share them, and one that scales in place would change all later ones
    return data


def _arrays(path: Path) -> dict[str, Array]:
    try:
        return read_arrays(path)
    except UNREADABLE as error:
        raise InputError(f"{path} cannot be read as an .npz file ({error}): copy it again.") from error


def _check_sizes(path: Path, arrays: dict[str, Array], published: Published) -> None:
    n, d = published.points, published.features
    sizes = {"X": (n, d), "y": (n,)}
    sizes |= {f"{part}_{percent}": (SPLITS, n) for percent in PERCENTS for part in ("train", "valid")}
    if lacking := sorted(set(sizes) - set(arrays)):
        raise InputError(
            f"{path} lacks the arrays {', '.join(lacking)}: docs/reproduction.md lists what must be there."
        )
    for name, size in sizes.items():
        if arrays[name].shape != size:
            raise InputError(
                f"{path} has {name} of size {_times(arrays[name].shape)}, where {_times(size)} was published: "
                "it is another data set, or was cut."
            )


def _times(shape: tuple[int, ...]) -> str:
    return "×".join(str(length) for length in shape)


def _where_from(name: str) -> str:
    return (
        f"The data is not part of pglearn. {name} is {PUBLISHED[name].source}; the paper's selection of it and its "
        "splits were published with the authors' code, https://github.com/LingxiaoShawn/PG-Learn, in "
        f"datasets/{name}: {name}.mat (fea, gnd) and PPerTrain/i.mat (trainIdx, testIdx) for P = 10 … 50, i = 1 … 10. "
        f"Save them as {name}.npz with the arrays that docs/reproduction.md lists, and name their folder with --data, "
        f"the folder argument or {FOLDER_VARIABLE}."
    )
