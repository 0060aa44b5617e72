"""pglearn labels the unlabelled rows of a table, learning the graph that the labels spread over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pglearn.estimators import PGLearnClassifier
from pglearn.objective import loss_and_gradient

if TYPE_CHECKING:
    from pglearn.tables.encode import TableEncoder

__version__ = "0.1.0"

__all__ = ["PGLearnClassifier", "TableEncoder", "__version__", "loss_and_gradient"]


def __getattr__(name: str) -> Any:
    # The encoder needs pandas, which an import for arrays alone should not wait for.
    if name == "TableEncoder":
        from pglearn.tables.encode import TableEncoder

        return TableEncoder
    raise AttributeError(f"module 'pglearn' has no attribute {name!r}")
