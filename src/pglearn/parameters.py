"""Parameters that are no good, each refused with a sentence."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from pglearn.errors import InputError


def choice(name: object, options: dict[str, Any], parameter: str) -> Any:
    """The option called `name`, or a sentence that lists what there is."""
    if not isinstance(name, str) or name not in options:
        known = ", ".join(repr(option) for option in options)
        raise InputError(f"{parameter}={name!r} is not known: choose one of {known}.")
    return options[name]


def check_whole(name: str, value: Any, least: int, meaning: str = "") -> None:
    if not (_is_whole(value) and value >= least):
        raise InputError(f"{name}={value!r} must be a whole number of at least {least}{meaning and f': {meaning}'}.")


def check_positive_or_none(name: str, value: Any) -> None:
    if value is not None and not (_is_number(value) and value > 0):
        raise InputError(f"{name}={value!r} must be above 0, or None.")


def check_folder(name: str, value: Any) -> None:
    if not isinstance(value, (str, PathLike)):
        raise InputError(f"{name}={value!r} must be the path of a folder, or None.")


def whole_range(name: str, value: Any, least: int) -> tuple[int, int]:
    low, high = _pair(name, value)
    if not (_is_whole(low) and _is_whole(high) and least <= low <= high):
        raise InputError(f"{name}={value!r} must be two whole numbers with {least} ≤ low ≤ high.")
    return int(low), int(high)


def positive_range(name: str, value: Any) -> tuple[float, float]:
    low, high = _pair(name, value)
    if not (_is_number(low) and _is_number(high) and 0 < low <= high < np.inf):
        raise InputError(f"{name}={value!r} must be two numbers with 0 < low ≤ high.")
    return float(low), float(high)


def processes(n_jobs: Any) -> int:
    """How many, after scikit-learn's convention: None is 1, -1 one per core."""
    if n_jobs is not None and not (_is_whole(n_jobs) and n_jobs != 0):
        raise InputError(f"n_jobs={n_jobs!r} must be a whole number of processes, -1 for one per core.")
    return int(effective_n_jobs(n_jobs))


def seed(random_state: Any) -> int:
    try:
        generator = check_random_state(random_state)
    except ValueError as error:
        raise InputError(
            f"random_state={random_state!r} is no seed: give a whole number from 0 to 2**32 - 1 or None."
        ) from error
    return int(generator.randint(np.iinfo(np.int32).max))


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    try:
        low, high = value
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}={value!r} must be two numbers, low and high.") from error
    return low, high


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
