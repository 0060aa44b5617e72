"""The methods that the paper compares PG-learn with: the mathematics and the search of each."""

from pglearn.baselines.aew import AEW
from pglearn.baselines.grid import Grid
from pglearn.baselines.idml import IDML
from pglearn.baselines.minent import MinEnt, SpreadMinEnt
from pglearn.baselines.random import Rand
from pglearn.baselines.search import Clock, Found, Method, Trial, search

__all__ = [
    "AEW",
    "IDML",
    "Clock",
    "Found",
    "Grid",
    "Method",
    "MinEnt",
    "Rand",
    "SpreadMinEnt",
    "Trial",
    "search",
]
