"""PGLearnClassifier: PG-learn as a scikit-learn classifier."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from pglearn import parameters
from pglearn.engine import CPUEngine, Engine, chosen_engine
from pglearn.errors import InputError, ModelFileError
from pglearn.estimators import model_file
from pglearn.estimators.members import Member, averaged, mean_graph
from pglearn.estimators.scaling import Scaling
from pglearn.graph import mean_distance
from pglearn.loss import LOSSES, Yardstick
from pglearn.parameters import choice
from pglearn.problem import Array, Problem
from pglearn.propagation import LGC
from pglearn.search import Descent, Listener, Schedule, Search, SearchResult
from pglearn.search.candidate import Candidate, Draws
from pglearn.search.interrupts import first_interrupt
from pglearn.search.pool import Pool, Task
from pglearn.search.workers import Here, Workers, workers_for

# A step of the search needs no more than its direction; the final labels are solved to LGC's own tolerance.
SEARCH_TOLERANCE, SEARCH_PRECISION = 1e-8, 1e-2

SELECTIONS: dict[str, Callable[[int], int]] = {
    "best": lambda survivors: 1,
    "ensemble": lambda survivors: survivors,
}


class PGLearnClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Labels the unlabelled rows of a table over a graph that is learned along the way.

    Labels spread over a k-nearest-neighbour graph of the rows. How much each feature counts in it, and k, are found by
    following the gradient of a leave-one-out loss on the given labels from many random starts, dropping the unpromising
    ones early (PG-learn: Wu, Zhao, Akoglu, CIKM 2018).

    Parameters
    ----------
    budget : int, default=16
        B, units of work that one candidate may use.
    unit_steps : int, default=2
        Gradient steps in a unit. The result is then the same on every run and for any `n_jobs`.
    unit_seconds : float, optional
        Measure units in seconds instead, as the paper does. Results then depend on the machine.
    n_candidates : int, default=8
        T, candidates alive at a time.
    downsampling_rate : int, default=2
        r: at every elimination one of r candidates survives, and new ones are drawn in place of the others.
    k_range : (int, int), default=(5, 20)
        Range of k, the neighbours per row.
    bandwidth_range : (float, float), default=(0.1, 10.0)
        Range of the first bandwidths σ_m, in mean distances between rows. A feature's weight is a_m = 1/σ_m².
    loss : {"log", "ranking", "error", "power", "exponential"}, default="log"
        What the search minimises on the labels it hides; the paper's is "ranking".
    validation : {"loo", "kfold", "holdout"}, default="loo"
        Which labels are hidden: each in turn, five folds, or one half of them.
    selection : {"ensemble", "best"}, default="ensemble"
        Answer with the mean of the ⌊T/r⌋ best candidates at the end, or with the best alone.
    basis : {"raw"}, default="raw"
        In which coordinates features are weighted: the given ones.
    scale : {"auto", True, False}, default="auto"
        Standardise the features first; "auto" does when their ranges differ by more than a factor of 20.
    alpha : float in (0, 1), default=0.99
        How much a row listens to its neighbours against its own label; α of scikit-learn's LabelSpreading.
    engine : {"auto", "cpu", "torch"}, default="auto"
        What does the arithmetic. "torch" takes all candidates at once, on CUDA where there is a device; "auto" does so
        where there is one and the search is long enough to be worth it. `engine_` says which it was.
    device_memory : float, optional
        GiB of the device that the torch engine may use for working arrays; by default 60 % of what is free.
    n_jobs : int, optional
        Worker processes of the CPU engine, -1 for one per core. None is 1, as everywhere in scikit-learn.
    executor : concurrent.futures.Executor or {"loky", "threads", "serial"}, optional
        Where candidates run. By default loky's processes if `n_jobs` is not 1; "serial" is this process, whatever
        `n_jobs` says.
    random_state : int, RandomState or None
        Seed of the draws and splits.
    verbose : int, default=0
        1 shows a progress bar.
    max_time : float, optional
        Seconds after which the search ends with the best found so far.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        The classes.
    transduction_ : ndarray of shape (n,)
        A label for every row.
    label_distributions_ : ndarray of shape (n, c)
        Probabilities of the classes for every row; with "ensemble" the mean over the members that reach the row.
    unreached_ : ndarray of bool, shape (n,)
        Rows that no label reaches. They have the class shares among the labels as probabilities.
    feature_weights_ : ndarray of shape (d,)
        The learned a_m, in units of the given features; with "ensemble" the mean over the members.
    n_neighbors_ : int
        The learned k, of the best candidate.
    graph_ : scipy.sparse.csr_matrix of shape (n, n)
        The symmetric weights W; with "ensemble" the mean over the members.
    search_results_ : dict of arrays
        One row per configuration drawn: candidate, k, born, died, steps, loss, accuracy, converged, failure (why it
        ended early, if it did), selected.
    history_ : dict of arrays
        One row per evaluation: candidate, step, loss, accuracy.
    engine_ : str
        The engine that ran the search and where: "cpu", "torch on NVIDIA H200".
    stop_reason_ : str
        "finished", "interrupted" or "out of time".
    scaled_ : bool
        Whether features were standardised.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pglearn import PGLearnClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> shown = y.copy()
    >>> shown[20:50] = shown[70:100] = shown[120:] = -1          # unlabelled
    >>> model = PGLearnClassifier(budget=4, random_state=0).fit(X, shown)
    >>> bool((model.transduction_ == y).mean() > 0.9)
    True
    >>> model.predict(X[:2])
    array([0, 0])
    """

    def __init__(
        self,
        *,
        budget: int = 16,
        unit_steps: int = 2,
        unit_seconds: float | None = None,
        n_candidates: int = 8,
        downsampling_rate: int = 2,
        k_range: tuple[int, int] = (5, 20),
        bandwidth_range: tuple[float, float] = (0.1, 10.0),
        loss: str = "log",
        validation: str = "loo",
        selection: str = "ensemble",
        basis: str = "raw",
        scale: str | bool = "auto",
        alpha: float = 0.99,
        engine: str = "auto",
        device_memory: float | None = None,
        n_jobs: int | None = None,
        executor: Any = None,
        random_state: Any = None,
        verbose: int = 0,
        max_time: float | None = None,
    ) -> None:
        self.budget = budget
        self.unit_steps = unit_steps
        self.unit_seconds = unit_seconds
        self.n_candidates = n_candidates
        self.downsampling_rate = downsampling_rate
        self.k_range = k_range
        self.bandwidth_range = bandwidth_range
        self.loss = loss
        self.validation = validation
        self.selection = selection
        self.basis = basis
        self.scale = scale
        self.alpha = alpha
        self.engine = engine
        self.device_memory = device_memory
        self.n_jobs = n_jobs
        self.executor = executor
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The paper's own setting: 32 candidates, 64 units, half of the labels held out, ranking loss, the best one."""
        setting = {
            "n_candidates": 32,
            "budget": 64,
            "unit_steps": 1,
            "validation": "holdout",
            "loss": "ranking",
            "selection": "best",
            "scale": False,
        }
        return cls(**{**setting, **changes})

    def fit(self, X: Any, y: Any, *, listeners: tuple[Listener, ...] = ()) -> Self:
        """Learn the graph and label every row.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, numbers without gaps (`pglearn.TableEncoder` makes them of any table).
        y : array-like of shape (n,)
            Labels; -1, None or NaN where unlabelled.
        listeners : tuple of callables
            Called with every event of the search, a dict (`pglearn.search.events`).

        Notes
        -----
        Ctrl-C ends the search, not the program: the answer is then the best found so far, and a warning says so. A
        second Ctrl-C stops as usual.
        """
        problem, scaling, search, task, workers = self._prepared(X, y)
        with first_interrupt() as interrupt:
            with _progress(self.verbose) as shown, Pool(problem, task, workers) as pool:
                interrupt.then = pool.stop
                result = search.run(pool, (*shown, *listeners), engine=task.engine.name, **_about(problem))
            self._scaling = scaling
            keep = choice(self.selection, SELECTIONS, "selection")(search.schedule.survivors)
            chosen = [candidate for candidate in result.ranked[:keep] if candidate.best is not None]
            self._answer(problem, self._engine_of_the_answer(problem, task.engine), result, chosen)
        self.engine_ = task.engine.name
        self.stop_reason_ = result.reason
        if result.reason == "interrupted":
            warnings.warn(
                "The search was interrupted: the labels are those of the best candidates so far. Fit again for more.",
                stacklevel=2,
            )
        return self

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes for rows that need not be in the table: of their neighbours in it."""
        check_is_fitted(self)
        X = self._scaling.of(self._numbers(X, reset=False))
        return averaged([member.predict(X, self._X) for member in self._members], self._prior)[0]

    def predict(self, X: Any) -> Array:
        """The most probable class of every row."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[most_probable])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one .npz file (no pickle), complete or not at all."""
        model_file.write(path, self.to_arrays())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """A model written by :meth:`save`: predicts the same."""
        return cls.from_arrays(model_file.read(path))

    def _prepared(self, X: Any, y: Any) -> tuple[Problem, Scaling, Search, Task, Workers]:
        """Everything that can be wrong is found here, before any time is spent."""
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "give labels, -1 where unknown."
            )
        choice(self.basis, {"raw": None}, "basis")
        choice(self.selection, SELECTIONS, "selection")
        loss = choice(self.loss, LOSSES, "loss")()
        schedule = Schedule(self.budget, self.downsampling_rate, self.n_candidates)
        k_range = parameters.whole_range("k_range", self.k_range, least=1)
        bandwidth_range = parameters.positive_range("bandwidth_range", self.bandwidth_range)
        parameters.check_whole("unit_steps", self.unit_steps, least=1)
        parameters.check_positive_or_none("unit_seconds", self.unit_seconds)
        parameters.check_positive_or_none("max_time", self.max_time)
        propagation = LGC(self.alpha, tolerance=SEARCH_TOLERANCE, precision=SEARCH_PRECISION)
        parameters.check_positive_or_none("device_memory", self.device_memory)
        if self.engine == "cpu" and self.device_memory is not None:
            raise InputError("device_memory is for the torch engine: leave it out, or use engine='auto' or 'torch'.")
        workers = workers_for(self.executor, parameters.processes(self.n_jobs))
        if self.engine == "torch" and not isinstance(workers, Here):
            raise InputError(
                "engine='torch' runs all candidates at once in this process: leave out n_jobs and executor, "
                "or use engine='cpu'."
            )
        seed = parameters.seed(self.random_state)

        X = self._numbers(X, reset=True)
        if len(X) < 2:
            raise InputError("X has a single row (n_samples=1), and labels need others to spread to: give more rows.")
        scaling = Scaling.for_points(X, self.scale)
        problem = Problem.of(scaling.of(X), _one_column(y), validation=self.validation, seed=seed)
        draws = Draws(X.shape[1], mean_distance(problem.X, seed), k_range, bandwidth_range, seed)
        search = Search(schedule, draws, self.unit_steps, self.unit_seconds, self.max_time)
        yardstick = Yardstick.of(loss, problem.scored_codes, problem.n_classes)
        name = self.engine if self.executor is None else "cpu" if self.engine == "auto" else self.engine
        engine = chosen_engine(name, loss, propagation, problem, search.evaluations, self.device_memory)
        if engine.together is None:
            workers = Here()
        return problem, scaling, search, Task(engine, Descent(yardstick)), workers

    def _engine_of_the_answer(self, problem: Problem, searched: Engine) -> Engine:
        """The engine of the search, solving as closely as it can."""
        name = "cpu" if isinstance(searched, CPUEngine) else "torch"
        return chosen_engine(name, searched.loss, LGC(self.alpha), problem, 0, self.device_memory)

    def _answer(self, problem: Problem, engine: Engine, result: SearchResult, chosen: list[Candidate]) -> None:
        members, graphs = [], []
        for candidate in chosen:
            graph = engine.graph(problem, candidate.answer)
            solution = engine.propagate(problem, graph)
            if not solution.converged:
                warnings.warn(
                    f"Labels were solved only to a residual of {solution.residual:.1e}: take a smaller alpha.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
            members.append(Member.of(candidate, solution))
            graphs.append(graph.W)
        self._set_answer(problem.X, problem.classes, problem.prior, members)
        self.graph_ = mean_graph(graphs)
        self.search_results_ = _table_of(result.candidates, chosen, float(self.budget))
        self.history_ = _history_of(result.candidates)

    def _set_answer(self, X: Array, classes: Array, prior: Array, members: list[Member]) -> None:
        self._X, self._prior, self._members = X, prior, members
        self.classes_ = classes
        self.label_distributions_, self.unreached_ = averaged([member.F for member in members], prior)
        self.transduction_ = classes[self.label_distributions_.argmax(axis=1)]
        self.n_neighbors_ = members[0].k
        self.feature_weights_ = self._scaling.weights(np.mean([member.a for member in members], axis=0))
        self.scaled_ = self._scaling.standardises

    def _numbers(self, X: Any, reset: bool) -> Array:
        """X as scikit-learn checks it, but with sentences that help."""
        try:
            X = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            text = [str(name) for name, dtype in getattr(X, "dtypes", {}).items() if dtype.kind not in "iufb"]
            where = f"column {', '.join(text)}" if text else "X"
            raise InputError(
                f"{where} holds text ({error}), and only numbers have distances: encode it first, for example with "
                "pglearn.TableEncoder in a Pipeline."
            ) from error
        return _finite(self, X)

    def to_arrays(self) -> dict[str, Array]:
        """All that prediction needs, without Python objects."""
        check_is_fitted(self)
        plain = {name: value for name, value in self.get_params().items() if _is_plain(value)}
        return {
            "parameters": np.array(json.dumps(plain)),
            "classes": self.classes_,
            "prior": self._prior,
            "X": self._X,
            "k": np.array([member.k for member in self._members]),
            "a": np.array([member.a for member in self._members]),
            "F": np.array([member.F for member in self._members]),
            "centre": self._scaling.centre,
            "spread": self._scaling.spread,
            "feature_names": getattr(self, "feature_names_in_", np.array([], dtype=str)).astype(str),
        }

    @classmethod
    def from_arrays(cls, state: dict[str, Array]) -> Self:
        """A model that predicts like the one :meth:`to_arrays` was called on, with its parameters and labels.

        What the search left behind (`graph_`, `search_results_`, `history_`) is not stored.
        """
        if lacking := set(_STORED) - set(state):
            raise ModelFileError(f"The model lacks {', '.join(sorted(lacking))}: copy it again or fit again.")
        stored: dict[str, Any] = json.loads(str(state["parameters"]))
        model = cls()
        model.set_params(**{name: tuple(v) if isinstance(v, list) else v for name, v in stored.items()})
        model._scaling = Scaling(state["centre"], state["spread"])
        members = [Member(int(k), a, F) for k, a, F in zip(state["k"], state["a"], state["F"], strict=True)]
        model._set_answer(state["X"], state["classes"], state["prior"], members)
        model.n_features_in_ = state["X"].shape[1]
        if len(state["feature_names"]):
            model.feature_names_in_ = state["feature_names"].astype(object)
        return model


_STORED = ("parameters", "classes", "prior", "X", "k", "a", "F", "centre", "spread", "feature_names")


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold a parameter: an executor, say, is not part of a model."""
    return value is None or isinstance(value, (bool, int, float, str, tuple, list))


def _one_column(y: Any) -> Any:
    """A column vector is taken with scikit-learn's usual warning; anything else is left to the problem."""
    return column_or_1d(y, warn=True) if getattr(y, "ndim", 1) == 2 else y


def _finite(estimator: Any, X: Array) -> Array:
    bad = np.argwhere(~np.isfinite(X))
    if len(bad):
        row, column = bad[0]
        names = getattr(estimator, "feature_names_in_", None)
        where = f"column {column}" if names is None else f"column {names[column]!r}"
        what = "NaN" if np.isnan(X[row, column]) else "inf"
        raise InputError(
            f"X has {len(bad)} NaN or infinite (inf) values, the first ({what}) in row {row}, {where}: "
            "fill or drop them first, for example with sklearn.impute.SimpleImputer or pglearn.TableEncoder."
        )
    return X


def _about(problem: Problem) -> dict[str, int]:
    n, d = problem.X.shape
    return {
        "points": n,
        "features": d,
        "classes": problem.n_classes,
        "labelled": len(problem.labelled),
        "scored": int(problem.scored.sum()),
    }


def _progress(verbose: int) -> Any:
    from pglearn.progress import progress_bar, silence

    return progress_bar() if verbose else silence()


def _table_of(candidates: list[Candidate], chosen: list[Candidate], budget: float) -> dict[str, Array]:
    selected = {candidate.id for candidate in chosen}
    return {
        "candidate": np.array([c.id for c in candidates]),
        "k": np.array([c.k for c in candidates]),
        "born": np.array([c.born for c in candidates]),
        "died": np.array([budget if c.died is None else c.died for c in candidates]),
        "steps": np.array([c.steps for c in candidates]),
        "loss": np.array([c.loss for c in candidates]),
        "accuracy": np.array([c.accuracy for c in candidates]),
        "converged": np.array([c.converged for c in candidates]),
        "failure": np.array([c.failure or "" for c in candidates]),
        "selected": np.array([c.id in selected for c in candidates]),
    }


def _history_of(candidates: list[Candidate]) -> dict[str, Array]:
    rows = [(c.id, *entry) for c in candidates for entry in c.history]
    names = ("candidate", "step", "loss", "accuracy")
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
