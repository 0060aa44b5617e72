"""The methods that the paper compares PG-learn with, one file each, as scikit-learn classifiers."""

from pglearn.paper.baselines.aew import AEWClassifier
from pglearn.paper.baselines.grid import GridClassifier
from pglearn.paper.baselines.idml import IDMLClassifier
from pglearn.paper.baselines.minent import MinEntClassifier
from pglearn.paper.baselines.random import RandClassifier

__all__ = ["AEWClassifier", "GridClassifier", "IDMLClassifier", "MinEntClassifier", "RandClassifier"]
