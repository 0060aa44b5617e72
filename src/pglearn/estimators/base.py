"""What all classifiers here share: input checks with sentences, and predictions from what a fit left behind."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from pglearn.arrays import Array, Points, is_sparse, sparse_rows
from pglearn.ensemble.graph_ensemble import GraphEnsemble
from pglearn.errors import InputError
from pglearn.objective.problem import Problem
from pglearn.tables.scaling import Scaling


class TableClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Labels the rows of a table, and new rows after their neighbours in it."""

    scale: str | bool
    validation: str
    _ensemble: GraphEnsemble
    _takes_sparse: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes for rows that need not be in the table: of their neighbours in it."""
        check_is_fitted(self)
        return self._ensemble.predict_proba(self._numbers(X, reset=False))

    def predict(self, X: Any) -> Array:
        """The most probable class of every row."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[most_probable])

    def _scaled_problem(self, X: Any, y: Any, seed: int) -> tuple[Scaling, Problem]:
        """Validate X and y, scale the features, choose which labels are hidden."""
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "give labels, -1 where unknown."
            )
        X = self._numbers(X, reset=True)
        if X.shape[0] < 2:
            raise InputError("X has a single row (n_samples=1), and labels need others to spread to: give more rows.")
        scaling = Scaling.for_points(X, self.scale)
        # A column vector is taken with scikit-learn's usual warning; anything else is left to the problem.
        y = column_or_1d(y, warn=True) if getattr(y, "ndim", 1) == 2 else y
        return scaling, Problem.from_labels(scaling.transform(X), y, validation=self.validation, seed=seed)

    def _publish(self, ensemble: GraphEnsemble) -> None:
        self._ensemble = ensemble
        self.classes_ = ensemble.classes
        self.unreached_ = ensemble.unreached
        self.label_distributions_ = ensemble.distributions
        self.confidence_ = self.label_distributions_.max(axis=1)
        self.transduction_ = ensemble.classes[self.label_distributions_.argmax(axis=1)]
        self.n_neighbors_ = ensemble.best.k
        self.feature_weights_ = ensemble.feature_weights
        self.scaled_ = ensemble.scaling.standardises

    def _numbers(self, X: Any, reset: bool) -> Points:
        """X as scikit-learn checks it, but with sentences that help."""
        try:
            X = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse=self._takes_sparse,
                dtype=np.float64 if is_sparse(X) else (np.float64, np.float32),
                order="C",  # the last bits of sums depend on it
                ensure_all_finite=False,
            )
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            text = _text_columns(X)
            where = f"column {', '.join(text)}" if text else "X"
            raise InputError(
                f"{where} holds text ({error}), and only numbers have distances: encode it first, for example with "
                "pglearn.TableEncoder in a Pipeline."
            ) from error
        return _finite(self, sparse_rows(X) if is_sparse(X) else X)


def about(X: Points, problem: Problem) -> dict[str, int]:
    """What listeners are told of a problem."""
    n, d = X.shape
    return {
        "points": n,
        "features": d,
        "classes": problem.n_classes,
        "labelled": len(problem.labelled),
        "scored": int(problem.scored.sum()),
    }


def _text_columns(X: Any) -> list[str]:
    """Names of the columns of a frame, of pandas or polars, that are no numbers; none of anything else."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return []
    pairs = zip(X.columns, X.dtypes, strict=True)
    return [str(name) for name, dtype in pairs if not _is_numeric(dtype)]


def _is_numeric(dtype: Any) -> bool:
    if hasattr(dtype, "kind"):
        return dtype.kind in "iufb"
    return str(dtype) == "Boolean" or bool(dtype.is_numeric())


def _finite(estimator: Any, X: Points) -> Points:
    numbers = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(numbers.sum()):  # no flag per number of a large table that has nothing wrong with it
            return X
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        first = tuple(bad[0])
        row, column = (at[first] for at in X.nonzero()) if is_sparse(X) else first
        names = getattr(estimator, "feature_names_in_", None)
        where = f"column {column}" if names is None else f"column {names[column]!r}"
        what = "NaN" if np.isnan(numbers[first]) else "inf"
        raise InputError(
            f"X has {len(bad)} NaN or infinite (inf) values, the first ({what}) in row {row}, {where}: "
            "fill or drop them first, for example with sklearn.impute.SimpleImputer or pglearn.TableEncoder."
        )
    return X
