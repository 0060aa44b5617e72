"""The baselines as a scikit-learn user meets them: one contract for all five."""

from __future__ import annotations

import signal
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
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


def test_all_parameters_are_among_those_of_pglearn_but_three():
    known = set(PGLearnClassifier().get_params())
    extra = {baseline.__name__: set(baseline().get_params()) - known for baseline in BASELINES}
    assert {name: names for name, names in extra.items() if names} == {
        "RandClassifier": {"draw"},
        "MinEntClassifier": {"propagation"},
        "IDMLClassifier": {"metric"},
    }
    assert "alpha" not in MinEntClassifier().get_params()
    assert "bandwidth_range" not in AEWClassifier().get_params()


def test_the_budget_is_counted_in_evaluations(fitted):
    model, _, _ = fitted
    evaluations = (model.search_results_["steps"] + 1).sum()
    assert evaluations == 6
    assert model.search_results_["died"][-1] == 6
    assert model.stop_reason_ == "finished"


def test_candidates_multiply_the_budget(fitted):
    model, X, y = fitted
    if isinstance(model, AEWClassifier):
        model = clone(model).set_params(k_range=(1, 20))
    more = clone(model).set_params(budget=3, n_candidates=2, unit_steps=2).fit(X, y)
    assert (more.search_results_["steps"] + 1).sum() == 12


@every
def test_seconds_end_it_within_an_evaluation(baseline):
    X, y, _ = blobs()
    begun = time.monotonic()
    model = baseline(budget=2, n_candidates=2, unit_seconds=0.05, k_range=(3, 30), random_state=0).fit(X, y)
    assert time.monotonic() - begun < 2
    assert model.stop_reason_ == "finished"
    assert (model.history_["seconds"][:-1] < 0.2).all()


def test_out_of_time(fitted):
    model, X, y = fitted
    model = clone(model).set_params(max_time=1e-9).fit(X, y)
    assert model.stop_reason_ == "out of time"
    assert len(model.history_["accuracy"]) == 1
    assert len(model.transduction_) == len(X)


def test_what_a_fit_leaves_behind(fitted):
    model, X, _ = fitted
    assert model.transduction_.shape == (60,)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)
    np.testing.assert_array_equal(model.transduction_, model.classes_[model.label_distributions_.argmax(axis=1)])
    np.testing.assert_array_equal(model.confidence_, model.label_distributions_.max(axis=1))
    assert not model.unreached_.any()
    assert 3 <= model.n_neighbors_ <= 8
    assert model.feature_weights_.shape == (4,)
    assert (model.feature_weights_ > 0).all()
    assert sparse.issparse(model.graph_)
    assert model.graph_.shape == (60, 60)
    assert (model.graph_ != model.graph_.T).nnz == 0
    assert not model.scaled_
    results = pd.DataFrame(model.search_results_)
    assert {"candidate", "k", "born", "died", "steps", "loss", "accuracy", "selected"} <= set(results)
    assert results["selected"].sum() == 1
    assert (results["born"] < results["died"]).all()
    chosen = results[results["selected"]].iloc[0]
    assert chosen["accuracy"] == results["accuracy"].max()
    assert chosen["candidate"] == results["accuracy"].argmax(), "ties keep the first"
    assert list(model.history_) == ["candidate", "step", "loss", "accuracy", "seconds"]
    assert (np.diff(model.history_["seconds"]) >= 0).all()
    assert X.shape[1] == model.n_features_in_


def test_only_methods_that_minimise_something_have_a_loss(fitted):
    model, _, _ = fitted
    has_one = isinstance(model, (MinEntClassifier, AEWClassifier))
    assert np.isfinite(model.search_results_["loss"]).all() == has_one


def test_the_same_seed_gives_the_same_model(fitted):
    model, X, y = fitted
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.label_distributions_, model.label_distributions_)
    for name, column in model.search_results_.items():
        np.testing.assert_array_equal(again.search_results_[name], column)


@pytest.mark.parametrize("baseline", [RandClassifier, MinEntClassifier, IDMLClassifier])
def test_another_seed_draws_others(baseline):
    X, y, _ = blobs(spread=3.0)
    one, other = (baseline(budget=2, random_state=seed).fit(X, y).feature_weights_ for seed in (0, 1))
    assert not np.array_equal(one, other)


def test_new_rows_are_labelled_like_those_next_to_them(fitted):
    model, X, _ = fitted
    assert (model.predict(X + 1e-9) == model.transduction_).mean() > 0.95
    probabilities = model.predict_proba(X[:5] + 0.1)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 4), 1e8)).sum(), 1)


@every
@pytest.mark.parametrize("validation", ["loo", "kfold", "holdout"])
def test_every_validation_finds_easy_classes(baseline, validation):
    X, y, classes = blobs()
    names = np.array(["ant", "bee", "cat"])
    labels = [None if label < 0 else names[label] for label in y]
    model = baseline(budget=4, validation=validation, random_state=0).fit(X, labels)
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    assert (model.transduction_ == names[classes]).mean() > 0.95


@every
def test_features_may_be_standardised(baseline):
    X, y, classes = blobs()
    s = np.array([1.0, 1000.0, 0.001, 3.0])
    model = baseline(budget=3, scale=True, random_state=0).fit(X, y)
    rescaled = baseline(budget=3, scale=True, random_state=0).fit(X * s, y)
    assert model.scaled_
    assert (rescaled.transduction_ == classes).mean() > 0.95
    np.testing.assert_allclose(rescaled.feature_weights_, model.feature_weights_ / s**2, rtol=1e-4)


