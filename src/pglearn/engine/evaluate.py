"""The objective by itself, for researchers: one call, plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from pglearn.arrays import Array, is_sparse, sparse_rows
from pglearn.engine import Configuration, chosen_engine
from pglearn.engine.choose import announce_neighbours
from pglearn.errors import InputError
from pglearn.objective.graph.approximate import warn_of_recall
from pglearn.objective.loss import LOSSES
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import PROPAGATIONS
from pglearn.parameters import check_whole, choice


def loss_and_gradient(
    X: Any,
    y: Any,
    *,
    a: Any,
    k: int = 10,
    loss: str = "ranking",
    validation: str = "loo",
    propagation: str = "lgc",
    alpha: float = 0.99,
    engine: str = "cpu",
    neighbors: str = "auto",
    dtype: str = "float64",
    random_state: int = 0,
) -> tuple[float, Array]:
    """Validation loss g and its gradient ∂g/∂a at feature weights `a`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Features. Sparse ones stay so, on the CPU engine.
    y : array-like of shape (n,)
        Labels, -1 (or None, NaN) where unlabelled.
    a : array-like of shape (d,)
        Feature weights a_m = 1/σ_m² ≥ 0.
    k : int
        Neighbours per point.
    loss : {"ranking", "log", "error", "power", "exponential", "entropy"}
        What is summed over the validation points (eq. 5 of the paper: `ranking`). `entropy` is the mean entropy of the
        rows that have no label, on the CPU engine.
    validation : {"loo", "kfold", "holdout"}
        Which labels are hidden to be compared. "loo": each in turn, 100 of them if there are more.
    propagation : {"lgc"}
        How labels spread: learning with local and global consistency, with μ = `alpha` in (0, 1).
    engine, neighbors : str
        As in `PGLearnClassifier`.
    dtype : {"float64", "float32"}
        Precision of X, in which neighbours are found; with the torch engine also that of products and solves, which on
        the CPU are float64.
    random_state : int
        Seed of the split of `holdout` and `kfold`, and of the 100 labels that `loo` compares if there are more.

    Returns
    -------
    g : float
        The loss, summed over the scored points (pairs for `ranking`); for `entropy` a mean.
    dg_da : ndarray of shape (d,)
        Its gradient, with the edges of the graph held fixed.

    Examples
    --------
    >>> import numpy as np, pglearn
    >>> X = np.array([[0.0, 3.0], [0.1, 0.0], [0.2, 2.0], [1.0, 3.1], [1.1, 0.1], [1.2, 2.1]])
    >>> g, dg_da = pglearn.loss_and_gradient(X, [0, 0, -1, 1, 1, -1], a=np.ones(2), k=3, loss="log")
    >>> bool(dg_da[0] < 0 < dg_da[1])     # more of the first feature, less of the second
    True
    """
    check_whole("k", k, least=1)
    precision = choice(dtype, {"float64": np.float64, "float32": np.float32}, "dtype")
    try:
        X = sparse_rows(X, precision) if is_sparse(X) else np.asarray(X, dtype=precision)
    except (TypeError, ValueError) as error:
        raise InputError(f"X is no table of numbers ({error}): give an array of them.") from error
    if X.ndim != 2 or X.shape[0] < 2:
        raise InputError(f"X has shape {X.shape}: give a table of at least two rows, one point per row.")
    if not np.isfinite(X.data if is_sparse(X) else X).all():
        raise InputError("X has NaN or infinite values: fill or drop them first.")
    a = np.asarray(a, dtype=np.float64)
    if a.shape != (X.shape[1],) or not np.isfinite(a).all() or (a < 0).any():
        raise InputError(f"a must be {X.shape[1]} finite numbers ≥ 0, one weight per column of X.")
    problem = Problem.from_labels(X, y, validation=validation, seed=random_state)
    summed, spread = choice(loss, LOSSES, "loss")(), choice(propagation, PROPAGATIONS, "propagation")(alpha)
    objective = chosen_engine(engine, summed, spread, problem, evaluations=1, dtype=dtype, neighbors=neighbors)
    announce_neighbours(neighbors, objective.neighbours, problem.n)
    (evaluation,) = objective.value_and_gradient(problem, [Configuration(k, a)])
    if not (np.isfinite(evaluation.loss) and np.isfinite(evaluation.dg_da).all()):
        raise InputError(
            f"The loss at these weights, or its gradient, is beyond all numbers in {dtype}: the largest weight is "
            f"{a.max():.3g}, and the largest number in X is {abs(X).max():.3g}. Give smaller weights, or scale X."
        )
    warn_of_recall(evaluation.recall)
    return evaluation.loss, evaluation.dg_da
