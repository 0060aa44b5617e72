"""NumPy archives (.npz) to data frames, never unpickling anything."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pglearn.errors import InputError
from pglearn.tables.frames import array_names


def read_archive(path: Path, target: str | None, as_text: Collection[str] = ()) -> pd.DataFrame:
    """Read `X`, `feature_names` (optional) and the labels (optional) of an .npz file; see `read_table`."""
    label_name = "y" if target is None else target
    arrays = _arrays(path, ("X", "feature_names", label_name))
    X = arrays["X"]
    if X.ndim != 2:
        raise InputError(f"{path} holds X with {X.ndim} dimensions. Give X as a 2-D array, one row per example.")
    if X.dtype.kind not in "biuf":
        raise InputError(f"{path} holds X of type {X.dtype}. Give X as an array of real numbers.")
    names = arrays.get("feature_names", np.array(array_names(X.shape[1]), dtype=str))
    if names.dtype.kind != "U" or names.shape != X.shape[1:]:
        raise InputError(
            f"{path} holds feature_names of type {names.dtype} and shape {names.shape}. "
            f"Give a 1-D array of {X.shape[1]} strings, one per column of X."
        )
    frame = pd.DataFrame(X, columns=names.tolist())  # with two columns of one name, perhaps: read_table refuses them
    if label_name not in arrays:
        return frame
    labels = arrays[label_name]
    if labels.shape != (len(X),):
        raise InputError(
            f"{path} holds {label_name!r} of shape {labels.shape} beside X with {len(X)} rows. "
            f"Give {label_name!r} as a 1-D array with one label per row."
        )
    return pd.concat([frame, pd.Series(_with_missing(labels), name=label_name)], axis=1)


def _arrays(path: Path, wanted: tuple[str, ...]) -> dict[str, npt.NDArray[Any]]:
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path} is not an .npz archive, or it is cut short. Write it again with numpy.savez.")
    name, arrays = "", {}
    try:
        with np.load(path, allow_pickle=False) as archive:
            for name in [name for name in wanted if name in archive.files]:
                arrays[name] = np.asarray(archive[name])
            found = ", ".join(archive.files[:10]) or "none"
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError) as error:
        raise InputError(f"{path} is damaged ({error}). Write it again with numpy.savez.") from error
    except ValueError as error:  # what numpy raises for an array of Python objects, which would need pickle
        raise InputError(
            f"{path} holds an array {name!r} that cannot be loaded without pickle, which can run code. "
            "Write it again as an array of numbers or of fixed-width text, for example with .astype(str)."
        ) from error
    if "X" not in arrays:
        raise InputError(f"{path} holds no array called X (arrays found: {found}). Save the features as X.")
    return arrays


def _with_missing(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The labels with None for -1 among integers, which have no other way to say that a row is to be labelled.

    Elsewhere NaN or a blank says it, and `split_target` refuses -1.
    """
    if labels.dtype.kind == "S":
        return np.char.decode(labels, "utf-8")
    return np.where(labels == -1, np.array(None), labels) if labels.dtype.kind == "i" else labels
