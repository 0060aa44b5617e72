"""PGLearnClassifier on sparse tables: the answers of dense ones, everywhere a table goes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from tests.memory import needs_linux, printed

from pglearn import GridClassifier, PGLearnClassifier
from pglearn.arrays import sparse_rows
from pglearn.engine import choose
from pglearn.errors import CheckpointError, InputError
from pglearn.objective.problem import Problem
from pglearn.objective.views import linear_view, views_for
from pglearn.search.clusters.broadcast import arrived
from pglearn.tables.scaling import Scaling, holds_counts

QUICK = {"budget": 2, "n_candidates": 5, "random_state": 0}


def documents(n=300, words=1500, length=60, seed=0):
    """Word counts of documents in four classes: half of the words are of the class, the others anyone's."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(1, words + 1)
    classes = rng.integers(4, size=n)
    of_class = common**0.7 * rng.gamma(0.1, size=(4, words))
    share = 0.5 * of_class / of_class.sum(axis=1, keepdims=True) + 0.5 * common / common.sum()
    X = sparse.csr_matrix(np.array([rng.multinomial(length, share[c]) for c in classes]))
    return X, np.where(np.arange(n) < 40, classes, -1), classes


@pytest.fixture(scope="module")
def text():
    counts, y, classes = documents()
    return TfidfTransformer().fit_transform(counts), y, classes


@pytest.fixture(scope="module")
def fitted(text):
    X, y, _ = text
    return PGLearnClassifier(**QUICK).fit(X, y)


@pytest.fixture(scope="module")
def wide():
    X, y, classes = documents(n=240, words=2500, seed=2)
    return X, y, classes, PGLearnClassifier(**QUICK).fit(X, y)


@pytest.mark.parametrize("view", ["given", "components", "unit"])
def test_labels_weights_and_predictions_are_those_of_the_dense_table(view, text):
    X, y, _ = text
    thin, dense = (PGLearnClassifier(**QUICK, dtype="float64", views=[view]).fit(form, y) for form in (X, X.toarray()))
    np.testing.assert_allclose(thin.label_distributions_, dense.label_distributions_, atol=1e-10)
    np.testing.assert_allclose(thin.feature_weights_, dense.feature_weights_, rtol=1e-8, atol=1e-8)
    expected = dense.predict_proba(X[:30].toarray())
    for model, rows in ((thin, X[:30]), (thin, X[:30].toarray()), (dense, X[:30])):
        np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-10)


def test_views_are_those_of_the_dense_table_but_for_the_linear_one(text):
    X, y, _ = text
    labelled = np.flatnonzero(y >= 0)
    labels = (labelled, np.eye(4)[y[labelled]])
    thin, dense = sparse_rows(X), X.toarray()
    found, expected = views_for(thin, None, labels=labels), views_for(dense, None, labels=labels)
    assert [view.name for view in found] == [view.name for view in expected]
    assert [view.name for view in found] == ["given", "components", "shared", "shared components", "linear"]
    for one, other in zip(found[:-1], expected[:-1], strict=True):
        Z, Z_dense = one.transform_table(thin), other.transform_table(dense)
        assert sparse.issparse(Z) == (one.axes is None)
        Z = Z.toarray() if sparse.issparse(Z) else Z
        np.testing.assert_allclose(Z @ Z.T, Z_dense @ Z_dense.T, atol=1e-9)  # signs of components are nobody's
        a = np.random.default_rng(0).uniform(size=Z.shape[1])
        np.testing.assert_allclose(one.feature_weights(a), other.feature_weights(a), atol=1e-9)


def test_the_linear_view_is_that_of_dense_features_with_a_spread_of_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 60)) * (rng.random((40, 60)) < 0.5)
    X[:, 0] += 1e4
    X /= X.std(axis=0)
    labelled = np.arange(16)
    found, expected = (linear_view(table, labelled, np.eye(3)[labelled % 3]) for table in (sparse_rows(X), X))
    np.testing.assert_allclose(found.transform_table(sparse_rows(X)), expected.transform_table(X), atol=1e-8)
    np.testing.assert_allclose(found.own[1], expected.own[1], atol=1e-8)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_any_sparse_form_and_any_numbers(form, fitted, text):
    X, y, _ = text
    np.testing.assert_array_equal(PGLearnClassifier(**QUICK).fit(form(X), y).transduction_, fitted.transduction_)
    counts = form(documents()[0].astype(np.int32))
    assert PGLearnClassifier(**QUICK).fit(counts, y).predict(counts).shape == y.shape