@every
def test_rows_that_no_label_reaches_have_the_class_shares(baseline):
    if baseline is MinEntClassifier:
        pytest.skip("smoothing reaches everyone")
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
        (AEWClassifier, {"alpha": 1}, "alpha=1 is not between 0 and 1"),
        (IDMLClassifier, {"alpha": 1}, "alpha=1 is not between 0 and 1"),
        (GridClassifier, {"validation": "half"}, "validation='half' is not known"),
        (GridClassifier, {"scale": "yes"}, "scale='yes' is not known"),
        (GridClassifier, {"random_state": "x"}, "random_state='x' is no seed"),
        (MinEntClassifier, {"propagation": "x"}, "propagation='x' is not known: choose one of 'harmonic', 'lgc'"),
        (RandClassifier, {"draw": "cards"}, "draw='cards' is not known: choose one of 'bandwidths', 'weights'"),
        (IDMLClassifier, {"metric": "x"}, "metric='x' is not known: choose one of 'diagonal', 'full'"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(baseline, change, sentence):
    X, y, _ = blobs()
    with pytest.raises(InputError, match=sentence):
        baseline(**change).fit(X, y)


@every
def test_input_errors_are_the_sentences_of_pglearn(baseline):
    X, y, _ = blobs()
    broken = X.copy()
    broken[3, 1] = np.nan
    for bad_X, bad_y in ((broken, y), (X[:1], y[:1]), (X, np.full(60, -1)), (X, y[:-1]), (X, None)):
        sentences = []
        for estimator in (baseline(), PGLearnClassifier()):
            with pytest.raises(InputError) as caught:
                estimator.fit(bad_X, bad_y)
            sentences.append(str(caught.value).replace(type(estimator).__name__, ""))
        assert sentences[0] == sentences[1]


def test_minent_by_lgc_is_judged_by_accuracy_and_then_by_entropy():
    X, y, classes = blobs(spread=3.0)
    model = MinEntClassifier(propagation="lgc", budget=60, k_range=(2, 8), validation="holdout", random_state=0)
    model.fit(X, y)
    history = model.history_
    assert len(history["loss"]) == 60
    top = history["accuracy"] == history["accuracy"].max()
    assert history["loss"][top].min() == model.search_results_["loss"][model.search_results_["selected"]].item()
    assert top.sum() > 1, "ties that entropy decides"
    assert np.unique(history["candidate"]).size > 1, "new draws when one has converged"
    assert (model.transduction_ == classes).mean() > 0.6
    np.testing.assert_allclose(model.predict_proba(X[:3]).sum(axis=1), 1)


def test_minent_refuses_more_rows_than_it_can_factor():
    X = np.random.default_rng(0).normal(size=(5001, 2))
    y = np.where(np.arange(5001) < 10, np.arange(5001) % 2, -1)
    with pytest.raises(InputError, match=r"X has 5,001 rows.*take at most 5,000 of them, or propagation='lgc'"):
        MinEntClassifier().fit(X, y)


def test_rand_draws_bandwidths_or_weights():
    X, y, _ = blobs(spread=3.0)
    one, other = (RandClassifier(budget=1, draw=draw, random_state=0).fit(X, y) for draw in ("bandwidths", "weights"))
    np.testing.assert_allclose(one.feature_weights_, other.feature_weights_**-2.0)


def test_a_progress_bar_is_shown_when_asked_for(capsys):
    X, y, _ = blobs()
    GridClassifier(budget=2, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "tried" in shown
    assert "best validation accuracy" in shown


def test_listeners_are_told_of_the_search():
    X, y, _ = blobs()
    events = []
    GridClassifier(budget=3).fit(X, y, listeners=(events.append,))
    assert events[0] | {"time": 0} == {
        "event": "search_started",
        "time": 0,
        "number": 0,
        "version": 1,
        "method": "Grid",
        "points": 60,
        "features": 4,
        "classes": 3,
        "labelled": 18,
        "scored": 18,
        "budget": 3,
    }
    assert [event["event"] for event in events[1:]] == ["trial_ended"] * 3 + ["search_ended"]


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
    assert len(model.history_["accuracy"]) == 1


def test_a_full_metric_sees_what_no_weights_show():
    """Two classes that differ along x = y and vary along x = −y."""
    rng = np.random.default_rng(0)
    classes = np.arange(120) % 2
    along, across = 2 * classes + 0.2 * rng.normal(size=120), 4 * rng.normal(size=120)
    X = np.column_stack([along + across, along - across, rng.normal(size=120)])
    y = np.where(np.arange(120) < 20, classes, -1)
    right = {}
    for metric in ("diagonal", "full"):
        model = IDMLClassifier(budget=6, metric=metric, k_range=(3, 6), random_state=0).fit(X, y)
        right[metric] = (model.transduction_ == classes)[20:].mean()
        assert model.feature_weights_.shape == (3,)
        assert (model.predict(X)[20:] == model.transduction_[20:]).mean() > 0.9, "new rows are seen through the metric"
    assert right["full"] > right["diagonal"] + 0.2
    assert right["full"] > 0.9


def test_a_full_metric_of_too_many_features_is_refused():
    X, y, _ = blobs()
    with pytest.raises(InputError, match="6,000 features"):
        IDMLClassifier(metric="full").fit(np.tile(X, (1, 1500)), y)
