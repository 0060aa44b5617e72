"""Everything pglearn raises on purpose. Each message is a sentence that says what happened and what to do next."""

from __future__ import annotations


class PGLearnError(Exception):
    """Base of every error that pglearn raises on purpose."""


class CheckpointError(PGLearnError, ValueError):
    """A checkpoint is that of another search, in use by another process, or cannot be read."""


class InputError(PGLearnError, ValueError):
    """The table, the labels or a parameter cannot be used."""


class DistanceError(InputError, OverflowError):
    """Distances between rows are beyond all numbers."""


class ModelFileError(PGLearnError, ValueError):
    """A saved model is foreign, cut short or of another version."""


class OutputError(PGLearnError, OSError):
    """A folder or file cannot be written."""


class WorkerError(PGLearnError, RuntimeError):
    """Worker processes keep dying, or no candidate can be evaluated."""


def printable(text: str) -> str:
    r"""The text with an escape in place of every character that a terminal would not show but act upon; lines stay.

    >>> print(printable("größe\x1b[2J"))
    größe\x1b[2J
    """
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
