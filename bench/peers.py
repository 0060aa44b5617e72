"""What else one could use in pglearn's place, each tuned on the shown labels alone.

Every peer is called as `peer(X, y, seed)`, y being −1 where the label is hidden, and returns a label for every row. A
setting is chosen by hiding a third of the labels at a time; of settings that do equally well, the first is taken.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestNeighbors, kneighbors_graph
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

Peer = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
Propagate = Callable[[np.ndarray], np.ndarray]  # labels with gaps → labels without

FOLDS = 3
NEIGHBOURS = (10, 5, 7, 15, 20)
BANDWIDTHS = (64.0, 4.0, 16.0, 256.0)  # γ in units of 1/(2 · median squared distance)
ALPHAS = (0.2, 0.5, 0.8, 0.9, 0.99)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Of scikit-learn, that a handful of labels may be a mistake and that a fit has not converged to the last digit."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def folds(y: np.ndarray, seed: int) -> list[np.ndarray]:
    """The rows whose labels to hide, fold by fold. Every class is dealt round; one with a single label keeps it."""
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y[y >= 0])]
    dealt = np.concatenate([of_class for of_class in rows if len(of_class) > 1])
    return [dealt[first::FOLDS] for first in range(FOLDS)]


def tuned(model: Any, grid: Any, X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """The model with the setting of the grid that does best on hidden labels, fitted to all of X and y."""
    rows = np.arange(len(y))
    cv = [(np.setdiff1d(rows, fold), fold) for fold in folds(y, seed)]
    with without_warnings():
        return GridSearchCV(model, grid, cv=cv).fit(X, y).best_estimator_


# Over a graph


def best_propagation(settings: Iterable[Propagate], y: np.ndarray, seed: int) -> np.ndarray:
    """The labels from the setting that finds hidden ones best."""
    rows = np.arange(len(y))

    def found(propagate: Propagate) -> float:
        shown = [(fold, np.where(np.isin(rows, fold), -1, y)) for fold in folds(y, seed)]
        return float(np.mean([(propagate(labels) == y)[fold].mean() for fold, labels in shown]))

    return max(settings, key=found)(y)


def affinities(X: np.ndarray) -> Iterator[Any]:
    """What scikit-learn's kernels "knn" and "rbf" make of X, for every k and γ."""
    for k in NEIGHBOURS:
        yield kneighbors_graph(X, k, include_self=True)
    squares = euclidean_distances(X, squared=True)
    median = np.median(squares[np.triu_indices(len(X), 1)])
    for gamma in (*(factor / (2 * median) for factor in BANDWIDTHS), 20.0):
        yield np.exp(-gamma * squares)


def propagated(models: list[Any], X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """By these models of scikit-learn."""
    graphs = (W for features in (X, StandardScaler().fit_transform(X)) for W in affinities(features))
    return best_propagation((partial(_transduction, model, W) for W in graphs for model in models), y, seed)


def _transduction(model: Any, W: Any, y: np.ndarray) -> np.ndarray:
    # A copy, because scikit-learn divides it in place. Iterations over a full matrix are what takes the time here.
    model.set_params(kernel=lambda *_: W.copy(), max_iter=1000 if issparse(W) else 60)
    with without_warnings():
        return model.fit(np.zeros((len(y), 1)), y).transduction_


def graph_learning(method: str, X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Laplace or Poisson learning of the package graphlearning."""
    import graphlearning

    # The package's default solver for Poisson's equation diverges on a graph in several parts, as COIL's is.
    options = {"laplace": {}, "poisson": {"solver": "gradient_descent"}}[method]
    settings = []
    for features in (X, StandardScaler().fit_transform(X)):
        distances, neighbours = NearestNeighbors(n_neighbors=max(NEIGHBOURS) + 1).fit(features).kneighbors(features)
        distances = np.maximum(distances, 1e-100)  # its kernel divides by the k-th distance
        for k in NEIGHBOURS:
            W = graphlearning.weightmatrix.knn(features, k, knn_data=(neighbours, distances))
            settings.append(partial(_solution, getattr(graphlearning.ssl, method)(W, **options)))
    return best_propagation(settings, y, seed)


def _solution(model: Any, y: np.ndarray) -> np.ndarray:
    rows = np.flatnonzero(y >= 0)
    return model.fit_predict(rows, y[rows])


# Over features


def svc(X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    model = Pipeline([("scale", StandardScaler()), ("svc", SVC())])
    C = [10.0, 1.0, 100.0]
    gammas = np.array([1.0, 0.25, 4.0]) / X.shape[1]
    grid = [
        {"scale": ["passthrough"], "svc__C": C, "svc__gamma": gammas / X.var()},
        {"scale": [StandardScaler()], "svc__C": C, "svc__gamma": gammas},
    ]
    return tuned(model, grid, X, y, seed)


def logistic_regression(X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    model = Pipeline([("scale", StandardScaler()), ("logistic", LogisticRegression(max_iter=300))])
    grid = {"scale": ["passthrough", StandardScaler()], "logistic__C": [1.0, 0.01, 0.1, 10.0, 100.0]}
    return tuned(model, grid, X, y, seed)


def lda(X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y)


def extra_trees(X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    return ExtraTreesClassifier(500, random_state=seed).fit(X, y)


def gradient_boosting(X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """With leaves of few rows in the grid: the default of 20 splits nothing where a class has ten labels."""
    model = HistGradientBoostingClassifier(learning_rate=0.2, max_iter=30, early_stopping=False, random_state=seed)
    return tuned(model, {"min_samples_leaf": [5, 2, 20]}, X, y, seed)


def supervised(fit: Callable[..., Any], X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """A model that is fitted to the labelled rows alone."""
    shown = y >= 0
    return fit(X[shown], y[shown], seed).predict(X)


def self_training(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Around the logistic regression that does best alone, with a tuned threshold."""
    shown = y >= 0
    model = SelfTrainingClassifier(logistic_regression(X[shown], y[shown], seed))
    return tuned(model, {"threshold": [0.75, 0.95]}, X, y, seed).predict(X)


PEERS: dict[str, Peer] = {
    "LabelSpreading": partial(propagated, [LabelSpreading(alpha=alpha) for alpha in ALPHAS]),
    "LabelPropagation": partial(propagated, [LabelPropagation()]),
    "SelfTraining": self_training,
    "SVC": partial(supervised, svc),
    "LogisticRegression": partial(supervised, logistic_regression),
    "LDA": partial(supervised, lda),
    "ExtraTrees": partial(supervised, extra_trees),
    "HistGradientBoosting": partial(supervised, gradient_boosting),
}
if importlib.util.find_spec("graphlearning"):
    PEERS |= {"Laplace": partial(graph_learning, "laplace"), "Poisson": partial(graph_learning, "poisson")}
