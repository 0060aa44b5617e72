"""Grid: one bandwidth σ for all features and one k, on a grid that is refined for as long as there is time.

Level 0 is the four corners of k_range × bandwidth_range·d̄ (the authors' code skips one of them), every level halves the
sides of the cells, and only new points are visited. k is rounded to whole numbers: where its cells can be halved no
further, the levels go on with σ alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pglearn.objective.problem import Problem
from pglearn.paper.baselines.base import BandwidthClassifier, Clock, Trial


@dataclass(kw_only=True, eq=False, repr=False)
class GridClassifier(BandwidthClassifier):
    """Label spreading with one bandwidth for all features, on a grid over (k, σ) that is refined while time lasts.

    The grid starts with the corners of its range and halves its cells level by level. All baselines answer with the
    configuration of the highest validation accuracy, the first of several, and label the table with all labels shown.

    Parameters
    ----------
    budget : int, default=64
        B, units of work.
    unit_steps : int, default=1
        Evaluations in a unit; here, points of the grid. The result is then the same on every run.
    n_candidates : int, default=1
        T: the method may use B·T units. It runs alone, and can so be given what T candidates of PG-learn get.
    bandwidth_range : (float, float), default=(0.1, 10.0)
        Range of σ, in mean distances d̄ between rows.
    scale : {"auto", True, False}, default=False
        Standardise the features first; "auto" does when their ranges differ by more than a factor of 20.
    unit_seconds, k_range, validation, alpha, random_state, verbose, max_time
        As in :class:`pglearn.PGLearnClassifier`.

    Attributes
    ----------
    classes_, transduction_, label_distributions_, confidence_, unreached_, feature_weights_, n_neighbors_, graph_, \
scaled_, n_features_in_, feature_names_in_
        As in :class:`pglearn.PGLearnClassifier`.
    search_results_ : dict of arrays
        One row per trial: candidate (the draw), step (evaluations since), k, what else was drawn (here sigma), loss
        (NaN where the method minimises nothing), accuracy on the hidden labels, spent (units), seconds, selected.
    stop_reason_ : str
        "finished", "interrupted" or "out of time".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pglearn import GridClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> shown = y.copy()
    >>> shown[20:50] = shown[70:100] = shown[120:] = -1          # unlabelled
    >>> model = GridClassifier(budget=9).fit(X, shown)
    >>> bool((model.transduction_ == y).mean() > 0.9)
    True
    """

    alpha: float = 0.99

    def trials(self, problem: Problem, clock: Clock, seed: int) -> Iterator[Trial]:
        for number, (k, sigma) in enumerate(points(self.k_range, self._sigma_range(problem, seed))):
            a = np.full(problem.X.shape[1], sigma**-2)
            accuracy = self._accuracy(problem, self._graph(problem, k, a))
            clock.tick()
            yield Trial(number, 0, k, a, accuracy, settings={"sigma": sigma})


def points(k_range: tuple[int, int], sigma_range: tuple[float, float]) -> Iterator[tuple[int, float]]:
    """(k, σ) in the order of the visits; ends only where neither can be refined.

    >>> from itertools import islice
    >>> list(islice(points((5, 20), (1.0, 3.0)), 9))
    [(5, 1.0), (5, 3.0), (20, 1.0), (20, 3.0), (5, 2.0), (12, 1.0), (12, 2.0), (12, 3.0), (20, 2.0)]
    """
    seen: set[tuple[int, float]] = set()
    (low, high), (least, most) = k_range, sigma_range
    cells = 1
    while True:
        found = len(seen)
        for i in range(cells + 1):
            k = low + i * (high - low) // cells
            for j in range(cells + 1):
                point = k, least + (most - least) * j / cells
                if point not in seen:
                    seen.add(point)
                    yield point
        if len(seen) == found and cells >= high - low:
            return
        cells *= 2


def halvings(low: int, high: int) -> list[int]:
    """All of low … high, in the order in which a grid over them would be refined.

    >>> halvings(5, 12)
    [5, 12, 8, 6, 10, 7, 9, 11]
    """
    return [k for k, _ in points((low, high), (1.0, 1.0))]
