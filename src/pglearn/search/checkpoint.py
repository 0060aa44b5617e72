"""A search that survives the death of its process: its state in a folder, written as it goes.

Two files take turns, each written whole and with a checksum; the newer one that can be read counts. So neither a kill
in mid-write nor a full disk nor a damaged file costs more than what lies between two of them. Nothing in the folder is
pickled.

| file                         | what it is                                                             |
|------------------------------|------------------------------------------------------------------------|
| state-0.npz, state-1.npz     | `State` as arrays; format, pglearn's version, a number that counts up,  |
|                              | what identifies the search, and the SHA-256 of all of that             |
| lock                         | held by the process that runs the search, whose id it contains         |
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pglearn.errors import CheckpointError, OutputError
from pglearn.files import UNREADABLE, read_arrays, whole_file
from pglearn.problem import Array
from pglearn.search.events import Stream
from pglearn.search.lock import Lock
from pglearn.search.state import State

FORMAT = 3
EVERY = 30.0  # seconds between two states within a round
SLOTS = ("state-0.npz", "state-1.npz")


class Checkpoint(Protocol):
    """Where a search begins, and where it leaves what it has done."""

    @property
    def found(self) -> State | None:
        """Where an earlier process stopped."""
        ...

    def keep(self, state: State, emit: Stream, *, at_once: bool) -> None:
        """Take note of a state that can be gone on from; it is written at once or when enough time has passed."""
        ...


class Nowhere:
    """No checkpoint."""

    found = None

    def keep(self, state: State, emit: Stream, *, at_once: bool) -> None:
        pass


NOWHERE = Nowhere()


class Identity:
    """What makes a search the one that it is: X, y and every parameter that its answer depends on."""

    def __init__(self, data: Mapping[str, Mapping[str, Array]], parameters: Mapping[str, Any]) -> None:
        self.parts = {name: f"sha256 {digest(arrays)}" for name, arrays in data.items()}
        self.parts |= {name: json.dumps(_plain(value)) for name, value in parameters.items()}

    def differences(self, stored: Mapping[str, str]) -> list[str]:
        """A few words for each part that is not as it was."""
        names = [name for name in {**stored, **self.parts} if stored.get(name) != self.parts.get(name)]
        return [self._difference(name, stored.get(name), self.parts.get(name)) for name in names]

    @staticmethod
    def _difference(name: str, was: str | None, now: str | None) -> str:
        if was is not None and was.startswith("sha256 "):
            return f"{name} has changed"
        return f"{name} was {was or 'not there'} and is {now or 'not there'}"


class Folder:
    """A checkpoint in a folder that this process holds the lock of; made by :func:`opened`."""

    def __init__(self, folder: Path, identity: Identity) -> None:
        self._folder = folder
        self._identity = identity
        self._number = 0
        self._written = time.monotonic()
        self._pending: State | None = None
        self._failing = False
        self.found = self._newest()

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
        content = {
            **self._pending.to_arrays(),
            "pglearn_checkpoint": np.array(FORMAT),
            "number": np.array(self._number + 1),
            "identity": np.array(json.dumps(self._identity.parts)),
        }
        self._written = time.monotonic()
        try:
            with whole_file(self._folder / SLOTS[(self._number + 1) % 2]) as file:
                np.savez(file, **content, checksum=np.array(digest(content)))  # type: ignore[arg-type]
        except OutputError as error:
            if not self._failing:
                warnings.warn(f"{error} The search goes on; the checkpoint before stays.", stacklevel=2)
            self._failing = True
            return str(error)
        self._number, self._pending, self._failing = self._number + 1, None, False
        return None

    def _newest(self) -> State | None:
        """The newer state that can be read. What cannot is refused with a sentence, aloud if the other serves."""
        readable, refused = [], []
        for name in SLOTS:
            if (self._folder / name).exists():
                try:
                    readable.append(_read(self._folder / name))
                except CheckpointError as error:
                    refused.append(str(error))
        if not readable:
            if refused:
                raise CheckpointError(f"{' '.join(refused)} To begin again, remove {self._folder}.")
            return None
        arrays = max(readable, key=lambda arrays: int(arrays["number"]))
        if differences := self._identity.differences(json.loads(str(arrays["identity"]))):
            raise CheckpointError(
                f"{self._folder} holds the checkpoint of another search: {'; '.join(differences)}. Go on with what it "
                "was begun with, or give another folder."
            )
        for sentence in refused:
            warnings.warn(f"{sentence} The search goes on from the one before.", stacklevel=2)
        self._number = int(arrays["number"])
        return State.from_arrays(arrays)


@contextmanager
def opened(folder: Path, identity: Identity) -> Iterator[Folder]:
    """The checkpoint in `folder`, made if need be; whatever ends the search, the last state noted is written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder {folder} cannot be made ({error.strerror}): choose another.") from error
    with Lock(folder / "lock"):
        for left_behind in folder.glob(".state-*"):  # by a process that was killed as it wrote
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
    with suppress(CheckpointError), Lock(folder / "lock"):
        for name in (*beside, *SLOTS, "lock"):
            (folder / name).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def digest(arrays: Mapping[str, Array]) -> str:
    """SHA-256 of names, types, shapes and numbers."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        if array.dtype == object:
            array = array.astype(str)
        total.update(f"{name} {array.dtype.str} {np.shape(arrays[name])}\n".encode())
        total.update(array.reshape(-1).view(np.uint8).data if array.size else b"")
    return total.hexdigest()


def _read(path: Path) -> dict[str, Array]:
    """The arrays of a state, checked."""
    try:
        arrays = read_arrays(path)
    except UNREADABLE as error:
        raise CheckpointError(f"{path} is not a checkpoint or was cut short ({error}).") from error
    if "pglearn_checkpoint" not in arrays or "checksum" not in arrays:
        raise CheckpointError(f"{path} is not a checkpoint of pglearn.")
    if arrays["pglearn_checkpoint"] != FORMAT:
        raise CheckpointError(
            f"{path} is a checkpoint in format {arrays['pglearn_checkpoint']}, and this version of pglearn reads "
            f"format {FORMAT}."
        )
    if str(arrays.pop("checksum")) != digest(arrays):
        raise CheckpointError(f"{path} is damaged: its checksum is not that of its content.")
    return arrays


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it, the same for 5 and np.int64(5), (1, 2) and [1, 2]."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
