"""PGLearnClassifier as a scikit-learn user meets it."""

from __future__ import annotations

import subprocess
import sys
from itertools import cycle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_classifiers_classes, estimator_checks_generator

import pglearn
from pglearn import PGLearnClassifier, TableEncoder
from pglearn.errors import InputError
from pglearn.objective.folds import VALIDATIONS
from pglearn.objective.loss import LOSSES

QUICK = {"budget": 2, "n_candidates": 2, "random_state": 0}


def quick(**changes):
    return PGLearnClassifier(**{**QUICK, **changes})


def blobs(n=60, labelled=12, spread=1.0, seed=0):
    """Three well separated classes; y has -1 beyond the first `labelled` rows."""
    X, classes = make_blobs(n, n_features=4, centers=3, cluster_std=spread, random_state=seed)
    return X, np.where(np.arange(n) < labelled, classes, -1), classes


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = blobs()
    return PGLearnClassifier(budget=4, n_candidates=4, random_state=0).fit(X, y), X, y


# scikit-learn's own checks


CHECKS = [check for _, check in estimator_checks_generator(PGLearnClassifier(budget=2, n_candidates=2))]


@pytest.mark.filterwarnings("default")  # the checks try strange things on purpose
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.func.__name__)
def test_scikit_learn_finds_nothing_wrong(check):
    estimator = PGLearnClassifier(budget=2, n_candidates=2)
    if check.func.__name__ == "check_classifiers_classes":
        # It makes -1 a class, except for the semi-supervised classifiers that scikit-learn knows by name,
        # for which -1 means unlabelled as it does here.
        check_classifiers_classes("LabelSpreading", estimator)
    else:
        check(estimator)


# Habits


def test_it_works_at_the_end_of_a_pipeline_that_encodes_a_table():
    X, y, classes = blobs()
    table = pd.DataFrame(X, columns=list("abcd")).assign(group=np.array(["x", "y", "z"])[classes])
    table.loc[3, "a"] = np.nan
    model = make_pipeline(TableEncoder(), quick()).fit(table, y)
    assert (model.predict(table) == classes).mean() > 0.95
    assert model[-1].n_features_in_ == 7


def test_grid_search_over_alpha_with_string_labels():
    X, _, classes = blobs()
    search = GridSearchCV(quick(), {"alpha": [0.1, 0.9]}, cv=2).fit(X, np.array(["a", "b", "c"])[classes])
    assert search.best_params_["alpha"] in (0.1, 0.9)
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_feature_names_and_string_classes_also_in_a_file(frame, tmp_path):
    X, y, _ = blobs()
    table = frame({name: X[:, i] for i, name in enumerate(["größe", "b", "c", "d"])})
    if not hasattr(StandardScaler().fit(table), "feature_names_in_"):
        pytest.skip("this scikit-learn does not see the names of this polars")  # 1.6 with polars 2
    names = np.array(["=1+1", "[bold]b[/]", "Ä"], dtype=object)
    model = quick().fit(table, np.where(y >= 0, names[y], None))
    model.save(tmp_path / "m.npz")
    for one in (model, PGLearnClassifier.load(tmp_path / "m.npz")):
        assert one.classes_.tolist() == names.tolist()
        assert one.feature_names_in_.tolist() == ["größe", "b", "c", "d"]
        np.testing.assert_array_equal(one.predict_proba(table), quick().fit(X, y).predict_proba(X))
        with pytest.raises(ValueError, match="feature names"):
            one.predict(frame({name: X[:, i] for i, name in enumerate(["größe", "b", "c", "e"])}))


def test_sparse_points_are_taken_and_scikit_learn_knows():
    X, y, classes = blobs()
    model = quick().fit(sparse.csr_matrix(X), y)
    assert (model.predict(sparse.csc_array(X)) == classes).mean() > 0.95
    assert get_tags(model).input_tags.sparse
    assert {"check_estimator_sparse_matrix", "check_estimator_sparse_array"} <= {c.func.__name__ for c in CHECKS}
    assert len(CHECKS) > 40


# What a fit leaves behind


def test_every_row_gets_a_label_and_probabilities(fitted):
    model, _, _ = fitted
    assert (model.transduction_ == blobs()[2]).mean() > 0.95
    assert model.label_distributions_.shape == (60, 3)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)
    assert (model.label_distributions_ >= 0).all()
    np.testing.assert_array_equal(model.transduction_, model.classes_[model.label_distributions_.argmax(axis=1)])
    np.testing.assert_array_equal(model.confidence_, model.label_distributions_.max(axis=1))
    assert model.unreached_.shape == (60,)
    assert not model.unreached_.any()


