"""Learning with local and global consistency: (I − μP) F = (1−μ) Y (Zhou et al. 2004).

To hide a label changes Y alone: one matrix serves every fold, and the adjoint of the gradient, for it is symmetric.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from pglearn.arrays import Array
from pglearn.errors import InputError
from pglearn.objective.adjoint import edge_pull
from pglearn.objective.graph import Graph
from pglearn.objective.problem import Problem
from pglearn.objective.propagation.base import RightSides, Scores, Solution, is_blurred
from pglearn.objective.propagation.lgc_scores import FORMS, Factored, cheapest_form, of_unlabelled
from pglearn.objective.propagation.linear_system import SINGLE_FROM, LinearSystem, precision_of

# Tolerance and precision of a search, by its precision: a step needs no more than its direction.
SEARCH = {"float32": (1e-2, 1.0), "float64": (1e-8, 1e-2)}
# Of large tables: a solve in float32, and two digits in rows far from any label. More would take a second, finer one.
LARGE = (SINGLE_FROM, 1e-2)


@dataclass(frozen=True)
class LGC:
    """Label spreading with the symmetrically normalised graph.

    Parameters
    ----------
    alpha : float in (0, 1)
        μ, the weight of the neighbours against the given label.
    tolerance, precision : float
        As of `LinearSystem`.
    """

    name: ClassVar[str] = "lgc"
    alpha: float = 0.99
    tolerance: float = 1e-12
    precision: float = 1e-6

    def __post_init__(self) -> None:
        if not (isinstance(self.alpha, (int, float, np.number)) and 0 < self.alpha < 1):
            raise InputError(f"alpha={self.alpha!r} is not between 0 and 1: the paper uses 0.99.")

    @property
    def dtype(self) -> str:
        return precision_of(self.tolerance)

    @property
    def source(self) -> float:
        """The labels enter as M F = source·Y."""
        return 1 - self.alpha

    def for_search(self, dtype: str) -> Self:
        tolerance, precision = SEARCH[dtype]
        return replace(self, tolerance=tolerance, precision=precision)

    def for_large_table(self) -> Self:
        tolerance, precision = LARGE
        return replace(self, tolerance=tolerance, precision=precision)

    def linear_system(self, graph: Graph, memory: dict[str, Array] | None = None) -> LinearSystem:
        return LinearSystem(graph, self.alpha, self.tolerance, self.precision, memory)

    def system(self, graph: Graph, problem: Problem, memory: dict[str, Array] | None = None) -> LGCSystem:
        return LGCSystem(problem, self.linear_system(graph, memory))

    def reach(self, graph: Graph, sources: RightSides, labelled: Array) -> Array:
        # A source spreads the same, whatever is labelled beside it.
        return self.linear_system(graph).solve(sources).F


@dataclass(frozen=True, eq=False)
class LGCSystem:
    """The scores and labels of a problem on one graph."""

    problem: Problem
    linear: LinearSystem

    def validation_scores(self) -> Scores:
        return self._resolved(FORMS[cheapest_form(self.problem)])

    def unlabelled_scores(self) -> Scores:
        return self._resolved(of_unlabelled)

    def labels(self, beliefs: Array | None = None) -> Solution:
        B = self.linear.source * self.problem.sources(beliefs)
        solution = self.linear.solve(B)
        if not solution.converged or is_blurred(solution.F.sum(axis=1), solution.doubt() / self.linear.precision):
            finer = self.linear.finer()
            if finer is not None:  # which is asked for all that rounding allows, and need not reach that
                finest = finer.solve(B)
                reached = finest.converged or (solution.converged and finest.residual <= solution.residual)
                return replace(finest, converged=reached)
        return solution

    def _resolved(self, form: Callable[[Problem, LinearSystem], Factored]) -> Scores:
        """Scores on a finer system where one cannot resolve a row."""
        linear = self.linear
        found = form(self.problem, linear)
        while is_blurred(found.S.sum(axis=1), found.least) and (finer := linear.finer()) is not None:
            linear, found = finer, form(self.problem, finer)

        def pull(dg_dS: Array) -> Array:
            return edge_pull(linear.graph, linear.alpha, *found.factors(dg_dS), found.is_symmetric)

        return Scores(found.S, found.least, pull)
