"""Files appear complete or not at all, and only where asked; and what they hold: arrays, their digest, plain JSON."""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from pglearn.arrays import Array
from pglearn.errors import OutputError


def read_arrays(path: Path) -> dict[str, Array]:
    """All arrays of an .npz file; ValueError for any other file, one cut short, or Python objects."""
    try:
        # numpy leaves a file open that it cannot read
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def digest(arrays: Mapping[str, Array]) -> str:
    """SHA-256 of the arrays with their names, types and shapes: the same however a file was compressed."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        array = array.astype(str) if array.dtype == object else array
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.size else b"")
    return total.hexdigest()


def plain(value: Any) -> Any:
    """As JSON has it, the same for 5 and np.int64(5), (1, 2) and [1, 2]. It has no infinity, which is null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of `path` when done; on an error `path` is as before."""
    path = path.resolve()  # the file that a link points to, not the link
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not an ordinary file: choose another name.")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror}): choose a folder you may write to.") from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, path.stat().st_mode if path.exists() else 0o644)  # mkstemp's are for nobody else to read
        os.replace(name, path)
    except OSError as error:
        raise OutputError(f"{path} could not be written ({error.strerror}): is the disk full?") from error
    finally:
        Path(name).unlink(missing_ok=True)


def writable_folder(folder: Path, *names: str) -> Path:
    """`folder`, made if need be, after trying to write into it; `names` are the files that will be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(
            f"The folder {folder} cannot be written ({error.strerror}): choose another. Nothing was run."
        ) from error
    for name in names:
        if (folder / name).exists() and not (folder / name).is_file():
            raise OutputError(f"{folder / name} is not an ordinary file, and one is to be written there: move it.")
    return folder


def refuse_replacing(table: Path, *results: Path) -> None:
    """Raise when one of the files to be written is the table that is read, by whatever name."""
    for path in results:
        if path.exists() and table.exists() and path.samefile(table):
            raise OutputError(
                f"{path} is the table itself, which the results would replace: choose another name or folder."
            )
