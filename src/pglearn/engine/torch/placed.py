"""A problem on a device: placed there once, then used by every step."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch

from pglearn.arrays import Array
from pglearn.objective.problem import Problem
from pglearn.objective.propagation.lgc_scores import are_left_out_alone, cheapest_form

# torch leaves the results of many of its functions untyped
Tensor: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Placed:
    """Points and labels as tensors; see `pglearn.objective.problem` for the names."""

    X: Tensor
    """Centred points, n × d."""
    labelled: Tensor
    scored: Tensor
    """Positions of the scored points among the labelled ones, s."""
    shown: Tensor
    """1 where the label of column u is shown to scored row v, s × l."""
    shown_to_fold: Tensor
    """1 where the label of column u is shown when a fold is scored, folds × l."""
    fold_of_scored: Tensor
    """Row of `shown_to_fold` that each scored point belongs to, s."""
    Y: Tensor
    """One-hot classes of the labelled points, l × c."""
    left_out_alone: bool
    """Whether every scored label is the only one of its fold."""
    form: str
    """Which form of the scores solves for fewest columns."""
    recordings: dict[tuple[int, int], Any] = field(default_factory=dict)
    """Steps recorded with it (`replay.py`), by how many candidates and slots they take."""

    @classmethod
    def on(cls, device: torch.device, problem: Problem, dtype: torch.dtype) -> Placed:
        def place(array: Array, to: torch.dtype) -> Tensor:
            return torch.as_tensor(np.ascontiguousarray(array)).to(device=device, dtype=to)

        scored = np.flatnonzero(problem.scored)
        folds, fold_of_scored = np.unique(problem.fold[scored], return_inverse=True)
        return cls(
            X=place(problem.X - problem.centre, dtype),
            labelled=place(problem.labelled, torch.long),
            scored=place(scored, torch.long),
            shown=place(problem.fold[scored, None] != problem.fold, dtype),
            shown_to_fold=place(folds[:, None] != problem.fold, dtype),
            fold_of_scored=place(fold_of_scored, torch.long),
            Y=place(problem.Y, dtype),
            left_out_alone=are_left_out_alone(problem),
            form=cheapest_form(problem),
        )

    def zeros(self, columns: int) -> Tensor:
        """Right-hand sides that say nothing yet, n × columns, in float64."""
        return torch.zeros(len(self.X), columns, dtype=torch.float64, device=self.X.device)

    def ones_at(self, rows: Tensor) -> Tensor:
        """A column per row named, 1 there."""
        E = self.zeros(len(rows))
        E[rows, torch.arange(len(rows), device=E.device)] = 1
        return E

    @cached_property
    def one_per_label(self) -> Tensor:
        """E_L in the precision of the points; for n × n arrays alone, so it is made when asked for."""
        return self.ones_at(self.labelled).to(self.X.dtype)
