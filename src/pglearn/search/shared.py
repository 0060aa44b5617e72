"""How a task finds the problem: X is large and must not travel with every task.

What travels is small. Threads get the object itself; workers in other processes open the files that it names, once
and read-only; those of a cluster find what its engine has sent them (`clusters.broadcast`).
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pglearn.arrays import Array, parts_of, table_of
from pglearn.errors import WorkerError
from pglearn.objective.problem import Problem

LABELS = ("labelled", "codes", "fold", "scored")


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
    """For other processes of this machine: points and labels as files in a temporary folder."""

    def __init__(self, problem: Problem) -> None:
        arrays = {name: getattr(problem, name) for name in LABELS}
        for number, X in enumerate((problem.X, *problem.others)):
            arrays |= parts_of(X, f"X{number}")
        self._names, self._views = list(arrays), 1 + len(problem.others)
        without_labels: dict[str, Any] = dict.fromkeys(LABELS, np.empty(0))
        self._rest = replace(problem, X=np.empty((0, 0)), others=(), **without_labels)
        self._folder = tempfile.mkdtemp(prefix="pglearn-")
        try:
            for name, array in arrays.items():
                np.save(self._file(f"{name}.npy"), array)
            Path(self._file("running")).touch()
        except BaseException:
            self.close()
            raise

    def problem(self) -> Problem:
        if self._folder not in _opened:
            arrays = {name: self._read(name) for name in self._names}
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
        return not os.path.exists(self._file("running"))

    def stop(self) -> None:
        Path(self._file("running")).unlink(missing_ok=True)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self, name: str) -> Array:
        try:
            return np.asarray(np.load(self._file(f"{name}.npy"), mmap_mode="r"))
        except FileNotFoundError as error:
            raise WorkerError(
                f"A worker does not find the points in {self._folder}, a folder of the machine that the search was "
                "started on: give an executor with workers on that machine, or a cluster of Dask, Ray or Spark."
            ) from error

    def _file(self, name: str) -> str:
        return os.path.join(self._folder, name)


_opened: dict[str, tuple[Problem, int]] = {}
"""The problem that this process has open, by its folder, and who its parent was then."""
