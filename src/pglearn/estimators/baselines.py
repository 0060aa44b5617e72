"""The methods that the paper compares PG-learn with, as scikit-learn classifiers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pglearn import parameters
from pglearn.baselines import AEW, IDML, FullIDML, Grid, Method, MinEnt, Rand, SpreadMinEnt, Trial
from pglearn.baselines.aew import spreading
from pglearn.baselines.minent import MOST_ROWS
from pglearn.baselines.random import WeightDraws
from pglearn.baselines.spread import Spread
from pglearn.errors import InputError
from pglearn.estimators.baseline import BaselineClassifier
from pglearn.estimators.ensemble import Member
from pglearn.graph import mean_distance
from pglearn.problem import Array, Problem
from pglearn.propagation import LGC, Solution
from pglearn.search.candidate import Draws, Space
from pglearn.views import View

DRAWS: dict[str, type[Draws]] = {"bandwidths": Draws, "weights": WeightDraws}
METRICS: dict[str, type[IDML]] = {"diagonal": IDML, "full": FullIDML}
MOST_FEATURES = 5_000  # of a full metric: 200 MB, and as much again to learn it


class _Bandwidths(BaselineClassifier):
    """Methods that draw bandwidths and spread labels with LGC."""

    def __init__(
        self,
        *,
        budget: int = 64,
        unit_steps: int = 1,
        unit_seconds: float | None = None,
        n_candidates: int = 1,
        k_range: tuple[int, int] = (5, 20),
        bandwidth_range: tuple[float, float] = (0.1, 10.0),
        validation: str = "loo",
        scale: str | bool = False,
        alpha: float = 0.99,
        random_state: Any = None,
        verbose: int = 0,
        max_time: float | None = None,
    ) -> None:
        self.budget = budget
        self.unit_steps = unit_steps
        self.unit_seconds = unit_seconds
        self.n_candidates = n_candidates
        self.k_range = k_range
        self.bandwidth_range = bandwidth_range
        self.validation = validation
        self.scale = scale
        self.alpha = alpha
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.positive_range("bandwidth_range", self.bandwidth_range)
        LGC(self.alpha)


class GridClassifier(_Bandwidths):
    """Label spreading with one bandwidth for all features, on a grid over (k, σ) that is refined while time lasts.

    The grid starts with the corners of its range and halves its cells level by level (`pglearn.baselines.grid`). All
    baselines answer with the configuration of the highest validation accuracy, the first of several, and label the
    table with all labels shown.

    Parameters
    ----------
    budget : int, default=64
        B, units of work.
    unit_steps : int, default=1
        Evaluations in a unit; here, points of the grid. The result is then the same on every run.
    unit_seconds : float, optional
        Measure units in seconds instead, as the paper does. The search ends within one evaluation of the time.
    n_candidates : int, default=1
        T: the method may use B·T units. It runs alone, and can so be given what T candidates of PG-learn get.
    k_range : (int, int), default=(5, 20)
        Range of k, the neighbours per row.
    bandwidth_range : (float, float), default=(0.1, 10.0)
        Range of σ, in mean distances d̄ between rows.
    validation : {"loo", "kfold", "holdout"}, default="loo"
        Which labels are hidden to compare configurations: each in turn, five folds, or one half of them.
    scale : {"auto", True, False}, default=False
        Standardise the features first; "auto" does when their ranges differ by more than a factor of 20.
    alpha : float in (0, 1), default=0.99
        How much a row listens to its neighbours against its own label.
    random_state : int, RandomState or None
        Seed of the split.
    verbose : int, default=0
        1 shows a progress bar.
    max_time : float, optional
        Seconds after which the search ends with the best found so far, whatever the budget.

    Attributes
    ----------
    classes_, transduction_, label_distributions_, confidence_, unreached_, feature_weights_, n_neighbors_, graph_
        As in :class:`pglearn.PGLearnClassifier`.
    search_results_ : dict of arrays
        One row per configuration drawn: candidate, k, what else was drawn for it (here sigma), born and died (units),
        steps, loss (NaN where the method minimises nothing), accuracy on the hidden labels, selected.
    history_ : dict of arrays
        One row per trial: candidate, step, loss, accuracy, seconds (since the search began).
    stop_reason_ : str
        "finished", "interrupted" or "out of time".
    scaled_, logarithms_, n_features_in_, feature_names_in_
        As in :class:`pglearn.PGLearnClassifier`.

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

    def _method(self, problem: Problem, seed: int) -> Method:
        k_range = parameters.whole_range("k_range", self.k_range, least=1)
        return Grid(k_range, _sigmas(problem, self.bandwidth_range, seed), Spread(self.alpha))


