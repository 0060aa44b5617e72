"""Which rows a person should label next.

A label is worth most where it reaches many rows that are in doubt. A row is in doubt if its probabilities are (their
entropy), and if no label is near enough to say much: what reaches it is less than half of the rows get. R = M⁻¹, M the
system that spreads labels, says how far a label at row i would reach: R_ji / R_ii of the way to row j. The row whose
label would settle most doubt is taken, the doubt that it reaches is counted as settled, and so on: two rows of one
cluster are not both suggested while another cluster waits.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pglearn.arrays import Array
from pglearn.engine.choose import neighbours_among
from pglearn.ensemble.graph_ensemble import GraphEnsemble
from pglearn.objective.graph import Graph
from pglearn.objective.graph.approximate import warn_of_recall
from pglearn.objective.propagation import Propagation

POOL = 300  # rows among which is chosen


def suggestions(ensemble: GraphEnsemble, propagation: Propagation, neighbors: str, n: int) -> Array:
    """Of the rows of the fitted table, over the graph of the best member; `neighbors` as the estimator has it."""
    graph = ensemble.graph_of(ensemble.best, neighbours_among(ensemble.X, ensemble.views, neighbors))
    warn_of_recall(graph.recall)
    return suggested(propagation.for_search("float64"), graph, ensemble.distributions, ensemble.labelled, n)


def suggested(propagation: Propagation, graph: Graph, probabilities: Array, labelled: Array, n: int) -> Array:
    """Positions of `n` unlabelled rows, the most useful first; fewer where there are no more."""
    doubt = doubts(propagation, graph, probabilities, labelled)
    pool = _pool(doubt, labelled, n)
    each = np.arange(len(pool))
    sources = sparse.csc_matrix((np.ones(len(pool)), (pool, each)), shape=(len(doubt), len(pool)))
    reach = propagation.reach(graph, sources, labelled)
    reach /= reach[pool, each]  # in place: of a large table it is by far the largest array there is
    np.clip(reach, 0, 1, out=reach)
    chosen: list[int] = []
    while len(chosen) < min(n, len(pool)):
        settled = doubt.astype(reach.dtype, copy=False) @ reach
        settled[chosen] = -np.inf
        chosen.append(int(np.argmax(settled)))
        doubt = doubt * (1 - reach[:, chosen[-1]])
    return np.asarray(pool[chosen])


def doubts(propagation: Propagation, graph: Graph, probabilities: Array, labelled: Array) -> Array:
    """How much is unknown of every row, from 0 (it is labelled) to 1."""
    sources = np.zeros((len(probabilities), 1))
    sources[labelled] = 1
    arrived = np.maximum(propagation.reach(graph, sources, labelled)[:, 0], 0)
    usual = np.median(np.delete(arrived, labelled)) if len(labelled) < len(arrived) else 1.0
    arrived_share = np.minimum(arrived / usual, 1) if usual > 0 else (arrived > 0).astype(float)
    doubt = 1 - (1 - entropy(probabilities)) * arrived_share
    doubt[labelled] = 0
    return np.asarray(doubt)


def entropy(probabilities: Array) -> Array:
    """Of every row, in units of complete ignorance."""
    logarithms = np.log(np.where(probabilities > 0, probabilities, 1))
    return np.asarray(-(probabilities * logarithms).sum(axis=1) / np.log(probabilities.shape[1]))


def _pool(doubt: Array, labelled: Array, n: int) -> Array:
    """Rows to choose among: all that are unlabelled, or some hundreds drawn by their doubt."""
    free = np.delete(np.arange(len(doubt)), labelled)
    most = max(2 * n, POOL)
    if len(free) <= most:
        return free
    chances = doubt[free] + 1e-9
    drawn = np.random.default_rng(0).choice(free, most, replace=False, p=chances / chances.sum())
    return np.sort(drawn)
