"""Files appear complete or not at all, and only where asked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pglearn.errors import OutputError


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of `path` when done; on an error `path` is as before."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror}): choose a folder you may write to.") from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp keeps files private; a result is an ordinary file
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
        if (folder / name).is_dir():
            raise OutputError(f"{folder / name} is a folder, where a file is to be written: move it. Nothing was run.")
    return folder
