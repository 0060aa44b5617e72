"""The views that a search may weigh features in."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

from pglearn import PGLearnClassifier
from pglearn.arrays import is_sparse, sparse_rows
from pglearn.errors import InputError
from pglearn.objective.views import NAMES, linear_view, shared_variance, views_for


def table(n=300, size=3, noise=4, seed=0):
    """Two groups of columns, each with a common cause, and columns of noise after them."""
    rng = np.random.default_rng(seed)
    causes = np.repeat(rng.normal(size=(n, 2)), size, axis=1)
    return np.hstack([causes + 0.3 * rng.normal(size=causes.shape), rng.normal(size=(n, noise))])


def independent(n=300, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def named(X, names=None):
    return {view.name: view for view in views_for(X, names)}


def dense(Z):
    return Z.toarray() if is_sparse(Z) else Z


def components(X, seed=0):
    (view,) = views_for(X, ["components"], seed)
    return view


# Variance that features have in common


def test_columns_of_noise_have_little_in_common_with_others():
    X = table()
    shared = shared_variance(X)
    assert (shared[:6] > 0.8).all()
    assert (shared[6:] < 0.1).all()
    assert ((shared >= 0) & (shared <= 1)).all()
    unit = 10.0 ** np.arange(-5, 5)
    np.testing.assert_allclose(shared_variance(X * unit + 7 * unit), shared, rtol=1e-9)
    with_constant = shared_variance(np.insert(X, [0, 4], 7.0, axis=1))
    np.testing.assert_allclose(with_constant, np.insert(shared, [0, 4], 0), rtol=1e-9)
    wide = shared_variance(table(n=60, size=20, noise=60))
    assert wide[:40].min() > 2 * wide[40:].max()


@pytest.mark.parametrize(("n", "d"), [(300, 6), (100, 40), (60, 200)])
def test_independent_columns_have_nothing_in_common(n, d):
    assert all(shared_variance(independent(n, d, seed)) is None for seed in range(5))
    for columns in (0, 1):
        assert shared_variance(np.hstack([np.ones((n, 2)), independent(n, columns)])) is None


# Principal components


@pytest.mark.parametrize("shape", [(200, 8), (9, 30)], ids=["tall", "wide"])
def test_axes_are_principal_components_divided_by_the_root_of_their_spread(shape):
    n, d = shape
    X = independent(n, d) @ independent(d, d, seed=1) + np.arange(d)
    X = np.hstack([X, X[:, :2] @ np.ones((2, 3))])  # components without variance are left out
    view = components(X)
    pca = PCA(min(d, n - 1)).fit(X)
    spread = np.sqrt(pca.explained_variance_)
    expected = pca.components_ * np.sqrt(spread.mean() / spread)[:, None]
    assert view.axes.shape == expected.shape
    sign = np.sign((view.axes * expected).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(view.axes * sign, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    small, large = (np.abs(components(size * X).transform(size * X)) for size in (1, 1000))
    np.testing.assert_allclose(large, 1000 * small, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(150, 130), (130, 150)], ids=["tall", "wide"])
def test_there_are_at_most_a_hundred_components_the_loudest(shape):
    X = independent(*shape) * np.linspace(1, 10, shape[1])
    view = components(X)
    assert view.axes.shape == (100, shape[1])
    spread = view.transform(X).std(axis=0)
    loudest = PCA(100).fit_transform(X).std(axis=0)
    np.testing.assert_allclose(spread / spread[0], np.sqrt(loudest / loudest[0]), rtol=1e-6)


# Rows of length one


@pytest.mark.parametrize("form", [np.asarray, sparse_rows])
@pytest.mark.parametrize(("name", "other"), [("unit", "given"), ("unit components", "components")])
def test_unit_views_are_the_others_with_rows_of_length_one(name, other, form):
    X = form(table())
    found, Z = (dense(views_for(X, [one])[0].transform_table(X)) for one in (name, other))
    np.testing.assert_allclose(found, Z / np.linalg.norm(Z, axis=1, keepdims=True))
    assert named(X, [name])[name].unit


# What weights in a view mean


@pytest.fixture(params=["given", "components", "shared", "shared components"])
def view(request):
    return named(table())[request.param]


def test_distances_are_those_of_the_metric_of_the_weights(view):
    X, whole = table()[:12], table()
    axes = np.eye(10) if view.axes is None else view.axes
    a = np.random.default_rng(1).exponential(size=len(axes))
    Z = view.transform(X)
    for i in range(12):
        for j in range(12):
            along = [axis @ (view.columns * (X[i] - X[j])) for axis in axes]
            assert np.sum(a * (Z[i] - Z[j]) ** 2) == pytest.approx(np.sum(a * np.square(along)), rel=1e-9)
    alone = view.transform(np.eye(10)) - view.transform(np.zeros((1, 10)))
    np.testing.assert_allclose(view.feature_weights(a), alone**2 @ a, rtol=1e-9)
    view.transform(whole)
    np.testing.assert_array_equal(whole, table())


# Which views there are


def test_which_views_a_table_has():
    X, a = table(), np.arange(10.0)
    views = named(X)
    assert list(views) == ["given", "components", "shared", "shared components"]
    assert views["given"].transform(X) is X
    np.testing.assert_array_equal(views["given"].feature_weights(a), a)
    np.testing.assert_array_equal(views["components"].axes, components(X).axes)
    np.testing.assert_array_equal(views["shared"].transform(X), X * shared_variance(X))
    weighted = components(X * shared_variance(X))
    np.testing.assert_allclose(np.abs(views["shared components"].axes), np.abs(weighted.axes), rtol=1e-9)
    assert list(named(independent())) == ["given", "components"]
    assert list(named(independent(d=1))) == ["given"]
    assert list(named(X, ["shared", "unit", "given"])) == ["shared", "unit", "given"]


@pytest.mark.parametrize(
    ("names", "X", "sentence"),
    [
        (["given", "shared"], independent(), "The view 'shared' cannot be had: no feature has variance in common"),
        (["linear"], independent(), "The view 'linear' cannot be had: it needs validation='loo', at most 2,000 labels"),
        (["components"], np.ones((9, 3)), "The view 'components' cannot be had: all rows are alike. Leave it out"),
    ],
)
def test_a_view_that_is_asked_for_and_cannot_be_had_is_an_error(names, X, sentence):
    with pytest.raises(InputError, match=sentence):
        views_for(X, names)


# Tables that are too long to learn from whole


def test_a_long_table_is_learned_from_a_sample_of_its_rows(monkeypatch):
    monkeypatch.setattr("pglearn.objective.views.ROWS_TO_LEARN_FROM", 120)
    X = table()
    views = views_for(X, None, seed=3)
    assert [len(view.transform(X)) for view in views] == [300] * 4
    assert (views[2].columns[:6] > 0.8).all()
    assert (views[2].columns[6:] < 0.2).all()
    again, other = (components(X, seed).axes for seed in (3, 4))
    np.testing.assert_array_equal(views[1].axes, again)
    assert not np.allclose(np.abs(again), np.abs(other))
    monkeypatch.setattr("pglearn.objective.views.ROWS_TO_LEARN_FROM", len(X))
    np.testing.assert_array_equal(components(X, seed=3).axes, components(X, seed=9).axes)
    monkeypatch.setattr("pglearn.objective.views.SHORT_SIDE", 20)
    assert components(independent(300, 30)).axes.shape == (19, 30)
    assert components(independent(300, 20)).axes.shape == (20, 20)


# A linear model's coordinates


def linear_table(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1, 10, 0.1, 1, 1]
    y = (X[:, 0] + X[:, 1] / 10 + 0.3 * rng.normal(size=n) > 0).astype(int)
    labelled = np.sort(rng.permutation(n)[:24])
    return X, y, labelled, np.eye(2)[y[labelled]]


def test_labelled_rows_lie_where_a_regression_without_them_puts_them():
    X, _, labelled, Y = linear_table()
    view = linear_view(X, labelled, Y)
    rows = X * view.columns
    # The penalty is found from the slope of the regression on all labels.
    models = [Ridge(penalty).fit(rows[labelled], Y) for penalty in np.logspace(-2, 4, 400)]
    whole = min(models, key=lambda model: np.abs(model.coef_ - view.axes).max())
    without = Ridge(whole.alpha).fit(np.delete(rows[labelled], 3, axis=0), np.delete(Y, 3, axis=0))
    found = view.transform_table(X)[labelled[3]]
    expected = without.predict(rows[labelled[[3]]])[0] - whole.intercept_
    np.testing.assert_allclose(found, expected, atol=0.05)
    assert np.abs(found - whole.coef_ @ rows[labelled[3]]).max() > 0.01


@pytest.mark.parametrize("form", [np.asarray, sparse_rows])
def test_some_rows_lie_where_they_lie_in_the_whole_table(form):
    X, _, labelled, Y = linear_table()
    X, rows = form(X), np.sort(np.append(labelled[::5], np.setdiff1d(np.arange(60), labelled)[::7]))
    found = views_for(X, None, labels=(labelled, Y))
    assert found[-1].name == "linear"
    for view in found:
        some, whole = dense(view.transform_table(X, rows)), dense(view.transform_table(X)[rows])
        np.testing.assert_allclose(some, whole, rtol=1e-12, atol=1e-12)


def test_unlabelled_rows_are_told_apart_by_the_linear_predictions():
    X, y, labelled, Y = linear_table(n=300)
    Z = linear_view(X, labelled, Y).transform_table(X)
    hidden = np.delete(np.arange(300), labelled)
    assert ((Z[hidden, 1] > Z[hidden, 0]) == (y[hidden] == 1)).mean() > 0.85
    X[labelled] = 1.0  # alike, these tell nothing
    assert linear_view(X, labelled, Y) is None
    assert [view.name for view in views_for(X, None, 0, (labelled, Y))][-1] != "linear"


@pytest.mark.parametrize(("d", "labels"), [(5, 30), (50, 30), (500, 30), (2000, 60)])
def test_coordinates_of_labelled_rows_do_not_tell_the_label_where_features_are_noise(d, labels):
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, d)), np.arange(labels) % 2
        _, own = linear_view(X, np.arange(labels), np.eye(2)[y]).own
        order = own[:, 1].argsort().argsort()
        found.append((order[y == 1].mean() - (labels / 2 - 1) / 2) / (labels / 2))  # area under the ROC curve
    assert 0.3 < np.mean(found) < 0.7


def test_rows_that_equal_others_do_not_tell_their_labels():
    """Of ten different rows and labels by chance no graph knows more than chance; nor does its loss."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 3))[np.arange(300) % 10]
    y = np.where(np.arange(300) < 100, rng.integers(0, 2, 300), -1)
    model = PGLearnClassifier(n_candidates=8, random_state=0).fit(X, y)
    results = model.search_results_
    found = results["accuracy"][results["view"] == "linear"]
    assert len(found)
    assert found.max() < 0.7


def test_every_name_is_a_view_of_some_table():
    X, _, labelled, Y = linear_table()
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    assert [view.name for view in views_for(X, NAMES, 0, (labelled, Y))] == list(NAMES)
