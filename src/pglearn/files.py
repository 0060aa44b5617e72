"""Files appear complete or not at all, and only where asked."""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from pglearn.errors import OutputError
from pglearn.problem import Array

UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RuntimeError,
    MemoryError,
)
"""What `read_arrays` raises for a file that is no .npz, was cut short or holds Python objects."""


def read_arrays(path: Path) -> dict[str, Array]:
    """All arrays of an .npz file, without pickle."""
    # numpy leaves a file open that it cannot read
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


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
            f"The output folder {folder} cannot be written ({error.strerror}): choose another with -o. Nothing was run."
        ) from error
    for name in names:
        if (folder / name).exists() and not (folder / name).is_file():
            raise OutputError(f"{folder / name} is not an ordinary file, and one is to be written there: move it.")
    return folder


def refuse_replacing(table: Path, *results: Path) -> None:
    """Raise when one of the files to be written is the table that is read, by whatever name."""
    for path in results:
        if path.exists() and table.exists() and path.samefile(table):
            raise OutputError(f"{path} is the table itself, which the results would replace: choose another -o.")
