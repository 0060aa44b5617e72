"""How loops are compiled: by Numba, without the GIL, and kept on disk for the next start.

Importing Numba takes longer than a small problem, so the modules with compiled loops (`*/compiled.py`) are imported
where the first large problem needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FROM_ROWS = 4000  # up to here dense factors are considered, and loading Numba would be felt


def is_large(rows: int) -> bool:
    """Whether compiled loops pay for a problem of so many rows."""
    return rows >= FROM_ROWS


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function compiled on its first call, or taken from the cache. Sums may be reordered, which vectorises them.

    Numba keeps its cache beside the module, or in the user's cache folder; where it can write to neither, it compiles
    at every start.
    """
    import numba

    options = {"nogil": True, "fastmath": {"reassoc", "contract"}}
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        return numba.njit(**options)(function)  # type: ignore[no-any-return]
