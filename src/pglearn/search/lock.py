"""One process at a time in a folder, by a lock that the operating system takes back when the process dies."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import ClassVar, Self

from pglearn.errors import CheckpointError, OutputError

if sys.platform == "win32":
    import msvcrt

    def _take(file: FileIO) -> None:
        file.seek(1 << 20)  # beyond the process id, which others may read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        file.seek(0)

else:
    import fcntl

    def _take(file: FileIO) -> None:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Lock:
    """Held from `with` to its end; whoever comes meanwhile is told which process has it.

    The lock is on an open file, so that no stale one is left behind, however the process ends. POSIX gives it to the
    process as a whole: children do not inherit it, and a second search in the same process must be refused by us.
    """

    _held: ClassVar[set[Path]] = set()
    _holding = threading.Lock()

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()

    def __enter__(self) -> Self:
        with self._holding:
            if self._path in self._held:  # and do not open it: to close a file gives up the lock on it
                raise self._refusal(os.getpid())
            self._held.add(self._path)  # before it is opened: POSIX would give the lock to another thread, too
        try:
            self._open()
        except BaseException:
            self._held.discard(self._path)
            raise
        self._sign()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._held.discard(self._path)  # last: the lock of a thread that comes in between would be given up

    def _open(self) -> None:
        try:
            self._file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644), "r+b", buffering=0)
        except OSError as error:
            raise OutputError(f"{self._path} cannot be written ({error.strerror}): choose another folder.") from error
        try:
            _take(self._file)
        except OSError as error:
            owner = self._file.read(20).decode(errors="replace").strip()
            self._file.close()
            raise self._refusal(owner) from error

    def _sign(self) -> None:
        with suppress(OSError):  # a full disk: the lock holds, only its owner is not named
            self._file.truncate(0)
            self._file.write(str(os.getpid()).encode())

    def _refusal(self, owner: int | str) -> CheckpointError:
        who = f"process {owner}" if owner else "another process"
        return CheckpointError(
            f"{self._path.parent} is in use by {who}: wait until its search has ended, or give another folder."
        )
