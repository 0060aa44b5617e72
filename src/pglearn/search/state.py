"""Where a search stands: all that Algorithm 2 needs to go on, as plain arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from pglearn.arrays import Array
from pglearn.search.runs import Lifetime, Run

NAMES = [field.name for field in fields(Run) if field.name != "lifetime"]
VECTORS = [field.name for field in fields(Run) if "Array" in str(field.type)]


@dataclass(frozen=True, eq=False)
class State:
    """A search between two parts of a round.

    Candidates stand here as they did after the last part that they ran; what they have spent says how much of the
    round is behind them. So each goes on from there, and ends up where it would have.
    """

    candidates: list[Run]
    """All that were drawn, in order."""
    round: int = 0
    """The round that runs, counted from 0; as many as there are rounds when the search is over."""
    seconds: float = 0.0
    """Spent on the search so far."""
    events: int = 0
    """Told so far."""

    @property
    def alive(self) -> list[Run]:
        return [candidate for candidate in self.candidates if candidate.lifetime.died is None]

    def with_candidates(self, changed: Iterable[Run]) -> State:
        candidates = list(self.candidates)
        for candidate in changed:
            candidates[candidate.id] = candidate  # ids count the draws
        return replace(self, candidates=candidates)

    def to_arrays(self) -> dict[str, Array]:
        """All of it, without Python objects: a vector each, the rest as JSON."""
        records = [
            {**{name: getattr(run, name) for name in NAMES}, "lifetime": asdict(run.lifetime)}
            for run in self.candidates
        ]
        vectors = {
            f"{name}_{record['id']}": vector
            for record in records
            for name in VECTORS
            if (vector := record.pop(name)) is not None
        }
        rest = {"candidates": records, "round": self.round, "seconds": self.seconds, "events": self.events}
        return {"state": np.array(json.dumps(rest, default=lambda number: number.item())), **vectors}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> State:
        rest: dict[str, Any] = json.loads(str(arrays["state"]))
        for record in rest["candidates"]:
            record["history"] = tuple(tuple(entry) for entry in record["history"])
            record["lifetime"] = Lifetime(**record["lifetime"])
            record |= {name: arrays.get(f"{name}_{record['id']}") for name in VECTORS}
        return cls(**{**rest, "candidates": [Run(**record) for record in rest["candidates"]]})
