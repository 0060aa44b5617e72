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

import joblib

from pglearn.errors import WorkerError
from pglearn.objective.problem import Problem


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
    """For other processes of this machine: a file in a temporary folder, whose arrays they map into their memory."""

    def __init__(self, problem: Problem) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="pglearn-"))
        try:
            joblib.dump(replace(problem), self._folder / "problem")
            (self._folder / "running").touch()
        except BaseException:
            self.close()
            raise

    def problem(self) -> Problem:
        if self._folder not in _opened:
            try:
                problem = joblib.load(self._folder / "problem", mmap_mode="r")
            except FileNotFoundError as error:
                raise WorkerError(
                    f"A worker does not find the points in {self._folder}, a folder of the machine that the search was "
                    "started on: give an executor with workers on that machine, or a cluster of Dask, Ray or Spark."
                ) from error
            _opened.clear()
            _opened[self._folder] = problem, os.getppid()
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
