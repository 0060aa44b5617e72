"""A model as one .npz file: plain arrays, a format number, no pickle."""

from __future__ import annotations

import zipfile
import zlib
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from pglearn.errors import ModelFileError
from pglearn.files import whole_file
from pglearn.problem import Array

FORMAT = 3


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
        # numpy leaves a file open that it cannot read
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        NotImplementedError,
    ) as error:
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
