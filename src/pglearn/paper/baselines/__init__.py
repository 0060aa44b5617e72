"""The methods that the paper compares PG-learn with: the mathematics and the search of each."""

from pglearn.paper.baselines.aew import AEW
from pglearn.paper.baselines.grid import Grid
from pglearn.paper.baselines.idml import IDML
from pglearn.paper.baselines.minent import MinEnt, SpreadMinEnt
from pglearn.paper.baselines.random import Rand
from pglearn.paper.baselines.search import Clock, Found, Method, Trial, search

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
