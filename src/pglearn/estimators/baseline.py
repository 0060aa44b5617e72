"""What the estimators of all baselines share: the budget, the search and what a fit leaves behind."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np

from pglearn import parameters
from pglearn.baselines import Clock, Found, Method, Trial, search
from pglearn.baselines.trials import Record
from pglearn.estimators.base import (
    TableClassifier,
    about,
    check_labels_given,
    check_several_rows,
    one_column,
    warn_if_unsolved,
)
from pglearn.estimators.ensemble import GraphEnsemble, Member
from pglearn.estimators.scaling import Scaling
from pglearn.problem import Array, Problem
from pglearn.propagation import Solution
from pglearn.search import Candidate, Listener
from pglearn.search.interrupts import first_interrupt
from pglearn.search.limits import one_thread
from pglearn.views import View, given_view


class BaselineClassifier(TableClassifier):
    """A method that tries one configuration after another until its budget ends, in one thread."""

    budget: int
    unit_steps: int
    unit_seconds: float | None
    n_candidates: int
    k_range: tuple[int, int]
    validation: str
    scale: str | bool
    random_state: Any
    verbose: int
    max_time: float | None

    def fit(self, X: Any, y: Any, *, listeners: tuple[Listener, ...] = ()) -> Self:
        """Look for the best configuration and label every row.

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
        X, scaling, problem, seed = self._prepared(X, y)
        method = self._method(problem, seed)
        with first_interrupt() as interrupt, one_thread(), _progress(self.verbose) as shown:
            units = self.budget * self.n_candidates
            clock = Clock(units, self.unit_steps, self.unit_seconds, self.max_time)
            interrupt.then = clock.stop
            found = search(method, problem, clock, (*shown, *listeners), **about(X, problem))
            self._conclude(scaling, problem, method, found)
        self.stop_reason_ = found.reason
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
        """Those that not all methods have; the others are looked at here."""
        parameters.check_whole("budget", self.budget, 1, "it is the number of units (B)")
        parameters.check_whole("n_candidates", self.n_candidates, 1, "the budget is multiplied by it")
        parameters.check_whole("unit_steps", self.unit_steps, least=1)
        parameters.check_positive_or_none("unit_seconds", self.unit_seconds)
        parameters.check_positive_or_none("max_time", self.max_time)
        parameters.whole_range("k_range", self.k_range, least=1)

    def _prepared(self, X: Any, y: Any) -> tuple[Array, Scaling, Problem, int]:
        """Everything that can be wrong is found here, before any time is spent."""
        check_labels_given(self, y)
        self._check_parameters()
        seed = parameters.seed(self.random_state)
        X = self._numbers(X, reset=True)
        check_several_rows(X)
        scaling = Scaling.for_points(X, self.scale)
        X = scaling.transform(X)
        return X, scaling, Problem.of(X, one_column(y), validation=self.validation, seed=seed), seed

    def _conclude(self, scaling: Scaling, problem: Problem, method: Method, found: Found) -> None:
        graph, solution = method.answer(problem, found.best)
        warn_if_unsolved([solution])
        member = self._member(found.best, solution)
        view = self._view(problem, found.best)
        self._publish(GraphEnsemble.from_members(problem.X, scaling, [view], problem, [member]))
        self.graph_ = graph.W
        self.search_results_ = _table_of(found.records, found.best)
        self.history_ = {
            name: np.array([getattr(record, name) for record in found.records])
            for name in ("candidate", "step", "loss", "accuracy", "seconds")
        }

    def _view(self, problem: Problem, trial: Trial) -> View:
        """The coordinates that the weights of the member belong to."""
        return given_view(problem.X)

    def _member(self, trial: Trial, solution: Solution) -> Member:
        return Member.from_solution(Candidate(trial.candidate, trial.k, trial.a), solution)


def _progress(verbose: int) -> AbstractContextManager[tuple[Listener, ...]]:
    from pglearn.progress import silence, trials_bar

    return trials_bar() if verbose else silence()


def _table_of(records: list[Record], best: Trial) -> dict[str, Array]:
    """One row per draw, with the first of its best trials."""
    by_candidate: dict[int, list[Record]] = {}
    for record in records:
        by_candidate.setdefault(record.candidate, []).append(record)
    groups = list(by_candidate.values())
    top = [max(group, key=lambda record: record.merit) for group in groups]
    died = [group[-1].spent for group in groups]
    return {
        "candidate": np.array([record.candidate for record in top]),
        "k": np.array([record.k for record in top]),
        **{name: np.array([record.settings[name] for record in top]) for name in top[0].settings},
        "born": np.array([0.0, *died[:-1]]),
        "died": np.array(died),
        "steps": np.array([group[-1].step for group in groups]),
        "loss": np.array([record.loss for record in top]),
        "accuracy": np.array([record.accuracy for record in top]),
        "selected": np.array([record.candidate == best.candidate for record in top]),
    }
