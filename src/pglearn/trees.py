"""Trees that split by rules: what graphs and kernels are slow to learn from few labels, a tree says in a word.

A forest of extremely randomised trees (Geurts, Ernst, Wehenkel 2006), every one looking at all columns for its splits:
with the few that are usual, most splits of a table with columns of noise are by noise. And boosted trees (Friedman
2001), small ones, each of which mends what those before it get wrong: ahead where one rule makes most of a class.
What either says is mixed with the uniform distribution, because sixty labels are no proof that something never happens.

Trees are kept as plain arrays, the nodes of all one after another: a model file has no Python objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import softmax

from pglearn.discriminant import UNKNOWN
from pglearn.few_labels import of_few_labels
from pglearn.problem import Array

TREES = 200
ROUNDS, STEP, DEPTH, PART_OF_LABELS = 40, 0.1, 3, 0.7  # of boosting
MOST_COLUMNS, MOST_CLASSES = 100, 10  # that boosted trees look at for a split, and that have a tree in every round
UNSURE = 0.03  # share of the uniform distribution
FARTHEST = 1e30  # that float32 holds


@dataclass(frozen=True, eq=False)
class Trees:
    """(x − middle) ∘ columns → what the leaves have that it comes to."""

    middle: Array
    columns: Array
    roots: Array
    """Node that each tree begins with."""
    left: Array
    """Of every node the one to go to if the column is at most the threshold, which comes later; of a leaf itself."""
    right: Array
    column: Array
    threshold: Array
    values: Array
    """Of the classes, nodes × c."""

    def summed(self, X: Array) -> Array:
        """The values of the leaves that rows come to, over all trees (rows × classes)."""
        values = _placed(X, self.middle, self.columns)
        rows = np.arange(len(X))
        total = np.zeros((len(X), self.values.shape[1]))
        for root in self.roots.tolist():
            at = np.full(len(X), root)
            while True:
                goes_left = values[rows, self.column[at]] <= self.threshold[at]
                after = np.where(goes_left, self.left[at], self.right[at])
                if (after == at).all():
                    break
                at = after
            total += self.values[at]
        return total

    def check(self, n_columns: int, n_classes: int) -> None:
        """That every row of a table comes to a leaf, of what was read from a file."""
        nodes, own = self.left.size, np.arange(self.left.size)
        of_nodes = (self.roots, self.left, self.right, self.column)
        if any(part.dtype.kind not in "iu" or part.ndim != 1 for part in of_nodes):
            raise ValueError("a tree does not tell its nodes by whole numbers")
        for ahead in (self.left, self.right):
            if ahead.shape != (nodes,) or (ahead < own).any() or (ahead >= nodes).any():
                raise ValueError("a tree has no end")
        whole = self.column.shape == self.threshold.shape == (nodes,) and self.values.shape == (nodes, n_classes)
        if not whole or not np.isfinite(self.values).all():
            raise ValueError("the nodes of trees are not complete")
        for positions, size in ((self.roots, nodes), (self.column, n_columns)):
            if not len(positions) or (positions < 0).any() or (positions >= size).any():
                raise ValueError("a tree is about what there is not")
        if not self.middle.shape == self.columns.shape == (n_columns,):
            raise ValueError("a tree is about other columns")


class Forest(Trees):
    """The mean over trees of the shares that classes have in their leaves."""

    @classmethod
    def of_labels(cls, columns: Array, rows: Array, Y: Array) -> Self:
        """Grown from labelled rows times `columns` and their classes, one-hot."""
        from sklearn.ensemble import ExtraTreesClassifier  # which takes long to import, for whoever needs no trees

        middle = rows.mean(axis=0, dtype=np.float64)
        forest = ExtraTreesClassifier(TREES, max_features=None, random_state=0)
        with of_few_labels():
            forest.fit(_placed(rows, middle, columns), Y.argmax(axis=1))
        trees = [one.tree_ for one in forest.estimators_]
        counts = np.concatenate([tree.value[:, 0] for tree in trees])
        shares = np.zeros((len(counts), Y.shape[1]))
        shares[:, forest.classes_] = counts / counts.sum(axis=1, keepdims=True)
        return cls(middle, columns, *_nodes(trees), shares)

    def of(self, X: Array) -> Array:
        """Probabilities of the classes (rows × classes)."""
        return _unsure(self.summed(X) / len(self.roots))


@dataclass(frozen=True, eq=False)
class Boosted(Trees):
    """softmax(base + the sum over small trees, each grown from what those before it have left over)."""

    base: Array
    """Logits of the classes before all trees."""

    @classmethod
    def of_labels(cls, columns: Array, rows: Array, Y: Array) -> Self | None:
        """Grown from labelled rows times `columns` and their classes, one-hot; None of one class, or of many."""
        from sklearn.ensemble import GradientBoostingClassifier

        counts = Y.sum(axis=0)
        if not 2 <= (counts > 0).sum() <= MOST_CLASSES:
            return None
        middle = rows.mean(axis=0, dtype=np.float64)
        model = GradientBoostingClassifier(
            n_estimators=ROUNDS,
            learning_rate=STEP,
            max_depth=DEPTH,
            subsample=PART_OF_LABELS,
            max_features=min(len(columns), MOST_COLUMNS),
            random_state=0,
        )
        with of_few_labels():
            model.fit(_placed(rows, middle, columns), Y.argmax(axis=1))
        trees = [one.tree_ for one in model.estimators_.ravel()]
        about = model.classes_[-model.estimators_.shape[1] :]  # a tree for each class in turn, of two for the second
        values = np.zeros((sum(tree.node_count for tree in trees), Y.shape[1]))
        of_tree = np.tile(about, len(model.estimators_))
        of_node = np.repeat(of_tree, [tree.node_count for tree in trees])
        values[np.arange(len(values)), of_node] = STEP * np.concatenate([tree.value[:, 0, 0] for tree in trees])
        base = np.log(counts / counts.sum(), out=np.full(len(counts), UNKNOWN), where=counts > 0)
        return cls(middle, columns, *_nodes(trees), values, base)

    def of(self, X: Array) -> Array:
        """Probabilities of the classes (rows × classes)."""
        return _unsure(softmax(self.base + self.summed(X), axis=1))

    def check(self, n_columns: int, n_classes: int) -> None:
        super().check(n_columns, n_classes)
        if self.base.shape != (n_classes,) or not np.isfinite(self.base).all():
            raise ValueError("what trees begin with is not that of the classes")


def _nodes(trees: Sequence[Any]) -> tuple[Array, Array, Array, Array, Array]:
    """Roots, left, right, column and threshold of scikit-learn's trees, their nodes one after another."""
    sizes = [tree.node_count for tree in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    own, first = np.arange(sum(sizes)), np.repeat(roots, sizes)
    left, right, column, threshold = (
        np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("children_left", "children_right", "feature", "threshold")
    )
    is_leaf = left < 0
    left, right = (np.where(is_leaf, own, first + ahead) for ahead in (left, right))
    return roots, left, right, np.where(is_leaf, 0, column), threshold


def _unsure(probabilities: Array) -> Array:
    return np.asarray((1 - UNSURE) * probabilities + UNSURE / probabilities.shape[1])


def _placed(X: Array, middle: Array, columns: Array) -> Array:
    """In the precision in which trees are grown."""
    return np.asarray(np.clip((X - middle) * columns, -FARTHEST, FARTHEST), dtype=np.float32)
