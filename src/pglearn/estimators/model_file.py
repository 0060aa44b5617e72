"""A model as one .npz file: plain arrays, a format number, no pickle."""

from __future__ import annotations

import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from pglearn.arrays import Array
from pglearn.errors import ModelFileError
from pglearn.files import UNREADABLE, read_arrays, whole_file

FORMAT = 13


def write(path: str | PathLike[str], arrays: dict[str, Array]) -> None:
    """Write `arrays` to `path`, complete or not at all."""
    from pglearn import __version__

    for name, array in arrays.items():
        if array.dtype == object:
            raise TypeError(f"{name} holds Python objects, which a model file cannot")
    with whole_file(Path(path)) as file:
        content: dict[str, Any] = {"pglearn_format": FORMAT, "pglearn_version": __version__, **arrays}
        np.savez_compressed(file, **content)


def read(path: str | PathLike[str]) -> dict[str, Array]:
    """The arrays of a file made by :func:`write`; anything else is refused with a sentence."""
    from pglearn import __version__

    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"There is no model file {path}: fit a model first, or check the path.")
    if not zipfile.is_zipfile(path):
        raise ModelFileError(f"{path} is not a pglearn model or was cut short: copy it again or fit again.")
    try:
        arrays = read_arrays(path)
    except UNREADABLE as error:
        raise ModelFileError(
            f"{path} is not a pglearn model or was cut short: copy it again or fit again ({error})."
        ) from error
    if "pglearn_format" not in arrays or "pglearn_version" not in arrays:
        raise ModelFileError(f"{path} is an .npz file but not a pglearn model: give the model.npz that a fit wrote.")
    if arrays["pglearn_format"] != FORMAT:
        raise ModelFileError(
            f"{path} was written by pglearn {arrays['pglearn_version']} in format {arrays['pglearn_format']}; this is "
            f"pglearn {__version__}, which reads format {FORMAT}: use that version, or fit again with this one."
        )
    return arrays
