"""What happens during a search, as one stream of plain records that any number of listeners read.

Every record has `event`, `time` (seconds since the epoch), `number` (0, 1, 2, … in a search, over all processes that
had a part in it) and the fields that docs/events.md lists.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TextIO, TypeAlias

import numpy as np

from pglearn.errors import InputError, warn
from pglearn.files import plain, whole_file

Event: TypeAlias = dict[str, Any]
Listener: TypeAlias = Callable[[Event], None]

VERSION = 1


class Stream:
    """Sends every event to all listeners, and counts them, from where an earlier process stopped."""

    def __init__(self, listeners: Iterable[Listener] = (), told: int = 0) -> None:
        self._listeners = tuple(listeners)
        self.told = told

    def __call__(self, event: str, **fields: Any) -> None:
        record = {"event": event, "time": time.time(), "number": self.told, **fields}
        self.told += 1
        for listener in self._listeners:
            listener(record)


class EventLog:
    """A listener that writes each event as one line of JSON, complete when it is there.

    The file is opened by the first event: a fit that fails before it searches leaves an earlier log alone. If that
    event goes on with a search, so does the log, less the records of what is now done again. A log that cannot be
    written any more (disk full), or gone on with (damaged), is given up with a warning; the search goes on.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._given_up = False

    def __call__(self, event: Event) -> None:
        if self._given_up:
            return
        try:
            if self._file is None:
                self._file = self._opened(event.get("number", 0))
            self._file.write(_line(event))
            self._file.flush()
        except (
            OSError,
            ValueError,
            TypeError,
            KeyError,
        ) as error:  # of a log that was damaged before the search resumed
            self._given_up = True
            reason = getattr(error, "strerror", None) or error
            warn(f"{self._path} is not written on ({reason}); the search goes on.")

    def _opened(self, number: int) -> TextIO:
        """The file, holding the records before `number`."""
        if number and self._path.is_file():
            kept = [record for record in read_events(self._path) if record["number"] < number]
            with whole_file(self._path) as file:
                file.writelines(_line(record).encode() for record in kept)
            return self._path.open("a", encoding="utf-8")
        return self._path.open("w", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with suppress(OSError):  # what could not be written has been said
                self._file.close()


def read_events(path: Path) -> list[Event]:
    """The events of a log, which may still be written: a last line that is not complete yet is left out."""
    with path.open(encoding="utf-8", errors="replace") as file:
        try:
            return [json.loads(line) for line in file if line.endswith("\n")]
        except ValueError as error:
            raise InputError(f"{path} is no log of pglearn ({error}): give an events.jsonl.") from error


def _line(event: Event) -> str:
    """Without arrays: d numbers per candidate and round would outgrow everything else that is logged."""
    numbers = {name: value for name, value in event.items() if not isinstance(value, np.ndarray)}
    return json.dumps(plain(numbers), allow_nan=False) + "\n"
