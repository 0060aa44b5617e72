"""MinEnt: the bandwidths that leave the labels of the unlabelled rows least in doubt (Zhu et al. 2003).

H = −(1/u) ΣΣ f log f over the unlabelled rows of the smoothed harmonic solution f (`pglearn.paper.baselines.harmonic`),
by gradient descent on σ. All σ_m start equal; on convergence a new (k, σ, ε) is drawn, σ log-uniformly. H has a useless
minimum at σ → 0, where everyone copies its nearest neighbour; the smoothing ε is what prevents that.

Rows are labelled, and labels judged, after class-mass normalisation by the unlabelled rows, after Zhu et al.: without
it the smoothing, which brings every class everywhere, leaves small differences to decide. H is that of f itself. Zhu et
al. then weigh the classes by their shares. Here they are all made equal: tried on three splits each, shares of a few
labels were worse than none on UMIST and USPS, by .03, and no better on Yale.

Zhu et al. join all pairs of points. Here points are joined to their k nearest, as in every other method of the paper;
`k_range=(n, n)` joins all pairs. The docstring of `pglearn.MinEntClassifier` has what was measured.

What the authors of PG-learn ran under the name is another method, `SpreadMinEnt`: the entropy of the labels that LGC
spreads, with PG-learn's own start and step, every point on the way judged by validation accuracy. That alone keeps it
from the useless minimum. Few labels make many ties, which go to the lower entropy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

import numpy as np

from pglearn.arrays import Array
from pglearn.engine import CPUEngine
from pglearn.objective.graph import Graph, weighted_graph
from pglearn.objective.loss import Entropy, Yardstick
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC, Solution
from pglearn.paper.baselines.harmonic import Harmonic
from pglearn.paper.baselines.projected import Point, descended
from pglearn.paper.baselines.search import (
    PRECISION,
    TOLERANCE,
    Clock,
    Method,
    SpreadingMethod,
    Trial,
    log_uniform,
    mass_normalised,
)
from pglearn.search import Descent, Draws

EPSILONS = (0.01, 0.05, 0.1, 0.2)
MOST_ROWS = 5000  # a dense factor of the unlabelled rows: 200 MB, and as much again to make it
MOST_SHRINK = 0.5  # of a bandwidth in one step: further, and a single feature would decide
MOST_STEPS = 50  # of a descent on the entropy of LGC, where it does not converge


@dataclass(frozen=True)
class MinEnt(Method):
    """Descents on σ from random starts."""

    name: ClassVar[str] = "MinEnt"
    k_range: tuple[int, int]
    sigma_range: tuple[float, float]
    seed: int

    def trials(self, problem: Problem, clock: Clock) -> Iterator[Trial]:
        for number in count():
            rng = np.random.default_rng([self.seed, number])
            k = int(rng.integers(*self.k_range, endpoint=True))
            start = np.full(problem.X.shape[1], log_uniform(rng, *self.sigma_range))
            epsilon = float(rng.choice(EPSILONS))
            settings = {"sigma": float(start[0]), "epsilon": epsilon}

            def evaluate(sigma: Array, k: int = k, epsilon: float = epsilon) -> Point:
                return evaluated(problem, k, sigma, epsilon)

            for step, point in enumerate(descended(evaluate, start, most_shrink=MOST_SHRINK)):
                clock.tick()
                yield Trial(number, step, k, point.x**-2, point.accuracy, point.g, settings)

    def answer(self, problem: Problem, trial: Trial) -> tuple[Graph, Solution]:
        graph = self.graph(problem, trial.k, trial.a)
        solution = Harmonic(graph, trial.settings["epsilon"], problem.labelled, problem.Y)
        F = mass_normalised(solution.F, solution.masses)
        return graph, Solution(F, iterations=0, residual=0.0, converged=True)


@dataclass(frozen=True)
class SpreadMinEnt(SpreadingMethod):
    """Algorithm 1 on the entropy of LGC's labels, from a new draw whenever it has converged."""

    name: ClassVar[str] = "MinEnt (LGC)"
    draws: Draws

    def trials(self, problem: Problem, clock: Clock) -> Iterator[Trial]:
        loss = Entropy()
        engine = CPUEngine(loss=loss, propagation=LGC(self.alpha, tolerance=TOLERANCE, precision=PRECISION))
        descent = Descent(engine, Yardstick.of(loss, problem.scored_codes, problem.n_classes))
        for number in count():
            run = self.draws.draw(number)
            for step in range(MOST_STEPS + 1):
                (evaluation,) = engine.value_and_gradient(problem, [run.here])
                clock.tick()
                run = run.evaluated(evaluation)
                if run.failure is not None:
                    yield Trial(number, step, run.k, run.a, 0.0, tie_break=np.inf)
                    break
                g = float(evaluation.loss)
                yield Trial(number, step, run.k, run.a, evaluation.accuracy, g, tie_break=g)
                if descent.has_converged(run):
                    break
                run = replace(run, a=descent.step(run.a, evaluation.dg_da))


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
