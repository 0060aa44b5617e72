"""Everything pglearn raises on purpose.

PGLearnError
├── CheckpointError     a checkpoint that is another search's, in use, or cannot be read (also a ValueError)
├── InputError          a table, labels or parameters that cannot be used (also a ValueError)
├── ModelFileError      a model file that is foreign, cut short or from another version (also a ValueError)
├── OutputError         a place that cannot be written (also an OSError)
└── WorkerError         workers that keep dying, candidates that all fail (also a RuntimeError)

Each message is a sentence that says what happened and what to do next.
"""

from __future__ import annotations


class PGLearnError(Exception):
    """Base of every error that pglearn raises on purpose."""


class CheckpointError(PGLearnError, ValueError):
    """A checkpoint is that of another search, in use by another process, or cannot be read."""


class InputError(PGLearnError, ValueError):
    """The table, the labels or a parameter cannot be used."""


class ModelFileError(PGLearnError, ValueError):
    """A saved model cannot be read."""


class OutputError(PGLearnError, OSError):
    """A folder or file cannot be written."""


class WorkerError(PGLearnError, RuntimeError):
    """Worker processes keep dying, or no candidate can be evaluated."""
