"""The baselines as a scikit-learn user meets them: one contract for all five."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import check_classifiers_classes, estimator_checks_generator

from pglearn import AEWClassifier, GridClassifier, IDMLClassifier, MinEntClassifier, PGLearnClassifier, RandClassifier
from pglearn.errors import InputError

BASELINES = [GridClassifier, RandClassifier, MinEntClassifier, AEWClassifier, IDMLClassifier]
every = pytest.mark.parametrize("baseline", BASELINES, ids=lambda baseline: baseline.__name__)


def blobs(n=60, labelled=18, spread=1.0):
    X, classes = make_blobs(n, n_features=4, centers=3, cluster_std=spread, random_state=0)
    return X, np.where(np.arange(n) < labelled, classes, -1), classes


@pytest.fixture(scope="module", params=BASELINES, ids=lambda baseline: baseline.__name__)
def fitted(request):
    X, y, _ = blobs(spread=3.0)
    return request.param(budget=6, k_range=(3, 8), random_state=0).fit(X, y), X, y


CHECKS = [(baseline, check) for baseline in BASELINES for _, check in estimator_checks_generator(baseline(budget=1))]


@pytest.mark.filterwarnings("default")  # the checks try strange things on purpose
@pytest.mark.parametrize(
    ("baseline", "check"), CHECKS, ids=lambda part: getattr(part, "__name__", None) or part.func.__name__
)
def test_scikit_learn_finds_nothing_wrong(baseline, check):
    if check.func.__name__ == "check_classifiers_classes":
        # Which knows that -1 means unlabelled for that one, as it does here.
        check_classifiers_classes("LabelSpreading", baseline(budget=1))
    else:
        check(baseline(budget=1))


def test_all_parameters_are_among_those_of_pglearn_but_two():
    known = set(PGLearnClassifier().get_params())
    extra = {name for baseline in BASELINES for name in set(baseline().get_params()) - known}
    assert extra == {"draw", "propagation"}
    assert "alpha" not in MinEntClassifier().get_params()
    assert "bandwidth_range" not in AEWClassifier().get_params()


def test_budgets_are_counted_in_evaluations_and_end_by_time(fitted):
    model, X, y = fitted
    assert model.search_results_["spent"][-1] == 6
    wide = clone(model).set_params(k_range=(1, 20))
    results = clone(wide).set_params(budget=3, n_candidates=2, unit_steps=2).fit(X, y).search_results_
    assert results["spent"][-1] == 6
    assert len(results["k"]) == 12 or isinstance(model, AEWClassifier), "of which a trial is a descent"
    in_seconds = clone(wide).set_params(budget=2, n_candidates=2, unit_seconds=0.01).fit(X, y)
    assert in_seconds.stop_reason_ == model.stop_reason_ == "finished"
    out_of_time = clone(model).set_params(max_time=1e-9).fit(X, y)
    assert out_of_time.stop_reason_ == "out of time"
    assert len(out_of_time.search_results_["k"]) == 1


def test_what_a_fit_leaves_behind(fitted):
    model, _, _ = fitted
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)
    np.testing.assert_array_equal(model.transduction_, model.classes_[model.label_distributions_.argmax(axis=1)])
    np.testing.assert_array_equal(model.confidence_, model.label_distributions_.max(axis=1))
    assert not model.unreached_.any()
    assert 3 <= model.n_neighbors_ <= 8
    assert model.feature_weights_.shape == (4,)
    assert (model.feature_weights_ > 0).all()
    assert (model.graph_ != model.graph_.T).nnz == 0, "sparse and symmetric"
    assert not model.scaled_
    results = model.search_results_
    (chosen,) = np.flatnonzero(results["selected"])
    assert chosen == results["accuracy"].argmax(), "ties keep the first"
    assert results["k"][chosen] == model.n_neighbors_
    assert (np.diff(results["seconds"]) >= 0).all()
    minimises = isinstance(model, (MinEntClassifier, AEWClassifier))
    assert np.isfinite(results["loss"]).all() == minimises


def test_new_rows_are_labelled_like_those_next_to_them(fitted):
    model, X, _ = fitted
    assert (model.predict(X + 1e-9) == model.transduction_).mean() > 0.95
    for rows in (X[:5] + 0.1, np.full((1, 4), 1e8)):
        np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1)


def test_the_same_seed_gives_the_same_model_and_another_draws_others(fitted):
    model, X, y = fitted
    again, other = (clone(model).set_params(random_state=seed).fit(X, y) for seed in (0, 1))
    np.testing.assert_array_equal(again.label_distributions_, model.label_distributions_)
    for name in set(model.search_results_) - {"seconds"}:
        np.testing.assert_array_equal(again.search_results_[name], model.search_results_[name])
    draws = not isinstance(model, (GridClassifier, AEWClassifier))
    assert np.array_equal(other.feature_weights_, model.feature_weights_) != draws


@every
@pytest.mark.parametrize("validation", ["loo", "kfold", "holdout"])
def test_every_validation_finds_easy_classes(baseline, validation):
    X, y, classes = blobs()
    names = np.array(["ant", "bee", "cat"])
    model = baseline(budget=4, validation=validation, random_state=0)
    model.fit(X, [None if label < 0 else names[label] for label in y])
    assert (model.transduction_ == names[classes]).mean() > 0.95


@pytest.mark.parametrize("baseline", [b for b in BASELINES if b is not MinEntClassifier])  # whose smoothing reaches all
def test_rows_that_no_label_reaches_have_the_class_shares(baseline):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(10, 2)) + 1000])
    y = np.full(40, -1)
    y[:8] = [0, 0, 0, 0, 0, 0, 1, 1]
    model = baseline(budget=2, k_range=(3, 3), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.unreached_, np.arange(40) >= 30)
    np.testing.assert_allclose(model.label_distributions_[30:], [[0.75, 0.25]] * 10)
    np.testing.assert_allclose(model.predict_proba(X[30:] + 0.01), [[0.75, 0.25]] * 10)


@pytest.mark.parametrize(
    ("baseline", "change", "sentence"),
    [
        (GridClassifier, {"budget": 0}, "budget=0 must be a whole number of at least 1"),
        (GridClassifier, {"n_candidates": 0}, "n_candidates=0 must be a whole number of at least 1"),
        (GridClassifier, {"unit_steps": 1.5}, r"unit_steps=1\.5 must be a whole number"),
        (GridClassifier, {"unit_seconds": -1}, "unit_seconds=-1 must be above 0, or None"),
        (GridClassifier, {"max_time": 0}, "max_time=0 must be above 0, or None"),
        (AEWClassifier, {"k_range": (9, 3)}, r"k_range=\(9, 3\) must be two whole numbers"),
        (MinEntClassifier, {"bandwidth_range": (0, 1)}, r"bandwidth_range=\(0, 1\) must be two numbers"),
        (IDMLClassifier, {"alpha": 1}, "alpha=1 is not between 0 and 1"),
        (GridClassifier, {"validation": "half"}, "validation='half' is not known"),
        (GridClassifier, {"scale": "yes"}, "scale='yes' is not known"),
        (GridClassifier, {"random_state": "x"}, "random_state='x' is no seed"),
        (MinEntClassifier, {"propagation": "x"}, "propagation='x' is not known: choose one of 'harmonic', 'lgc'"),
        (RandClassifier, {"draw": "cards"}, "draw='cards' is not known: choose one of 'bandwidths', 'weights'"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(baseline, change, sentence):
    X, y, _ = blobs()
    with pytest.raises(InputError, match=sentence):
        baseline(**change).fit(X, y)


def test_minent_by_lgc_is_judged_by_accuracy_and_then_by_entropy():
    X, y, classes = blobs(spread=3.0)
    model = MinEntClassifier(propagation="lgc", budget=60, k_range=(2, 8), validation="holdout", random_state=0)
    results = model.fit(X, y).search_results_
    top = results["accuracy"] == results["accuracy"].max()
    assert top.sum() > 1, "ties that entropy decides"
    assert results["loss"][top].min() == results["loss"][results["selected"]].item()
    assert np.unique(results["candidate"]).size > 1, "new draws when one has converged"
    assert (model.transduction_ == classes).mean() > 0.6


def test_minent_refuses_more_rows_than_it_can_factor():
    X, y, _ = blobs(5001)
    with pytest.raises(InputError, match=r"X has 5,001 rows.*take at most 5,000 of them, or propagation='lgc'"):
        MinEntClassifier().fit(X, y)


def test_a_progress_bar_and_listeners_are_told_of_the_search(capsys):
    X, y, _ = blobs()
    events = []
    GridClassifier(budget=3, verbose=1).fit(X, y, listeners=(events.append,))
    assert "best validation accuracy" in capsys.readouterr().err
    about = {"method": "Grid", "points": 60, "features": 4, "classes": 3, "labelled": 18, "scored": 18, "budget": 3}
    assert events[0] == {"event": "search_started", "time": events[0]["time"], "number": 0, "version": 1, **about}
    assert [event["event"] for event in events[1:]] == ["trial_ended"] * 3 + ["search_ended"]
    assert [event["spent"] for event in events[1:4]] == [1, 2, 3]
    best = events[1 + events[4]["best"]]
    assert events[4]["accuracy"] == best["accuracy"] == max(event["accuracy"] for event in events[1:4])


@every
@pytest.mark.usefixtures("interruptible")
def test_control_c_ends_the_search_with_the_best_so_far(baseline):
    X, y, _ = blobs()

    def interrupt(event):
        if event["event"] == "trial_ended":
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UserWarning, match="The search was interrupted"):
        model = baseline(budget=1000, random_state=0).fit(X, y, listeners=(interrupt,))
    assert model.stop_reason_ == "interrupted"
    assert len(model.transduction_) == 60
    assert len(model.search_results_["accuracy"]) == 1
