"""The bases a search may weigh features in."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

from pglearn import PGLearnClassifier
from pglearn.basis import Basis, bases_for, linear_basis, shared_variance, tied_levels
from pglearn.sparse import is_sparse, sparse_rows


def table(n=300, size=3, noise=4, seed=0):
    """Two groups of columns, each with a common cause, and columns of noise after them."""
    rng = np.random.default_rng(seed)
    causes = np.repeat(rng.normal(size=(n, 2)), size, axis=1)
    return np.hstack([causes + 0.3 * rng.normal(size=causes.shape), rng.normal(size=(n, noise))])


def independent(n=300, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def named(X, basis="both"):
    return {basis.name: basis for basis in bases_for(X, basis)}


# Variance that features have in common


@pytest.mark.parametrize("seed", range(5))
def test_columns_of_noise_have_little_in_common_with_others(seed):
    shared = shared_variance(table(seed=seed))
    assert shared.shape == (10,)
    assert (shared[:6] > 0.8).all()
    assert (shared[6:] < 0.1).all()
    assert ((shared >= 0) & (shared <= 1)).all()


def test_columns_of_noise_are_found_among_more_columns_than_rows():
    shared = shared_variance(table(n=60, size=20, noise=60))
    assert shared[:40].min() > 2 * shared[40:].max()


def test_the_share_does_not_depend_on_the_unit_or_the_origin_of_a_feature():
    X = table()
    unit = 10.0 ** np.arange(-5, 5)
    np.testing.assert_allclose(shared_variance(X * unit + 7 * unit), shared_variance(X), rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "d"), [(300, 6), (100, 40), (60, 200)])
def test_independent_columns_have_nothing_in_common(n, d, seed):
    assert shared_variance(independent(n, d, seed)) is None


def test_a_single_column_that_varies_has_nothing_in_common():
    X = np.ones((20, 3))
    assert shared_variance(X) is None
    X[:, 1] = np.arange(20)
    assert shared_variance(X) is None
    assert shared_variance(X[:, [1]]) is None


def test_constant_columns_share_nothing():
    X = np.insert(table(), [0, 4], 7.0, axis=1)
    shared = shared_variance(X)
    assert shared[[0, 5]].tolist() == [0, 0]
    np.testing.assert_allclose(np.delete(shared, [0, 5]), shared_variance(table()), rtol=1e-9)


# Principal components


@pytest.mark.parametrize("shape", [(200, 8), (9, 30)], ids=["tall", "wide"])
def test_axes_are_principal_components_divided_by_the_root_of_their_spread(shape):
    n, d = shape
    X = independent(n, d) @ independent(d, d, seed=1) + np.arange(d)
    (basis,) = bases_for(X, "pca")
    components = min(d, n - 1)
    pca = PCA(components).fit(X)
    spread = np.sqrt(pca.explained_variance_)
    expected = pca.components_ * np.sqrt(spread.mean() / spread)[:, None]
    sign = np.sign((basis.axes * expected).sum(axis=1, keepdims=True))
    assert basis.axes.shape == (components, d)
    np.testing.assert_allclose(basis.axes * sign, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_the_spread_of_a_coordinate_is_the_root_of_that_of_its_component():
    X = independent() * [100, 25, 9, 4, 1, 0.01]
    (basis,) = bases_for(X, "pca")
    spread = PCA().fit_transform(X).std(axis=0)
    found = basis.of(X).std(axis=0)
    np.testing.assert_allclose(found / found[0], np.sqrt(spread / spread[0]), rtol=1e-9)


def test_coordinates_keep_the_scale_of_the_features():
    X = table()
    small, large = (np.abs(bases_for(size * X, "pca")[0].of(size * X)) for size in (1, 1000))
    np.testing.assert_allclose(large, 1000 * small, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("shape", [(150, 130), (130, 150)], ids=["tall", "wide"])
def test_there_are_at_most_a_hundred_components_the_loudest(shape):
    X = independent(*shape) * np.linspace(1, 10, shape[1])
    (basis,) = bases_for(X, "pca")
    assert basis.axes.shape == (100, shape[1])
    spread = basis.of(X).std(axis=0)
    assert (np.diff(spread) < 0).all()
    loudest = PCA(100).fit_transform(X).std(axis=0)
    np.testing.assert_allclose(spread / spread[0], np.sqrt(loudest / loudest[0]), rtol=1e-6)


def test_components_without_variance_are_left_out():
    X = independent()
    X = np.hstack([X, X[:, :2] @ np.ones((2, 3))])
    (basis,) = bases_for(X, "pca")
    assert basis.axes.shape == (6, 9)


# What weights in a basis mean


@pytest.fixture(params=["raw", "pca", "shared", "shared pca"])
def basis(request):
    return named(table())[request.param]


def test_distances_are_those_of_the_metric_of_the_weights(basis):
    X = table()[:12]
    axes = np.eye(10) if basis.axes is None else basis.axes
    a = np.random.default_rng(1).exponential(size=len(axes))
    Z = basis.of(X)
    for i in range(12):
        for j in range(12):
            along = [axis @ (basis.columns * (X[i] - X[j])) for axis in axes]
            assert np.sum(a * (Z[i] - Z[j]) ** 2) == pytest.approx(np.sum(a * np.square(along)), rel=1e-9)


def test_the_weight_of_a_feature_is_its_own_squared_distance(basis):
    a = np.random.default_rng(1).exponential(size=10 if basis.axes is None else len(basis.axes))
    alone = basis.of(np.eye(10)) - basis.of(np.zeros((1, 10)))
    np.testing.assert_allclose(basis.weights(a), alone**2 @ a, rtol=1e-9)


def test_the_raw_basis_leaves_points_and_weights_as_they_are():
    X, a = table(), np.arange(10.0)
    (raw,) = bases_for(X, "raw")
    assert raw.name == "raw"
    assert raw.of(X) is X
    np.testing.assert_array_equal(raw.weights(a), a)


def test_points_are_not_written_to(basis):
    X = table()
    basis.of(X)
    np.testing.assert_array_equal(X, table())


def test_columns_are_weighted_before_the_axes_are_applied():
    basis = Basis("made up", np.array([2.0, 1.0]), np.array([[1.0, 1.0]]))
    np.testing.assert_array_equal(basis.of(np.array([[1.0, 10.0]])), [[12.0]])
    np.testing.assert_array_equal(basis.weights(np.array([3.0])), [12.0, 3.0])


# Which bases there are


def test_correlated_columns_are_looked_at_in_four_bases():
    X = table()
    bases = named(X)
    assert list(bases) == ["raw", "pca", "shared", "shared pca"]
    np.testing.assert_array_equal(bases["pca"].axes, named(X, "pca")["pca"].axes)
    np.testing.assert_array_equal(bases["shared"].of(X), X * shared_variance(X))
    (weighted,) = bases_for(X * shared_variance(X), "pca")
    np.testing.assert_allclose(np.abs(bases["shared pca"].axes), np.abs(weighted.axes), rtol=1e-9)


def test_independent_columns_are_looked_at_in_two_bases():
    assert list(named(independent())) == ["raw", "pca"]


def test_a_single_column_has_no_other_basis():
    assert list(named(independent(d=1))) == ["raw"]


def test_one_basis_may_be_asked_for():
    assert list(named(table(), "raw")) == ["raw"]
    assert list(named(table(), "pca")) == ["pca"]


@pytest.mark.parametrize("value", [0.0, 0.1, 7.0])
@pytest.mark.parametrize("basis", ["both", "raw", "pca"])
def test_a_table_in_which_nothing_varies_does_not_fail(value, basis):
    X = np.full((12, 3), value)
    for basis_ in bases_for(X, basis):
        Z = basis_.of(X)
        assert np.isfinite(Z).all()
        np.testing.assert_allclose(Z - Z[0], 0, atol=1e-12)
    y = np.array([0, 0, 1, 1] + [-1] * 8)
    model = PGLearnClassifier(budget=1, n_candidates=2, basis=basis, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)


# Tables that are too long to learn from whole


def test_a_long_table_is_learned_from_a_sample_of_its_rows(monkeypatch):
    monkeypatch.setattr("pglearn.basis.ROWS_TO_LEARN_FROM", 120)
    X = table()
    bases = bases_for(X, "both", seed=3)
    assert [basis.name for basis in bases] == ["raw", "pca", "shared", "shared pca"]
    assert [len(basis.of(X)) for basis in bases] == [300] * 4
    assert (bases[2].columns[:6] > 0.8).all()
    assert (bases[2].columns[6:] < 0.2).all()
    again, other = (bases_for(X, "pca", seed)[0].axes for seed in (3, 4))
    np.testing.assert_array_equal(bases[1].axes, again)
    assert not np.allclose(np.abs(again), np.abs(other))
    monkeypatch.undo()
    (whole,) = bases_for(X, "pca", seed=3)
    assert not np.allclose(np.abs(again), np.abs(whole.axes))


def test_a_table_at_the_limit_is_learned_from_whole(monkeypatch):
    X = table()
    (whole,) = bases_for(X, "pca")
    monkeypatch.setattr("pglearn.basis.ROWS_TO_LEARN_FROM", len(X))
    np.testing.assert_array_equal(bases_for(X, "pca", seed=9)[0].axes, whole.axes)


def test_a_long_and_wide_table_is_learned_from_few_rows(monkeypatch):
    monkeypatch.setattr("pglearn.basis.SHORT_SIDE", 20)
    X = independent(300, 30)
    (basis,) = bases_for(X, "pca")
    assert basis.axes.shape == (19, 30)
    assert basis.of(X).shape == (300, 19)
    (narrow,) = bases_for(X[:, :20], "pca")
    assert narrow.axes.shape == (20, 20)


# A linear model's coordinates


def linear_table(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1, 10, 0.1, 1, 1]
    y = (X[:, 0] + X[:, 1] / 10 + 0.3 * rng.normal(size=n) > 0).astype(int)
    labelled = np.sort(rng.permutation(n)[:24])
    return X, y, labelled, np.eye(2)[y[labelled]]


def test_labelled_rows_lie_where_a_regression_without_them_puts_them():
    X, _, labelled, Y = linear_table()
    basis = linear_basis(X, labelled, Y)
    Z = basis.of_table(X)
    rest = np.delete(np.arange(len(labelled)), 3)
    rows = X * basis.columns
    # The penalty is found from the slope of the regression on all labels.
    errors = []
    for penalty in np.logspace(-2, 4, 400):
        model = Ridge(penalty).fit(rows[labelled], Y)
        errors.append((np.abs(model.coef_ - basis.axes).max(), penalty))
    penalty = min(errors)[1]
    without = Ridge(penalty).fit(rows[labelled][rest], Y[rest])
    whole = Ridge(penalty).fit(rows[labelled], Y)
    expected = without.predict(rows[labelled[[3]]])[0] - whole.intercept_
    np.testing.assert_allclose(Z[labelled[3]], expected, atol=0.05)
    assert np.abs(Z[labelled[3]] - whole.coef_ @ rows[labelled[3]]).max() > 0.01


@pytest.mark.parametrize("form", [np.asarray, sparse_rows])
def test_some_rows_lie_where_they_lie_in_the_whole_table(form):
    X, _, labelled, Y = linear_table()
    X, rows = form(X), np.sort(np.append(labelled[::5], np.setdiff1d(np.arange(60), labelled)[::7]))
    found = bases_for(X, "both", labels=(labelled, Y))
    assert found[-1].name == "linear"
    for basis in found:
        some, whole = basis.of_table(X, rows), basis.of_table(X)[rows]
        if is_sparse(whole):
            some, whole = some.toarray(), whole.toarray()
        np.testing.assert_allclose(some, whole, rtol=1e-12, atol=1e-12)


def test_unlabelled_rows_are_told_apart_by_what_the_linear_model_says():
    X, y, labelled, Y = linear_table(n=300)
    Z = linear_basis(X, labelled, Y).of_table(X)
    hidden = np.delete(np.arange(300), labelled)
    assert ((Z[hidden, 1] > Z[hidden, 0]) == (y[hidden] == 1)).mean() > 0.85


def test_labelled_rows_that_are_all_alike_have_no_linear_basis():
    X, _, labelled, Y = linear_table()
    X[labelled] = 1.0
    assert linear_basis(X, labelled, Y) is None
    assert [basis.name for basis in bases_for(X, "both", 0, (labelled, Y))][-1] != "linear"


@pytest.mark.parametrize(("d", "labels"), [(5, 30), (50, 30), (500, 30), (2000, 60)])
def test_coordinates_of_labelled_rows_do_not_tell_the_label_where_features_say_nothing(d, labels):
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, d)), np.arange(labels) % 2
        _, own = linear_basis(X, np.arange(labels), np.eye(2)[y]).own
        order = own[:, 1].argsort().argsort()
        found.append((order[y == 1].mean() - (labels / 2 - 1) / 2) / (labels / 2))  # area under the ROC curve
    assert 0.3 < np.mean(found) < 0.7


def test_rows_that_equal_others_do_not_tell_their_labels():
    """Of ten different rows and labels by chance no graph knows more than chance; nor does it think so."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 3))[np.arange(300) % 10]
    y = np.where(np.arange(300) < 100, rng.integers(0, 2, 300), -1)
    model = PGLearnClassifier(budget=8, n_candidates=8, random_state=0).fit(X, y)
    results = model.search_results_
    found = results["accuracy"][results["basis"] == "linear"]
    assert len(found)
    assert found.max() < 0.7


