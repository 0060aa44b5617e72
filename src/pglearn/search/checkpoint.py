"""A search that survives the death of its process: its state in a folder, written as it goes.

`state.npz` has a `State` as arrays, what identifies the search, and the SHA-256 of all of that; nothing is pickled. It
takes the place of the one before when it is complete, so neither a kill in mid-write nor a full disk costs more than
what lies between two of them. `lock` is held by the process that runs the search.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pglearn.arrays import Array
from pglearn.errors import CheckpointError, OutputError, warn
from pglearn.files import digest, plain, writable_folder
from pglearn.search.events import Stream
from pglearn.search.state import State
from pglearn.sections import Expectation, Section, Sections, read_sections, write_sections

try:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
except ImportError:  # on Windows nobody is kept out
    flock = None  # type: ignore[assignment]

EVERY = 30.0  # seconds between two states within a round
NAME, LOCK = "state.npz", "lock"
IDENTITY = Section("identity", 1, parts=Expectation("X, y and the parameters, as texts to compare", "record"))


def identity_of(data: Mapping[str, Mapping[str, Array]], parameters: Mapping[str, Any]) -> dict[str, str]:
    """What makes a search the one that it is: X, y and every parameter that its answer depends on."""
    digests = {name: f"sha256 {digest(arrays)}" for name, arrays in data.items()}
    return digests | {name: json.dumps(plain(value)) for name, value in parameters.items()}


def _differences(stored: Mapping[str, str], given: Mapping[str, str]) -> str:
    """A few words for each part that is not as it was."""
    words = []
    for name in {**stored, **given}:
        was, now = stored.get(name, "not there"), given.get(name, "not there")
        if was != now:
            words.append(f"{name} has changed" if str(was).startswith("sha256 ") else f"{name} was {was} and is {now}")
    return "; ".join(words)


class Checkpoint:
    """A checkpoint in a folder that this process holds the lock of; made by :func:`opened`."""

    found: State | None
    """Where an earlier process stopped."""

    def __init__(self, folder: Path, identity: dict[str, str]) -> None:
        self._folder = folder
        self._identity = identity
        self._written = time.monotonic()
        self._pending: State | None = None
        self.found = self._read()

    def keep(self, state: State, emit: Stream, *, at_once: bool) -> None:
        """Take note of a state that can be gone on from; it is written at once or when enough time has passed."""
        self._pending = state
        if not at_once and time.monotonic() - self._written < EVERY:
            return
        why = self.flush()
        if why is None:
            emit("checkpoint_written", round=state.round)
        else:
            emit("checkpoint_failed", round=state.round, reason=why)

    def flush(self) -> str | None:
        """Write the last state that was noted, if it is not written yet. A full disk does not end the search: the
        state before stays, and the reason comes back."""
        if self._pending is None:
            return None
        self._written = time.monotonic()
        try:
            content = {**IDENTITY.arrays({"parts": self._identity}), **self._pending.to_arrays()}
            write_sections(self._folder / NAME, content)
        except OutputError as error:
            warn(f"{error} The search goes on; the checkpoint before stays.")
            return str(error)
        self._pending = None
        return None

    def refused(self, why: str) -> CheckpointError:
        return CheckpointError(f"{self._folder / NAME} {why}. To begin again, remove {self._folder}.")

    def _read(self) -> State | None:
        path = self._folder / NAME
        if not path.exists():
            return None
        foreign = self.refused("is an .npz file but not a checkpoint")
        file = Sections(read_sections(path, IDENTITY, self.refused, foreign), self.refused)
        if differences := _differences(file.read(IDENTITY)["parts"], self._identity):
            raise CheckpointError(
                f"{self._folder} holds the checkpoint of another search: {differences}. Go on with what it "
                "was begun with, or give another folder."
            )
        return State.from_sections(file)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Whoever comes meanwhile, this process too, is told who has it. The operating system takes the lock back when the
    process ends, however it does."""
    with (folder / LOCK).open("a+b", buffering=0) as file:
        try:
            if flock is not None:
                flock(file, LOCK_EX | LOCK_NB)
        except OSError as error:
            file.seek(0)
            owner = (file.read(20) or b"unknown").decode()
            raise CheckpointError(
                f"{folder} is in use by process {owner}: wait until its search has ended, or give another folder."
            ) from error
        with suppress(OSError):  # a full disk: the lock holds, only its owner is not named
            file.truncate(0)
            file.write(str(os.getpid()).encode())
        try:
            yield
        finally:
            if flock is not None:
                flock(file, LOCK_UN)  # a process that starts just now may have it open for a moment


@contextmanager
def opened(folder: Path, identity: dict[str, str]) -> Iterator[Checkpoint]:
    """The checkpoint in `folder`, made if need be; whatever ends the search, the last state noted is written."""
    with locked(writable_folder(folder)):
        for left_behind in folder.glob(f".{NAME}-*"):  # by a process that was killed as it wrote
            left_behind.unlink()
        checkpoint = Checkpoint(folder, identity)
        try:
            yield checkpoint
        finally:
            checkpoint.flush()
