"""Which rows to label next."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from pglearn import PGLearnClassifier
from pglearn.errors import InputError
from pglearn.estimators.suggestions import POOL, entropy, suggested
from pglearn.graph import weighted_graph
from pglearn.propagation import LGC, Solution


def fit(X, y, **parameters):
    return PGLearnClassifier(**{"budget": 2, "n_candidates": 4, "random_state": 0, **parameters}).fit(X, y)


def with_a_cluster_unlabelled(seed=0):
    """Four clusters, the first three with four labels each."""
    X, clusters = make_blobs(80, n_features=3, centers=4, random_state=seed)
    y = np.full(80, -1)
    for cluster in range(3):
        y[np.flatnonzero(clusters == cluster)[:4]] = cluster
    return X, y, clusters


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = with_a_cluster_unlabelled()
    return fit(X, y), y


# Through the classifier


@pytest.mark.parametrize("seed", range(3))
def test_the_first_suggestion_is_in_the_cluster_without_a_label(seed):
    X, y, clusters = with_a_cluster_unlabelled(seed)
    (row,) = fit(X, y, k_range=(3, 5)).suggest(1)
    assert clusters[row] == 3


def test_suggestions_are_unlabelled_distinct_and_as_many_as_asked(fitted):
    model, y = fitted
    for n in (1, 5, 20):
        rows = model.suggest(n)
        assert rows.shape == (n,)
        assert len(set(rows.tolist())) == n
        assert (y[rows] == -1).all()
    assert len(model.suggest()) == 10


def test_the_first_suggestions_do_not_depend_on_how_many_are_asked_for(fitted):
    model, _ = fitted
    np.testing.assert_array_equal(model.suggest(3), model.suggest(12)[:3])


def test_there_are_no_more_suggestions_than_unlabelled_rows(fitted):
    model, y = fitted
    assert sorted(model.suggest(1000).tolist()) == np.flatnonzero(y == -1).tolist()


def test_a_table_with_every_label_needs_no_other():
    X, _, clusters = with_a_cluster_unlabelled()
    assert fit(X, clusters).suggest(5).shape == (0,)


@pytest.fixture(scope="module")
def worth():
    """Accuracy before, after nine labels at random and after nine that were suggested: a row per table."""
    rng, rows = np.random.default_rng(0), []
    for seed in range(8):
        X, clusters = make_blobs(240, n_features=5, centers=12, center_box=(-8, 8), random_state=seed)
        classes = clusters % 3
        y = np.where(np.isin(np.arange(240), [np.flatnonzero(clusters == c)[:3] for c in range(3)]), classes, -1)

        def model(more, X=X, y=y, classes=classes):
            labels = y.copy()
            labels[more] = classes[more]
            return fit(X, labels, k_range=(3, 5), views=["given"], selection="best")

        at_random = [rng.choice(np.flatnonzero(y == -1), 9, replace=False) for _ in range(4)]
        labelled = [model(more).transduction_ == classes for more in ([], *at_random, model([]).suggest(9))]
        accuracies = np.mean(labelled, axis=1)
        rows.append([accuracies[0], accuracies[1:-1].mean(), accuracies[-1]])
    return np.array(rows)


def test_labels_that_were_suggested_are_worth_more_than_labels_at_random(worth):
    before, at_random, suggested = worth.mean(axis=0)
    assert before + 0.1 < at_random < suggested - 0.05
    assert (worth[:, 2] > worth[:, 1]).mean() > 0.5


def test_a_loaded_model_suggests_the_same(tmp_path, fitted):
    model, _ = fitted
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(PGLearnClassifier.load(tmp_path / "model.npz").suggest(12), model.suggest(12))


def test_suggesting_changes_nothing(fitted):
    model, _ = fitted
    before = model.label_distributions_.copy()
    first = model.suggest(5)
    np.testing.assert_array_equal(model.suggest(5), first)
    np.testing.assert_array_equal(model.label_distributions_, before)


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", None, True])
def test_a_number_that_is_none_is_refused_with_a_sentence(fitted, n):
    with pytest.raises(InputError, match=re.escape(f"n={n!r} must be a whole number of at least 1")):
        fitted[0].suggest(n)


def test_a_model_that_is_not_fitted_has_nothing_to_suggest():
    with pytest.raises(NotFittedError, match="not fitted"):
        PGLearnClassifier().suggest(3)


# By reach and doubt


def islands(*sizes):
    """Points on a line in groups far from each other, and the system of their graph."""
    x = np.concatenate([1000.0 * group + np.arange(size) for group, size in enumerate(sizes)])
    return LGC(0.9).system(weighted_graph(x[:, None], np.array([0.1]), 2))


def test_of_two_groups_in_doubt_none_is_suggested_twice_while_the_other_waits():
    in_doubt = np.full((12, 2), 0.5)
    rows = suggested(islands(6, 6), in_doubt, np.array([], dtype=int), 2)
    assert sorted(rows // 6) == [0, 1]


def test_a_group_without_doubt_comes_last():
    probabilities = np.vstack([np.tile([0.5, 0.5], (4, 1)), np.tile([1.0, 0.0], (8, 1))])
    rows = suggested(islands(4, 8), probabilities, np.arange(4, 12, 2), 4)
    assert sorted(rows.tolist()) == [0, 1, 2, 3]


def test_the_larger_of_two_groups_in_doubt_comes_first():
    rows = suggested(islands(6, 30), np.full((36, 2), 0.5), np.array([], dtype=int), 1)
    assert rows[0] >= 6


def test_rows_that_no_label_reaches_are_in_doubt_however_sure_they_look():
    probabilities = np.tile([1.0, 0.0], (12, 1))
    assert suggested(islands(6, 6), probabilities, np.arange(6), 1)[0] >= 6


def test_a_pool_that_does_not_fit_is_drawn_by_doubt(monkeypatch):
    monkeypatch.setattr("pglearn.estimators.suggestions.POOL", 8)
    probabilities = np.tile([1.0, 0.0], (36, 1))
    probabilities[30:] = 0.5
    rows = suggested(islands(30, 6), probabilities, np.arange(0, 30, 3), 2)
    assert len(set(rows)) == 2
    assert (rows >= 30).any()


def test_the_doubt_of_a_labelled_row_does_not_count():
    in_doubt = np.full((12, 2), 0.5)
    rows = suggested(islands(4, 8), in_doubt, np.arange(5, 12), 1)
    assert 0 <= rows[0] < 4


class Solved:
    """A system whose solution is there already, in float32."""

    def __init__(self, F):
        self.F, self.given = F, []

    def solve(self, B):
        self.given.append(B)
        return Solution(self.F[:, : B.shape[1]], 1, 0.0, True)


def test_nothing_is_as_large_as_the_solution_itself():
    n = 4000
    system = Solved(np.random.default_rng(0).random((n, POOL), dtype=np.float32))
    tracemalloc.start()
    try:
        rows = suggested(system, np.full((n, 2), 0.5), np.arange(5), 3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(rows) == 3
    assert peak < 0.2 * system.F.nbytes
    assert sparse.issparse(system.given[-1])
    assert system.given[-1].nnz == POOL
    assert system.F.max() <= 1


def test_suggestions_of_a_graph_that_lacks_neighbours_are_warned_of(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), np.where(np.arange(400) < 20, np.arange(400) % 2, -1)
    model = fit(X, y, views=["given"], neighbors="approximate", selection="best")
    monkeypatch.setattr("pglearn.graph.descent.TREES", 1)
    monkeypatch.setattr("pglearn.graph.descent.MOST_ROUNDS", 0)
    with pytest.warns(UserWarning, match=r"^Approximate neighbours have a recall of 0\.\d\d only, below 0\.95: "):
        model.suggest(2)


def test_entropy_is_one_for_ignorance_and_zero_for_certainty():
    found = entropy(np.array([[1 / 3] * 3, [0, 1, 0], [0.5, 0.5, 0]]))
    np.testing.assert_allclose(found, [1, 0, np.log(2) / np.log(3)], atol=1e-12)
