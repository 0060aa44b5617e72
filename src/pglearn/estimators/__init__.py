"""The scikit-learn classes."""

from pglearn.estimators.baselines import (
    AEWClassifier,
    GridClassifier,
    IDMLClassifier,
    MinEntClassifier,
    RandClassifier,
)
from pglearn.estimators.pglearn import PGLearnClassifier

__all__ = [
    "AEWClassifier",
    "GridClassifier",
    "IDMLClassifier",
    "MinEntClassifier",
    "PGLearnClassifier",
    "RandClassifier",
]
