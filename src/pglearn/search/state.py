"""Where a search stands: all that Algorithm 2 needs to go on, and how it is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from pglearn.arrays import Array
from pglearn.search.draws import Draws
from pglearn.search.runs import Run
from pglearn.search.schedule import Schedule
from pglearn.sections import Expectation, Section, Sections

SEARCH = Section(
    "search",
    1,
    round=Expectation("the round that runs, from 0; behind the last when all is done", "whole number", low=0),
    seconds=Expectation("spent on the search", low=0),
    events=Expectation("told", "whole number", low=0),
    n_candidates=Expectation("how many were drawn", "whole number", low=1),
)
CANDIDATE = Section(
    "candidate",
    1,
    k=Expectation("neighbours per row", "whole number", low=0),
    view=Expectation("the view in which it weights features", "whole number", low=0),
    a=Expectation("weights where it stands", shape=("q",), low=0),
    dg_da=Expectation("the gradient there", shape=("q",), optional=True),
    best=Expectation("weights of the lowest loss", shape=("q",), low=0, optional=True),
    loss=Expectation("the lowest", finite=False),
    accuracy=Expectation("where the loss was lowest", low=0, high=1, finite=False),
    recall=Expectation("the lowest of its graphs", low=0, high=1),
    born=Expectation("units at which it was drawn", low=0),
    died=Expectation("units at which it was eliminated", low=0, optional=True),
    evaluated=Expectation("steps at which it was evaluated", "whole number", ("evaluations",), low=0),
    losses=Expectation("what was found then", shape=("evaluations",)),
    accuracies=Expectation("what was found then", shape=("evaluations",), low=0, high=1, finite=False),
    converged=Expectation("whether nothing more is to be gained", "truth value"),
    failure=Expectation("why it ended early", "text", optional=True),
    seconds=Expectation("that went into evaluations", low=0),
    spent=Expectation("steps or seconds used", low=0),
)


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
        return [candidate for candidate in self.candidates if candidate.died is None]

    def with_candidates(self, changed: Iterable[Run]) -> State:
        candidates = list(self.candidates)
        for candidate in changed:
            candidates[candidate.id] = candidate  # ids count the draws
        return replace(self, candidates=candidates)

    def fits(self, schedule: Schedule, draws: Draws) -> bool:
        """Whether a search with this schedule and these draws can have come to stand here."""
        T, replaced = schedule.population, schedule.population - schedule.survivors
        passed = schedule.milestones[:-1][: self.round]  # where candidates were replaced
        views = {draws.draw(id).view for id in range(T)}
        return (
            self.round <= len(schedule.milestones)
            and [run.born for run in self.candidates] == [0.0] * T + sorted(passed * replaced)
            and len(self.alive) == T
            and (self.round == 0 or any(run.started for run in self.candidates))
            and all(run.died in (None, *passed) and run.view in views for run in self.candidates)
            and all(run.comes_from(draws.draw(run.id, run.view)) for run in self.candidates)
        )

    def to_arrays(self) -> dict[str, Array]:
        """All of it, in sections."""
        found = SEARCH.arrays(vars(self) | {"n_candidates": len(self.candidates)})
        for run in self.candidates:
            steps, losses, accuracies = np.array(run.history, dtype=np.float64).reshape(-1, 3).T
            history = {"evaluated": steps.astype(np.int64), "losses": losses, "accuracies": accuracies}
            found |= CANDIDATE.arrays(vars(run) | history, run.id)
        return found

    @classmethod
    def from_sections(cls, file: Sections) -> State:
        """What :meth:`to_arrays` wrote."""
        search = file.read(SEARCH)
        candidates = []
        for number in range(search.pop("n_candidates")):
            stored = file.read(CANDIDATE, number)
            columns = [stored.pop(name).tolist() for name in ("evaluated", "losses", "accuracies")]
            candidates.append(Run(id=number, history=tuple(zip(*columns, strict=True)), **stored))
        return cls(candidates=candidates, **search)
