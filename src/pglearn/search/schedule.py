"""When Algorithm 2 eliminates and how many it keeps: pure functions of B, r and T.

| symbol | meaning                                                      | here          |
|--------|--------------------------------------------------------------|---------------|
| B      | budget of a candidate, in units                              | `budget`      |
| r      | of r candidates one survives                                 | `rate`        |
| T      | candidates alive at any time                                 | `population`  |
| R      | eliminations, ⌊log_r B⌋, at B/r^R, B/r^(R−1), …, B/r         | `eliminations` |
"""

from __future__ import annotations

from dataclasses import dataclass

from pglearn.errors import InputError
from pglearn.parameters import check_whole


@dataclass(frozen=True)
class Schedule:
    """The rounds of Algorithm 2.

    >>> paper = Schedule(budget=16, rate=2, population=8)      # the paper's worked example
    >>> paper.milestones
    [1.0, 2.0, 4.0, 8.0, 16.0]
    >>> paper.eliminations, paper.survivors, paper.configurations
    (4, 4, 24)
    """

    budget: int
    rate: int
    population: int

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, 1, "it is the number of units (B) a candidate may run")
        check_whole("downsampling_rate", self.rate, 2, "of that many candidates (r) one survives an elimination")
        check_whole("n_candidates", self.population, 1, "it is the number of candidates (T) alive at a time")
        if self.population < self.rate:
            raise InputError(
                f"n_candidates={self.population} is less than downsampling_rate={self.rate}, so none would survive an "
                f"elimination: take at least {self.rate} candidates or a smaller rate."
            )

    @property
    def eliminations(self) -> int:
        """R = ⌊log_r B⌋, by whole numbers: a floating logarithm says 2 for log_10 1000."""
        R = 0
        while self.rate ** (R + 1) <= self.budget:
            R += 1
        return R

    @property
    def milestones(self) -> list[float]:
        """Ends of the rounds in units: the eliminations, then B."""
        R = self.eliminations
        return [self.budget / self.rate ** (R - i) for i in range(R + 1)]

    @property
    def survivors(self) -> int:
        """⌊T/r⌋."""
        return self.population // self.rate

    @property
    def configurations(self) -> int:
        """How many are drawn in all."""
        return self.population + self.eliminations * (self.population - self.survivors)
