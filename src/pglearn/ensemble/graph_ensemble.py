"""What a fit leaves behind: the members that answer together, from which labels, weights and predictions are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse

from pglearn.arrays import Array, Points, is_sparse, sparse_rows
from pglearn.ensemble.class_shares import MAX_FACTOR, class_factors, scaled
from pglearn.objective.graph import Graph, weighted_graph
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import Solution
from pglearn.objective.propagation.inductive import spreading
from pglearn.objective.views import View
from pglearn.search import Run
from pglearn.sections import ABOVE_ZERO, Expectation, Section, Sections
from pglearn.tables.scaling import Scaling

BATCH_ROWS, BATCH_BYTES = 4096, 32 << 20  # of new rows that are labelled at once


SCALING = Section(
    "scaling",
    1,
    centre=Expectation("what is taken from each feature", shape=("d",)),
    spread=Expectation("what each is divided by then; of counts, its commonness", shape=("d",), low=ABOVE_ZERO),
    of_counts=Expectation("whether features are counts, which become TF-IDF", "truth value"),
)
TABLE = Section("table", 1, X=Expectation("the table after scaling", shape=("n", "d")))
SPARSE_TABLE = Section(
    "sparse_table",
    1,
    row_sizes=Expectation("how many numbers each row has", "whole number", ("n",), low=0, high=2**31),
    indices=Expectation("their columns, increasing in a row", "whole number", ("numbers",), low=0, high="d"),
    data=Expectation("the numbers", shape=("numbers",)),
)
ENSEMBLE = Section(
    "ensemble",
    1,
    classes=Expectation("the classes", "label", ("c",), increasing=True),
    prior=Expectation("shares of the classes", shape=("c",), low=0, high=1),
    factors=Expectation("what each class is multiplied with", shape=("c",), low=1 / MAX_FACTOR, high=MAX_FACTOR),
    labelled=Expectation("rows with a label", "whole number", ("l",), low=0, high="n", increasing=True),
    n_views=Expectation("how many views there are", "whole number", low=1),
    n_members=Expectation("how many members there are", "whole number", low=1),
)
VIEW = Section(
    "view",
    1,
    name=Expectation("its name", "text"),
    columns=Expectation("what each feature is multiplied with", shape=("d",)),
    used=Expectation("features that the axes are about", "whole number", ("u",), low=0, high="d", increasing=True),
    axes=Expectation("the coordinates in terms of these; else they are the features", shape=("q", "u"), optional=True),
    own=Expectation("coordinates of the labelled rows, where they have others", shape=("l", "q"), optional=True),
    unit=Expectation("whether rows are divided by their length in the end", "truth value"),
)
MEMBER = Section(
    "member",
    1,
    view=Expectation("its view", "whole number", low=0, high="v"),
    k=Expectation("neighbours per row", "whole number", low=1),
    a=Expectation("weight of each coordinate of the view", shape=("q",), low=0),
    F=Expectation("class probabilities of each row, zeros where no label reaches", shape=("n", "c"), low=0, high=1),
)


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
        """All of it, in sections."""
        sizes = {"n_views": len(self.views), "n_members": len(self.members)}
        found = SCALING.arrays(vars(self.scaling)) | ENSEMBLE.arrays(vars(self) | sizes)
        if is_sparse(self.X):
            row_sizes = np.diff(self.X.indptr)
            found |= SPARSE_TABLE.arrays({"data": self.X.data, "indices": self.X.indices, "row_sizes": row_sizes})
        else:
            found |= TABLE.arrays({"X": self.X})
        for number, view in enumerate(self.views):
            used = np.arange(len(view.columns)) if view.used is None else view.used
            own = None if view.own is None else view.own[1]
            found |= VIEW.arrays(vars(view) | {"used": used, "own": own}, number)
        for number, member in enumerate(self.members):
            found |= MEMBER.arrays(vars(member), number)
        return found

    @classmethod
    def from_sections(cls, file: Sections) -> Self:
        """What :meth:`to_arrays` wrote."""
        scaling = Scaling(**file.read(SCALING))
        thin = file.has(SPARSE_TABLE)
        file.require(thin or not scaling.of_counts, "has the scaling of a sparse table and none")
        X = _sparse_table(file, len(scaling.centre)) if thin else file.read(TABLE)["X"]
        stored = file.read(ENSEMBLE)
        file.require(abs(stored["prior"].sum() - 1) < 1e-6, "has shares of the classes that do not add up to one")
        views = [_view(file, number, stored["labelled"]) for number in range(stored.pop("n_views"))]
        members = [Member(**file.read(MEMBER, i, v=len(views))) for i in range(stored.pop("n_members"))]
        sums = np.concatenate([member.F.sum(axis=1, dtype=np.float64) for member in members])
        probable = (sums == 0) | (abs(sums - 1) < 1e-6)
        file.require(probable.all(), "has class probabilities that do not add up to one")
        widths = [len(view.columns if view.axes is None else view.axes) for view in views]
        fit = all(len(member.a) == widths[member.view] for member in members)
        file.require(fit, "has weights for other coordinates than those of the views")
        return cls(X=X, scaling=scaling, views=views, members=members, **stored)


def _sparse_table(file: Sections, d: int) -> Points:
    stored = file.read(SPARSE_TABLE)
    sizes, indices, data = stored["row_sizes"], stored["indices"], stored["data"]
    file.require(sizes.sum() == len(data), "has rows of a sparse table that do not add up to its numbers")
    place = np.repeat(np.arange(len(sizes)), sizes) * d + indices
    file.require((np.diff(place) > 0).all(), "has columns of a sparse table that do not increase within a row")
    X = sparse.csr_array((data, indices, np.append(0, np.cumsum(sizes))), shape=(len(sizes), d))
    X.has_canonical_format = True
    return X


def _view(file: Sections, number: int, labelled: Array) -> View:
    stored = file.read(VIEW, number)
    all_used = len(stored["used"]) == len(stored["columns"])
    file.require(stored["axes"] is not None or (all_used and stored["own"] is None), "has a view without its axes")
    own = None if stored["own"] is None else (labelled, stored["own"])
    return View(**stored | {"own": own, "used": None if all_used else stored["used"]})


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