def test_the_graph_is_symmetric_and_has_no_loops_and_k_is_in_its_range(fitted):
    graph = fitted[0].graph_
    assert sparse.issparse(graph)
    assert graph.format == "csr"
    assert graph.shape == (60, 60)
    assert (graph != graph.T).nnz == 0
    assert not graph.diagonal().any()
    assert ((graph.data >= 0) & (graph.data <= 1)).all()
    model = quick(k_range=(3, 4), n_candidates=8).fit(*blobs()[:2])
    assert isinstance(model.n_neighbors_, int)
    assert set(model.search_results_["k"]) == {3, 4}


def test_search_results_have_a_row_per_configuration_and_history_one_per_evaluation(fitted):
    model, _, _ = fitted
    names = "candidate k view born died steps loss accuracy converged failure recall selected"
    assert list(model.search_results_) == names.split()
    table = pd.DataFrame(model.search_results_)
    assert table["candidate"].tolist() == list(range(4 + 2 * 2))
    assert (table["born"] < table["died"]).all()
    assert (table["died"] == 4).sum() == 4
    assert table["selected"].dtype == bool
    assert table["died"][table["selected"]].tolist() == [4, 4]
    assert table["accuracy"].between(0, 1).all()
    history = pd.DataFrame(model.history_)
    assert list(history) == ["candidate", "step", "loss", "accuracy"]
    per_candidate = history.groupby("candidate")
    assert (per_candidate["loss"].min() == table["loss"]).all()
    assert (per_candidate["step"].max() == table["steps"]).all()
    assert (per_candidate.size() == table["steps"] + 1).all()


@pytest.mark.parametrize("views", ["auto", ["given"], ["components"]])
def test_feature_weights_are_in_the_units_of_the_features(views):
    X, y, _ = blobs()
    s = np.array([1.0, 10.0, 0.01, 3.0])
    weights = quick(scale=True, views=views).fit(X, y).feature_weights_
    rescaled = quick(scale=True, views=views).fit(X * s, y).feature_weights_
    assert weights.shape == (4,)
    assert (weights >= 0).all()
    np.testing.assert_allclose(rescaled, weights / s**2, rtol=1e-6)


def test_scaling_is_automatic_when_units_differ():
    X, y, classes = blobs()
    assert not quick().fit(X, y).scaled_
    assert quick(scale=np.True_).fit(X, y).scaled_
    assert not quick(scale=False).fit(X * [1, 1, 1, 1000], y).scaled_
    model = quick().fit(X * [1, 1, 1, 1000], y)
    assert model.scaled_
    assert (model.transduction_ == classes).mean() > 0.95


def test_the_best_answers_alone_or_with_its_runners_up():
    X, y, _ = blobs(spread=4.0, labelled=20)
    best, ensemble = (quick(n_candidates=6, selection=selection).fit(X, y) for selection in ("best", "ensemble"))
    results, together = best.search_results_, ensemble.search_results_["selected"]
    (chosen,) = np.flatnonzero(results["selected"])
    assert results["loss"][chosen] == results["loss"][results["died"] == 2].min()
    assert best.n_neighbors_ == results["k"][chosen]
    assert results["died"][together].tolist() == [2, 2, 2]
    assert len(set(results["view"][together])) == 3
    assert not np.allclose(best.label_distributions_, ensemble.label_distributions_)
    assert (ensemble.graph_ > 0).nnz >= (best.graph_ > 0).nnz


def test_the_setting_of_the_hurried_searches_each_view_once_in_half_of_the_evaluations():
    X, y, classes = blobs()
    model = PGLearnClassifier.fast(random_state=0).fit(X, y)
    assert model.search_results_["view"][:5].tolist() == [*model.views_, *model.views_][:5]
    assert len(model.history_["loss"]) < 0.6 * len(PGLearnClassifier(random_state=0).fit(X, y).history_["loss"])
    assert (model.transduction_ == classes).mean() > 0.8
    assert PGLearnClassifier.fast(n_candidates=7, budget=3).get_params()["n_candidates"] == 7


