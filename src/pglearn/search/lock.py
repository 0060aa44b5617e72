"""One process at a time in a folder, by a lock that the operating system takes back when the process dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path

from pglearn.errors import CheckpointError, OutputError

try:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
except ImportError:  # on Windows nobody is kept out
    flock = None  # type: ignore[assignment]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Whoever comes meanwhile, this process too, is told who has it. The lock is on an open file, so that no stale one
    is left behind, however the process ends."""
    try:
        file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+")
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror}): choose another folder.") from error
    with file, ExitStack() as release:
        try:
            if flock is not None:
                flock(file, LOCK_EX | LOCK_NB)
                release.callback(flock, file, LOCK_UN)  # a process that starts just now may have it open for a moment
                os.register_at_fork(after_in_child=file.close)  # else a fork would hold it when its parent has died
        except OSError as error:
            owner = (file.read(20) or b"").decode(errors="replace").strip()
            raise CheckpointError(
                f"{path.parent} is in use by {f'process {owner}' if owner else 'another process'}: wait until its "
                "search has ended, or give another folder."
            ) from error
        with suppress(OSError):  # a full disk: the lock holds, only its owner is not named
            file.truncate(0)
            file.write(str(os.getpid()).encode())
        yield
