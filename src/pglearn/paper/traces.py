"""One search of PG-learn watched from outside: what each candidate would have answered at the end of each round.

The search tells its listeners where its candidates stand (`pglearn.search.events`). Their labels are worked out when
the fit is over, so that looking costs the search no time, and scored by the harness.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pglearn.arrays import Array
from pglearn.engine import CPUEngine
from pglearn.files import read_arrays, whole_file
from pglearn.objective.graph import weighted_graph
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC
from pglearn.search import Event


class Watcher:
    """A listener that keeps where the candidates stood at the end of each round."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._until = 0.0

    def __call__(self, event: Event) -> None:
        if event["event"] == "round_started":
            self._until = float(event["until"])
        elif event["event"] == "candidate_advanced" and np.isfinite(event["loss"]):
            self.events.append(event | {"until": self._until, "validation": event["accuracy"]})

    def trace(self, model: Any, X: Array, y: Array) -> Trace:
        """After the fit, with the labels of all rows in place of the accuracy on the test rows. The candidates of the
        paper's PG-learn weigh the features as they are given."""
        problem, engine = Problem.of(X, y), CPUEngine(propagation=LGC(model.alpha))
        graphs = (weighted_graph(X, event["a"], event["k"]) for event in self.events)
        labels = [problem.classes[engine.propagate(problem, graph).F.argmax(axis=1)] for graph in graphs]
        rows = pd.DataFrame(self.events, columns=["candidate", "until", "loss", "validation"])
        return Trace(rows.assign(test=labels), np.asarray(model.feature_weights_))


@dataclass(frozen=True, eq=False)
class Trace:
    """A row per candidate and round, in the order of the rounds, and the learned weights.

    `until` is the end of the round in units; `loss` and `validation` are of the best point that the candidate has seen
    by then, on the hidden labels, and `test` is the accuracy of its answer on the test rows.
    """

    rows: pd.DataFrame
    weights: Array

    @property
    def best(self) -> pd.DataFrame:
        """At the end of each round, the candidate with the lowest loss of those that were alive."""
        return self.rows.loc[self.rows.groupby("until")["loss"].idxmin()]

    def save(self, path: Path) -> None:
        columns: dict[str, Any] = {str(name): column.to_numpy() for name, column in self.rows.items()}
        with whole_file(path) as file:
            np.savez(file, weights=self.weights, **columns)

    @classmethod
    def load(cls, path: Path) -> Trace:
        arrays = read_arrays(path)
        weights = arrays.pop("weights")
        return cls(pd.DataFrame(arrays), weights)
