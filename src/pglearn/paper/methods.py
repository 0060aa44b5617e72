"""Name → how to make the method with a budget. A method of one's own takes one file (docs/reproduction.md).

A method is called with a budget and a seed and returns an estimator that has not been fitted. It needs
`fit(X, y)`, y with −1 where unlabelled, and afterwards `transduction_`. `search_results_`, where it has one, tells the
validation accuracy (`accuracy` where `selected`), and `stop_reason_` whether it was interrupted.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pglearn
from pglearn.errors import InputError


@dataclass(frozen=True)
class Budget:
    """B units for each of T candidates, so B·T in all; a unit is a number of steps, or of seconds if given."""

    units: int
    candidates: int
    unit_steps: int = 1
    unit_seconds: float | None = None

    @property
    def total(self) -> int:
        """B·T: what a method that runs no candidates side by side may use."""
        return self.units * self.candidates

    @property
    def size(self) -> float:
        """B·T in steps, or in seconds."""
        return self.total * (self.unit_seconds or self.unit_steps)

    def __str__(self) -> str:
        unit = f"{self.unit_steps} steps" if self.unit_seconds is None else f"{self.unit_seconds:g} s"
        return f"B = {self.units}, T = {self.candidates}, unit {unit}"

    @property
    def parameters(self) -> dict[str, Any]:
        """As the estimators of pglearn take them."""
        units = {"unit_steps": self.unit_steps, "unit_seconds": self.unit_seconds}
        return {"budget": self.units, "n_candidates": self.candidates, **units}


Method: TypeAlias = Callable[[Budget, int], Any]

REFERENCE = "PG-learn"
"""The method that the others are tested against."""


def _method(estimator: Callable[..., Any], **settings: Any) -> Method:
    return lambda budget, seed: estimator(random_state=seed, **settings, **budget.parameters)


# The baselines in the paper's setting: half of the labels held out, features as they are.
_baseline = partial(_method, validation="holdout", scale=False)

METHODS: dict[str, Method] = {
    REFERENCE: _method(pglearn.PGLearnClassifier.paper, engine="cpu"),
    "PG-learn (default)": _method(pglearn.PGLearnClassifier, engine="cpu"),
    "MinEnt": _baseline(pglearn.MinEntClassifier),
    "MinEnt (LGC)": _baseline(pglearn.MinEntClassifier, propagation="lgc", k_range=(1, 20)),  # k as the authors have it
    "IDML": _baseline(pglearn.IDMLClassifier),
    "AEW": _baseline(pglearn.AEWClassifier),
    "Grid": _baseline(pglearn.GridClassifier),
    "Rand_d": _baseline(pglearn.RandClassifier, draw="weights"),
}


def methods_with(files: Sequence[Path] = ()) -> dict[str, Method]:
    """The methods of the paper and those that the files define in a dict METHODS."""
    found = dict(METHODS)
    for path in files:
        if not path.is_file():
            raise InputError(f"There is no file {path}: --method-file takes a Python file that defines METHODS.")
        own = runpy.run_path(str(path)).get("METHODS")
        if not (isinstance(own, dict) and own and all(callable(make) for make in own.values())):
            raise InputError(f"{path} has no dict METHODS of names and functions: docs/reproduction.md has an example.")
        if taken := sorted(set(own) & set(found)):
            raise InputError(f"{path} defines {', '.join(taken)}, which there is already: take another name.")
        found |= own
    return found
