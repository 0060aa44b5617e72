"""Everything pglearn raises on purpose. Each message is a sentence that says what happened and what to do next."""

from __future__ import annotations

import inspect
import warnings

PASSED_OVER = ("pglearn", "sklearn", "contextlib")  # where no warning points to: sklearn wraps what we define


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


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning that points to the line from which pglearn was called, however deep inside it comes from."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals["__name__"].partition(".")[0] in PASSED_OVER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def printable(text: str) -> str:
    r"""The text with an escape in place of every character that a terminal would not show but act upon; lines stay.

    >>> print(printable("größe\x1b[2J"))
    größe\x1b[2J
    """
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