class RandClassifier(_Bandwidths):
    """Rand_d: label spreading with k and one bandwidth per feature drawn at random, again and again.

    Parameters and attributes are those of :class:`pglearn.GridClassifier`, and one more. An evaluation is one draw, and
    `bandwidth_range` that of every σ_m.

    Parameters
    ----------
    draw : {"bandwidths", "weights"}, default="bandwidths"
        What is uniform on `bandwidth_range`·d̄: the bandwidths σ_m, or the weights a_m = 1/σ_m², as the paper's text has
        it. Among hundreds of bandwidths a few small ones outdo all others, and the graph is poor.
    """

    def __init__(
        self,
        *,
        budget: int = 64,
        unit_steps: int = 1,
        unit_seconds: float | None = None,
        n_candidates: int = 1,
        k_range: tuple[int, int] = (5, 20),
        bandwidth_range: tuple[float, float] = (0.1, 10.0),
        draw: str = "bandwidths",
        validation: str = "loo",
        scale: str | bool = False,
        alpha: float = 0.99,
        random_state: Any = None,
        verbose: int = 0,
        max_time: float | None = None,
    ) -> None:
        super().__init__(
            budget=budget,
            unit_steps=unit_steps,
            unit_seconds=unit_seconds,
            n_candidates=n_candidates,
            k_range=k_range,
            bandwidth_range=bandwidth_range,
            validation=validation,
            scale=scale,
            alpha=alpha,
            random_state=random_state,
            verbose=verbose,
            max_time=max_time,
        )
        self.draw = draw

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.choice(self.draw, DRAWS, "draw")

    def _method(self, problem: Problem, seed: int) -> Method:
        k_range = parameters.whole_range("k_range", self.k_range, least=1)
        draws = parameters.choice(self.draw, DRAWS, "draw")
        return Rand(_draws(draws, problem, k_range, self.bandwidth_range, seed), Spread(self.alpha))


class MinEntClassifier(BaselineClassifier):
    """MinEnt: the bandwidths that leave the labels of unlabelled rows least in doubt (Zhu, Ghahramani, Lafferty 2003).

    The entropy of the harmonic solution, smoothed by ε, is minimised over one bandwidth per feature by gradient
    descent, from a new (k, σ, ε) whenever a descent has converged (`pglearn.baselines.minent`). Among all points on
    the way the validation accuracy decides. Rows are labelled after the classes' masses have been made equal.

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

    Rows are joined to their k nearest; Zhu et al. join all pairs, which ``k_range=(n, n)`` does too. On the paper's
    data with 10 % labels and as many evaluations (`budget=60` on Yale, 20 on USPS, `random_state` the number of the
    split), accuracy with k from 5 to 20 and with all pairs was .576 and .583 (Yale, split 0), .693 and .717 (Yale,
    split 1), .904 and .889 (USPS, split 0), and all pairs took 7 (Yale) and 20 times (USPS) as long.
    """

    def __init__(
        self,
        *,
        budget: int = 64,
        unit_steps: int = 1,
        unit_seconds: float | None = None,
        n_candidates: int = 1,
        k_range: tuple[int, int] = (5, 20),
        bandwidth_range: tuple[float, float] = (0.1, 10.0),
        propagation: str = "harmonic",
        validation: str = "loo",
        scale: str | bool = False,
        random_state: Any = None,
        verbose: int = 0,
        max_time: float | None = None,
    ) -> None:
        self.budget = budget
        self.unit_steps = unit_steps
        self.unit_seconds = unit_seconds
        self.n_candidates = n_candidates
        self.k_range = k_range
        self.bandwidth_range = bandwidth_range
        self.propagation = propagation
        self.validation = validation
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.positive_range("bandwidth_range", self.bandwidth_range)
        parameters.choice(self.propagation, {"harmonic": None, "lgc": None}, "propagation")

    def _method(self, problem: Problem, seed: int) -> Method:
        k_range = parameters.whole_range("k_range", self.k_range, least=1)
        if self.propagation == "lgc":
            return SpreadMinEnt(_draws(Draws, problem, k_range, self.bandwidth_range, seed), Spread())
        if len(problem.X) > MOST_ROWS:
            raise InputError(
                f"X has {len(problem.X):,} rows, and MinEntClassifier factors a dense matrix of all unlabelled ones: "
                f"take at most {MOST_ROWS:,} of them, or propagation='lgc'."
            )
        return MinEnt(k_range, _sigmas(problem, self.bandwidth_range, seed), seed)


