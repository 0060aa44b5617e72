"""The problem: points, the labels that are shown, and which of them are scored.

| symbol | meaning                                                        | here                |
|--------|----------------------------------------------------------------|---------------------|
| X      | features, rows are points                                      | `X`         (n, d)  |
| L      | labelled points                                                | `labelled`  (l,)    |
| y_L    | their classes, as numbers 0 … c−1                              | `codes`     (l,)    |
| V      | labelled points whose label is hidden once and then compared   | `scored`    (l,)    |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pglearn.arrays import Array, Points, column_medians
from pglearn.errors import InputError
from pglearn.objective.folds import VALIDATIONS
from pglearn.objective.labels import UNLABELLED, class_codes
from pglearn.parameters import choice


@dataclass(frozen=True, eq=False)
class Problem:
    """Points with some labels; built by :meth:`Problem.from_labels`, never changed."""

    X: Points
    classes: Array
    labelled: Array
    codes: Array
    fold: Array
    scored: Array
    others: tuple[Points, ...] = ()
    """The same points in other coordinates (`pglearn.objective.views`)."""
    held_out: bool = False
    """Whether the scored labels are kept from a method that hides none by itself (`shown`)."""

    @classmethod
    def from_labels(cls, X: Points, y: Any, *, validation: str = "loo", seed: int = 0) -> Problem:
        """The problem of labelling the rows of `X` given `y`, scored by `validation`."""
        codes, classes = class_codes(y)
        if len(codes) != X.shape[0]:
            raise InputError(
                f"X has {X.shape[0]} rows but y has {len(codes)} entries: give one label per row, -1 where unknown."
            )
        labelled = np.flatnonzero(codes != UNLABELLED)
        codes = codes[labelled]
        if len(classes) == 0:
            raise InputError(
                "No row is labelled: give at least two rows of each class a label and leave the others unlabelled "
                "(blank in a table, -1 or None in Python)."
            )
        if len(classes) == 1:
            raise InputError(
                f"Only one class is labelled ({classes[0]}): there is nothing to tell apart. Label rows of at least "
                "two classes, and if -1 is one of yours, give it another name, for -1 means unlabelled."
            )
        fold, scored = choice(validation, VALIDATIONS, "validation")(codes, classes, np.random.default_rng(seed))
        if not scored.any():
            raise InputError(
                "Every class has a single labelled row, so no label can be checked against another of its class: "
                "label at least one more row of some class."
            )
        return cls(X, classes, labelled, codes, fold, scored, held_out=validation == "holdout")

    def among(self, rows: Array) -> Problem:
        """The problem with these rows alone, in order, and the labels that they have; in the first view."""
        kept = np.isin(self.labelled, rows)
        return replace(
            self,
            X=self.X[rows],
            labelled=np.searchsorted(rows, self.labelled[kept]),
            codes=self.codes[kept],
            fold=self.fold[kept],
            scored=self.scored[kept],
            others=(),
        )

    @cached_property
    def centre(self) -> Array:
        return column_medians(self.X)

    @cached_property
    def views(self) -> tuple[Problem, ...]:
        """The problem in each of its views, the first with `X` itself."""
        if not self.others:
            return (self,)
        return tuple(replace(self, X=X, others=()) for X in (self.X, *self.others))

    @property
    def n(self) -> int:
        """How many points there are."""
        return int(self.X.shape[0])

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def Y(self) -> Array:
        """One-hot classes of the labelled points, l × c."""
        return np.eye(self.n_classes)[self.codes]

    @property
    def shown(self) -> Array:
        """Positions among the labels that a method may learn from which never hides any.

        With `holdout` those that are not scored, so that the others remain a fair test; otherwise all, also where `loo`
        scores only some of them.
        """
        if not self.held_out:
            return np.arange(len(self.codes))
        never_scored = np.flatnonzero(~self.scored)
        every_class = len(np.unique(self.codes[never_scored])) == self.n_classes
        return never_scored if every_class else np.arange(len(self.codes))

    def sources(self, beliefs: Array | None = None) -> Array:
        """What spreads from each point, n × c: its label; where it has none, its row of `beliefs` or nothing."""
        sources = np.zeros((self.n, self.n_classes)) if beliefs is None else beliefs.copy()
        sources[self.labelled] = self.Y
        return sources

    @property
    def prior(self) -> Array:
        """Share of each class among the labels: the answer for a point that no label reaches."""
        return np.bincount(self.codes, minlength=self.n_classes) / len(self.codes)

    @property
    def scored_codes(self) -> Array:
        return self.codes[self.scored]
