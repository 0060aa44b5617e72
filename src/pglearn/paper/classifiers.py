"""The methods that the paper compares PG-learn with, as scikit-learn classifiers, whose constructors are those of
dataclasses."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pglearn import parameters
from pglearn.arrays import Array
from pglearn.ensemble.answer import warn_if_unsolved
from pglearn.ensemble.graph_ensemble import GraphEnsemble, Member
from pglearn.errors import InputError
from pglearn.estimators.base import (
    TableClassifier,
    about,
    check_labels_given,
    check_several_rows,
    one_column,
)
from pglearn.objective.graph import mean_distance
from pglearn.objective.problem import Problem
from pglearn.objective.views import given_view
from pglearn.paper.baselines import AEW, IDML, Clock, Found, Grid, Method, MinEnt, Rand, SpreadMinEnt, Trial, search
from pglearn.paper.baselines.aew import LocalGraph
from pglearn.paper.baselines.minent import MOST_ROWS
from pglearn.runtime.interrupts import first_interrupt
from pglearn.runtime.threads import one_thread
from pglearn.search import Draws, Listener, Run, Space
from pglearn.tables.scaling import Scaling

DRAWS = {"bandwidths": None, "weights": None}
PROPAGATIONS = {"harmonic": None, "lgc": None}


@dataclass(kw_only=True, eq=False, repr=False)
class BaselineClassifier(TableClassifier):
    """A method that tries one configuration after another until its budget ends, in one thread."""

    budget: int = 64
    unit_steps: int = 1
    unit_seconds: float | None = None
    n_candidates: int = 1
    k_range: tuple[int, int] = (5, 20)
    validation: str = "loo"
    scale: str | bool = False
    random_state: Any = None
    verbose: int | None = None
    max_time: float | None = None

    def fit(self, X: Any, y: Any, *, listeners: tuple[Listener, ...] = ()) -> Self:
        """Look for the best configuration and label every row.

        X, y, listeners and Ctrl-C are as in :meth:`pglearn.PGLearnClassifier.fit`.
        """
        from pglearn.runtime.progress import progress_bar

        check_labels_given(self, y)
        self._check_parameters()
        seed = parameters.seed(self.random_state)
        X = self._numbers(X, reset=True)
        check_several_rows(X)
        scaling = Scaling.for_points(X, self.scale)
        X = scaling.transform(X)
        problem = Problem.of(X, one_column(y), validation=self.validation, seed=seed)
        method = self._method(problem, seed)
        with (
            first_interrupt() as interrupt,
            one_thread(),
            progress_bar(self.verbose) as shown,
        ):
            clock = Clock(self.budget * self.n_candidates, self.unit_steps, self.unit_seconds, self.max_time)
            interrupt.calls(clock.stop)
            found = search(method, problem, clock, (*shown, *listeners), **about(X, problem))
            self._conclude(scaling, problem, method, found)
        if found.reason == "interrupted":
            warnings.warn(
                "The search was interrupted: the labels are those of the best configuration so far. "
                "Fit again for more.",
                stacklevel=2,
            )
        return self

    @abstractmethod
    def _method(self, problem: Problem, seed: int) -> Method:
        """The search, for one problem."""

    def _check_parameters(self) -> None:
        parameters.check_whole("budget", self.budget, 1, "it is the number of units (B)")
        parameters.check_whole("n_candidates", self.n_candidates, 1, "the budget is multiplied by it")
        parameters.check_whole("unit_steps", self.unit_steps, least=1)
        parameters.check_positive_or_none("unit_seconds", self.unit_seconds)
        parameters.check_positive_or_none("max_time", self.max_time)
        parameters.whole_range("k_range", self.k_range, least=1)

    def _conclude(self, scaling: Scaling, problem: Problem, method: Method, found: Found) -> None:
        best = found.best
        graph, solution = method.answer(problem, best)
        warn_if_unsolved([solution])
        member = Member.from_solution(Run(best.candidate, best.k, self._weights(problem, best)), solution)
        self._publish(GraphEnsemble.from_members(problem.X, scaling, [given_view(problem.X)], problem, [member]))
        self.graph_ = graph.W
        self.search_results_ = found.trials
        self.stop_reason_ = found.reason

    def _weights(self, problem: Problem, best: Trial) -> Array:
        """One per feature, with which new rows are compared with those of the table."""
        return best.a


@dataclass(kw_only=True, eq=False, repr=False)
class _DrawsBandwidths(BaselineClassifier):
    """A method that draws bandwidths."""

    bandwidth_range: tuple[float, float] = (0.1, 10.0)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.positive_range("bandwidth_range", self.bandwidth_range)

    def _sigma_range(self, problem: Problem, seed: int) -> tuple[float, float]:
        low, high = self.bandwidth_range
        mean = mean_distance(problem.X, seed)
        return low * mean, high * mean

    def _draws(self, problem: Problem, seed: int) -> Draws:
        space = Space(problem.X.shape[1], mean_distance(problem.X, seed))
        return Draws((space,), self.k_range, self.bandwidth_range, seed)


@dataclass(kw_only=True, eq=False, repr=False)
class GridClassifier(_DrawsBandwidths):
    """Label spreading with one bandwidth for all features, on a grid over (k, σ) that is refined while time lasts.

    The grid starts with the corners of its range and halves its cells level by level (`pglearn.paper.baselines.grid`).
    All baselines answer with the configuration of the highest validation accuracy, the first of several, and label the
    table with all labels shown.

    Parameters
    ----------
    budget : int, default=64
        B, units of work.
    unit_steps : int, default=1
        Evaluations in a unit; here, points of the grid. The result is then the same on every run.
    n_candidates : int, default=1
        T: the method may use B·T units. It runs alone, and can so be given what T candidates of PG-learn get.
    bandwidth_range : (float, float), default=(0.1, 10.0)
        Range of σ, in mean distances d̄ between rows.
    scale : {"auto", True, False}, default=False
        Standardise the features first; "auto" does when their ranges differ by more than a factor of 20.
    unit_seconds, k_range, validation, alpha, random_state, verbose, max_time
        As in :class:`pglearn.PGLearnClassifier`.

    Attributes
    ----------
    classes_, transduction_, label_distributions_, confidence_, unreached_, feature_weights_, n_neighbors_, graph_, \
