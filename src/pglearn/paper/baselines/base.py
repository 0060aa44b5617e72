"""What the baselines share: trials one after another until the budget ends, the best of which is the answer.

A *trial* is a configuration judged on the scored labels. A method is a stream of them, and the clock is read after
each: a search can end after any trial with the best so far.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from pglearn import parameters
from pglearn.arrays import Array
from pglearn.ensemble import GraphEnsemble, Member, warn_if_unsolved
from pglearn.errors import warn
from pglearn.estimators.base import TableClassifier, about
from pglearn.objective.graph import Graph, mean_distance, weighted_graph
from pglearn.objective.loss import share_right
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC, Solution
from pglearn.objective.views import given_view
from pglearn.runtime.interrupts import FirstInterrupt, first_interrupt
from pglearn.runtime.threads import one_thread
from pglearn.search import VERSION, Draws, Listener, Run, Space, Stream

# Which class scores highest needs no more than this; the final labels are solved to LGC's own tolerance.
TOLERANCE, PRECISION = 1e-8, 1e-2


@dataclass(frozen=True, eq=False)
class Trial:
    """A configuration and how it was judged."""

    candidate: int
    """Which draw or start it belongs to."""
    step: int
    """Evaluations since that draw."""
    k: int
    a: Array
    """Feature weights of the graph, as the method has them."""
    accuracy: float
    """On the scored labels."""
    loss: float = float("nan")
    """What the method itself minimises, if anything."""
    settings: dict[str, float] = field(default_factory=dict)
    """What else was drawn for it."""
    guesses: Array | None = None
    """Classes that self-training gave to rows, -1 for the others."""
    tie_break: float = 0.0
    """Among trials of the same accuracy the lowest wins, and the first where that is the same, too."""

    @property
    def rank(self) -> tuple[float, float]:
        """The highest is best."""
        return self.accuracy, -self.tie_break


@dataclass(eq=False)
class Clock:
    """Counts evaluations, or seconds if there are any to count, up to what a search may use.

    `units` is the budget; a unit is `unit_steps` evaluations, or `unit_seconds` seconds if given. `max_time` ends the
    search early, however much of the budget is left.
    """

    units: int
    unit_steps: int = 1
    unit_seconds: float | None = None
    max_time: float | None = None
    interrupt: FirstInterrupt = field(default_factory=FirstInterrupt)
    evaluations: int = 0
    begun: float = field(default_factory=time.monotonic)

    def tick(self) -> None:
        """One evaluation was made."""
        self.evaluations += 1

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    @property
    def spent(self) -> float:
        """Units used so far."""
        if self.unit_seconds is not None:
            return self.seconds / self.unit_seconds
        return self.evaluations / self.unit_steps

    @property
    def reason(self) -> str | None:
        """Why the search is over, if it is."""
        if self.interrupt.happened:
            return "interrupted"
        if self.max_time is not None and self.seconds >= self.max_time:
            return "out of time"
        return "finished" if self.spent >= self.units else None


@dataclass(kw_only=True, eq=False, repr=False)
class BaselineClassifier(TableClassifier):
    """A method that tries one configuration after another until its budget ends, in one thread.

    A subclass has `trials`, and what else differs from label spreading (LGC) on the graph of the best trial.
    """

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

    alpha = 0.99  # no annotation, so no parameter, but where a subclass has one

    @abstractmethod
    def trials(self, problem: Problem, clock: Clock, seed: int) -> Iterator[Trial]:
        """Trials without end, or until there is nothing more to try; the clock is told of every evaluation."""

    def fit(self, X: Any, y: Any, *, listeners: tuple[Listener, ...] = ()) -> Self:
        """Look for the best configuration and label every row.

        X, y, listeners and Ctrl-C are as in :meth:`pglearn.PGLearnClassifier.fit`.
        """
        from pglearn.runtime.progress import progress_bar

        self._check_parameters()
        seed = parameters.seed(self.random_state)
        scaling, problem = self._scaled_problem(X, y, seed)
        with first_interrupt() as interrupt, one_thread(), progress_bar(self.verbose) as shown:
            units = self.budget * self.n_candidates
            clock = Clock(units, self.unit_steps, self.unit_seconds, self.max_time, interrupt)
            best = self._search(problem, clock, seed, Stream((*shown, *listeners)))
            graph, solution = self.answer(problem, best)
            warn_if_unsolved([solution])
            member = Member.from_solution(Run(best.candidate, best.k, self._weights(problem, best)), solution)
            self._publish(GraphEnsemble.from_members(problem.X, scaling, [given_view(problem.X)], problem, [member]))
            self.graph_ = graph.W
        if self.stop_reason_ == "interrupted":
            warn(
                "The search was interrupted: the labels are those of the best configuration so far. Fit again for more."
            )
        return self

    def _check_parameters(self) -> None:
        parameters.check_whole("budget", self.budget, 1, "it is the number of units (B)")
        parameters.check_whole("n_candidates", self.n_candidates, 1, "the budget is multiplied by it")
        parameters.check_whole("unit_steps", self.unit_steps, least=1)
        parameters.check_positive_or_none("unit_seconds", self.unit_seconds)
        parameters.check_positive_or_none("max_time", self.max_time)
        parameters.whole_range("k_range", self.k_range, least=1)
        LGC(self.alpha)  # which refuses one that is no good

    def _search(self, problem: Problem, clock: Clock, seed: int, emit: Stream) -> Trial:
        """Trials until the clock says stop; the highest validation accuracy wins (`Trial.tie_break`)."""
        method = type(self).__name__.removesuffix("Classifier")
        emit("search_started", version=VERSION, method=method, **about(problem.X, problem), budget=clock.units)
        best: Trial | None = None
        rows: list[dict[str, Any]] = []
        for trial in self.trials(problem, clock, seed):
            told = {name: getattr(trial, name) for name in ("candidate", "step", "k", "loss", "accuracy")}
            told["spent"] = min(clock.spent, float(clock.units))
            if best is None or trial.rank > best.rank:
                best, selected = trial, len(rows)
            rows.append({**told, "seconds": clock.seconds, **trial.settings})
            emit("trial_ended", **told)
            if clock.reason:
                break
        assert best is not None
        self.search_results_ = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        self.search_results_["selected"] = np.arange(len(rows)) == selected
        self.stop_reason_: str = clock.reason or "finished"
        emit("search_ended", reason=self.stop_reason_, best=best.candidate, loss=best.loss, accuracy=best.accuracy)
        return best

    def answer(self, problem: Problem, trial: Trial) -> tuple[Graph, Solution]:
        """The graph of a trial and F (n × c) on it, with every label shown."""
        graph = self._graph(problem, trial.k, trial.a)
        return graph, LGC(self.alpha).system(graph, problem).labels()

    def _graph(self, problem: Problem, k: int, a: Array) -> Graph:
        return weighted_graph(problem.X, a, k, problem.centre)

    def _accuracy(self, problem: Problem, graph: Graph) -> float:
        """On the scored labels, from the others."""
        lgc = LGC(self.alpha, tolerance=TOLERANCE, precision=PRECISION)
        scores = lgc.system(graph, problem).validation_scores()
        return share_right(scores.S, scores.least, problem.scored_codes)

    def _weights(self, problem: Problem, best: Trial) -> Array:
        """One per feature, with which new rows are compared with those of the table."""
        return best.a


@dataclass(kw_only=True, eq=False, repr=False)
class BandwidthClassifier(BaselineClassifier):
    """A method that chooses bandwidths, in mean distances d̄ between rows."""

    bandwidth_range: tuple[float, float] = (0.1, 10.0)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.positive_range("bandwidth_range", self.bandwidth_range)

    def _sigma_range(self, problem: Problem, seed: int) -> tuple[float, float]:
        low, high = self.bandwidth_range
        mean = mean_distance(problem.X, seed)
        return low * mean, high * mean

    def _draws(self, problem: Problem, seed: int) -> Draws:
        """Those that PG-learn starts from."""
        space = Space(problem.X.shape[1], mean_distance(problem.X, seed))
        return Draws((space,), self.k_range, self.bandwidth_range, seed)


def random_start(
    rng: np.random.Generator, k_range: tuple[int, int], sigma_range: tuple[float, float], others: tuple[float, ...]
) -> tuple[int, float, float]:
    """k, a scale σ that is as likely between 1 and 2 as between 2 and 4, and one of the others."""
    k = int(rng.integers(*k_range, endpoint=True))
    return k, float(np.exp(rng.uniform(*np.log(sigma_range)))), float(rng.choice(others))


def mass_normalised(F: Array, masses: Array | None = None) -> Array:
    """F with its columns divided by the classes' masses, by default their sums, then rows that sum to one.

    Zhu et al.'s, without bounds; PG-learn's is milder and aims at shares (`pglearn.ensemble.class_shares`). A class
    without mass and rows of zeros stay as they are.
    """
    masses = F.sum(axis=0) if masses is None else masses
    F = F / np.where(masses > 0, masses, 1)
    sums = F.sum(axis=1, keepdims=True)
    return np.asarray(F / np.where(sums > 0, sums, 1))
