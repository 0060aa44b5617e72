"""A search that survives the death of its process: its state in a folder, written as it goes.

A state takes the place of the one before when it is complete. So neither a kill in mid-write nor a full disk costs
more than what lies between two of them. Nothing in the folder is pickled.

| file      | what it is                                                                                             |
|-----------|--------------------------------------------------------------------------------------------------------|
| state.npz | `State` as arrays, the format, what identifies the search, and the SHA-256 of all of that              |
| lock      | held by the process that runs the search, whose id it contains                                         |
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from pglearn.errors import CheckpointError, OutputError
from pglearn.files import UNREADABLE, digest, plain, read_arrays, whole_file
from pglearn.problem import Array
from pglearn.search.events import Stream
from pglearn.search.lock import locked
from pglearn.search.state import State

FORMAT = 4
EVERY = 30.0  # seconds between two states within a round
NAME = "state.npz"


class Checkpoint:
    """Where a search begins, and where it leaves what it has done: nowhere."""

    found: State | None = None
    """Where an earlier process stopped."""

    def keep(self, state: State, emit: Stream, *, at_once: bool) -> None:
        """Take note of a state that can be gone on from; it is written at once or when enough time has passed."""


class Identity:
    """What makes a search the one that it is: X, y and every parameter that its answer depends on."""

    def __init__(self, data: Mapping[str, Mapping[str, Array]], parameters: Mapping[str, Any]) -> None:
        self.parts = {name: f"sha256 {digest(arrays)}" for name, arrays in data.items()}
        self.parts |= {name: json.dumps(plain(value)) for name, value in parameters.items()}

    def differences(self, stored: Mapping[str, str]) -> list[str]:
        """A few words for each part that is not as it was."""
        names = [name for name in {**stored, **self.parts} if stored.get(name) != self.parts.get(name)]
        return [_difference(name, stored.get(name), self.parts.get(name)) for name in names]


def _difference(name: str, was: str | None, now: str | None) -> str:
    if was is not None and was.startswith("sha256 "):
        return f"{name} has changed"
    return f"{name} was {was or 'not there'} and is {now or 'not there'}"


class Folder(Checkpoint):
    """A checkpoint in a folder that this process holds the lock of; made by :func:`opened`."""

    def __init__(self, folder: Path, identity: Identity) -> None:
        self._folder = folder
        self._identity = identity
        self._written = time.monotonic()
        self._pending: State | None = None
        self._failing = False
        self.found = self._read()

    def keep(self, state: State, emit: Stream, *, at_once: bool) -> None:
        self._pending = state
        if not at_once and time.monotonic() - self._written < EVERY:
            return
        why = self.flush()
        if why is None:
            emit("checkpoint_written", round=state.round, back=sorted(state.back))
        else:
            emit("checkpoint_failed", round=state.round, reason=why)

    def flush(self) -> str | None:
        """Write the last state that was noted, if it is not written yet. A full disk does not end the search: the
        state before stays, and the reason comes back."""
        if self._pending is None:
            return None
        identity = np.array(json.dumps(self._identity.parts))
        content = {**self._pending.to_arrays(), "pglearn_checkpoint": np.array(FORMAT), "identity": identity}
        self._written = time.monotonic()
        try:
            with whole_file(self._folder / NAME) as file:
                np.savez(file, **content, checksum=np.array(digest(content)))  # type: ignore[arg-type]
        except OutputError as error:
            if not self._failing:
                warnings.warn(f"{error} The search goes on; the checkpoint before stays.", stacklevel=2)
            self._failing = True
            return str(error)
        self._pending, self._failing = None, False
        return None

    def _read(self) -> State | None:
        path = self._folder / NAME
        if not path.exists():
            return None
        try:
            arrays = read_arrays(path)
        except UNREADABLE as error:
            raise self._refused(f"is not a checkpoint or was cut short ({error})") from error
        if "pglearn_checkpoint" not in arrays or "checksum" not in arrays:
            raise self._refused("is not a checkpoint of pglearn")
        if arrays["pglearn_checkpoint"] != FORMAT:
            its = arrays["pglearn_checkpoint"]
            raise self._refused(f"is a checkpoint in format {its}, and this version of pglearn reads format {FORMAT}")
        if str(arrays.pop("checksum")) != digest(arrays):
            raise self._refused("is damaged: its checksum is not that of its content")
        if differences := self._identity.differences(json.loads(str(arrays["identity"]))):
            raise CheckpointError(
                f"{self._folder} holds the checkpoint of another search: {'; '.join(differences)}. Go on with what it "
                "was begun with, or give another folder."
            )
        return State.from_arrays(arrays)

    def _refused(self, why: str) -> CheckpointError:
        return CheckpointError(f"{self._folder / NAME} {why}. To begin again, remove {self._folder}.")


@contextmanager
def opened(folder: Path, identity: Identity) -> Iterator[Folder]:
    """The checkpoint in `folder`, made if need be; whatever ends the search, the last state noted is written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder {folder} cannot be made ({error.strerror}): choose another.") from error
    with locked(folder / "lock"):
        for left_behind in folder.glob(f".{NAME}-*"):  # by a process that was killed as it wrote
            left_behind.unlink()
        checkpoint = Folder(folder, identity)
        try:
            yield checkpoint
        finally:
            checkpoint.flush()


def remove(folder: Path, *beside: str) -> None:
    """Remove a checkpoint that is no longer needed with the files named, and its folder unless something else is in it.

    If another search has the folder by now, all of it is that one's.
    """
    if not folder.is_dir():
        return
    with suppress(CheckpointError), locked(folder / "lock"):
        for name in (*beside, NAME, "lock"):
            (folder / name).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()