def test_a_model_file_holds_a_sparse_table(fitted, text, wide, tmp_path):
    for model, X in ((fitted, text[0]), (wide[-1], wide[0])):
        model.save(tmp_path / "model.npz")
        loaded = PGLearnClassifier.load(tmp_path / "model.npz")
        with np.load(tmp_path / "model.npz") as file:
            assert "sparse_table.data" in file.files
        for rows in (X[:20], X[:20].toarray()):
            np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(X[:20]))
        np.testing.assert_array_equal(loaded.label_distributions_, model.label_distributions_)
        np.testing.assert_array_equal(loaded.suggest(3), model.suggest(3))


def test_workers_give_the_same_answer_and_get_the_table_read_only(fitted, text):
    X, y, _ = text
    model = PGLearnClassifier(**QUICK, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(model.label_distributions_, fitted.label_distributions_)
    problem = Problem.from_labels(sparse_rows(X).copy(), y)
    task = SimpleNamespace(advance=lambda problem: problem.X.data.flags.writeable)
    assert arrived(problem, task) is False


def test_a_checkpoint_is_gone_on_from_and_knows_its_table(fitted, text, tmp_path):
    X, y, _ = text
    PGLearnClassifier(**QUICK, checkpoint=tmp_path, max_time=0.5).fit(X, y)
    model = PGLearnClassifier(**QUICK, checkpoint=tmp_path).fit(X, y)
    np.testing.assert_array_equal(model.label_distributions_, fitted.label_distributions_)
    other = X.copy()
    other.data[0] *= 2
    with pytest.raises(CheckpointError, match="X has changed"):
        PGLearnClassifier(**QUICK, checkpoint=tmp_path).fit(other, y)


def test_columns_of_different_units_are_divided_by_their_range():
    X = sparse_rows(np.array([[0, 2000.0, 5], [1, 0, 5], [-1, 1000, 5]]))
    scaling = Scaling.for_points(X, "auto")
    assert scaling.spread.tolist() == [2, 2000, 1]
    assert scaling.transform(X).toarray().tolist() == [[0, 1, 5], [0.5, 0, 5], [-0.5, 0.5, 5]]
    np.testing.assert_allclose(scaling.feature_weights(np.ones(3)), [0.25, 1 / 4e6, 1])
    assert not Scaling.for_points(X, False).standardises
    assert not Scaling.for_points(X[:, [0, 2]], "auto").standardises
    assert Scaling.for_points(X[:, [0, 2]], True).standardises


def test_counts_become_tf_idf():
    counts = sparse_rows(documents()[0])
    scaling = Scaling.for_points(counts, "auto")
    assert scaling.of_counts
    assert scaling.standardises
    logs = counts.copy()
    logs.data = np.log1p(logs.data)
    np.testing.assert_allclose(scaling.transform(counts).toarray(), TfidfTransformer().fit_transform(logs).toarray())
    strange = sparse_rows(np.array([[-3.0, 0.5, *[0] * 1498], np.zeros(1500)]))  # rows to predict may hold anything
    np.testing.assert_allclose(np.linalg.norm(scaling.transform(strange).toarray(), axis=1), [1, 0])
    assert not any(Scaling.for_points(counts, scale).of_counts for scale in (True, False))


def test_only_counts_are_taken_for_counts(text):
    counts = sparse_rows(documents()[0])
    numbers = np.arange(counts.shape[0])[:, None]

    def holds_with(column):
        return holds_counts(sparse_rows(sparse.hstack([counts, column], format="csr")))

    assert holds_counts(counts)
    assert holds_with(1 + numbers % 30), "the commonest word"
    assert not holds_with(18 + numbers % 60), "an age"
    assert not holds_with(1 + numbers / len(numbers)), "fractions"
    assert not holds_with(-1 - numbers % 2), "less than nothing"
    assert not holds_counts(sparse_rows(counts > 0)), "categories"
    assert not holds_counts(sparse_rows(text[0])), "TF-IDF"
    assert not holds_counts(counts[:, :20]), "hardly a zero in it"
    assert not holds_counts(sparse_rows(np.zeros((3, 4))))


def test_counts_of_documents_of_any_length_are_labelled_better_than_as_they_are():
    X, y, classes = documents(n=400, seed=1)
    X = sparse.csr_matrix(X.multiply(np.random.default_rng(0).integers(1, 8, (400, 1))))
    right = [
        (PGLearnClassifier(**QUICK, scale=scale).fit(X, y).transduction_ == classes)[y < 0].mean()
        for scale in ("auto", False)
    ]
    assert right[0] > right[1] + 0.05


def test_a_wide_table_is_searched_in_components_directions_and_linear_predictions(wide):
    X, y, classes, model = wide
    assert model.views_ == ["components", "unit components", "linear"]
    assert model.feature_weights_.shape == (2500,)
    assert (model.predict(X) == classes)[y < 0].mean() > 0.6
    assert PGLearnClassifier(**QUICK, views=["given"]).fit(X, y).views_ == ["given"]


def test_neighbours_of_a_long_and_wide_table_are_approximate(wide, monkeypatch):
    X, y, _, exact = wide
    monkeypatch.setattr(choose, "APPROXIMATE_FROM", 100)
    model = PGLearnClassifier(**QUICK).fit(X, y)
    assert (exact.neighbors_, model.neighbors_) == ("exact", "approximate")
    assert (model.search_results_["recall"] >= 0.95).all()
    assert (model.transduction_ == exact.transduction_).mean() > 0.9
    assert len(model.suggest(3)) == 3
    assert PGLearnClassifier(**QUICK, views=["given"]).fit(X, y).neighbors_ == "exact"
    with pytest.raises(InputError, match="sparse rows are found exactly"):
        PGLearnClassifier(**QUICK, views=["given"], neighbors="approximate").fit(X, y)


def test_very_large_and_very_small_numbers():
    X, y, _ = documents(n=80)
    X = X * 0.5  # no counts, which are never so large
    expected = PGLearnClassifier(**QUICK).fit(X, y).transduction_
    for unit in (2.0**500, 2.0**-500):
        np.testing.assert_array_equal(PGLearnClassifier(**QUICK).fit(X * unit, y).transduction_, expected)


@pytest.mark.parametrize("form", [sparse.csr_matrix, np.asarray])
def test_rows_of_zeros_and_rows_that_are_all_alike_are_labelled(form):
    y = np.array([0, 0, 0, 1, 1, 1, *[-1] * 6])
    for value, d in ((0, 30), (0, 3000), (1, 5), (0.1, 3)):
        model = PGLearnClassifier(**QUICK).fit(form(np.full((12, d), float(value))), y)
        np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)
        assert model.views_ == ["given"] or value == 0.1, "the mean of which is rounded"


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "inf")])
def test_gaps_are_refused_with_their_place(value, name, text, fitted):
    X = text[0].tolil()
    X[7, 3] = value
    sentence = rf"X has 1 NaN or infinite \(inf\) values, the first \({name}\) in row 7, column 3: fill or drop them"
    for refusing in (lambda: PGLearnClassifier(**QUICK).fit(X, text[1]), lambda: fitted.predict(X)):
        with pytest.raises(InputError, match=sentence):
            refusing()


