"""Small problems with everything awkward in them, for tests of several parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pglearn.objective.loss import LOSSES
from pglearn.objective.problem import Problem
from tests import oracle

# Those that judge hidden labels; the entropy of the unlabelled rows has tests of its own (tests/loss/test_entropy.py).
LABEL_LOSSES = [name for name in LOSSES if name != "entropy"]
ISLAND = 5  # points far from all others: with k < 5 no edge leads there


@dataclass(frozen=True, eq=False)
class Example:
    """Arguments of the objective; `form` is the cheaper way to score it on the CPU."""

    X: np.ndarray
    y: np.ndarray
    a: np.ndarray
    k: int
    validation: str
    seed: int
    form: str

    def problem(self, dtype=np.float64):
        return Problem.from_labels(self.X.astype(dtype), self.y, validation=self.validation, seed=self.seed)


def points(n, d=4, n_classes=3, seed=0):
    """n points in overlapping clouds; point i is of class i mod n_classes."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(n_classes, d))[np.arange(n) % n_classes]


def partly_labelled(n, n_labels, n_classes=3):
    """The classes of `points`, of which the first n_labels are shown."""
    y = np.arange(n) % n_classes
    y[n_labels:] = -1
    return y


def awkward(validation, form, *, n_mainland, n_labels, n_classes, seed=0):
    """Duplicates (within a class and across), a constant column, a feature of weight 0 and an island.

    The island has one label, so its scored row is reached by no label once that is hidden.
    """
    X = np.vstack([points(n_mainland, 5, n_classes), points(ISLAND, 5, n_classes, seed=1)])
    X[n_mainland - 1] = X[0]
    X[n_mainland - 2] = X[1]
    X[n_mainland - 3] = X[0]
    X[:, 3] = 7.0
    X[n_mainland:, 0] += 40
    y = partly_labelled(len(X), n_labels, n_classes)
    y[n_mainland] = n_labels % n_classes
    return Example(X, y, np.array([0.5, 0.2, 0.0, 0.3, 0.4]), 4, validation, seed, form)


# The seeds of the hold-outs hide the label of the island; test_adjoint.py checks that they do.
EXAMPLES = {
    "loo": awkward("loo", "by label", n_mainland=19, n_labels=8, n_classes=3),
    "kfold, few labels": awkward("kfold", "by label", n_mainland=19, n_labels=8, n_classes=3),
    "kfold, many labels": awkward("kfold", "by fold", n_mainland=24, n_labels=21, n_classes=2),
    "holdout, few labels": awkward("holdout", "by label", n_mainland=19, n_labels=5, n_classes=3, seed=1),
    "holdout, many labels": awkward("holdout", "by fold", n_mainland=19, n_labels=13, n_classes=3, seed=0),
}


def joined(edges):
    """The edges as the oracle has them: n × n booleans."""
    joined = np.zeros((edges.n, edges.n), dtype=bool)
    joined[edges.i, edges.j] = joined[edges.j, edges.i] = True
    return joined


def oracle_objective(problem, edges, loss, mu):
    """g as a function of a, by the oracle, with the edges fixed."""
    labels = problem.labelled, problem.codes, problem.n_classes, problem.fold, problem.scored
    return lambda a: oracle.objective(problem.X, a, edges, *labels, loss=loss, mu=mu)
