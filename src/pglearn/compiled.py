"""How loops are compiled: by Numba, without the GIL, and kept on disk for the next start.

Importing Numba takes longer than a small problem, so the modules with compiled loops (`*/compiled.py`) are imported
where the first large problem needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function compiled on its first call, or taken from the cache. Sums may be reordered, which vectorises them.

    Numba keeps its cache beside the module, or in the user's cache folder; where it can write to neither, it compiles
    at every start.
    """
    options = {"nogil": True, "fastmath": {"reassoc", "contract"}}
    try:
        return njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        return njit(**options)(function)  # type: ignore[no-any-return]