def test_the_setting_of_the_paper():
    model = PGLearnClassifier.paper(n_candidates=2, budget=2, random_state=0)
    of_paper = {"validation": "holdout", "loss": "ranking", "selection": "best", "views": ["given"]}
    of_paper |= {"scale": False, "alpha": 0.99, "class_prior": None}
    assert model.get_params() | of_paper == model.get_params()
    assert PGLearnClassifier.paper().n_candidates == 32
    X, y, classes = blobs(labelled=18)
    assert (model.fit(X, y).transduction_ == classes).mean() > 0.9


@pytest.mark.parametrize(("loss", "validation"), [*zip(LOSSES, cycle(VALIDATIONS), strict=False)])
def test_every_loss_and_validation_finds_easy_classes(loss, validation):
    X, y, classes = blobs(labelled=18)
    model = quick(loss=loss, validation=validation).fit(X, y)
    assert (model.transduction_ == classes).mean() > 0.9


# Views


def correlated(n=60, labelled=12, noise=0, seed=0):
    """Two causes of four columns each, that both tell two classes apart, and loud columns of noise."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 2
    causes = rng.normal(size=(n, 2)) + np.where(classes == 1, 2.0, -2.0)[:, None]
    X = np.repeat(causes, 4, axis=1) + 0.3 * rng.normal(size=(n, 8))
    X = np.hstack([X, 4 * rng.normal(size=(n, noise))])
    return X, np.where(np.arange(n) < labelled, classes, -1), classes


def test_search_results_name_the_view_of_every_candidate():
    model = PGLearnClassifier(budget=4, random_state=0, scale=False).fit(*correlated(noise=4)[:2])
    assert model.views_ == ["given", "components", "shared", "shared components", "linear"]
    assert model.search_results_["view"][:10].tolist() == model.views_ * 2
    assert set(model.search_results_["view"][model.search_results_["selected"]]) == set(model.views_)


@pytest.mark.parametrize("view", ["given", "components", "unit"])
def test_one_view_may_be_asked_for_and_events_count_the_features_of_the_table(view):
    X, y, classes = blobs()
    events = []
    model = quick(views=[view]).fit(np.hstack([X, X]), y, listeners=(events.append,))
    assert model.views_ == [view]
    assert set(model.search_results_["view"]) == {view}
    assert (model.transduction_ == classes).mean() > 0.9
    assert events[0]["features"] == 8


def test_features_have_weights_where_components_were_weighted():
    X, y, _ = correlated(n=40, noise=40, labelled=20)
    X[:, 3] = 0.7
    weights = quick(views=["components"], selection="best").fit(X, y).feature_weights_
    assert weights.shape == (48,)
    assert np.isfinite(weights).all()
    assert (np.delete(weights, 3) > 0).any()
    assert (weights >= 0).all()
    assert weights[3] < 1e-12


def test_a_saved_model_with_members_of_different_coordinates_predicts_identically(tmp_path):
    X, y, _ = correlated(noise=4)
    model = PGLearnClassifier(budget=2, scale=True, random_state=0).fit(X, y)
    assert {"given", "components", "linear"} <= set(model.search_results_["view"][model.search_results_["selected"]])
    model.save(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    loaded = PGLearnClassifier.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict_proba(X + 0.1), model.predict_proba(X + 0.1))
    for name in ("label_distributions_", "confidence_", "class_factors_", "feature_weights_", "unreached_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.views_ == model.views_
    assert loaded.n_neighbors_ == model.n_neighbors_
    with np.load(tmp_path / "model", allow_pickle=False) as file:
        assert {file[name].dtype.kind for name in file.files} <= set("biufU")
        assert {len(file[name]) for name in file.files if name.endswith(".a")} == {2, 12}


# The same every time


def assert_same_model(one, other):
    for name in ("transduction_", "label_distributions_", "feature_weights_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.graph_ != other.graph_).nnz == 0
    for table in ("search_results_", "history_"):
        pd.testing.assert_frame_equal(pd.DataFrame(getattr(one, table)), pd.DataFrame(getattr(other, table)))


@pytest.mark.parametrize("where", [{}, {"n_jobs": 2}, {"executor": "threads", "n_jobs": 2}, {"executor": "serial"}])
def test_the_answer_depends_neither_on_the_workers_nor_on_an_earlier_fit(fitted, where):
    model, X, y = fitted
    again = clone(model).fit(X[:, :2] + 5, (y > 0).astype(int)).set_params(**where)
    assert_same_model(again.fit(X, y), model)
    other = again.set_params(random_state=1).fit(X, y)
    assert not np.array_equal(other.feature_weights_, model.feature_weights_)


def test_a_fit_that_fails_leaves_the_fitted_model_as_it_was(fitted):
    model, X, y = fitted
    model = clone(model).set_params(scale=True).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="No row is labelled"):
        model.fit(X * 1000 + 7, np.full(60, -1))
    np.testing.assert_array_equal(model.predict_proba(X), before)


# Rows that no label reaches


@pytest.mark.parametrize(("class_prior", "shares"), [("auto", [0.75, 0.25]), ({0: 0.05, 1: 0.95}, [0.05, 0.95])])
def test_rows_that_no_label_reaches_get_the_class_shares_and_are_reported(class_prior, shares):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(10, 2)) + 1000])
    y = np.full(40, -1)
    y[:8] = [0, 0, 0, 0, 0, 0, 1, 1]
    model = quick(class_prior=class_prior, k_range=(3, 3), scale=False).fit(X, y)
    np.testing.assert_array_equal(model.unreached_, np.arange(40) >= 30)
    np.testing.assert_allclose(model.label_distributions_[30:], [shares] * 10)
    np.testing.assert_allclose(model.predict_proba(X[30:] + 0.01), [shares] * 10)


# Rows never seen


def test_new_rows_are_labelled(fitted):
    model, X, _ = fitted
    X_new, _, classes = blobs(90)
    # make_blobs with another n draws other points around the same centres
    probabilities = model.predict_proba(X_new)
    np.testing.assert_array_equal(model.predict(X_new), model.classes_[probabilities.argmax(axis=1)])
    assert (model.predict(X_new) == classes).mean() > 0.95
    np.testing.assert_array_equal(model.predict(X + 1e-6), model.transduction_)
    for rows in (X_new, np.full((2, 4), 1e8)):
        np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1)


# The package


def test_public_names_are_pinned():
    estimators = "AEWClassifier GridClassifier IDMLClassifier MinEntClassifier PGLearnClassifier RandClassifier"
    assert sorted(pglearn.__all__) == [*estimators.split(), "TableEncoder", "__version__", "loss_and_gradient"]
    for name in pglearn.__all__:
        assert getattr(pglearn, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Classifier'"):
        _ = pglearn.Classifier


def test_importing_the_package_imports_nothing_heavy():
    heavy = ["torch", "dask", "ray", "pyspark", "faiss", "matplotlib"]
    code = f"import sys, pglearn; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("scale", "dtype", "exponents"),
    [
        *((scale, np.float64, (-1000, 500, 1000)) for scale in ("auto", True)),
        *((scale, np.float32, (-120, 85, 120)) for scale in ("auto", True)),
        (False, np.float64, (-300, 300)),
    ],
)
def test_the_unit_of_the_features_does_not_matter(scale, dtype, exponents):
    X, y, _ = blobs()
    X, tolerance = X.astype(dtype), 1e-6 if dtype == np.float64 else 1e-3
    plain = quick(scale=scale).fit(X, y)
    for other in (np.ldexp(X, exponent) for exponent in exponents):
        scaled = quick(scale=scale).fit(other, y)
        np.testing.assert_array_equal(scaled.transduction_, plain.transduction_)
        np.testing.assert_allclose(scaled.predict_proba(other), plain.predict_proba(X), rtol=tolerance)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_text_among_the_features_and_single_rows_are_refused_with_a_sentence(library):
    X, y, _ = blobs()
    frame = library.DataFrame({"a": X[:, 0], "b": X[:, 1] > 0, "colour": ["red"] * len(X)})
    with pytest.raises(InputError, match=r"^column colour holds text .*TableEncoder"):
        quick().fit(frame, y)
    with pytest.raises(InputError, match="single row"):
        quick().fit([[1.0, 2.0]], [0])


def test_parameters_of_numpy_survive_a_file(tmp_path):
    X, y, _ = blobs()
    given = {"alpha": np.float64(0.5), "budget": np.int64(1), "k_range": np.array([3, 9]), "views": ["given", "linear"]}
    quick(**given, class_prior=np.array([1, 1, 2])).fit(X, y).save(tmp_path / "m.npz")
    loaded = PGLearnClassifier.load(tmp_path / "m.npz")
    assert (loaded.alpha, loaded.budget, loaded.k_range) == (0.5, 1, (3, 9))
    assert (loaded.views, loaded.class_prior) == (("given", "linear"), (0.25, 0.25, 0.5))
