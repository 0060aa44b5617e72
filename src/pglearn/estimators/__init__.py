"""The scikit-learn classes."""

from pglearn.estimators.pglearn import PGLearnClassifier

__all__ = ["PGLearnClassifier"]
