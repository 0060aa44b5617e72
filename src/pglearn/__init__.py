"""pglearn labels the unlabelled rows of a table, learning the graph that the labels spread over."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pglearn.engine.evaluate import loss_and_gradient
    from pglearn.estimators.pglearn import PGLearnClassifier
    from pglearn.paper.baselines import (
        AEWClassifier,
        GridClassifier,
        IDMLClassifier,
        MinEntClassifier,
        RandClassifier,
    )
    from pglearn.tables.encode import TableEncoder

__version__ = "0.1.0"

__all__ = [
    "AEWClassifier",
    "GridClassifier",
    "IDMLClassifier",
    "MinEntClassifier",
    "PGLearnClassifier",
    "RandClassifier",
    "TableEncoder",
    "__version__",
    "loss_and_gradient",
]

# Loaded when first asked for: `pglearn --help` should not wait for scikit-learn, nor arrays for pandas.
_HOMES = {
    "AEWClassifier": "pglearn.paper.baselines",
    "GridClassifier": "pglearn.paper.baselines",
    "IDMLClassifier": "pglearn.paper.baselines",
    "MinEntClassifier": "pglearn.paper.baselines",
    "PGLearnClassifier": "pglearn.estimators.pglearn",
    "RandClassifier": "pglearn.paper.baselines",
    "TableEncoder": "pglearn.tables.encode",
    "loss_and_gradient": "pglearn.engine.evaluate",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pglearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
