"""The graph of the points: who is whose neighbour, and how strongly."""

from pglearn.graph.edges import Edges
from pglearn.graph.neighbours import k_nearest, mean_distance
from pglearn.graph.weights import Graph, weighted_graph

__all__ = ["Edges", "Graph", "k_nearest", "mean_distance", "weighted_graph"]
