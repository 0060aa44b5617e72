"""Files of arrays in sections: one for each object that is stored, with a version and a table of its fields.

The table says what each field means and what is expected of it: it documents the file, and is checked on reading.
Dimensions have names: n rows, d features, c classes. The first array that has a dimension says how long it is, and all
others must agree, across sections. A section of which there are several has a number, and dimensions that it is the
first to name are its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from pglearn.arrays import Array
from pglearn.errors import ModelFileError, PGLearnError
from pglearn.files import digest, plain, read_arrays, whole_file

LARGEST, ABOVE_ZERO = float(np.finfo(np.float64).max), 5e-324
KINDS = {
    "number": ("f4", "f8"),
    "whole number": ("i4", "i8"),
    "truth value": ("b1",),
    "text": ("U",),
    "label": ("b", "i", "u", "f", "U", "S"),
    "record": ("U",),
    "texts": ("U",),
}
"""What NumPy calls arrays of these kinds. A record and a list of texts are JSON, in an array that is one text."""
JSON: dict[str, Any] = {"record": dict, "texts": list}


@dataclass(frozen=True)
class Expectation:
    """What a field means, and what it must be: its kind, shape and range, both ends included."""

    meaning: str
    kind: str = "number"
    shape: tuple[str, ...] = ()
    low: float = -LARGEST
    high: float | str = LARGEST
    """Of positions, the dimension that they are in."""
    finite: bool = True
    increasing: bool = False
    optional: bool = False
    """None where the file does not have it."""

    def value(self, array: Array, sizes: dict[str, int]) -> Any:
        """What the array holds; ValueError where that is not what is expected. New dimensions go into `sizes`."""
        if not (array.dtype.isnative and array.dtype.str[1:].startswith(KINDS[self.kind])):
            raise ValueError(f"holds {array.dtype}, not a {self.kind}")
        if array.dtype.kind == "U" and array.reshape(-1).view(np.uint32).max(initial=0) > sys.maxunicode:
            raise ValueError("holds characters that there are not")
        value: Any = array if self.shape else array.tolist()
        shape = array.shape
        if self.kind in JSON:
            value = json.loads(str(array))
            if not isinstance(value, JSON[self.kind]) or not all(isinstance(text, str) for text in value):
                raise ValueError(f"holds no {self.kind}")
            shape += (len(value),) if self.kind == "texts" else ()
        lengths = [sizes.setdefault(name, size) for name, size in zip(self.shape, shape, strict=False)]
        if len(self.shape) != len(shape) or tuple(lengths) != shape:
            raise ValueError(f"has the shape {shape}, not ({', '.join(self.shape)})")
        if array.dtype.kind in "iuf":
            high = sizes[self.high] - 1 if isinstance(self.high, str) else self.high
            numbers = array if self.finite else array[np.isfinite(array)]
            if numbers.size and not (self.low <= numbers.min() and numbers.max() <= high):
                raise ValueError(f"is not finite or not within {self.low:g} and {high:g}")
        if self.increasing and not (array[1:] > array[:-1]).all():
            raise ValueError("does not increase")
        return value


class Section:
    """What is stored of an object. The version goes up when a field changes its meaning, comes or goes."""

    def __init__(self, name: str, version: int, /, **fields: Expectation) -> None:
        self.name, self.version, self.fields = name, version, fields

    def arrays(self, values: Mapping[str, Any], number: int | str = "") -> dict[str, Array]:
        """The fields, which are among the values, as arrays by name; None is left out."""
        found = {f"{self.name}{number}.version": np.array(self.version)}
        for field, expected in self.fields.items():
            if (value := values[field]) is not None:
                array = np.asarray(json.dumps(plain(value)) if expected.kind in JSON else value)
                is_whole = expected.kind == "number" and array.dtype.kind == "i"
                found[f"{self.name}{number}.{field}"] = array.astype(np.float64) if is_whole else array
        return found


TEXT = Expectation("SHA-256 of all else; the version of pglearn", "text")
VERSION = Expectation("of a section", "whole number")


def write_sections(path: str | PathLike[str], arrays: Mapping[str, Array]) -> None:
    """Write sections to a file, complete or not at all."""
    from pglearn import __version__

    content: dict[str, Any] = {"pglearn": np.array(__version__), **arrays}
    with whole_file(Path(path)) as file:
        np.savez_compressed(file, checksum=np.array(digest(content)), **content)


def read_sections(
    path: Path, first: Section, refused: Callable[[str], PGLearnError], foreign: PGLearnError
) -> dict[str, Array]:
    """The arrays that :func:`write_sections` wrote; any other file is refused, and foreign without its `first` section
    or a checksum."""
    try:
        arrays = read_arrays(path)
        checksum = TEXT.value(arrays.pop("checksum", np.array("")), {})
    except ValueError as error:
        raise refused("is not a file of pglearn or was cut short") from error
    if not checksum or f"{first.name}.version" not in arrays:
        raise foreign
    if checksum != digest(arrays):
        raise refused("is damaged: its checksum is not that of its content")
    return arrays


def read_model(path: str | PathLike[str], first: Section) -> dict[str, Array]:
    """The same for a model."""
    if not Path(path).is_file():
        raise ModelFileError(f"There is no model file {path}: fit a model first, or check the path.")

    def refused(why: str) -> ModelFileError:
        return ModelFileError(f"{path} {why}: copy it again or fit again.")

    foreign = ModelFileError(f"{path} is an .npz file but not a pglearn model: give the model.npz that a fit wrote.")
    return read_sections(Path(path), first, refused, foreign)


def model_refused(why: str) -> ModelFileError:
    return ModelFileError(f"The model {why}: copy it again or fit again.")


class Sections:
    """The sections among some arrays, checked as they are read; `refused` makes the error of what is wrong."""

    def __init__(self, arrays: Mapping[str, Array], refused: Callable[[str], PGLearnError] = model_refused) -> None:
        self._arrays, self._refused = arrays, refused
        self._sizes: dict[str, int] = {}

    def has(self, section: Section) -> bool:
        return f"{section.name}.version" in self._arrays

    def read(self, section: Section, number: int | str = "", **sizes: int) -> dict[str, Any]:
        """The fields of a section by name; `sizes` are lengths of dimensions of a numbered one."""
        name = f"{section.name}{number}"
        sizes = self._sizes if number == "" else {**self._sizes, **sizes}
        version = self._value(f"{name}.version", VERSION, sizes)
        if version != section.version:
            writer = self._value("pglearn", TEXT, sizes)
            fault = (
                f"was written by pglearn {writer} with version {version} of {name}: this one reads {section.version}"
            )
            raise self._refused(fault)
        return {field: self._value(f"{name}.{field}", expected, sizes) for field, expected in section.fields.items()}

    def require(self, is_so: Any, fault: str) -> None:
        """For what no table says: how fields fit together."""
        if not is_so:
            raise self._refused(fault)

    def _value(self, name: str, expected: Expectation, sizes: dict[str, int]) -> Any:
        if expected.optional and name not in self._arrays:
            return None
        self.require(name in self._arrays, f"lacks {name}")
        try:
            return expected.value(self._arrays[name], sizes)
        except (ValueError, RecursionError) as error:
            raise self._refused(f"is damaged: {name} {error}") from error
