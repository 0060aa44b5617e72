"""The graph of the points: who is whose neighbour, and how strongly."""

from pglearn.objective.graph.edges import Edges
from pglearn.objective.graph.neighbours import k_nearest, mean_distance
from pglearn.objective.graph.weights import Graph, weighted_graph

__all__ = ["Edges", "Graph", "k_nearest", "mean_distance", "weighted_graph"]
