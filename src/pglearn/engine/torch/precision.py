"""How many bits products of float32 matrices keep, which torch has as a setting of the whole process.

A notebook that asks torch for faster products asks for ten bits everywhere: too few for distances and solves. So the
engine says what it wants for as long as it works, and then puts back what it found. Meanwhile engines of other threads
wait: what they put back would be put back under this one.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

LIBRARIES = (torch.backends.cuda.matmul, torch.backends.mkldnn.matmul)
"""Those with a setting of their own, beside that of the process."""

_one_at_a_time = threading.RLock()


@contextmanager
def whole_products() -> Iterator[None]:
    """All bits within the block."""
    with _one_at_a_time:
        try:
            before = _quietly(torch.get_float32_matmul_precision)
        except RuntimeError:  # a library was told otherwise by itself, and then torch does not say
            before = "highest"
        of_libraries = [(library, library.fp32_precision) for library in LIBRARIES]
        _quietly(torch.set_float32_matmul_precision, "highest")
        try:
            yield
        finally:
            _quietly(torch.set_float32_matmul_precision, before)
            for library, its_own in of_libraries:
                library.fp32_precision = its_own


def _quietly(call: Callable[..., Any], *arguments: str) -> Any:
    """Some versions from torch 2.9 on warn that they prefer the settings of single libraries."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Please use the new API settings")
        return call(*arguments)
