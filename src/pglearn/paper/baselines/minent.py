"""MinEnt: the bandwidths that leave the labels of the unlabelled rows least in doubt (Zhu et al. 2003).

H = −(1/u) ΣΣ f log f over the unlabelled rows of the smoothed harmonic solution f (`pglearn.paper.baselines.harmonic`),
by gradient descent on σ. All σ_m start equal; on convergence a new (k, σ, ε) is drawn, σ log-uniformly. H has a useless
minimum at σ → 0, where everyone copies its nearest neighbour; the smoothing ε is what prevents that.

Rows are labelled, and labels judged, after class-mass normalisation by the unlabelled rows, after Zhu et al.: without
it the smoothing, which brings every class everywhere, leaves small differences to decide. H is that of f itself. All
classes are made equal (Zhu et al. weigh them by their shares), and points are joined to their k nearest, as in every
other method of the paper (Zhu et al. join all pairs: `k_range=(n, n)`).

What the authors of PG-learn ran under the name is another method (`propagation="lgc"`): the entropy of the labels that
LGC spreads, with PG-learn's own start and step, every point on the way judged by validation accuracy. That alone keeps
it from the useless minimum. Few labels make many ties, which go to the lower entropy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np

from pglearn.arrays import Array
from pglearn.engine import CPUEngine
from pglearn.errors import InputError
from pglearn.objective.graph import Graph, weighted_graph
from pglearn.objective.loss import Entropy, Yardstick
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC, Solution
from pglearn.paper.baselines.backtracking import Point, descended
from pglearn.paper.baselines.base import (
    PRECISION,
    TOLERANCE,
    BandwidthClassifier,
    Clock,
    Trial,
    mass_normalised,
    random_start,
)
from pglearn.paper.baselines.harmonic import Harmonic
from pglearn.parameters import choice
from pglearn.search import Descent, Limit

PROPAGATIONS = {"harmonic": None, "lgc": None}
EPSILONS = (0.01, 0.05, 0.1, 0.2)
MOST_ROWS = 5000  # a dense factor of the unlabelled rows: 200 MB, and as much again to make it
MOST_SHRINK = 0.5  # of a bandwidth in one step: further, and a single feature would decide
MOST_STEPS = 50  # of a descent on the entropy of LGC, where it does not converge


@dataclass(kw_only=True, eq=False, repr=False)
class MinEntClassifier(BandwidthClassifier):
    """MinEnt: the bandwidths that leave the labels of unlabelled rows least in doubt (Zhu, Ghahramani, Lafferty 2003).

    The entropy of the harmonic solution, smoothed by ε, is minimised over one bandwidth per feature by gradient
    descent, from a new (k, σ, ε) whenever a descent has converged. Among all points on the way the validation accuracy
    decides. Rows are labelled after the classes' masses have been made equal.

    Parameters and attributes are those of :class:`pglearn.GridClassifier`, without `alpha`, which the harmonic solution
    does not have, and one more. An evaluation is one value and gradient of the entropy, and `bandwidth_range` that of
    the common σ at the start. With `validation="holdout"` only the labels shown are clamped during the descent,
    otherwise all.

    Parameters
    ----------
    propagation : {"harmonic", "lgc"}, default="harmonic"
        Whose entropy: of the harmonic solution, or of the labels that LGC spreads (α = 0.99), as in the program of the
        paper's authors, which takes PG-learn's starts (`bandwidth_range` is that of every σ_m) and steps for it and
        k from 1 (``k_range=(1, 20)``). ``PGLearnClassifier(loss="entropy")`` minimises the latter, too, but believes
        it: its answer is that of the lowest entropy, not of the highest validation accuracy.

    Notes
    -----
    A dense matrix of the unlabelled rows is factored for the harmonic solution: it takes tables of up to 5,000 rows.
    Rows are joined to their k nearest; Zhu et al. join all pairs, which ``k_range=(n, n)`` does too, at 7 to 20 times
    the time and without a clear gain on the paper's data.
    """

    propagation: str = "harmonic"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        choice(self.propagation, PROPAGATIONS, "propagation")

    def trials(self, problem: Problem, clock: Clock, seed: int) -> Iterator[Trial]:
        if self.propagation == "lgc":
            return self._trials_by_lgc(problem, clock, seed)
        if len(problem.X) > MOST_ROWS:
            raise InputError(
                f"X has {len(problem.X):,} rows, and MinEntClassifier factors a dense matrix of all unlabelled ones: "
                f"take at most {MOST_ROWS:,} of them, or propagation='lgc'."
            )
        return self._harmonic_trials(problem, clock, seed)

    def _harmonic_trials(self, problem: Problem, clock: Clock, seed: int) -> Iterator[Trial]:
        """Descents on σ from random starts."""
        sigma_range = self._sigma_range(problem, seed)
        for number in count():
            rng = np.random.default_rng([seed, number])
            k, sigma, epsilon = random_start(rng, self.k_range, sigma_range, EPSILONS)
            evaluate = partial(evaluated, problem, k, epsilon=epsilon)
            start, settings = np.full(problem.X.shape[1], sigma), {"sigma": sigma, "epsilon": epsilon}
            for step, point in enumerate(descended(evaluate, start, most_shrink=MOST_SHRINK)):
                clock.tick()
                yield Trial(number, step, k, point.x**-2, point.accuracy, point.g, settings)

    def _trials_by_lgc(self, problem: Problem, clock: Clock, seed: int) -> Iterator[Trial]:
        """Algorithm 1 on the entropy of LGC's labels, from a new draw whenever it has converged."""
        loss, draws = Entropy(), self._draws(problem, seed)
        engine = CPUEngine(loss=loss, propagation=LGC(self.alpha, tolerance=TOLERANCE, precision=PRECISION))
        descent = Descent(engine, Yardstick.from_loss(loss, problem.scored_codes, problem.n_classes))
        for number in count():
            run = draws.draw(number)
            for step in range(MOST_STEPS + 1):
                (run,) = descent.advance(problem, [run], Limit(step))
                clock.tick()
                if run.failure is not None:
                    yield Trial(number, step, run.k, run.a, 0.0, tie_break=np.inf)
                    break
                _, g, accuracy = run.history[-1]
                yield Trial(number, step, run.k, run.a, accuracy, g, tie_break=g)
                if run.converged:
                    break

    def answer(self, problem: Problem, trial: Trial) -> tuple[Graph, Solution]:
        if self.propagation == "lgc":
            return super().answer(problem, trial)
        graph = self._graph(problem, trial.k, trial.a)
        solution = Harmonic(graph, trial.settings["epsilon"], problem.labelled, problem.Y)
        F = mass_normalised(solution.F, solution.masses)
        return graph, Solution(F, iterations=0, residual=0.0, converged=True)


def evaluated(problem: Problem, k: int, sigma: Array, epsilon: float) -> Point:
    """H, ∂H/∂σ and the validation accuracy at bandwidths σ."""
    graph = weighted_graph(problem.X, sigma**-2, k, problem.centre)
    shown = problem.shown
    solution = Harmonic(graph, epsilon, problem.labelled[shown], problem.Y[shown])
    H, dH_df = Entropy()(solution.F[solution.unlabelled], problem.codes[:0])
    dH_da = solution.gradient(problem, dH_df)
    hidden = len(shown) < len(problem.labelled)
    guesses = solution.F[problem.labelled] if hidden else solution.hidden(problem.fold)
    right = mass_normalised(guesses, solution.masses)[problem.scored].argmax(axis=1) == problem.scored_codes
    return Point(sigma, H, -2 * dH_da / sigma**3, float(right.mean()))  # da/dσ = −2/σ³