class AEWClassifier(BaselineClassifier):
    """AEW: edge weights by which every row is best made up of its neighbours (Karasuyama & Mamitsuka 2017).

    The edges are those of the raw data; a factor per feature is learned without a look at the labels, with bandwidths
    local to every row (`pglearn.baselines.aew`). Only k is searched, and each k once: the search may end before its
    budget does.

    Parameters and attributes are those of :class:`pglearn.GridClassifier`, without `bandwidth_range`. An evaluation is
    one value and gradient of the reconstruction error; a descent that the budget cuts short is judged where it stands.
    `feature_weights_` are ℓ_m², which the graph divides by the local scales of both rows.
    """

    def __init__(
        self,
        *,
        budget: int = 64,
        unit_steps: int = 1,
        unit_seconds: float | None = None,
        n_candidates: int = 1,
        k_range: tuple[int, int] = (5, 20),
        validation: str = "loo",
        scale: str | bool = False,
        alpha: float = 0.99,
        random_state: Any = None,
        verbose: int = 0,
        max_time: float | None = None,
    ) -> None:
        self.budget = budget
        self.unit_steps = unit_steps
        self.unit_seconds = unit_seconds
        self.n_candidates = n_candidates
        self.k_range = k_range
        self.validation = validation
        self.scale = scale
        self.alpha = alpha
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time

    def _check_parameters(self) -> None:
        super()._check_parameters()
        LGC(self.alpha)

    def _method(self, problem: Problem, seed: int) -> Method:
        return AEW(parameters.whole_range("k_range", self.k_range, least=1), Spread(self.alpha))

    def _member(self, trial: Trial, solution: Solution) -> Member:
        member = super()._member(trial, solution)
        return _LocalMember(member.view, member.k, member.a, member.F)


class IDMLClassifier(_Bandwidths):
    """IDML: self-training around a learned metric (Dhillon, Talukdar, Crammer 2010).

    Rounds of metric learning (ITML), label spreading and labelling the surest rows (`pglearn.baselines.idml`). At the
    end the metric and the guessed labels of the best round are kept, and labels are spread once more with all that were
    given.

    Parameters and attributes are those of :class:`pglearn.GridClassifier`, and one more. An evaluation is one round,
    and `bandwidth_range` that of ρ, σ = ρ d̄.

    Parameters
    ----------
    metric : {"diagonal", "full"}, default="diagonal"
        One weight per feature, as the paper has it, or a d × d matrix, as in the program of its authors.
        `feature_weights_` is the diagonal of either. The full metric takes at most 5,000 features.
    """

    def __init__(
        self,
        *,
        budget: int = 64,
        unit_steps: int = 1,
        unit_seconds: float | None = None,
        n_candidates: int = 1,
        k_range: tuple[int, int] = (5, 20),
        bandwidth_range: tuple[float, float] = (0.1, 10.0),
        metric: str = "diagonal",
        validation: str = "loo",
        scale: str | bool = False,
        alpha: float = 0.99,
        random_state: Any = None,
        verbose: int = 0,
        max_time: float | None = None,
    ) -> None:
        super().__init__(
            budget=budget,
            unit_steps=unit_steps,
            unit_seconds=unit_seconds,
            n_candidates=n_candidates,
            k_range=k_range,
            bandwidth_range=bandwidth_range,
            validation=validation,
            scale=scale,
            alpha=alpha,
            random_state=random_state,
            verbose=verbose,
            max_time=max_time,
        )
        self.metric = metric

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.choice(self.metric, METRICS, "metric")

    def _method(self, problem: Problem, seed: int) -> Method:
        features = problem.X.shape[1]
        if self.metric == "full" and features > MOST_FEATURES:
            raise InputError(
                f"X has {features:,} features, and metric='full' learns a matrix of {features:,} × {features:,}: "
                f"take at most {MOST_FEATURES:,} of them, or metric='diagonal'."
            )
        k_range = parameters.whole_range("k_range", self.k_range, least=1)
        method: type[IDML] = parameters.choice(self.metric, METRICS, "metric")
        return method(k_range, _sigmas(problem, self.bandwidth_range, seed), seed, Spread(self.alpha))

    def _view(self, problem: Problem, trial: Trial) -> View:
        given = super()._view(problem, trial)
        return given if self.metric == "diagonal" else replace(given, name="metric", axes=trial.a.T)

    def _member(self, trial: Trial, solution: Solution) -> Member:
        if self.metric == "full":
            trial = replace(trial, a=np.ones(len(trial.a)))
        return super()._member(trial, solution)


@dataclass(frozen=True, eq=False)
class _LocalMember(Member):
    """A member whose bandwidths are local: a new row has one of its own."""

    def spreading(self, X: Array) -> Callable[[Array], Array]:
        return spreading(X, self.a, self.k, self.F)


def _draws(kind: type[Draws], problem: Problem, k_range: tuple[int, int], bandwidth_range: Any, seed: int) -> Draws:
    space = Space(problem.X.shape[1], mean_distance(problem.X, seed))
    return kind((space,), k_range, parameters.positive_range("bandwidth_range", bandwidth_range), seed)


def _sigmas(problem: Problem, bandwidth_range: Any, seed: int) -> tuple[float, float]:
    low, high = parameters.positive_range("bandwidth_range", bandwidth_range)
    mean = mean_distance(problem.X, seed)
    return low * mean, high * mean
