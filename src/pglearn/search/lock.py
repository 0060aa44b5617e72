"""One process at a time in a folder, by a lock that the operating system takes back when the process dies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from pglearn.errors import CheckpointError, OutputError

if sys.platform == "win32":
    import msvcrt

    def _take(file: FileIO) -> None:
        file.seek(1 << 20)  # beyond the process id, which others may read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        file.seek(0)

    def _release(file: FileIO) -> None:
        pass  # by closing it

else:
    import fcntl

    def _take(file: FileIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.register_at_fork(after_in_child=file.close)  # else a fork would hold the lock when its parent has died

    def _release(file: FileIO) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)  # also if a process that starts just now has the file open for a moment


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Whoever comes meanwhile, this process too, is told who has it. The lock is on an open file, so that no stale one
    is left behind, however the process ends."""
    try:
        file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+")
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror}): choose another folder.") from error
    with file:
        try:
            _take(file)
        except OSError as error:
            owner = (file.read(20) or b"").decode(errors="replace").strip()
            raise CheckpointError(
                f"{path.parent} is in use by {f'process {owner}' if owner else 'another process'}: wait until its "
                "search has ended, or give another folder."
            ) from error
        with suppress(OSError):  # a full disk: the lock holds, only its owner is not named
            file.truncate(0)
            file.write(str(os.getpid()).encode())
        try:
            yield
        finally:
            _release(file)
