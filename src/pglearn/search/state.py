"""Where a search stands: all that Algorithm 2 needs to go on, as plain arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from pglearn.problem import Array
from pglearn.search.candidate import Candidate, Draws

NAMES = [field.name for field in fields(Candidate)]
VECTORS = [field.name for field in fields(Candidate) if "Array" in str(field.type)]


@dataclass(frozen=True, eq=False)
class State:
    """A search between two candidates that come back, or two parts of their stints.

    Candidates that are under way stand here as they did after the last part of their stint (`Candidate.done` says how
    much that is): one that is interrupted goes on from there, and ends up where it would have.
    """

    candidates: list[Candidate]
    """All that were drawn, in order."""
    round: int = 0
    """The round that runs, counted from 0; as many as there are rounds when the search is over."""
    back: frozenset[int] = frozenset()
    """Ids of those that have run in this round."""
    seconds: float = 0.0
    """Spent on the search so far."""
    events: int = 0
    """Told so far."""

    @classmethod
    def at_the_start(cls, draws: Draws, population: int) -> State:
        return cls([draws.candidate(id) for id in range(population)])

    def units(self, milestones: Sequence[float]) -> float:
        """Of work that all candidates together have behind them."""
        starts = [0.0, *milestones]
        done = starts[self.round] * len(self.alive)
        return done + len(self.back) * (starts[self.round + 1] - starts[self.round] if self.back else 0.0)

    @property
    def alive(self) -> list[Candidate]:
        return [candidate for candidate in self.candidates if candidate.died is None]

    @property
    def waiting(self) -> list[Candidate]:
        """Those that have yet to run in this round."""
        return [candidate for candidate in self.alive if candidate.id not in self.back]

    @property
    def has_begun(self) -> bool:
        """Whether anybody has run in this round."""
        return bool(self.back) or any(candidate.done for candidate in self.alive)

    def with_part(self, group: Sequence[Candidate]) -> State:
        """With those that have run a part of their stint, and have yet to come back."""
        candidates = list(self.candidates)  # that state may yet be written
        for candidate in group:
            candidates[candidate.id] = candidate  # ids count the draws
        return replace(self, candidates=candidates)

    def with_back(self, candidate: Candidate) -> State:
        return replace(self.with_part([candidate]), back=self.back | {candidate.id})

    def to_arrays(self) -> dict[str, Array]:
        """All of it, without Python objects: vectors one after another, the rest as JSON."""
        rest = {
            "round": self.round,
            "back": sorted(self.back),
            "seconds": self.seconds,
            "events": self.events,
            "candidates": [
                {name: getattr(candidate, name) for name in NAMES if name not in VECTORS}
                for candidate in self.candidates
            ],
        }
        arrays = {"state": np.array(json.dumps(rest, default=lambda number: number.item()))}
        for name in VECTORS:
            vectors = [getattr(candidate, name) for candidate in self.candidates]
            arrays[f"{name}_sizes"] = np.array([-1 if vector is None else len(vector) for vector in vectors])
            arrays[name] = np.concatenate([vector for vector in vectors if vector is not None] or [np.empty(0)])
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> State:
        rest = json.loads(str(arrays["state"]))
        records = rest.pop("candidates")
        for name in VECTORS:
            sizes = arrays[f"{name}_sizes"]
            parts = np.split(arrays[name], np.cumsum(np.maximum(sizes, 0))[:-1])
            for record, size, part in zip(records, sizes, parts, strict=True):
                record[name] = None if size < 0 else part
        for record in records:
            record["history"] = [tuple(entry) for entry in record["history"]]
        candidates = [Candidate(**record) for record in records]
        return cls(candidates, rest["round"], frozenset(rest["back"]), rest["seconds"], rest["events"])
