"""The parameters of a PGLearnClassifier, checked before any time is spent, as what the steps of a fit need."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from pglearn import parameters
from pglearn.arrays import Array, parts_of
from pglearn.engine import Engine, announce_neighbours, check_engine, chosen_engine, neighbours_among
from pglearn.ensemble import SELECTIONS, Table, checked_prior
from pglearn.errors import InputError
from pglearn.estimators.base import about
from pglearn.objective.graph import mean_distance
from pglearn.objective.loss import LOSSES, Yardstick
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import PROPAGATIONS, Propagation
from pglearn.objective.views import View, check_views, views_for
from pglearn.runtime.threads import at_most
from pglearn.search import LARGE, Descent, Draws, Pool, Schedule, Search, Serial, Space, Threads, workers_for
from pglearn.search.checkpoint import Checkpoint, identity_of, opened

EVALUATIONS_OF_A_MEMBER = 2  # a graph of all rows and its labels take about as long as so many, row by row

# What may differ between a fit and the one that goes on from its checkpoint: nothing that the answer depends on, but
# for last bits that the torch engine rounds otherwise with another device_memory.
FREE_TO_CHANGE = {"n_jobs", "executor", "device_memory", "verbose", "max_time", "checkpoint"}


def propagation_of(model: Any) -> Propagation:
    return PROPAGATIONS["lgc"](model.alpha)


class Settings:
    """What a classifier was asked for."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._view_names = check_views(model.views)
        checked_prior(model.class_prior)
        parameters.choice(model.selection, SELECTIONS, "selection")
        self._loss = parameters.choice(model.loss, LOSSES, "loss")()
        self._schedule = Schedule(model.budget, model.downsampling_rate, model.n_candidates)
        self._k_range = parameters.whole_range("k_range", model.k_range, least=1)
        self._bandwidth_range = parameters.positive_range("bandwidth_range", model.bandwidth_range)
        parameters.check_whole("unit_steps", model.unit_steps, least=1)
        parameters.check_positive_or_none("unit_seconds", model.unit_seconds)
        parameters.check_positive_or_none("max_time", model.max_time)
        parameters.choice(model.dtype, {"float32": None, "float64": None}, "dtype")
        self._propagation = propagation_of(model)
        parameters.check_positive_or_none("device_memory", model.device_memory)
        if model.engine == "cpu" and model.device_memory is not None:
            raise InputError("device_memory is for the torch engine: leave it out, or use engine='auto' or 'torch'.")
        check_engine(model.engine, self._loss, self._propagation, model.neighbors)
        _check_checkpoint(model.checkpoint, model.random_state)
        self._workers = workers_for(model.executor, model.n_jobs)
        if model.engine == "torch" and (model.executor is not None or not isinstance(self._workers, (Serial, Threads))):
            raise InputError(
                "engine='torch' runs all candidates at once in this process: leave out n_jobs and executor, "
                "or use engine='cpu'."
            )
        self.seed = parameters.seed(model.random_state)

    def class_shares(self, problem: Problem) -> Array | str | None:
        """Those given, in the order of the classes, or what they are taken from."""
        return checked_prior(self._model.class_prior, problem.classes)

    def views(self, problem: Problem) -> list[View]:
        """Of the rows of a problem; no more than there are candidates."""
        # A hidden fold must not have shaped the coordinates: only a single label can be left out of them.
        labels = (problem.labelled, problem.Y) if self._model.validation == "loo" else None
        return views_for(problem.X, self._view_names, self.seed, labels)[: self._model.n_candidates]

    def search(self, searched: Problem) -> Search:
        spaces = tuple(Space(view.X.shape[1], mean_distance(view.X, self.seed)) for view in searched.views)
        draws = Draws(spaces, self._k_range, self._bandwidth_range, self.seed)
        model = self._model
        return Search(self._schedule, draws, model.unit_steps, model.unit_seconds, model.max_time)

    def engine(self, searched: Problem, evaluations: int) -> Engine:
        """That of the fit, solving as closely as it can."""
        model = self._model
        name = "cpu" if model.engine == "auto" and model.executor is not None else model.engine
        asked = (model.device_memory, model.dtype, model.neighbors)
        return chosen_engine(name, self._loss, self._propagation, searched, evaluations, *asked)

    def engine_of_answer(self, engine: Engine, table: Table) -> Engine:
        """The same for all rows of the table."""
        asked = self._model.neighbors
        answering = engine.for_answer(neighbours_among(table.X, table.views, asked), table.is_sampled)
        announce_neighbours(asked, answering.neighbours, table.problem.n)
        return answering

    def pool(self, searched: Problem, engine: Engine) -> Pool:
        """Where candidates run."""
        model, workers = self._model, self._workers
        by_default = model.executor is None and model.n_jobs is None
        if engine.together is None or (by_default and searched.n > LARGE):
            workers = Serial()  # by itself, with all cores
        yardstick = Yardstick.from_loss(self._loss, searched.scored_codes, searched.n_classes)
        return Pool(searched, Descent(engine.for_search(model.dtype), yardstick), workers)

    def cores(self) -> AbstractContextManager[None]:
        """As many as `n_jobs` says; by default all."""
        if self._model.executor == "serial":
            return at_most(1)
        n_jobs = self._model.n_jobs
        return nullcontext() if n_jobs is None else at_most(parameters.processes(n_jobs))

    def about(self, table: Table, searched: Problem, engine: Engine) -> dict[str, Any]:
        """What listeners are told of a fit as it begins."""
        evaluations = self._schedule.survivors * EVALUATIONS_OF_A_MEMBER * table.problem.n / searched.n
        units = 0.0 if self._model.unit_seconds is not None else evaluations / self._model.unit_steps
        named = {"answer": units, "engine": engine.name, "neighbors": engine.neighbours, "searched": searched.n}
        return named | about(table.X, table.problem)

    def opened_checkpoint(self, table: Table, engine: Engine) -> AbstractContextManager[Checkpoint | None]:
        model, problem, scaling = self._model, table.problem, table.scaling
        if model.checkpoint is None:
            return nullcontext()
        from pglearn import __version__

        y = {"labelled": problem.labelled, "codes": problem.codes, "classes": problem.classes}
        chosen = {name: value for name, value in model.get_params().items() if name not in FREE_TO_CHANGE}
        chosen |= {"engine": engine.name, "pglearn": __version__}
        X = parts_of(table.X) | {"centre": scaling.centre, "spread": scaling.spread}
        return opened(Path(model.checkpoint), identity_of({"X": X, "y": y}, chosen))


def _check_checkpoint(folder: Any, random_state: Any) -> None:
    if folder is None:
        return
    parameters.check_folder("checkpoint", folder)
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)):
        raise InputError(
            f"checkpoint needs a whole number as random_state, and it is {random_state!r}: the search could not go on "
            "with the same draws."
        )
