"""What a fit leaves behind."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from pglearn import PGLearnClassifier
from pglearn.basis import Basis
from pglearn.engine import CPUEngine
from pglearn.estimators import answer as module
from pglearn.estimators.answer import Answer
from pglearn.estimators.members import Member, sharpened
from pglearn.estimators.opinion import Line, Opinion, Voice
from pglearn.estimators.scaling import Scaling
from pglearn.estimators.shares import scaled


def answer(concentration=1.0, **changes):
    """Three members in two bases of three and two coordinates, who differ about twenty rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    bases = [Basis("raw", np.ones(3)), Basis("pca", np.ones(3), rng.normal(size=(2, 3)))]
    members = [
        Member(basis, 3, rng.exponential(size=3 - basis), weight, rng.dirichlet(np.full(2, concentration), size=20))
        for basis, weight in ((0, 0.5), (1, 0.3), (0, 0.2))
    ]
    setting = {
        "X": X,
        "scaling": Scaling(np.zeros(3), np.ones(3)),
        "bases": bases,
        "classes": np.array(["a", "b"]),
        "prior": np.array([0.75, 0.25]),
        "labelled": np.arange(4),
        "members": members,
        "factors": np.ones(2),
    }
    return Answer(**{**setting, **changes})


# Confidence


def confidence(answer):
    return answer.distributions.max(axis=1).mean()


def test_an_answer_becomes_as_sure_as_another():
    hesitant, sure = answer(5.0), answer(1.0)
    assert confidence(hesitant) < confidence(sure)
    raised = hesitant.as_sure_as(sure)
    assert confidence(raised) == pytest.approx(confidence(sure), abs=1e-4)
    assert 1 < raised.power < 4
    np.testing.assert_array_equal(raised.distributions.argmax(axis=1), hesitant.distributions.argmax(axis=1))


def test_an_answer_that_is_sure_already_stays_as_it_is():
    sure = answer(1.0)
    assert sure.as_sure_as(answer(5.0)).power == 1
    np.testing.assert_array_equal(sure.as_sure_as(answer(5.0)).distributions, sure.distributions)


def test_the_power_has_a_limit():
    assert answer(500.0).as_sure_as(answer(0.01)).power == pytest.approx(4, abs=1e-4)


def test_sharpened_rows_sum_to_one():
    P = np.array([[0.8, 0.2], [0.5, 0.5], [1.0, 0.0]])
    np.testing.assert_allclose(sharpened(P, 2.0), [[16 / 17, 1 / 17], [0.5, 0.5], [1, 0]])
    assert sharpened(P, 1.0) is P


# Members together


def test_rows_of_the_table_and_new_rows_are_finished_alike():
    plain = answer()
    finished = replace(plain, factors=np.array([2.0, 0.5]), power=1.5)
    X_new = plain.X[:7] + 0.1
    for before, after in [
        (plain.distributions, finished.distributions),
        (plain.predict(X_new), finished.predict(X_new)),
    ]:
        np.testing.assert_allclose(after, scaled(sharpened(before, 1.5), finished.factors), rtol=1e-12)
        np.testing.assert_allclose(after.sum(axis=1), 1)


def test_members_count_by_their_weights():
    three = answer()
    expected = sum(member.weight * member.F for member in three.members)
    np.testing.assert_allclose(three.distributions, expected)
    assert three.best is three.members[0]
    reordered = replace(three, members=three.members[::-1])
    assert reordered.best is three.members[0]


def test_a_row_that_no_member_reaches_has_the_class_shares_and_no_belief():
    three = answer()
    members = [replace(member, F=np.where(np.arange(20)[:, None] == 6, 0, member.F)) for member in three.members]
    with_a_gap = replace(three, members=members)
    assert np.flatnonzero(with_a_gap.unreached).tolist() == [6]
    np.testing.assert_array_equal(with_a_gap.distributions[6], with_a_gap.prior)
    assert with_a_gap.beliefs[6].tolist() == [0, 0]
    np.testing.assert_array_equal(with_a_gap.beliefs[7:], with_a_gap.distributions[7:])


def test_feature_weights_are_the_mean_of_the_members_in_units_of_the_features():
    three = answer(scaling=Scaling(np.ones(3), np.array([1.0, 2.0, 10.0])))
    first, second, third = three.members
    mean = 0.5 * first.a + 0.3 * (second.a @ three.bases[1].axes ** 2) + 0.2 * third.a
    np.testing.assert_allclose(three.feature_weights, mean / [1, 4, 100])


def test_members_that_hear_each_other_leave_an_ensemble_as_sure_as_before():
    X, classes = make_blobs(90, n_features=3, centers=3, cluster_std=4.0, random_state=0)
    y = np.where(np.arange(90) < 18, classes, -1)
    model = PGLearnClassifier(budget=2, class_prior="labels", random_state=0).fit(X, y)._answer
    assert 1 < model.power < 4
    said = sharpened(model.opinion[0], model.power).max(axis=1)
    unheard = PGLearnClassifier(budget=2, class_prior=None, random_state=0).fit(X, y)._answer
    assert unheard.power == 1
    assert said.mean() == pytest.approx(unheard.opinion[0].max(axis=1).mean(), abs=1e-4)
    assert said.mean() > model.opinion[0].max(axis=1).mean() + 1e-3, "less sure if not for the power"


