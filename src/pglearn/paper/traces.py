"""One search of PG-learn watched from outside: what each candidate would have answered at the end of each round.

The search tells its listeners where its candidates stand (`pglearn.search.events`). Their labels are worked out when
the fit is over, so that looking costs the search no time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


@dataclass(frozen=True, eq=False)
class Trace:
    """A row per candidate and round, in the order of the rounds, and the learned weights.

    `until` is the end of the round in units; `loss` and `validation` are of the best point that the candidate has seen
    by then, on the hidden labels, and `test` is the accuracy of its answer on the test rows.
    """

    rows: pd.DataFrame
    weights: Array

    @classmethod
    def from_events(
        cls, events: Sequence[Event], model: Any, X: Array, y: Array, accuracy: Callable[[Array], float]
    ) -> Trace:
        """After the fit. The candidates of the paper's PG-learn weigh the features as they are given."""
        problem, engine = Problem.from_labels(X, y), CPUEngine(propagation=LGC(model.alpha))
        rows, until = [], 0.0
        for event in events:
            if event["event"] == "round_started":
                until = float(event["until"])
            elif event["event"] == "candidate_advanced" and np.isfinite(event["loss"]):
                F = engine.propagate(problem, weighted_graph(X, event["a"], event["k"])).F
                test = accuracy(problem.classes[F.argmax(axis=1)])
                rows.append((event["candidate"], until, event["loss"], event["accuracy"], test))
        columns = ["candidate", "until", "loss", "validation", "test"]
        return cls(pd.DataFrame(rows, columns=columns), np.asarray(model.feature_weights_))

    @property
    def best(self) -> pd.DataFrame:
        """At the end of each round, the candidate with the lowest loss of those that were alive."""
        return self.rows.loc[self.rows.groupby("until")["loss"].idxmin()]

    def save(self, path: Path) -> None:
        columns: dict[str, Any] = {str(name): column for name, column in self.rows.items()}
        with whole_file(path) as file:
            np.savez(file, weights=self.weights, **columns)

    @classmethod
    def load(cls, path: Path) -> Trace:
        arrays = read_arrays(path)
        weights = arrays.pop("weights")
        return cls(pd.DataFrame(arrays), weights)
