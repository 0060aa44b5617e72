"""What happens during a search, as one stream of plain records that any number of listeners read.

Every record has `event`, `time` (seconds since the epoch) and the fields below.

| event                | fields                                                                   |
|----------------------|--------------------------------------------------------------------------|
| search_started       | version, engine, points, features, classes, labelled, scored, budget,    |
|                      | rounds, candidates, configurations                                       |
| round_started        | round, until (units), candidates (ids)                                   |
| candidate_advanced   | candidate, k, basis, born, steps, loss, accuracy, converged, failure,    |
|                      | history, a                                                               |
| candidate_eliminated | candidate, at (units)                                                    |
| candidate_drawn      | candidate, k, basis, born                                                |
| round_ended          | round, best, loss, accuracy                                              |
| search_ended         | reason (finished, interrupted or out of time), best, loss, accuracy      |

The search of a baseline (`pglearn.baselines`) has no rounds. Its `search_started` has `method` in place of engine,
rounds, candidates and configurations, and `trial_ended` (candidate, step, k, loss, accuracy, spent) ends every trial.

`basis` is the position of the candidate's basis among those of the search. `history` lists [step, loss, accuracy] since
the candidate's last record; `a`, an array, holds the weights of the best point it has seen, in its basis. Arrays are
for listeners: the log leaves them out. A candidate that time did not suffice to look at has no record in that round.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TextIO, TypeAlias

import numpy as np

Event: TypeAlias = dict[str, Any]
Listener: TypeAlias = Callable[[Event], None]

VERSION = 1


class Stream:
    """Sends every event to all listeners."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        self._listeners = tuple(listeners)

    def __call__(self, event: str, **fields: Any) -> None:
        record = {"event": event, "time": time.time(), **fields}
        for listener in self._listeners:
            listener(record)


class EventLog:
    """A listener that writes each event as one line of JSON, complete when it is there.

    The file is opened by the first event: a fit that fails before it searches leaves an earlier log alone. A log that
    cannot be written any more (disk full) is given up with a warning; the search goes on.
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
                self._file = self._path.open("w", encoding="utf-8")
            self._file.write(json.dumps(_plain(_without_arrays(event)), allow_nan=False) + "\n")
            self._file.flush()
        except OSError as error:
            self._given_up = True
            warnings.warn(f"{self._path} is not written on ({error.strerror}); the search goes on.", stacklevel=2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with suppress(OSError):  # what could not be written has been said
                self._file.close()


def _without_arrays(event: Event) -> Event:
    """d numbers per candidate and round would outgrow everything else that is logged."""
    return {name: value for name, value in event.items() if not isinstance(value, np.ndarray)}


def _plain(value: Any) -> Any:
    """JSON has no infinity: a loss that is not a number is null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
