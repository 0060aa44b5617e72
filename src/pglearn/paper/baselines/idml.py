"""IDML: self-training around metric learning (Dhillon, Talukdar, Crammer 2010).

From a drawn (k, ρ, β), ρ log-uniform, with σ = ρ d̄ and A = I, rounds of

1. learn A by ITML from pairs of labelled rows of which one is new, the metric of the round before as the prior;
2. join the k nearest under A, W_ij = exp(−d_A²/(2σ²));
3. spread the labels with LGC;
4. normalise class masses: columns, then rows;
5. label the rows whose entropy is below the smallest + β. Rows labelled once keep their label (in the authors' code
   they are added again).

A draw ends when 80 % of the rows are labelled or none is added. d_A² is kept as an exponent: the kernel cannot
underflow.

All such pairs are constraints, once; those of the rounds before live on in the prior. Of many, a random 10c²
similar and as many dissimilar ones are taken, as by the authors of ITML, and no more than 500, because each needs its
projections and most rows end up labelled.

The paper restricts A to a diagonal; the program that its authors published does not.

With `holdout` a round is judged by its own answer at the labels that it was not shown. Otherwise every label has shaped
the self-training, so it is judged by what the given labels alone say of each other on its graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from scipy.spatial.distance import pdist
from scipy.special import entr

from pglearn.arrays import Array
from pglearn.objective.graph import Graph
from pglearn.objective.labels import UNLABELLED
from pglearn.objective.loss import share_right
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC, Solution
from pglearn.paper.baselines.base import BandwidthClassifier, Clock, Trial, mass_normalised, random_start
from pglearn.paper.baselines.itml import Pairs, learned_metric

BETAS = (0.05, 0.1, 0.15, 0.2)
PERCENTILES = (5, 95)
LABELLED_SHARE = 0.8
PAIRS_PER_CLASS2, MOST_PAIRS = 10, 500  # of either kind
MOST_ROWS = 1000  # rows of which all pairs are looked at


@dataclass(kw_only=True, eq=False, repr=False)
class IDMLClassifier(BandwidthClassifier):
    """IDML: self-training around a learned metric (Dhillon, Talukdar, Crammer 2010).

    Rounds of metric learning (ITML), label spreading and labelling the surest rows. At the end the metric and the
    guessed labels of the best round are kept, and labels are spread once more with all that were given.

    Parameters and attributes are those of :class:`pglearn.GridClassifier`. An evaluation is one round, and
    `bandwidth_range` that of ρ, σ = ρ d̄.
    """

    alpha: float = 0.99

    def trials(self, problem: Problem, clock: Clock, seed: int) -> Iterator[Trial]:
        shown = problem.shown
        parts = {name: getattr(problem, name)[shown] for name in ("labelled", "codes", "fold", "scored")}
        tuning = replace(problem, **parts)
        bounds, sigma_range = distance_bounds(problem.X, seed), self._sigma_range(problem, seed)
        for number in count():
            rng = np.random.default_rng([seed, number])
            k, sigma, beta = random_start(rng, self.k_range, sigma_range, BETAS)
            A, new = np.ones(problem.X.shape[1]), tuning.labelled
            codes = np.full(len(problem.X), UNLABELLED)
            codes[tuning.labelled] = tuning.codes
            guesses = np.full_like(codes, UNLABELLED)
            for step in count():
                if bounds is not None:
                    A = learned_metric(labelled_pairs(problem.X, codes, new, bounds, rng), A)
                a = A * (1 / (2 * sigma**2))
                graph = self._graph(problem, k, a)
                F = self._answer(tuning, graph, guesses)
                is_fair = len(tuning.labelled) < len(problem.labelled)
                if is_fair:
                    accuracy = share_right(F[problem.labelled[problem.scored]], 0.0, problem.scored_codes)
                else:
                    accuracy = self._accuracy(problem, graph)
                clock.tick()
                yield Trial(number, step, k, a, accuracy, settings={"sigma": sigma, "beta": beta}, guesses=guesses)
                new = confident_rows(F, codes, beta)
                guesses = guesses.copy()
                guesses[new] = codes[new] = F[new].argmax(axis=1)
                if not len(new) or (codes != UNLABELLED).mean() >= LABELLED_SHARE:
                    break

    def answer(self, problem: Problem, trial: Trial) -> tuple[Graph, Solution]:
        assert trial.guesses is not None
        graph = self._graph(problem, trial.k, trial.a)
        F = self._answer(problem, graph, trial.guesses)
        return graph, Solution(F, iterations=0, residual=0.0, converged=True)

    def _answer(self, problem: Problem, graph: Graph, guesses: Array) -> Array:
        """F from the labels of the problem and the guesses, class masses normalised; zeros where nothing reaches."""
        beliefs = np.zeros((len(problem.X), problem.n_classes))
        guessed = np.flatnonzero(guesses != UNLABELLED)
        beliefs[guessed, guesses[guessed]] = 1
        solution = LGC(self.alpha).system(graph, problem).labels(beliefs)
        F = np.maximum(solution.F, 0)
        F[F.sum(axis=1) <= solution.doubt()] = 0
        return mass_normalised(F)


def confident_rows(F: Array, codes: Array, beta: float) -> Array:
    """Unlabelled rows that something reaches, with an entropy below the smallest of theirs + β."""
    open_rows = np.flatnonzero((codes == UNLABELLED) & F.any(axis=1))
    entropies = entr(F[open_rows]).sum(axis=1)
    return np.asarray(open_rows[entropies < entropies.min(initial=np.inf) + beta])


def distance_bounds(X: Array, seed: int) -> tuple[float, float] | None:
    """l and u: the 5th and 95th percentile of squared distances, of a thousand rows if there are more.

    Where so many rows are the same that l is 0, the smallest distance that is not; None if all are the same.
    """
    rows = _some(np.arange(len(X)), MOST_ROWS, np.random.default_rng(seed))
    d2 = pdist(X[rows], "sqeuclidean")
    if not d2.any():
        return None
    least = float(d2[d2 > 0].min())
    lower, upper = (max(float(bound), least) for bound in np.percentile(d2, PERCENTILES))
    return lower, upper


def labelled_pairs(X: Array, codes: Array, new: Array, bounds: tuple[float, float], rng: np.random.Generator) -> Pairs:
    """Pairs of new rows with labelled ones, each once, at most 10c² or 500 of either kind."""
    rows = _some(np.flatnonzero(codes != UNLABELLED), MOST_ROWS, rng)
    i, j = (rows[side] for side in np.triu_indices(len(rows), 1))
    wanted = np.isin(i, new) | np.isin(j, new)
    i, j = i[wanted], j[wanted]
    alike = codes[i] == codes[j]
    most = min(PAIRS_PER_CLASS2 * int(codes.max() + 1) ** 2, MOST_PAIRS)
    chosen = np.concatenate([_some(np.flatnonzero(alike == kind), most, rng) for kind in (True, False)])
    similar = alike[chosen]
    return Pairs((X[i[chosen]] - X[j[chosen]]) ** 2, similar, np.where(similar, *bounds))


def _some(items: Array, most: int, rng: np.random.Generator) -> Array:
    return items if len(items) <= most else np.sort(rng.choice(items, most, replace=False))