def test_members_hear_each_other_twice_where_there_are_class_shares(monkeypatch):
    heard = []

    def propagate(engine, problem, graph, beliefs=None):
        if len(problem.labelled) == 18:  # not in a rehearsal, which hides some
            heard.append(beliefs)
        return of_engine(engine, problem, graph, beliefs)

    of_engine = CPUEngine.propagate
    monkeypatch.setattr(CPUEngine, "propagate", propagate)
    X, classes = make_blobs(90, n_features=3, centers=3, cluster_std=4.0, random_state=0)
    y = np.where(np.arange(90) < 18, classes, -1)
    members = len(PGLearnClassifier(budget=2, class_prior="labels", random_state=0).fit(X, y)._answer.members)
    assert [beliefs is None for beliefs in heard] == [True] * members + [False] * 2 * members
    assert not np.allclose(heard[members], heard[2 * members])  # what came of the first time
    heard.clear()
    PGLearnClassifier(budget=2, class_prior=None, random_state=0).fit(X, y)
    assert [beliefs is None for beliefs in heard] == [True] * members


# New rows


def predicting():
    """A model that predicts by three members and a linear model."""
    model = PGLearnClassifier()
    beside = Opinion([Voice(Line(1, np.zeros(2), 0.5, np.log([0.6, 0.4])), 1.0)], 0.2, 1.5)
    model._publish(answer(beside=beside, scaling=Scaling(np.ones(3), np.array([1.0, 2.0, 10.0])), power=1.5))
    model.n_features_in_ = 3
    return model


def test_batches_of_new_rows_do_not_change_the_answer(monkeypatch):
    model, X_new = predicting(), np.random.default_rng(1).normal(size=(57, 3)) * [1, 2, 10]
    expected = model.predict_proba(X_new)
    np.testing.assert_allclose(expected.sum(axis=1), 1)
    monkeypatch.setattr(module, "MOST_ROWS", 10)
    assert len(module._batches(X_new)) == 6
    np.testing.assert_allclose(model.predict_proba(X_new), expected, rtol=1e-12)
    for form in (sparse.csr_matrix, np.float32):
        np.testing.assert_allclose(model.predict_proba(form(X_new)), expected, rtol=1e-4)


def test_a_batch_is_so_many_rows_that_its_bytes_are_bounded():
    for d, rows in ((3, 4096), (1024, 4096), (4096, 1024), (10**8, 1)):
        wide = np.broadcast_to(0.0, (5000, d))
        assert module._batches(wide)[0] == slice(0, rows)
    assert module._batches(sparse.csr_array((5000, 10**8)))[0] == slice(0, 4096)


def test_memory_of_prediction_beyond_the_answer_does_not_grow_with_the_new_rows(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 512)
    model, batch = predicting(), np.random.default_rng(1).normal(size=(512, 3))

    def beyond_the_answer(X_new):
        tracemalloc.start()
        try:
            found = model.predict_proba(X_new)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        return peak - found.nbytes

    model.predict_proba(batch[:20])  # what is imported on first use does not count
    one, many = beyond_the_answer(batch), beyond_the_answer(np.tile(batch, (16, 1)))
    assert many < 1.2 * one


def test_a_member_makes_its_view_of_the_table_once_per_call(monkeypatch):
    made, usual = [], Answer.view
    monkeypatch.setattr(Answer, "view", lambda self, basis: made.append(basis) or usual(self, basis))
    monkeypatch.setattr(module, "MOST_ROWS", 5)
    three = answer()
    three.predict(three.X)
    assert made == [0, 1, 0]


# As arrays


def test_an_answer_survives_the_trip_through_arrays():
    three = replace(answer(), factors=np.array([2.0, 0.5]), power=1.5)
    arrays = three.to_arrays()
    assert {array.dtype.kind for array in map(np.asarray, arrays.values())} <= set("biufU")
    back = Answer.from_arrays(arrays)
    assert [basis.name for basis in back.bases] == ["raw", "pca"]
    assert back.bases[0].axes is None
    for one, other in zip(back.members, three.members, strict=True):
        assert (one.basis, one.k, one.weight) == (other.basis, other.k, other.weight)
        np.testing.assert_array_equal(one.a, other.a)
        np.testing.assert_array_equal(one.F, other.F)
    np.testing.assert_array_equal(back.distributions, three.distributions)
    np.testing.assert_array_equal(back.feature_weights, three.feature_weights)
    np.testing.assert_array_equal(back.predict(three.X + 0.1), three.predict(three.X + 0.1))
    np.testing.assert_array_equal(back.labelled, three.labelled)
