"""What a fit leaves behind: all that labels, weights and predictions are made from.

Members that answer together hear each other, twice: the mean of their probabilities is taken for the labels that are
not given, spread again over the graph of each, and averaged again. A row whose neighbours the members agree on is then
labelled like them. A class that has too many rows would gain more on the way, so this is done only where class shares
hold that in check. Averages of averages are less sure of themselves, not less often right, so the probabilities are
raised to a power that leaves them as sure as before (docs/defaults.md has the measurements).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from pglearn.basis import Basis
from pglearn.errors import ModelFileError
from pglearn.estimators.members import Member, averaged, shared_out, sharpened
from pglearn.estimators.scaling import Scaling
from pglearn.estimators.shares import class_factors, scaled, shares_to_reach
from pglearn.problem import Array, Points, Problem
from pglearn.sparse import is_sparse, parts_of, sparse_rows, table_of

MOST_POWER = 4.0
HEARINGS = 2
MOST_ROWS, BATCH_BYTES = 4096, 32 << 20  # of new rows that are labelled at once


@dataclass(frozen=True, eq=False)
class Answer:
    """The table as it was searched, and the members that answer together."""

    X: Points
    """The table after `scaling`, in no basis yet."""
    scaling: Scaling
    bases: list[Basis]
    classes: Array
    prior: Array
    """Shares of the classes among the labels, or those given: the answer for a row that no label reaches."""
    labelled: Array
    """Positions of the labelled rows."""
    members: list[Member]
    factors: Array
    """What each class is multiplied with."""
    power: float = 1.0
    """What probabilities are raised to before that."""

    @classmethod
    def of(
        cls,
        X: Points,
        scaling: Scaling,
        bases: list[Basis],
        problem: Problem,
        members: list[Member],
        given: str | Array | None = None,
    ) -> Self:
        """The answer of `members`, as it comes; `given` is the estimator's `class_prior`."""
        prior = given if isinstance(given, np.ndarray) else problem.prior
        ones = np.ones(problem.n_classes)
        classes, labelled = problem.classes, problem.labelled
        return cls(X, scaling, bases, classes, prior, labelled, members, ones)

    def shares_to_reach(self, prior: str | Array | None) -> Array | None:
        """Class shares that the estimator's `class_prior` asks for, given what the members say."""
        return shares_to_reach(prior, self._said, self.prior, len(self.labelled))

    def with_shares(self, shares: Array | None) -> Self:
        return replace(self, factors=class_factors(sharpened(self._said, self.power), shares))

    def as_sure_as(self, other: Answer) -> Self:
        """The same answer with the mean confidence of another, both before their factors."""
        said, goal = self._said, _confidence(other._said)
        low, high = 1.0, MOST_POWER
        for _ in range(20):
            power = (low + high) / 2
            low, high = (low, power) if _confidence(sharpened(said, power)) > goal else (power, high)
        return replace(self, power=low)

    @property
    def distributions(self) -> Array:
        """Class probabilities of every row of the table."""
        return self._finished(*self.opinion)

    @property
    def unreached(self) -> Array:
        """Rows of the table that no label reaches."""
        return self.opinion[1]

    @property
    def beliefs(self) -> Array:
        """The distributions, with nothing where no label reaches."""
        return np.where(self.unreached[:, None], 0, self.distributions)

    def view(self, basis: int) -> Points:
        """The table in one of the bases. All of them at once may be several times the table."""
        return self.bases[basis].of_table(self.X)

    @cached_property
    def opinion(self) -> tuple[Array, Array]:
        """Class probabilities of every row before power and factors, and which rows no label reaches."""
        return averaged([member.F for member in self.members], self._weights, self.prior)

    def predict(self, X: Points) -> Array:
        """Class probabilities of rows as they were given, which need not be in the table.

        They are taken in batches, by one member after another: beside the answer there is one member's view of the
        table, made once per call, and what a batch needs. Nothing is kept for the next call.
        """
        batches = _batches(X)
        result = np.zeros((X.shape[0], len(self.classes)))
        for member in self.members:
            spread = member.spreading(self.view(member.basis))
            for rows in batches:
                result[rows] += member.weight * spread(self._placed(X[rows], member.basis))
        for rows in batches:
            probabilities, unreached = shared_out(result[rows], self.prior)
            result[rows] = self._finished(probabilities, unreached)
        return result

    def _placed(self, X: Points, basis: int) -> Points:
        """New rows in the coordinates of a basis."""
        return self.bases[basis].of(self._scaled(X))

    def _scaled(self, X: Points) -> Points:
        return self.scaling.of(self._like_the_table(X))

    def _like_the_table(self, X: Points) -> Points:
        """Sparse where the table is, and an array where that is one."""
        if is_sparse(self.X):
            return X if is_sparse(X) else sparse_rows(X)
        return X.toarray() if is_sparse(X) else X

    @property
    def _said(self) -> Array:
        """The rows that a label reaches."""
        opinion, unreached = self.opinion
        return opinion[~unreached]

    def _finished(self, opinion: Array, unreached: Array) -> Array:
        finished = scaled(sharpened(opinion, self.power), self.factors)
        return np.where(unreached[:, None], self.prior, finished)

    @property
    def best(self) -> Member:
        """The member that counts most."""
        return max(self.members, key=lambda member: member.weight)

    @property
    def feature_weights(self) -> Array:
        """The mean of the members' weights, in units of the given features."""
        return self.scaling.weights(self.weights_after_scaling)

    @property
    def weights_after_scaling(self) -> Array:
        """The same of the features as they were searched."""
        by_member = [member.weight * self.bases[member.basis].weights(member.a) for member in self.members]
        return np.asarray(np.sum(by_member, axis=0))

    def to_arrays(self) -> dict[str, Array]:
        """All of it, without Python objects."""
        axes = [np.empty((0, 0)) if basis.axes is None else basis.axes for basis in self.bases]
        used = [np.empty(0, dtype=np.int64) if basis.used is None else basis.used for basis in self.bases]
        own = [np.empty(0) if basis.own is None else basis.own[1].ravel() for basis in self.bases]
        return {
            **parts_of(self.X),
            "centre": self.scaling.centre,
            "spread": self.scaling.spread,
            "of_counts": np.array(self.scaling.of_counts),
            "tails": np.empty((0, 0)) if self.scaling.tails is None else self.scaling.tails,
            "basis_names": np.array([basis.name for basis in self.bases]),
            "basis_columns": np.array([basis.columns for basis in self.bases]),
            "basis_axes": np.concatenate([rows.ravel() for rows in axes]),
            "basis_shapes": np.array([rows.shape for rows in axes]),
            "basis_used": np.concatenate(used),
            "basis_used_sizes": np.array([len(columns) for columns in used]),
            "basis_unit": np.array([basis.unit for basis in self.bases]),
            "basis_own": np.concatenate(own),
            "basis_own_sizes": np.array([len(coordinates) for coordinates in own]),
            "classes": self.classes,
            "prior": self.prior,
            "labelled": self.labelled,
            "factors": self.factors,
            "power": np.array(self.power),
            "member_basis": np.array([member.basis for member in self.members]),
            "k": np.array([member.k for member in self.members]),
            "weight": np.array(self._weights),
            "a": np.concatenate([member.a for member in self.members]),
            "F": np.array([member.F for member in self.members]),
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
        X, shapes = table_of(state), state["basis_shapes"]
        axes = _split(state["basis_axes"], shapes.prod(axis=1))
        own = _split(state["basis_own"], state["basis_own_sizes"])
        used = _split(state["basis_used"], state["basis_used_sizes"])
        bases = [
            Basis(
                str(name),
                columns,
                numbers.reshape(shape) if len(numbers) else None,
                (state["labelled"], coordinates.reshape(-1, shape[0])) if len(coordinates) else None,
                positions if len(positions) else None,
                bool(unit),
            )
            for name, columns, numbers, shape, coordinates, positions, unit in zip(
                state["basis_names"], state["basis_columns"], axes, shapes, own, used, state["basis_unit"], strict=True
            )
        ]
        of_member = state["member_basis"]
        weights = _split(state["a"], [shapes[basis, 0] or X.shape[1] for basis in of_member])
        members = [
            Member(int(basis), int(k), a, float(weight), F)
            for basis, k, a, weight, F in zip(of_member, state["k"], weights, state["weight"], state["F"], strict=True)
        ]
        tails = state["tails"] if len(state["tails"]) else None
        scaling = Scaling(state["centre"], state["spread"], bool(state["of_counts"]), tails)
        classes, prior, labelled = state["classes"], state["prior"], state["labelled"]
        return cls(X, scaling, bases, classes, prior, labelled, members, state["factors"], float(state["power"]))

    @property
    def _weights(self) -> list[float]:
        return [member.weight for member in self.members]


def _batches(X: Points) -> list[slice]:
    """New rows to be labelled at once, so many that they, or a hundred coordinates of each, are `BATCH_BYTES`."""
    n, d = X.shape
    numbers = max(X.nnz // max(n, 1) if is_sparse(X) else d, 100)
    step = max(1, min(MOST_ROWS, BATCH_BYTES // (8 * numbers)))
    return [slice(start, start + step) for start in range(0, n, step)]


def _split(flat: Array, sizes: Any) -> list[Array]:
    return np.split(flat, np.cumsum(sizes)[:-1])


def _confidence(probabilities: Array) -> float:
    return float(probabilities.max(axis=1).mean())