def test_baselines_and_torch_need_a_dense_table(text):
    with pytest.raises(TypeError, match=r"dense data is required.*toarray"):
        GridClassifier().fit(text[0], text[1])
    with pytest.raises(InputError, match="X is sparse, which the torch engine does not take"):
        PGLearnClassifier(**QUICK, engine="torch").fit(text[0], text[1])


MEMORY = """
import numpy as np
from scipy import sparse
import pglearn
from pglearn import PGLearnClassifier
from pglearn.arrays import sparse_rows
from pglearn.objective.views import views_for

n, d, per_row = 8_000, 80_000, 50
rng = np.random.default_rng(0)
y = rng.integers(4, size=n)
words = np.hstack([rng.integers(200, size=(n, 25)) + 200 * y[:, None], rng.integers(800, d, size=(n, 25))])
X = sparse.csr_matrix((np.ones(n * per_row), words.ravel(), np.arange(n + 1) * per_row), shape=(n, d))
shown = np.where(np.arange(n) < 40, y, -1)

def step(rows, **how):
    return pglearn.loss_and_gradient(X[:rows], shown[:rows], a=np.full(d, 0.01), **how)

step(4_000)  # what is imported on first use does not count
before, size = size_from_here(), X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
step(n, validation="holdout")
print((peak() - before) / size)
few = dict(budget=1, unit_steps=1, n_candidates=2, alpha=0.5, random_state=0)
model = PGLearnClassifier(**few, views=["given"], n_jobs=1).fit(X, shown)
right = (model.predict(X[-500:]) == y[-500:]).mean()
print((peak() - before) / size)
X = sparse_rows(X)
views = [view.transform_table(X) for view in views_for(X, None, labels=(np.arange(40), np.eye(4)[y[:40]]))]
print((peak() - before) / size)
print(right)
"""


@needs_linux
def test_memory_is_a_multiple_of_the_non_zeros_not_of_the_table():
    """8,000 × 80,000 with 50 non-zeros per row: 5 MB, or 5 GB as an array, a thousand times as much."""
    of_gradient, of_fit, of_views, right = printed(MEMORY)
    assert of_gradient < 10
    assert of_fit < 15
    assert of_views < 40
    assert right > 0.5
