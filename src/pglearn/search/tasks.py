"""What goes out to workers, and how they find the problem: X is large and must not travel with every task.

Threads get the problem itself; workers in other processes open the files that they are told, once and read-only; those
of a cluster find what its engine has sent them (`clusters.broadcast`).
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pglearn.arrays import parts_of, table_of
from pglearn.errors import WorkerError
from pglearn.objective.problem import Problem
from pglearn.runtime.interrupts import without_interrupts
from pglearn.runtime.threads import at_most, one_thread
from pglearn.search.descent import Descent, Limit
from pglearn.search.runs import Run

LABELS = ("labelled", "codes", "fold", "scored")


@dataclass(frozen=True, eq=False)
class Task:
    """Runs that are to be advanced to a limit, side by side, in whatever worker this is."""

    descent: Descent
    runs: list[Run]
    limit: Limit
    shared: SharedProblem | None
    """None on its way to a cluster."""
    alone: bool = False
    """Whether nothing else runs meanwhile: a large problem may use all cores. One of several tasks has one thread."""

    def __call__(self) -> list[Run]:
        assert self.shared is not None
        return self.advance(self.shared.problem(), self.shared.stopped)

    def advance(self, problem: Problem, stopped: Callable[[], bool] = lambda: False) -> list[Run]:
        with ExitStack() as within:
            if not self.alone:
                within.enter_context(at_most(1))
                within.enter_context(without_interrupts())  # they reach all processes: the search itself says when
            within.enter_context(one_thread())
            return self.descent.advance(problem, self.runs, self.limit, stopped)


class SharedProblem:
    """The problem as seen from a worker, and whether the search was stopped: for the same process."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._stop = threading.Event()

    def problem(self) -> Problem:
        return self._problem

    def stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask the workers to return after the step they are in."""
        self._stop.set()

    def close(self) -> None:
        pass


class ProblemOnDisk(SharedProblem):
    """For other processes of this machine: arrays in a temporary folder, which they map into their memory."""

    def __init__(self, problem: Problem) -> None:
        arrays = {name: getattr(problem, name) for name in LABELS}
        for number, X in enumerate((problem.X, *problem.others)):
            arrays |= parts_of(X, f"X{number}")
        self._names, self._views = list(arrays), 1 + len(problem.others)
        without_labels: dict[str, Any] = dict.fromkeys(LABELS, np.empty(0))
        self._rest = replace(problem, X=np.empty((0, 0)), others=(), **without_labels)
        self._folder = Path(tempfile.mkdtemp(prefix="pglearn-"))
        try:
            for name, array in arrays.items():
                np.save(self._folder / f"{name}.npy", array, allow_pickle=False)
            (self._folder / "running").touch()
        except BaseException:
            self.close()
            raise

    def problem(self) -> Problem:
        if self._folder not in _opened:
            try:
                arrays = {name: np.asarray(np.load(self._folder / f"{name}.npy", "r")) for name in self._names}
            except FileNotFoundError as error:
                raise WorkerError(
                    f"A worker does not find the points in {self._folder}, a folder of the machine that the search was "
                    "started on: give an executor with workers on that machine, or a cluster of Dask, Ray or Spark."
                ) from error
            X, *others = (table_of(arrays, f"X{number}") for number in range(self._views))
            labels: dict[str, Any] = {name: arrays[name] for name in LABELS}
            _opened.clear()
            _opened[self._folder] = replace(self._rest, X=X, others=tuple(others), **labels), os.getppid()
            gc.freeze()  # loky collects garbage every second, and would look through all of NumPy and SciPy each time
        problem, _ = _opened[self._folder]
        return problem

    def stopped(self) -> bool:
        if self._folder in _opened and _opened[self._folder][1] != os.getppid():
            self.close()  # the parent has died (been killed) and cannot any more
        return not (self._folder / "running").exists()

    def stop(self) -> None:
        (self._folder / "running").unlink(missing_ok=True)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


_opened: dict[Path, tuple[Problem, int]] = {}
"""The problem that this process has open, by its folder, and who its parent was then."""