scaled_, n_features_in_, feature_names_in_
        As in :class:`pglearn.PGLearnClassifier`.
    search_results_ : dict of arrays
        One row per trial: candidate (the draw), step (evaluations since), k, what else was drawn (here sigma), loss
        (NaN where the method minimises nothing), accuracy on the hidden labels, spent (units), seconds, selected.
    stop_reason_ : str
        "finished", "interrupted" or "out of time".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pglearn import GridClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> shown = y.copy()
    >>> shown[20:50] = shown[70:100] = shown[120:] = -1          # unlabelled
    >>> model = GridClassifier(budget=9).fit(X, shown)
    >>> bool((model.transduction_ == y).mean() > 0.9)
    True
    """

    alpha: float = 0.99

    def _method(self, problem: Problem, seed: int) -> Method:
        return Grid(self.alpha, self.k_range, self._sigma_range(problem, seed))


@dataclass(kw_only=True, eq=False, repr=False)
class RandClassifier(_DrawsBandwidths):
    """Rand_d: label spreading with k and one bandwidth per feature drawn at random, again and again.

    Parameters and attributes are those of :class:`pglearn.GridClassifier`, and one more. An evaluation is one draw, and
    `bandwidth_range` that of every σ_m.

    Parameters
    ----------
    draw : {"bandwidths", "weights"}, default="bandwidths"
        What is uniform on `bandwidth_range`·d̄: the bandwidths σ_m, or the weights a_m = 1/σ_m², as the paper's text has
        it. Among hundreds of bandwidths a few small ones outdo all others, and the graph is poor.
    """

    alpha: float = 0.99
    draw: str = "bandwidths"

    def _method(self, problem: Problem, seed: int) -> Method:
        parameters.choice(self.draw, DRAWS, "draw")
        return Rand(self.alpha, self._draws(problem, seed), self.draw)


@dataclass(kw_only=True, eq=False, repr=False)
class MinEntClassifier(_DrawsBandwidths):
    """MinEnt: the bandwidths that leave the labels of unlabelled rows least in doubt (Zhu, Ghahramani, Lafferty 2003).

    The entropy of the harmonic solution, smoothed by ε, is minimised over one bandwidth per feature by gradient
    descent, from a new (k, σ, ε) whenever a descent has converged (`pglearn.paper.baselines.minent`). Among all points
    on the way the validation accuracy decides. Rows are labelled after the classes' masses have been made equal.

    Parameters and attributes are those of :class:`pglearn.GridClassifier`, without `alpha`, which the harmonic solution
    does not have, and one more. An evaluation is one value and gradient of the entropy, and `bandwidth_range` that of
    the common σ at the start. With `validation="holdout"` only the labels shown are clamped during the descent,
    otherwise all.

    Parameters
    ----------
    propagation : {"harmonic", "lgc"}, default="harmonic"
        Whose entropy: of the harmonic solution, or of the labels that LGC spreads (α = 0.99), as in the program of the
        paper's authors, which takes PG-learn's starts (`bandwidth_range` is that of every σ_m) and steps for it and
        k from 1 (``k_range=(1, 20)``). ``PGLearnClassifier(loss="entropy")`` minimises the latter, too, but believes
        it: its answer is that of the lowest entropy, not of the highest validation accuracy.

    Notes
    -----
    A dense matrix of the unlabelled rows is factored for the harmonic solution: it takes tables of up to 5,000 rows.
    Rows are joined to their k nearest; Zhu et al. join all pairs, which ``k_range=(n, n)`` does too, at 7 to 20 times
    the time and without a clear gain on the paper's data.
    """

    propagation: str = "harmonic"

    def _method(self, problem: Problem, seed: int) -> Method:
        parameters.choice(self.propagation, PROPAGATIONS, "propagation")
        if self.propagation == "lgc":
            return SpreadMinEnt(0.99, self._draws(problem, seed))
        if len(problem.X) > MOST_ROWS:
            raise InputError(
                f"X has {len(problem.X):,} rows, and MinEntClassifier factors a dense matrix of all unlabelled ones: "
                f"take at most {MOST_ROWS:,} of them, or propagation='lgc'."
            )
        return MinEnt(self.k_range, self._sigma_range(problem, seed), seed)


@dataclass(kw_only=True, eq=False, repr=False)
class AEWClassifier(BaselineClassifier):
    """AEW: edge weights by which every row is best made up of its neighbours (Karasuyama & Mamitsuka 2017).

    The edges are those of the raw data; a factor per feature is learned without a look at the labels, with bandwidths
    local to every row (`pglearn.paper.baselines.aew`). Only k is searched, and each k once: the search may end before
    its budget does.

    Parameters and attributes are those of :class:`pglearn.GridClassifier`, without `bandwidth_range`. An evaluation is
    one value and gradient of the reconstruction error; a descent that the budget cuts short is judged where it stands.
    `feature_weights_` are the means over all edges of ℓ_m² / (s_i s_j), s being the local scales. New rows, which have
    none, are labelled with these.
    """

    alpha: float = 0.99

    def _method(self, problem: Problem, seed: int) -> Method:
        return AEW(self.alpha, self.k_range)

    def _weights(self, problem: Problem, best: Trial) -> Array:
        return np.asarray(best.a * np.mean(1 / LocalGraph.from_problem(problem, best.k).scales))


@dataclass(kw_only=True, eq=False, repr=False)
class IDMLClassifier(_DrawsBandwidths):
    """IDML: self-training around a learned metric (Dhillon, Talukdar, Crammer 2010).

    Rounds of metric learning (ITML), label spreading and labelling the surest rows (`pglearn.paper.baselines.idml`). At
    the end the metric and the guessed labels of the best round are kept, and labels are spread once more with all that
    were given.

    Parameters and attributes are those of :class:`pglearn.GridClassifier`. An evaluation is one round, and
    `bandwidth_range` that of ρ, σ = ρ d̄.
    """

    alpha: float = 0.99

    def _method(self, problem: Problem, seed: int) -> Method:
        return IDML(self.alpha, self.k_range, self._sigma_range(problem, seed), seed)
