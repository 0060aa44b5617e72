"""Which fits each table asks for, and with how much time: equal budgets for all methods, B·T units each.

The paper gives every run 15 minutes, on one thread (tables 2 and 3) or on 32 (table 4). Units here are seconds, too,
because a step costs one method many times what it costs another, but few of them: 12.8 s and 25.6 s. What the paper
calls one thread is T candidates in turn on one thread; a method without candidates has the B·T units to itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

from pglearn.paper.datasets import PERCENTS, SPLITS
from pglearn.paper.methods import METHODS, Budget


@dataclass(frozen=True)
class Cell:
    """One fit: a method with a budget on one split of a data set. The split is the seed, too."""

    method: str
    data: str
    percent: int
    split: int
    noise: str
    budget: Budget

    def __str__(self) -> str:
        return f"{self.method} on {self.data}, {self.percent} %, split {self.split}"


@dataclass(frozen=True)
class Experiment:
    """One table of the paper: what is fitted, and with which budget."""

    name: str
    title: str
    percents: tuple[int, ...]
    noise: str
    budget: Budget
    quick_budget: Budget
    splits: int = SPLITS
    methods: tuple[str, ...] = tuple(METHODS)
    by_share: bool = False
    """Whether a line is a share of labels, over all data sets, with ranks, and not a data set."""

    def cells(self, sets: Iterable[str]) -> list[Cell]:
        """Split by split, so that a run that is stopped has compared all methods on what it has."""
        sets = tuple(sets)
        return [
            Cell(method, data, percent, split, self.noise, self.budget)
            for split in range(self.splits)
            for percent in self.percents
            for data in sets
            for method in self.methods
        ]

    @property
    def setting(self) -> str:
        """How its fits are made, in a line."""
        labels = "" if self.by_share else f", {self.percents[0]} % labels"
        noise = "" if self.noise == "none" else f", {self.noise} noise"
        return f"{self.budget} for every method{labels}{noise}, at most {self.splits} splits"


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "table2",
            "Table 2: test accuracy with 10 % labels, one thread",
            percents=(10,),
            noise="none",
            budget=Budget(16, 4, unit_seconds=0.2),
            quick_budget=Budget(16, 4, unit_seconds=0.05),
        ),
        Experiment(
            "table3",
            "Table 3: test accuracy and rank over all data sets, by share of labels, one thread",
            percents=PERCENTS,
            noise="none",
            budget=Budget(16, 4, unit_seconds=0.2),
            quick_budget=Budget(16, 4, unit_seconds=0.02),
            by_share=True,
        ),
        Experiment(
            "table4",
            "Table 4: test accuracy with as many columns of noise as features",
            percents=(20,),  # which the paper does not tell, but its figures do: docs/reproduction.md
            noise="uniform",
            budget=Budget(16, 32, unit_seconds=0.05),
            quick_budget=Budget(16, 8, unit_seconds=0.025),
        ),
    )
}


def budgets_over_time(budget: Budget) -> list[Budget]:
    """One unit per candidate, then twice as many, … up to all: what a method would have answered with less time."""
    units = [budget.units]
    while units[0] > 1:
        units.insert(0, units[0] // 2)
    return [replace(budget, units=B) for B in units]


def expected_time(cells: Iterable[Cell], jobs: int = 1) -> str:
    """What these fits take in hours, minutes and seconds, so many at a time, where a unit is a number of seconds."""
    return str(timedelta(seconds=round(sum(cell.budget.size for cell in cells) / jobs)))
