"""PGLearnClassifier as a scikit-learn user meets it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_classifiers_classes, estimator_checks_generator

import pglearn
from pglearn import PGLearnClassifier, TableEncoder
from pglearn.errors import InputError, ModelFileError

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


def test_scikit_learn_has_many_checks():
    assert len(CHECKS) > 40


# Habits


def test_a_clone_has_the_parameters_and_is_not_fitted(fitted):
    model, _, _ = fitted
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classes_")


def test_parameters_can_be_set_and_an_unknown_one_is_refused():
    model = quick().set_params(alpha=0.5, budget=3)
    assert (model.alpha, model.budget) == (0.5, 3)
    with pytest.raises(ValueError, match="Invalid parameter 'bandwith'"):
        model.set_params(bandwith=1)


def test_it_works_at_the_end_of_a_pipeline_that_encodes_a_table():
    X, y, classes = blobs()
    table = pd.DataFrame(X, columns=list("abcd")).assign(group=np.array(["x", "y", "z"])[classes])
    table.loc[3, "a"] = np.nan
    model = make_pipeline(TableEncoder(), quick()).fit(table, y)
    assert (model.predict(table) == classes).mean() > 0.95
    assert model[-1].n_features_in_ == 7


def test_grid_search_over_alpha():
    X, _, classes = blobs()
    search = GridSearchCV(quick(), {"alpha": [0.1, 0.9]}, cv=2).fit(X, classes)
    assert search.best_params_["alpha"] in (0.1, 0.9)
    assert search.best_score_ > 0.9


def test_cross_validation_with_string_labels():
    X, _, classes = blobs()
    assert cross_val_score(quick(), X, np.array(["a", "b", "c"])[classes], cv=2).mean() > 0.9


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_feature_names(frame):
    X, y, _ = blobs()
    table = frame({name: X[:, i] for i, name in enumerate(["a", "b", "c", "d"])})
    if not hasattr(StandardScaler().fit(table), "feature_names_in_"):
        pytest.skip("this scikit-learn does not see the names of this polars")  # 1.6 with polars 2
    model = quick().fit(table, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(model.predict_proba(table), quick().fit(X, y).predict_proba(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({name: X[:, i] for i, name in enumerate(["a", "b", "c", "e"])}))


@pytest.mark.parametrize(
    "missing",
    [
        lambda names: [None if name == "" else name for name in names],
        lambda names: [float("nan") if name == "" else str(name) for name in names],
        lambda names: np.array([None if name == "" else name for name in names], dtype=object),
        lambda names: np.array([np.nan if name == "" else name for name in names], dtype=object),
        lambda names: pd.Series([None if name == "" else name for name in names]),
        lambda names: pd.Series([None if name == "" else name for name in names], dtype="category"),
        lambda names: pl.Series([None if name == "" else name for name in names]),
    ],
    ids=["list None", "list NaN", "object None", "object NaN", "pandas", "categorical", "polars"],
)
def test_string_labels_with_gaps(missing):
    X, y, classes = blobs()
    names = np.array(["ant", "bee", "cat"])
    model = quick().fit(X, missing(np.where(y >= 0, names[y], "")))
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    assert (model.transduction_ == names[classes]).mean() > 0.95
    np.testing.assert_array_equal(model.label_distributions_, quick().fit(X, y).label_distributions_)


@pytest.mark.parametrize(
    "given",
    [
        lambda y: np.where(y >= 0, y, np.nan),
        lambda y: pd.Series(y).where(y >= 0).astype("Int64"),
        lambda y: [None if label < 0 else int(label) for label in y],
        lambda y: y.astype(np.int8),
    ],
    ids=["NaN", "Int64 with NA", "None", "int8"],
)
def test_unlabelled_may_be_written_in_several_ways(given):
    X, y, _ = blobs()
    np.testing.assert_array_equal(quick().fit(X, given(y)).transduction_, quick().fit(X, y).transduction_)


def test_sparse_points_are_taken_and_scikit_learn_knows():
    X, y, classes = blobs()
    model = quick().fit(sparse.csr_matrix(X), y)
    assert (model.predict(sparse.csc_array(X)) == classes).mean() > 0.95
    assert get_tags(model).input_tags.sparse
    assert {"check_estimator_sparse_matrix", "check_estimator_sparse_array"} <= {c.func.__name__ for c in CHECKS}


def test_the_data_given_are_not_changed():
    X, y, _ = blobs()
    X_before, y_before = X.copy(), y.copy()
    quick(scale=True).fit(X, y).predict(X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


# What a fit leaves behind


def test_every_row_gets_a_label_and_probabilities(fitted):
    model, X, _ = fitted
    assert model.transduction_.shape == (60,)
    assert model.label_distributions_.shape == (60, 3)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)
    assert (model.label_distributions_ >= 0).all()
    np.testing.assert_array_equal(model.transduction_, model.classes_[model.label_distributions_.argmax(axis=1)])
    np.testing.assert_array_equal(model.confidence_, model.label_distributions_.max(axis=1))
    assert model.unreached_.shape == (60,)
    assert not model.unreached_.any()
    assert (model.n_features_in_, X.shape[1]) == (4, 4)


def test_easy_classes_are_found(fitted):
    model, _, _ = fitted
    assert (model.transduction_ == blobs()[2]).mean() > 0.95


def test_the_graph_is_symmetric_and_has_no_loops(fitted):
    graph = fitted[0].graph_
    assert sparse.issparse(graph)
    assert graph.format == "csr"
    assert graph.shape == (60, 60)
    assert (graph != graph.T).nnz == 0
    assert not graph.diagonal().any()
    assert ((graph.data >= 0) & (graph.data <= 1)).all()


def test_the_learned_k_is_in_its_range():
    X, y, _ = blobs()
    for seed in range(5):
        model = quick(k_range=(3, 4), random_state=seed).fit(X, y)
        assert model.n_neighbors_ in (3, 4)
        assert set(model.search_results_["k"]) <= {3, 4}
    assert isinstance(model.n_neighbors_, int)


def test_search_results_have_a_row_per_configuration(fitted):
    model, _, _ = fitted
    results = model.search_results_
    assert list(results) == [
        "candidate",
        "k",
        "view",
        "born",
        "died",
        "steps",
        "loss",
        "accuracy",
        "converged",
        "failure",
        "recall",
        "selected",
    ]
    table = pd.DataFrame(results)
    assert len(table) == 4 + 2 * 2
    assert table["candidate"].tolist() == list(range(8))
    assert (table["born"] < table["died"]).all()
    assert (table["died"] == 4).sum() == 4
    assert table["selected"].dtype == bool
    assert table["selected"].sum() == 2
    assert table["accuracy"].between(0, 1).all()
    chosen = table[table["selected"]]
    assert (chosen["died"] == 4).all()


def test_history_has_a_row_per_evaluation(fitted):
    model, _, _ = fitted
    history = pd.DataFrame(model.history_)
    assert list(history) == ["candidate", "step", "loss", "accuracy"]
    results = pd.DataFrame(model.search_results_).set_index("candidate")
    per_candidate = history.groupby("candidate")
    assert (per_candidate["loss"].min() == results["loss"]).all()
    assert (per_candidate["step"].max() == results["steps"]).all()
    assert (per_candidate.size() == results["steps"] + 1).all()


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
    X, y, _ = blobs()
    assert not quick().fit(X, y).scaled_
    model = quick().fit(X * [1, 1, 1, 1000], y)
    assert model.scaled_
    assert not quick(scale=False).fit(X * [1, 1, 1, 1000], y).scaled_
    assert (model.transduction_ == blobs()[2]).mean() > 0.95


@pytest.mark.parametrize("true", [True, np.True_])
def test_scaling_can_be_asked_for(true):
    X, y, _ = blobs()
    assert quick(scale=true).fit(X, y).scaled_


def test_points_of_any_size_are_labelled_alike():
    X, y, _ = blobs(spread=4.0, labelled=20)
    plain = quick(scale=False).fit(X, y)
    assert (plain.search_results_["steps"] > 0).any()
    for size in (2.0**-300, 2.0**-100, 2.0**100, 2.0**300):
        model = quick(scale=False).fit(X * size, y)
        np.testing.assert_array_equal(model.transduction_, plain.transduction_, err_msg=str(size))


def test_the_best_answers_alone_or_with_its_runners_up():
    X, y, _ = blobs(spread=4.0, labelled=20)
    best, ensemble = (
        PGLearnClassifier(budget=2, n_candidates=6, selection=selection, random_state=0).fit(X, y)
        for selection in ("best", "ensemble")
    )
    results = best.search_results_
    assert results["selected"].sum() == 1
    (chosen,) = np.flatnonzero(results["selected"])
    assert results["loss"][chosen] == results["loss"][results["died"] == 2].min()
    assert best.n_neighbors_ == results["k"][chosen]
    assert ensemble.search_results_["selected"].sum() == 3
    assert (results["died"][ensemble.search_results_["selected"]] == 2).all()
    assert len(set(ensemble.search_results_["view"][ensemble.search_results_["selected"]])) == 3
    assert not np.allclose(best.label_distributions_, ensemble.label_distributions_)
    assert (ensemble.graph_ > 0).nnz >= (best.graph_ > 0).nnz


def test_the_setting_of_the_paper():
    model = PGLearnClassifier.paper(n_candidates=2, budget=2, random_state=0)
    names = ("validation", "loss", "selection", "views", "scale", "alpha", "class_prior")
    assert {name: getattr(model, name) for name in names} == {
        "validation": "holdout",
        "loss": "ranking",
        "selection": "best",
        "views": ["given"],
        "scale": False,
        "alpha": 0.99,
        "class_prior": None,
    }
    assert PGLearnClassifier.paper().n_candidates == 32
    X, y, classes = blobs(labelled=18)
    assert (model.fit(X, y).transduction_ == classes).mean() > 0.9


@pytest.mark.parametrize(
    ("loss", "validation"),
    [
        *(("log", "loo"), ("ranking", "holdout"), ("error", "kfold")),
        *(("power", "loo"), ("exponential", "holdout"), ("entropy", "kfold")),
    ],
)
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


@pytest.fixture(scope="module")
def in_all_views():
    X, y, _ = correlated(noise=4)
    return PGLearnClassifier(budget=4, random_state=0, scale=False).fit(X, y), X, y


def test_search_results_name_the_view_of_every_candidate(in_all_views):
    model, _, _ = in_all_views
    assert model.views_ == ["given", "components", "shared", "shared components", "linear"]
    assert model.search_results_["view"][:10].tolist() == model.views_ * 2
    assert set(model.search_results_["view"][model.search_results_["selected"]]) == set(model.views_)


@pytest.mark.parametrize("view", ["given", "components", "unit"])
def test_one_view_may_be_asked_for(view):
    X, y, classes = blobs()
    model = quick(views=[view]).fit(X, y)
    assert model.views_ == [view]
    assert set(model.search_results_["view"]) == {view}
    assert (model.transduction_ == classes).mean() > 0.9


def test_features_have_weights_where_components_were_weighted():
    rng = np.random.default_rng(0)
    X, y, _ = correlated(n=40, noise=40, labelled=20)
    model = quick(views=["components"], selection="best").fit(X, y)
    assert model.feature_weights_.shape == (48,)
    assert np.isfinite(model.feature_weights_).all()
    assert (model.feature_weights_ >= 0).all()
    assert (model.feature_weights_ > 0).any()
    X[:, 3] = rng.normal()
    assert quick(views=["components"], selection="best").fit(X, y).feature_weights_[3] < 1e-12


def test_loud_columns_of_noise_are_survived():
    auto, given = [], []
    for seed in range(3):
        X, y, classes = correlated(n=150, labelled=10, noise=100, seed=seed)
        for accuracies, views in ((auto, "auto"), (given, ["given"])):
            model = PGLearnClassifier(budget=4, views=views, random_state=0).fit(X, y)
            accuracies.append((model.transduction_ == classes)[10:].mean())
    assert min(auto) > 0.95
    assert np.mean(auto) > np.mean(given) + 0.2


def test_the_answer_in_several_views_does_not_depend_on_the_number_of_workers(in_all_views):
    model, X, y = in_all_views
    assert_same_model(clone(model).set_params(n_jobs=2).fit(X, y), model)


def test_a_saved_model_with_members_of_different_coordinates_predicts_identically(tmp_path, monkeypatch):
    monkeypatch.setattr("pglearn.views.MAX_COMPONENTS", 5)
    X, y, _ = correlated(noise=4)
    model = PGLearnClassifier(budget=2, scale=True, random_state=0).fit(X, y)
    assert {len(member.a) for member in model._ensemble.members} == {2, 5, 12}
    model.save(tmp_path / "m.npz")
    loaded = PGLearnClassifier.load(tmp_path / "m.npz")
    X_new = X + 0.1
    np.testing.assert_array_equal(loaded.predict_proba(X_new), model.predict_proba(X_new))
    for name in ("label_distributions_", "confidence_", "class_factors_", "feature_weights_", "unreached_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.views_ == model.views_
    assert loaded.n_neighbors_ == model.n_neighbors_


@pytest.mark.parametrize("lacking", ["view_axes", "view_columns", "member_view", "factors", "labelled"])
def test_a_model_that_lacks_a_part_says_which(lacking, in_all_views):
    arrays = in_all_views[0].to_arrays()
    del arrays[lacking]
    with pytest.raises(ModelFileError, match=f"The model lacks {lacking}: copy it again or fit again"):
        PGLearnClassifier.from_arrays(arrays)


# The same every time


def assert_same_model(one, other):
    for name in ("transduction_", "label_distributions_", "feature_weights_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.graph_ != other.graph_).nnz == 0
    for table in ("search_results_", "history_"):
        pd.testing.assert_frame_equal(pd.DataFrame(getattr(one, table)), pd.DataFrame(getattr(other, table)))


@pytest.mark.parametrize(
    "where", [{"n_jobs": 2}, {"n_jobs": 3}, {"executor": "threads", "n_jobs": 2}, {"executor": "serial", "n_jobs": 2}]
)
def test_the_answer_does_not_depend_on_the_number_of_workers(fitted, where):
    model, X, y = fitted
    assert_same_model(clone(model).set_params(**where).fit(X, y), model)


def test_the_same_seed_gives_the_same_model_and_another_seed_another(fitted):
    model, X, y = fitted
    assert_same_model(clone(model).fit(X, y), model)
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert not np.array_equal(other.feature_weights_, model.feature_weights_)


def test_fitting_again_forgets_the_first_fit(fitted):
    model, X, y = fitted
    again = clone(model).fit(X[:, :2] + 5, (y > 0).astype(int)).fit(X, y)
    assert_same_model(again, model)


def test_a_fit_that_fails_leaves_the_fitted_model_as_it_was(fitted):
    model, X, y = fitted
    model = clone(model).set_params(scale=True).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="No row is labelled"):
        model.fit(X * 1000 + 7, np.full(60, -1))
    np.testing.assert_array_equal(model.predict_proba(X), before)


# Rows that no label reaches


@pytest.fixture(scope="module")
def with_an_island():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(10, 2)) + 1000])
    y = np.full(40, -1)
    y[:8] = [0, 0, 0, 0, 0, 0, 1, 1]
    return quick(k_range=(3, 3), scale=False).fit(X, y), X


def test_rows_that_no_label_reaches_get_the_class_shares_and_are_reported(with_an_island):
    model, _ = with_an_island
    np.testing.assert_array_equal(model.unreached_, np.arange(40) >= 30)
    np.testing.assert_allclose(model.label_distributions_[30:], [[0.75, 0.25]] * 10)
    assert (model.transduction_[30:] == 0).all()


def test_new_rows_near_unreached_ones_get_the_class_shares(with_an_island):
    model, X = with_an_island
    np.testing.assert_allclose(model.predict_proba(X[30:] + 0.01), [[0.75, 0.25]] * 10)


# Rows never seen


def test_new_rows_are_labelled(fitted):
    model, _, _ = fitted
    X_new, _, classes = blobs(90)
    # make_blobs with another n draws other points around the same centres
    probabilities = model.predict_proba(X_new)
    assert probabilities.shape == (90, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X_new), model.classes_[probabilities.argmax(axis=1)])
    assert (model.predict(X_new) == classes).mean() > 0.95


def test_rows_near_those_of_the_table_get_their_labels(fitted):
    model, X, _ = fitted
    np.testing.assert_array_equal(model.predict(X + 1e-6), model.transduction_)


def test_far_away_rows_get_finite_probabilities(fitted):
    probabilities = fitted[0].predict_proba(np.full((2, 4), 1e8))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_the_prediction_of_a_row_does_not_depend_on_the_others(fitted):
    model, X, _ = fitted
    together = model.predict_proba(X[:7])
    alone = np.vstack([model.predict_proba(X[i : i + 1]) for i in range(7)])
    np.testing.assert_allclose(together, alone, rtol=1e-12)


# Saving


@pytest.mark.parametrize("selection", ["best", "ensemble"])
def test_a_saved_model_predicts_identically(tmp_path, selection):
    X, y, _ = blobs()
    model = quick(selection=selection, scale=True).fit(X, y)
    model.save(tmp_path / "m.npz")
    loaded = PGLearnClassifier.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.predict_proba(X + 0.1), model.predict_proba(X + 0.1))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_saved_model_keeps_string_classes_and_feature_names(tmp_path):
    X, y, _ = blobs()
    table = pd.DataFrame(X, columns=["größe", "b", "c", "d"])
    names = np.where(y >= 0, np.array(["Ä", "[bold]b[/]", "=1+1"], dtype=object)[y], None)
    model = quick().fit(table, names)
    model.save(str(tmp_path / "m.npz"))
    loaded = PGLearnClassifier.load(str(tmp_path / "m.npz"))
    assert loaded.classes_.tolist() == model.classes_.tolist() == ["=1+1", "[bold]b[/]", "Ä"]
    assert loaded.feature_names_in_.tolist() == ["größe", "b", "c", "d"]
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(table.rename(columns={"b": "x"}))


def test_a_saved_model_holds_no_python_objects(tmp_path, fitted):
    fitted[0].save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
        assert {file[name].dtype.kind for name in file.files} <= set("biufU")


def test_a_model_is_saved_under_the_name_that_was_asked_for(tmp_path, fitted):
    fitted[0].save(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    PGLearnClassifier.load(tmp_path / "model")


# The package


def test_public_names_are_pinned():
    assert sorted(pglearn.__all__) == [
        "AEWClassifier",
        "GridClassifier",
        "IDMLClassifier",
        "MinEntClassifier",
        "PGLearnClassifier",
        "RandClassifier",
        "TableEncoder",
        "__version__",
        "loss_and_gradient",
    ]
    for name in pglearn.__all__:
        assert getattr(pglearn, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Classifier'"):
        _ = pglearn.Classifier


def test_importing_the_package_imports_nothing_heavy():
    heavy = ["torch", "dask", "ray", "pyspark", "numba", "pynndescent", "matplotlib"]
    code = f"import sys, pglearn; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("scale", ["auto", True])
@pytest.mark.parametrize(
    ("exponent", "dtype"),
    [
        *((exponent, np.float64) for exponent in (-1000, -520, 500, 1000)),
        *((exponent, np.float32) for exponent in (-120, -90, 85, 120)),
    ],
)
def test_the_unit_of_the_features_does_not_matter(scale, exponent, dtype):
    X, y, _ = blobs()
    X = X.astype(dtype)
    other = np.ldexp(X, exponent)
    plain, scaled = quick(scale=scale).fit(X, y), quick(scale=scale).fit(other, y)
    np.testing.assert_array_equal(scaled.transduction_, plain.transduction_)
    tolerance = 1e-6 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(scaled.predict_proba(other), plain.predict_proba(X), rtol=tolerance)


def test_a_loaded_model_has_the_parameters_and_labels_of_the_saved_one(tmp_path):
    X, y, _ = blobs()
    model = quick(loss="ranking", alpha=0.95, views=["given", "linear"]).fit(X, y)
    model.save(tmp_path / "model.npz")
    loaded = PGLearnClassifier.load(tmp_path / "model.npz")
    assert loaded.get_params() == {**model.get_params(), "views": ("given", "linear")}
    np.testing.assert_array_equal(loaded.transduction_, model.transduction_)
    np.testing.assert_array_equal(loaded.feature_weights_, model.feature_weights_)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_text_among_the_features_names_the_column_and_the_encoder(library):
    X, y, _ = blobs()
    frame = library.DataFrame({"a": X[:, 0], "b": X[:, 1] > 0, "colour": ["red"] * len(X)})
    with pytest.raises(InputError, match=r"^column colour holds text .*TableEncoder"):
        quick().fit(frame, y)


def test_a_single_row_is_refused_with_a_sentence():
    with pytest.raises(InputError, match="single row"):
        quick().fit([[1.0, 2.0]], [0])


def test_gaps_that_numpy_turned_into_text_are_refused():
    X, _, _ = blobs()
    y = np.array(["a", "b", np.nan] * (len(X) // 3) + ["a"] * (len(X) % 3))
    with pytest.raises(InputError, match="use None for them"):
        quick().fit(X, y)


def test_rows_that_no_label_reaches_have_the_shares_that_were_given():
    X = np.concatenate([np.linspace(0, 1, 20), 1e6 + np.linspace(0, 1, 20)])[:, None]
    y = np.full(40, -1)
    y[[0, 1, 2, 17, 18, 19]] = [0, 0, 0, 1, 1, 1]
    model = quick(class_prior={0: 0.05, 1: 0.95}, k_range=(2, 3), scale=False).fit(X, y)
    assert model.unreached_[20:].all()
    np.testing.assert_allclose(model.label_distributions_[20:], [[0.05, 0.95]] * 20)


def test_events_count_the_features_of_the_table_whatever_the_views():
    X, y, _ = blobs()
    events = []
    quick(views=["components"]).fit(np.hstack([X, X]), y, listeners=(events.append,))
    assert events[0]["features"] == 8


def test_parameters_that_are_numpy_scalars_survive_a_file(tmp_path):
    X, y, _ = blobs()
    quick(alpha=np.float64(0.5), budget=np.int64(1), class_prior=np.array([1, 1, 2])).fit(X, y).save(tmp_path / "m.npz")
    loaded = PGLearnClassifier.load(tmp_path / "m.npz")
    assert (loaded.alpha, loaded.budget) == (0.5, 1)
    assert loaded.class_prior == (0.25, 0.25, 0.5)


def test_parameters_that_are_arrays_survive_a_file(tmp_path):
    X, y, _ = blobs()
    model = quick(k_range=np.array([3, 9]), bandwidth_range=np.array([0.5, 2.0])).fit(X, y)
    model.save(tmp_path / "m.npz")
    loaded = PGLearnClassifier.load(tmp_path / "m.npz")
    assert (loaded.k_range, loaded.bandwidth_range) == ((3, 9), (0.5, 2.0))
