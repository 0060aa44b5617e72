"""What a fit leaves behind: the members that answer together, from which labels, weights and predictions are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from pglearn.arrays import Array, Points, is_sparse, parts_of, sparse_rows, table_of
from pglearn.ensemble.class_shares import class_factors, scaled
from pglearn.errors import ModelFileError
from pglearn.objective.graph import Graph, weighted_graph
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import Solution
from pglearn.objective.propagation.inductive import spreading
from pglearn.objective.views import View
from pglearn.search import Run
from pglearn.tables.scaling import Scaling

BATCH_ROWS, BATCH_BYTES = 4096, 32 << 20  # of new rows that are labelled at once


@dataclass(frozen=True, eq=False)
class Member:
    """A learned configuration and the class probabilities that it gives every row of the table."""

    view: int
    k: int
    a: Array
    F: Array
    """n × c; zeros where no label reaches."""

    @classmethod
    def from_solution(cls, run: Run, solution: Solution) -> Member:
        F = np.maximum(solution.F, 0)
        sums = F.sum(axis=1, keepdims=True)
        reached = sums > solution.doubt()[:, None]
        probabilities = np.where(reached, F / np.where(reached, sums, 1), 0)
        return cls(run.view, run.k, run.answer.a, probabilities)

    def spreading(self, X: Points) -> Callable[[Points], Array]:
        """What gives rows that need not be in the table X their class probabilities, both in the coordinates of the
        member's view. They sum to the share of reached neighbours."""
        return spreading(X, self.a, self.k, self.F)


