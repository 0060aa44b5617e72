"""Which rows to label next."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from tests.memory import traced

from pglearn import PGLearnClassifier
from pglearn.ensemble.suggestions import POOL, entropy, suggested
from pglearn.errors import InputError
from pglearn.objective.graph import weighted_graph
from pglearn.objective.propagation import LGC


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
def test_the_first_suggestion_is_in_the_cluster_without_a_label_and_there_is_none_where_all_have_one(seed):
    X, y, clusters = with_a_cluster_unlabelled(seed)
    (row,) = fit(X, y, k_range=(3, 5)).suggest(1)
    assert clusters[row] == 3
    assert fit(X, clusters).suggest(5).shape == (0,)


def test_suggestions_are_unlabelled_distinct_and_as_many_as_asked(fitted, tmp_path):
    model, y = fitted
    before = model.label_distributions_.copy()
    rows = model.suggest(20)
    assert len(set(rows.tolist())) == 20
    assert (y[rows] == -1).all()
    np.testing.assert_array_equal(model.suggest(), rows[:10])
    assert sorted(model.suggest(1000).tolist()) == np.flatnonzero(y == -1).tolist()
    np.testing.assert_array_equal(model.label_distributions_, before)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(PGLearnClassifier.load(tmp_path / "model.npz").suggest(12), rows[:12])


def test_labels_that_were_suggested_are_worth_more_than_labels_at_random():
    """Accuracy before, after nine labels at random and after nine that were suggested: a row per table."""
    rng, rows = np.random.default_rng(0), []
    for seed in range(8):
        X, clusters = make_blobs(240, n_features=5, centers=12, center_box=(-8, 8), random_state=seed)
        classes = clusters % 3
        y = np.where(np.isin(np.arange(240), [np.flatnonzero(clusters == c)[:3] for c in range(3)]), classes, -1)
        model = fit(X, y, k_range=(3, 5), views=["given"], selection="best")
        more = [rng.choice(np.flatnonzero(y == -1), 9, replace=False) for _ in range(4)]
        labelled = [np.where(np.isin(np.arange(240), added), classes, y) for added in (*more, model.suggest(9))]
        after = [(clone(model).fit(X, labels).transduction_ == classes).mean() for labels in labelled]
        rows.append([(model.transduction_ == classes).mean(), np.mean(after[:-1]), after[-1]])
    before, at_random, suggested = np.mean(rows, axis=0)
    assert before + 0.1 < at_random < suggested - 0.05
    assert np.mean([row[2] > row[1] for row in rows]) > 0.5


@pytest.mark.parametrize("n", [0, 1.5, "3", None, True])
def test_a_number_that_is_none_is_refused_with_a_sentence(fitted, n):
    with pytest.raises(InputError, match=re.escape(f"n={n!r} must be a whole number of at least 1")):
        fitted[0].suggest(n)
    with pytest.raises(NotFittedError, match="not fitted"):
        PGLearnClassifier().suggest()


# By reach and doubt

NONE = np.array([], dtype=int)


def islands(*sizes):
    """Points on a line in groups far from each other, and the system of their graph."""
    x = np.concatenate([1000.0 * group + np.arange(size) for group, size in enumerate(sizes)])
    return LGC(0.9), weighted_graph(x[:, None], np.array([0.1]), 2)


def test_rows_in_doubt_come_first_larger_groups_before_smaller_and_each_group_once():
    assert sorted(suggested(*islands(6, 6), np.full((12, 2), 0.5), NONE, 2) // 6) == [0, 1]
    assert suggested(*islands(6, 30), np.full((36, 2), 0.5), NONE, 1)[0] >= 6
    clear = np.vstack([np.tile([0.5, 0.5], (4, 1)), np.tile([1.0, 0.0], (8, 1))])
    assert sorted(suggested(*islands(4, 8), clear, np.arange(4, 12, 2), 4)) == [0, 1, 2, 3]


def test_rows_that_no_label_reaches_are_in_doubt_however_sure_they_look_and_labelled_ones_are_not():
    assert suggested(*islands(6, 6), np.tile([1.0, 0.0], (12, 1)), np.arange(6), 1)[0] >= 6
    assert suggested(*islands(4, 8), np.full((12, 2), 0.5), np.arange(5, 12), 1)[0] < 4


def test_a_pool_that_does_not_fit_is_drawn_by_doubt(monkeypatch):
    monkeypatch.setattr("pglearn.ensemble.suggestions.POOL", 8)
    probabilities = np.tile([1.0, 0.0], (36, 1))
    probabilities[30:] = 0.5
    rows = suggested(*islands(30, 6), probabilities, np.arange(0, 30, 3), 2)
    assert len(set(rows)) == 2
    assert (rows >= 30).any()


class Solved:
    """A system whose solution is there already, in float32."""

    def __init__(self, F):
        self.F, self.given = F, []

    def reach(self, graph, sources, labelled):
        self.given.append(sources)
        return self.F[:, : sources.shape[1]]


def test_nothing_is_as_large_as_the_solution_itself():
    n = 4000
    system = Solved(np.random.default_rng(0).random((n, POOL), dtype=np.float32))
    rows, peak = traced(lambda: suggested(system, None, np.full((n, 2), 0.5), np.arange(5), 3))
    assert len(rows) == 3
    assert peak < 0.2 * system.F.nbytes
    assert sparse.issparse(system.given[-1])
    assert system.given[-1].nnz == POOL
    assert system.F.max() <= 1


def test_entropy_is_one_for_ignorance_and_zero_for_certainty():
    np.testing.assert_allclose(
        entropy(np.array([[1 / 3] * 3, [0, 1, 0], [0.5, 0.5, 0]])), [1, 0, np.log(2) / np.log(3)]
    )
