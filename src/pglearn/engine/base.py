"""The contract of an engine: what stands between the mathematics and the hardware.

An engine takes a whole population of configurations, so that one may run them in turn and another as one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pglearn.arrays import Array
from pglearn.objective.graph import Graph
from pglearn.objective.loss import Loss
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import Solution


@dataclass(frozen=True, eq=False)
class Configuration:
    """A member of the graph family: k neighbours and one weight a_m ≥ 0 per coordinate of a view."""

    k: int
    a: Array
    owner: int | None = None
    """The candidate it belongs to."""
    view: int = 0
    """Which of the problem's views its weights are for."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One configuration judged on the scored points."""

    loss: float
    accuracy: float
    dg_da: Array
    recall: float = 1.0
    """Share of the exact neighbours that the graph has."""


class Engine(Protocol):
    """Graph, labels and gradient of configurations."""

    @property
    def loss(self) -> Loss: ...

    @property
    def neighbours(self) -> str:
        """How they are found: "exact" or "approximate"."""
        ...

    @property
    def together(self) -> int | None:
        """How many configurations it is best given at once; None for all there are."""
        ...

    @property
    def name(self) -> str:
        """What it is and where it runs, for people."""
        ...

    def for_search(self, dtype: str) -> Engine:
        """The same for the steps of a search in that precision, which need no more than their direction."""
        ...

    def for_answer(self, neighbours: str, is_large: bool) -> Engine:
        """The same for the labels of all rows; as closely as time allows, where these are too many to be searched."""
        ...

    def graph(self, problem: Problem, configuration: Configuration) -> Graph:
        """The weighted graph of a configuration, and how many of the exact neighbours it has (`Graph.recall`)."""
        ...

    def propagate(self, problem: Problem, graph: Graph, beliefs: Array | None = None) -> Solution:
        """F (n × c) on a graph with every label shown, and with `beliefs` (n × c) in place of the labels not given."""
        ...

    def value_and_gradient(
        self, problem: Problem, configurations: Sequence[Configuration], carried: dict[int | None, Any] | None = None
    ) -> list[Evaluation]:
        """Validation loss, accuracy and ∂g/∂a of each configuration.

        In `carried` an engine may leave, by the owner of a configuration, what its next evaluation can begin from.
        """
        ...
