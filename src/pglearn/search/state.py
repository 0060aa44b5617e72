"""Where a search stands: all that Algorithm 2 needs to go on, as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pglearn.problem import Array
from pglearn.search.candidate import Candidate, Draws


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
    rungs: tuple[int, ...] = ()
    """Of an asynchronous search: the last round that each candidate has run, -1 for none. `round` is then how many
    have begun."""

    @classmethod
    def at_the_start(cls, draws: Draws, population: int, asynchronous: bool = False) -> State:
        return cls([draws.candidate(id) for id in range(population)], rungs=(-1,) * (population * asynchronous))

    def units(self, milestones: Sequence[float]) -> float:
        """Of work that all candidates together have behind them."""
        starts = [0.0, *milestones]
        if self.rungs:
            ran = zip(self.candidates, self.rungs, strict=True)
            return sum(milestones[last] - candidate.born for candidate, last in ran if last >= 0)
        done = starts[self.round] * len(self.alive)
        return done + len(self.back) * (starts[self.round + 1] - starts[self.round] if self.back else 0.0)

    @property
    def alive(self) -> list[Candidate]:
        return [candidate for candidate in self.candidates if candidate.died is None]

    @property
    def waiting(self) -> list[Candidate]:
        """Those that have yet to run in this round."""
        return [candidate for candidate in self.alive if candidate.id not in self.back]

    def with_back(self, candidate: Candidate) -> State:
        candidates = list(self.candidates)
        candidates[candidate.id] = candidate  # ids count the draws
        return replace(self, candidates=candidates, back=self.back | {candidate.id})

    def with_part(self, group: Sequence[Candidate]) -> State:
        """With those that have run a part of their stint, and have yet to come back."""
        candidates = list(self.candidates)
        for candidate in group:
            candidates[candidate.id] = candidate
        return replace(self, candidates=candidates)

    @property
    def has_begun(self) -> bool:
        """Whether anybody has run in this round."""
        return bool(self.back) or any(candidate.done for candidate in self.alive)

    def to_arrays(self) -> dict[str, Array]:
        """All of it, without Python objects."""
        candidates = self.candidates
        history = [entry for candidate in candidates for entry in candidate.history]
        arrays = {
            "round": np.array(self.round),
            "back": np.array(sorted(self.back), dtype=np.int64),
            "seconds": np.array(self.seconds),
            "events": np.array(self.events),
            "rungs": np.array(self.rungs, dtype=np.int64),
            "k": np.array([c.k for c in candidates]),
            "view": np.array([c.view for c in candidates]),
            "born": np.array([c.born for c in candidates]),
            "died": np.array([np.nan if c.died is None else c.died for c in candidates]),
            "steps": np.array([c.steps for c in candidates]),
            "loss": np.array([c.loss for c in candidates]),
            "accuracy": np.array([c.accuracy for c in candidates]),
            "converged": np.array([c.converged for c in candidates]),
            "failure": np.array([c.failure or "" for c in candidates], dtype=str),
            "used": np.array([c.seconds for c in candidates]),
            "recall": np.array([c.recall for c in candidates]),
            "overrun": np.array([c.overrun for c in candidates]),
            "done": np.array([c.done for c in candidates], dtype=np.float64),
            "told": np.array([c.told for c in candidates]),
            "told_seconds": np.array([c.told_seconds for c in candidates]),
            "history_sizes": np.array([len(c.history) for c in candidates]),
            "history_step": np.array([step for step, _, _ in history], dtype=np.int64),
            "history_loss": np.array([loss for _, loss, _ in history], dtype=np.float64),
            "history_accuracy": np.array([accuracy for _, _, accuracy in history], dtype=np.float64),
        }
        for name in _VECTORS:
            vectors = [getattr(candidate, name) for candidate in candidates]
            arrays[f"{name}_sizes"] = np.array([0 if vector is None else len(vector) for vector in vectors])
            arrays[name] = np.concatenate([vector for vector in vectors if vector is not None] or [np.empty(0)])
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> State:
        vectors = {name: _parts(arrays[name], arrays[f"{name}_sizes"]) for name in _VECTORS}
        sizes = arrays["history_sizes"]
        steps, losses, accuracies = (_parts(arrays[f"history_{name}"], sizes) for name in ("step", "loss", "accuracy"))
        candidates = [
            Candidate(
                id,
                int(arrays["k"][id]),
                vectors["a"][id],
                int(arrays["view"][id]),
                float(arrays["born"][id]),
                None if np.isnan(arrays["died"][id]) else float(arrays["died"][id]),
                int(arrays["steps"][id]),
                vectors["dg_da"][id] if len(vectors["dg_da"][id]) else None,
                vectors["best"][id] if len(vectors["best"][id]) else None,
                float(arrays["loss"][id]),
                float(arrays["accuracy"][id]),
                bool(arrays["converged"][id]),
                str(arrays["failure"][id]) or None,
                list(zip(steps[id].tolist(), losses[id].tolist(), accuracies[id].tolist(), strict=True)),
                float(arrays["used"][id]),
                float(arrays["recall"][id]),
                vectors["anchor"][id] if len(vectors["anchor"][id]) else None,
                float(arrays["overrun"][id]),
                float(arrays["done"][id]),
                int(arrays["told"][id]),
                float(arrays["told_seconds"][id]),
            )
            for id in range(len(arrays["k"]))
        ]
        back = frozenset(int(id) for id in arrays["back"])
        seconds, events = float(arrays["seconds"]), int(arrays["events"])
        return cls(candidates, int(arrays["round"]), back, seconds, events, tuple(arrays["rungs"].tolist()))


def _parts(joined: Array, sizes: Array) -> Sequence[Array]:
    return np.split(joined, np.cumsum(sizes)[:-1])


_VECTORS = ("a", "dg_da", "best", "anchor")
