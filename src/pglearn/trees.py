"""Trees that split by rules: what graphs and kernels are slow to learn from few labels, a tree says in a word.

Extremely randomised trees (Geurts, Ernst, Wehenkel 2006), every one looking at all columns for its splits: with the few
that are usual, most splits of a table with columns of noise are by noise. Their mean is mixed with the uniform
distribution, because sixty labels are no proof that something never happens.

A forest is kept as plain arrays, the nodes of all trees one after another: a model file has no Python objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from pglearn.problem import Array

TREES = 200
UNSURE = 0.03  # share of the uniform distribution
FARTHEST = 1e30  # that float32 holds


@dataclass(frozen=True, eq=False)
class Forest:
    """(x − middle) ∘ columns → the mean over the trees of what the leaf has that it comes to."""

    middle: Array
    columns: Array
    roots: Array
    """Node that each tree begins with."""
    left: Array
    """Of every node the one to go to if the column is at most the threshold, which comes later; of a leaf itself."""
    right: Array
    column: Array
    threshold: Array
    shares: Array
    """Of the classes, nodes × c."""

    @classmethod
    def of_labels(cls, columns: Array, rows: Array, Y: Array) -> Self:
        """Grown from labelled rows times `columns` and their classes, one-hot."""
        from sklearn.ensemble import ExtraTreesClassifier  # which takes long to import, for whoever needs no trees

        middle = rows.mean(axis=0, dtype=np.float64)
        forest = ExtraTreesClassifier(TREES, max_features=None, random_state=0)
        forest.fit(_placed(rows, middle, columns), Y.argmax(axis=1))
        trees = [one.tree_ for one in forest.estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
        own = np.concatenate([np.arange(tree.node_count) for tree in trees])
        first = np.repeat(roots, [tree.node_count for tree in trees])
        left, right, column, threshold = (
            np.concatenate([getattr(tree, name) for tree in trees])
            for name in ("children_left", "children_right", "feature", "threshold")
        )
        is_leaf = left < 0
        counts = np.concatenate([tree.value[:, 0] for tree in trees])
        shares = np.zeros((len(counts), Y.shape[1]))
        shares[:, forest.classes_] = counts / counts.sum(axis=1, keepdims=True)
        return cls(
            middle,
            columns,
            roots,
            first + np.where(is_leaf, own, left),
            first + np.where(is_leaf, own, right),
            np.where(is_leaf, 0, column),
            threshold,
            shares,
        )

    def of(self, X: Array) -> Array:
        """Probabilities of the classes (rows × classes)."""
        values = _placed(X, self.middle, self.columns)
        rows = np.arange(len(X))
        total = np.zeros((len(X), self.shares.shape[1]))
        for root in self.roots.tolist():
            at = np.full(len(X), root)
            while True:
                goes_left = values[rows, self.column[at]] <= self.threshold[at]
                after = np.where(goes_left, self.left[at], self.right[at])
                if (after == at).all():
                    break
                at = after
            total += self.shares[at]
        return np.asarray((1 - UNSURE) * total / len(self.roots) + UNSURE / self.shares.shape[1])

    def check(self, n_columns: int, n_classes: int) -> None:
        """That every row of a table comes to a leaf, of what was read from a file."""
        nodes, own = len(self.left), np.arange(len(self.left))
        for ahead in (self.left, self.right):
            if ahead.shape != (nodes,) or (ahead < own).any() or (ahead >= nodes).any():
                raise ValueError("a tree has no end")
        whole = self.column.shape == self.threshold.shape == (nodes,) and self.shares.shape == (nodes, n_classes)
        if not whole or not np.isfinite(self.shares).all():
            raise ValueError("the nodes of trees are not complete")
        for positions, size in ((self.roots, nodes), (self.column, n_columns)):
            if (positions < 0).any() or (positions >= size).any():
                raise ValueError("a tree is about what there is not")
        if not self.middle.shape == self.columns.shape == (n_columns,):
            raise ValueError("a tree is about other columns")


def _placed(X: Array, middle: Array, columns: Array) -> Array:
    """In the precision in which trees are grown."""
    return np.asarray(np.clip((X - middle) * columns, -FARTHEST, FARTHEST), dtype=np.float32)