@dataclass(frozen=True, eq=False)
class GraphEnsemble:
    """The table as it was searched, and the members, whose probabilities are averaged with equal weights."""

    X: Points
    """The table after `scaling`, in no view yet."""
    scaling: Scaling
    views: list[View]
    classes: Array
    prior: Array
    """Shares of the classes among the labels, or those given: the answer for a row that no label reaches."""
    labelled: Array
    """Positions of the labelled rows."""
    members: list[Member]
    """The best first."""
    factors: Array
    """What the probabilities of each class are multiplied with."""

    @classmethod
    def from_members(
        cls,
        X: Points,
        scaling: Scaling,
        views: list[View],
        problem: Problem,
        members: list[Member],
        class_prior: str | Array | None = None,
    ) -> Self:
        """With the factors that the estimator's `class_prior` asks for."""
        prior = class_prior if isinstance(class_prior, np.ndarray) else problem.prior
        mean, unreached = mean_probabilities(members, prior)
        reached, without_label = ~unreached, np.ones(len(mean), dtype=bool)
        without_label[problem.labelled] = False
        factors = class_factors(class_prior, mean[reached], without_label[reached], prior)
        return cls(X, scaling, views, problem.classes, prior, problem.labelled, members, factors)

    @property
    def best(self) -> Member:
        return self.members[0]

    @cached_property
    def _mean(self) -> tuple[Array, Array]:
        return mean_probabilities(self.members, self.prior)

    @property
    def distributions(self) -> Array:
        """Class probabilities of every row of the table."""
        return self._with_factors(*self._mean)

    @property
    def unreached(self) -> Array:
        """Rows of the table that no label reaches."""
        return self._mean[1]

    @property
    def feature_weights(self) -> Array:
        """The mean of the members' weights, in units of the given features."""
        return self.scaling.feature_weights(self.weights_after_scaling)

    @property
    def weights_after_scaling(self) -> Array:
        """The same in units of the features as they were searched."""
        total = np.sum([self.views[member.view].feature_weights(member.a) for member in self.members], axis=0)
        return np.asarray(total / len(self.members))

    def in_view(self, view: int) -> Points:
        """The table in one of the views. All of them at once may be several times the table."""
        return self.views[view].transform_table(self.X)

    def graph_of(self, member: Member, neighbours: str = "exact") -> Graph:
        """The learned graph of a member, over all rows of the table; neighbours are found "exact" or "approximate"."""
        return weighted_graph(self.in_view(member.view), member.a, member.k, neighbours=neighbours)

    def predict_proba(self, X: Points) -> Array:
        """Class probabilities of rows as they were given, which need not be in the table.

        They are taken in batches, by one member after another: beside the answer there is one member's view of the
        table, made once per call, and what a batch needs. Nothing is kept for the next call.
        """
        batches = _batches(X)
        total = np.zeros((X.shape[0], len(self.classes)))
        for member in self.members:
            spread = member.spreading(self.in_view(member.view))
            view = self.views[member.view]
            for rows in batches:
                total[rows] += spread(view.transform(self.scaling.transform(self._like_the_table(X[rows]))))
        for rows in batches:
            total[rows] = self._with_factors(*normalised_rows(total[rows], self.prior))
        return total

    def _like_the_table(self, X: Points) -> Points:
        """Sparse where the table is, and an array where that is one."""
        if is_sparse(self.X):
            return X if is_sparse(X) else sparse_rows(X)
        return X.toarray() if is_sparse(X) else X

    def _with_factors(self, probabilities: Array, unreached: Array) -> Array:
        return np.where(unreached[:, None], self.prior, scaled(probabilities, self.factors))

    def to_arrays(self) -> dict[str, Array]:
        """All of it, without Python objects."""
        views, members = self.views, self.members
        axes = [np.empty((0, 0)) if view.axes is None else view.axes for view in views]
        used = [np.empty(0, dtype=np.int64) if view.used is None else view.used for view in views]
        own = [np.empty(0) if view.own is None else view.own[1].ravel() for view in views]
        return {
            **parts_of(self.X),
            "centre": self.scaling.centre,
            "spread": self.scaling.spread,
            "of_counts": np.array(self.scaling.of_counts),
            "view_names": np.array([view.name for view in views]),
            "view_columns": np.array([view.columns for view in views]),
            "view_axes": np.concatenate([rows.ravel() for rows in axes]),
            "view_shapes": np.array([rows.shape for rows in axes]),
            "view_used": np.concatenate(used),
            "view_used_sizes": np.array([len(columns) for columns in used]),
            "view_unit": np.array([view.unit for view in views]),
            "view_own": np.concatenate(own),
            "view_own_sizes": np.array([len(coordinates) for coordinates in own]),
            "classes": self.classes,
            "prior": self.prior,
            "labelled": self.labelled,
            "factors": self.factors,
            "member_view": np.array([member.view for member in members]),
            "k": np.array([member.k for member in members]),
            "a": np.concatenate([member.a for member in members]),
            "F": np.array([member.F for member in members]),
        }

    @classmethod
    def from_arrays(cls, state: dict[str, Array]) -> Self:
        try:
            return cls._from_arrays(state)
        except KeyError as lacking:
            raise ModelFileError(f"The model lacks {lacking.args[0]}: copy it again or fit again.") from lacking
        except (ValueError, TypeError, IndexError) as error:
            raise ModelFileError(
                f"The model's parts do not fit together: copy it again or fit again ({error})."
            ) from error

    @classmethod
    def _from_arrays(cls, state: dict[str, Array]) -> Self:
        X, shapes = table_of(state), state["view_shapes"]
        axes = _split(state["view_axes"], shapes.prod(axis=1))
        own = _split(state["view_own"], state["view_own_sizes"])
        used = _split(state["view_used"], state["view_used_sizes"])
        labelled = state["labelled"]
        views = [
            View(
                name=str(name),
                columns=columns,
                axes=numbers.reshape(shape) if len(numbers) else None,
                own=(labelled, coordinates.reshape(-1, shape[0])) if len(coordinates) else None,
                used=positions if len(positions) else None,
                unit=bool(unit),
            )
            for name, columns, numbers, shape, coordinates, positions, unit in zip(
                state["view_names"], state["view_columns"], axes, shapes, own, used, state["view_unit"], strict=True
            )
        ]
        of_member = state["member_view"]
        weights = _split(state["a"], [shapes[view, 0] or X.shape[1] for view in of_member])
        members = [
            Member(view=int(view), k=int(k), a=a, F=F)
            for view, k, a, F in zip(of_member, state["k"], weights, state["F"], strict=True)
        ]
        return cls(
            X=X,
            scaling=Scaling(state["centre"], state["spread"], bool(state["of_counts"])),
            views=views,
            classes=state["classes"],
            prior=state["prior"],
            labelled=labelled,
            members=members,
            factors=state["factors"],
        )


def mean_probabilities(members: Sequence[Member], prior: Array) -> tuple[Array, Array]:
    """The mean over the members that reach a row, and which rows none of them reaches (the prior)."""
    return normalised_rows(np.asarray(sum(member.F for member in members)), prior)


def normalised_rows(total: Array, prior: Array) -> tuple[Array, Array]:
    """Rows brought to a sum of one, and which of them have nothing in them (the prior)."""
    sums = total.sum(axis=1, keepdims=True)
    return np.where(sums > 0, total / np.where(sums > 0, sums, 1), prior), sums[:, 0] == 0


def mean_graph(graphs: Sequence[sparse.csr_matrix]) -> sparse.csr_matrix:
    return sum(graphs[1:], start=graphs[0]) / len(graphs)


def _batches(X: Points) -> list[slice]:
    """New rows to be labelled at once, so many that they, or a hundred coordinates of each, are `BATCH_BYTES`."""
    n, d = X.shape
    numbers = max(X.nnz // max(n, 1) if is_sparse(X) else d, 100)
    step = max(1, min(BATCH_ROWS, BATCH_BYTES // (8 * numbers)))
    return [slice(start, start + step) for start in range(0, n, step)]


def _split(flat: Array, sizes: Any) -> list[Array]:
    return np.split(flat, np.cumsum(sizes)[:-1])
