"""How a task finds the problem: X is large and must not travel with every task.

A handle is small. Threads get the object itself; workers in other processes open the file that it names, once and
read-only; those of a cluster find what its engine has sent them (`clusters.broadcast`).
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pglearn.errors import WorkerError
from pglearn.problem import Array, Problem
from pglearn.search.interrupts import without_interrupts
from pglearn.sparse import parts_of, table_of

LABELS = ("labelled", "codes", "fold", "scored")


class Handle:
    """The problem as seen from a worker, and whether the search was stopped."""

    def __init__(self) -> None:
        self._stop = threading.Event()

    def problem(self) -> Problem:
        raise NotImplementedError

    def stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask the workers to return after the step they are in."""
        self._stop.set()

    def undisturbed(self) -> AbstractContextManager[object]:
        """In which a task runs."""
        return nullcontext()

    def close(self) -> None:
        pass


class InMemory(Handle):
    """For the same process."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self._problem = problem

    def problem(self) -> Problem:
        return self._problem


class OnDisk(Handle):
    """For other processes of this machine: points and labels as files in a temporary folder."""

    def __init__(self, problem: Problem) -> None:
        without_labels: dict[str, Any] = dict.fromkeys(LABELS, np.empty(0))
        self._rest = replace(problem, X=np.empty((0, 0)), others=(), **without_labels)
        tables = [parts_of(X, f"X{view}") for view, X in enumerate((problem.X, *problem.others))]
        self._tables = [list(parts) for parts in tables]
        self._folder = tempfile.mkdtemp(prefix="pglearn-")
        try:
            for parts in (*tables, {name: getattr(problem, name) for name in LABELS}):
                for name, part in parts.items():
                    np.save(self._file(f"{name}.npy"), part)
            Path(self._file("running")).touch()
        except BaseException:
            self.close()
            raise

    def problem(self) -> Problem:
        if _opened.folder != self._folder:
            X, *others = (
                table_of({name: self._read(name) for name in names}, f"X{view}")
                for view, names in enumerate(self._tables)
            )
            labels: dict[str, Any] = {name: self._read(name) for name in LABELS}
            _opened.problem = replace(self._rest, X=X, others=tuple(others), **labels)
            _opened.folder, _opened.parent = self._folder, os.getppid()
            gc.freeze()  # loky collects garbage every second, and would look through all of NumPy and SciPy each time
        assert _opened.problem is not None
        return _opened.problem

    @property
    def _orphaned(self) -> bool:
        """A worker whose parent has died (been killed) works for nobody."""
        return _opened.folder == self._folder and _opened.parent != os.getppid()

    def stopped(self) -> bool:
        return self._orphaned or not os.path.exists(self._file("running"))

    def stop(self) -> None:
        Path(self._file("running")).unlink(missing_ok=True)

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Ctrl-C reaches every process of the terminal; the search itself tells its workers when to stop."""
        try:
            with without_interrupts():
                yield
        finally:
            if self._orphaned:
                self.close()  # the parent cannot any more

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


class _Opened:
    """The problem that this process has open."""

    folder: str | None = None
    parent: int | None = None
    problem: Problem | None = None


_opened = _Opened()
