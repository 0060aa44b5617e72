"""What a fit leaves behind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from tests.memory import traced

from pglearn.ensemble import graph_ensemble as module
from pglearn.ensemble.graph_ensemble import GraphEnsemble, Member, mean_graph
from pglearn.objective.views import View
from pglearn.tables.scaling import Scaling


def ensemble(**changes):
    """Three members in two views of three and two coordinates, that differ about twenty rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    views = [View("given", np.ones(3)), View("components", np.ones(3), rng.normal(size=(2, 3)))]
    members = [
        Member(view, 3, rng.exponential(size=3 - view), rng.dirichlet(np.full(2, 1.0), size=20)) for view in (0, 1, 0)
    ]
    setting = {
        "X": X,
        "scaling": Scaling(np.zeros(3), np.ones(3)),
        "views": views,
        "classes": np.array(["a", "b"]),
        "prior": np.array([0.75, 0.25]),
        "labelled": np.arange(4),
        "members": members,
        "factors": np.ones(2),
    }
    return GraphEnsemble(**{**setting, **changes})


# Members together


def test_members_count_alike_in_each_row_that_they_reach():
    three = ensemble()
    np.testing.assert_allclose(three.distributions, np.mean([member.F for member in three.members], axis=0))
    assert three.best is three.members[0]
    gaps = [[6, 7], [6], [6]]
    members = []
    for member, rows in zip(three.members, gaps, strict=True):
        members.append(replace(member, F=np.where(np.isin(np.arange(20), rows)[:, None], 0, member.F)))
    three = replace(three, members=members)
    np.testing.assert_allclose(three.distributions[7], (members[1].F[7] + members[2].F[7]) / 2)
    assert np.flatnonzero(three.unreached).tolist() == [6]
    np.testing.assert_array_equal(three.distributions[6], three.prior)


def test_feature_weights_and_graphs_are_means_of_the_members():
    three = ensemble(scaling=Scaling(np.ones(3), np.array([1.0, 2.0, 10.0])))
    first, second, third = three.members
    mean = (first.a + second.a @ three.views[1].axes ** 2 + third.a) / 3
    np.testing.assert_allclose(three.feature_weights, mean / [1, 4, 100])
    graphs = [sparse.csr_matrix(np.array([[0.0, w], [w, 0.0]])) for w in (1.0, 0.2)]
    np.testing.assert_allclose(mean_graph(graphs).toarray(), [[0, 0.6], [0.6, 0]])


# New rows


def predicting():
    return ensemble(scaling=Scaling(np.ones(3), np.array([1.0, 2.0, 10.0])))


def test_batches_of_new_rows_do_not_change_the_answer(monkeypatch):
    model, X_new = predicting(), np.random.default_rng(1).normal(size=(57, 3)) * [1, 2, 10]
    expected = model.predict_proba(X_new)
    np.testing.assert_allclose(expected.sum(axis=1), 1)
    monkeypatch.setattr(module, "BATCH_ROWS", 10)
    np.testing.assert_allclose(model.predict_proba(X_new), expected, rtol=1e-12)
    for form in (sparse.csr_array, np.float32):
        np.testing.assert_allclose(model.predict_proba(form(X_new)), expected, rtol=1e-4)


def test_memory_of_prediction_beyond_the_answer_does_not_grow_with_the_new_rows(monkeypatch):
    monkeypatch.setattr(module, "BATCH_ROWS", 512)
    model, batch = predicting(), np.random.default_rng(1).normal(size=(512, 3))
    model.predict_proba(batch[:20])  # what is imported on first use does not count
    peaks = []
    for X_new in (batch, np.tile(batch, (16, 1))):
        found, peak = traced(lambda X_new=X_new: model.predict_proba(X_new))
        peaks.append(peak - found.nbytes)
    assert peaks[1] < 1.2 * peaks[0]