# Levels of categories


def categories(n=200, sizes=(3, 2, 5), seed=0):
    """A number, then the levels of some categories, then a truth value."""
    rng = np.random.default_rng(seed)
    levels = [np.eye(size)[np.append(np.arange(size), rng.integers(size, size=n - size))] for size in sizes]
    return np.hstack([rng.normal(size=(n, 1)), *levels, rng.integers(2, size=(n, 1))])


@pytest.mark.parametrize("form", [np.asarray, sparse_rows])
def test_levels_of_a_category_are_tied_to_the_first_of_them(form):
    assert tied_levels(form(categories())).tolist() == [0, 1, 1, 1, 4, 4, 6, 6, 6, 6, 6, 11]


def test_levels_are_recognised_whatever_their_unit():
    X = categories()
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert tied_levels(scaled).tolist() == tied_levels(X).tolist()


def test_a_truth_value_before_a_category_is_none_of_its_levels():
    X = categories()
    assert tied_levels(X[:, [11, *range(1, 11)]]).tolist() == [0, 1, 1, 1, 4, 4, 6, 6, 6, 6, 6]


@pytest.mark.parametrize("broken", [0.0, 1.0], ids=["without a level", "of two levels"])
def test_one_row_that_is_not_of_one_level_unties_them(broken):
    X = categories(sizes=(3,))
    row = np.flatnonzero(X[:, 1] == 1 - broken)[0]
    X[row, 1] = broken
    assert tied_levels(X) is None


@pytest.mark.parametrize("X", [table(), np.ones((20, 3)), np.eye(2)[[0] * 9]], ids=["numbers", "ones", "one level"])
def test_nothing_is_tied_without_categories(X):
    assert tied_levels(X) is None


@pytest.mark.parametrize(("labels", "is_tied"), [(12, True), (60, False)])
def test_levels_share_a_weight_where_there_are_as_many_columns_as_labels(labels, is_tied):
    X = categories(120, (6, 6))
    y = np.where(X[:, 1:7].argmax(axis=1) < 3, "a", "b").astype(object)
    y[labels:] = None
    of_raw = []

    def listen(event):
        if event["event"] == "candidate_advanced" and event["basis"] == 0:
            of_raw.append(event["a"])

    PGLearnClassifier(budget=2, n_candidates=4, random_state=0).fit(X, y, listeners=(listen,))
    assert of_raw
    for a in of_raw:
        assert [len(set(levels)) == 1 for levels in (a[1:7], a[7:13])] == [is_tied, is_tied]
