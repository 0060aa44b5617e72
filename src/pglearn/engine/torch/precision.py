"""How many bits products of float32 matrices keep, which torch has as a setting of the whole process.

A notebook that asks torch for faster products asks for ten bits everywhere: too few for distances and solves. So the
engine says what it wants for as long as it works, and then puts back what it found.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from pglearn.engine.torch.placed import Tensor


@contextmanager
def float32_products(precision: str) -> Iterator[None]:
    """All bits ("highest") or the ten that tensor cores read ("high"), within the block."""
    before, of_libraries = _matmul_precision(), [(library, library.fp32_precision) for library in _libraries()]
    _set_matmul_precision(precision)
    try:
        yield
    finally:
        _set_matmul_precision(before)
        for library, its_own in of_libraries:
            library.fp32_precision = its_own


def _matmul_precision() -> str:
    try:
        return str(torch.get_float32_matmul_precision())
    except RuntimeError:  # a library was told otherwise by itself, and then torch does not say
        return "highest"


def _set_matmul_precision(precision: str) -> None:
    with warnings.catch_warnings():  # of torch 2.9, which prefers the settings of single libraries
        warnings.filterwarnings("ignore", "Please use the new API settings")
        torch.set_float32_matmul_precision(precision)


def _libraries() -> list[Tensor]:
    """The libraries with a setting of their own, from torch 2.9 on."""
    found = (torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None))
    return [library for library in found if hasattr(library, "fp32_precision")]
