"""Regressions are heard where the graphs are in doubt, honestly, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from pglearn import PGLearnClassifier
from pglearn.basis import Basis, linear_basis, standardising
from pglearn.estimators import opinion
from pglearn.estimators.opinion import Line, _fitted, learned_distances, opinion_beside
from pglearn.ridge import KernelRidge, LinearRidge


def overlapping(n=300, d=20, seed=0):
    """Two classes that every column tells apart a little, thirty labels of each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d)) + np.where(y, 0.35, -0.35)[:, None]
    return X, y, np.where(np.arange(n) < 60, y, -1)


def opinion_of(X, shown, doubt, learned=()):
    labelled = np.flatnonzero(shown >= 0)
    Y = np.eye(shown.max() + 1)[shown[labelled]]
    basis = linear_basis(X, labelled, Y)
    return basis, opinion_beside(X, [basis], Y, doubt, learned)


def share_of_the_line(X, shown):
    labelled = np.flatnonzero(shown >= 0)
    Y = np.eye(2)[shown[labelled]]
    basis = linear_basis(X, labelled, Y)
    return _fitted(basis.own[1] - basis.of(X[labelled]).mean(axis=0), Y)[1]


@pytest.fixture
def no_kernels(monkeypatch):
    monkeypatch.setattr(opinion, "MOST_LABELS", 0)


def test_it_counts_as_much_as_the_graphs_are_in_doubt_and_more_if_it_is_not(no_kernels):
    X, _, shown = overlapping()
    share = share_of_the_line(X, shown)
    for doubt in (share, 0.9, 0.999):
        assert opinion_of(X, shown, doubt)[1].weight == pytest.approx(doubt ** ((1 + share / doubt) / 2))
    assert opinion_of(X, shown, 1.7)[1].weight == 1


def test_it_counts_less_the_further_it_is_behind_the_graphs(no_kernels):
    X, _, shown = overlapping()
    share = share_of_the_line(X, shown)
    behind = [opinion_of(X, shown, share / times)[1].weight for times in (1.0, 1.2, 2.0)]
    assert behind == pytest.approx([share, share / 1.2 * np.exp(-1), share / 2 * np.exp(-5)])
    assert opinion_of(X, shown, share / 3)[1] is None
    assert opinion_of(X, shown, 0.0)[1] is None


def test_it_is_not_heard_where_it_does_no_better_than_chance():
    X, _, shown = overlapping()
    assert opinion_of(np.random.default_rng(1).normal(size=X.shape), shown, 0.9)[1] is None


def test_on_noise_its_loss_is_that_of_chance():
    shares = []
    for seed in range(40):
        X, Y = np.random.default_rng(seed).normal(size=(200, 15)), np.eye(2)[np.arange(40) % 2]
        basis = linear_basis(X, np.arange(40), Y)
        shares.append(_fitted(basis.own[1] - basis.of(X[:40]).mean(axis=0), Y)[1])
    assert 0.97 < np.mean(shares) < 1.1


def test_probabilities_are_shares_times_the_exponential_of_coordinates(no_kernels):
    X, _, shown = overlapping()
    basis, linear = opinion_of(X, shown, 1.0)
    coordinates = basis.of(X)
    said = linear.mixed(np.full((5, 2), 0.5), X[100:105], [basis])
    (voice,) = linear.voices
    assert voice.weight == 1
    numbers = coordinates[100:105] - coordinates[shown >= 0].mean(axis=0)
    np.testing.assert_allclose(said, softmax(voice.slope * numbers + np.log(0.5), axis=1))


def test_where_a_table_lies_makes_no_difference():
    X, _, shown = overlapping()
    ages = X + 40  # far from 0, in units of their spread
    said = [
        heard.mixed(np.full((300, 2), 0.5), points, [basis])
        for points, (basis, heard) in ((X, opinion_of(X, shown, 0.9)), (ages, opinion_of(ages, shown, 0.9)))
    ]
    np.testing.assert_allclose(said[0], said[1], rtol=1e-6)


def test_regressions_count_by_how_likely_the_labels_are_less_what_was_chosen_by_them():
    X, _, shown = overlapping()
    labelled = np.flatnonzero(shown >= 0)
    Y = np.eye(2)[shown[labelled]]
    basis, both = opinion_of(X, shown, 1.0, [3 * standardising(X)])
    of_linear, of_table, of_learned_line, of_learned = both.voices
    assert of_linear.regression.basis == 0
    # Distances that are three times as long are the same distances: what differs is what they are charged.
    charged = np.exp(opinion.WORTH * opinion.CHARGE)
    assert of_table.weight / of_learned.weight == pytest.approx(charged)
    assert of_linear.weight / of_learned_line.weight == pytest.approx(charged)
    assert of_linear.slope == pytest.approx(of_learned_line.slope, rel=1e-3)
    X_new = X[100:105]
    np.testing.assert_allclose(of_linear.of(X_new, [basis]), of_learned_line.of(X_new, [basis]), rtol=1e-3)
    _, share = _fitted(basis.own[1] - of_linear.regression.middle, Y)
    kernel = of_table.regression
    _, of_kernel = _fitted(KernelRidge.fitted(kernel.columns, kernel.rows, Y, kernel.gamma)[1], Y)
    nats = len(Y) * np.log(2) * (of_kernel - share) + opinion.CHARGE
    assert of_linear.weight / of_table.weight == pytest.approx(np.exp(opinion.WORTH * nats))
    said = sum(voice.weight * softmax(voice.of(X_new, [basis]) + np.log(0.5), axis=1) for voice in both.voices)
    np.testing.assert_allclose(both.mixed(np.full((5, 2), 0.5), X_new, [basis]), said)


@pytest.fixture(scope="module")
def model():
    X, _, shown = overlapping()
    return PGLearnClassifier(budget=4, random_state=0).fit(X, shown)


def test_it_helps_where_every_column_says_a_little(model):
    X, y, shown = overlapping()
    hidden = shown < 0
    assert model.regression_weight_ > 0.2
    alone = PGLearnClassifier(budget=4, random_state=0, basis="raw").fit(X, shown)
    assert alone.regression_weight_ == 0
    assert (model.transduction_ == y)[hidden].mean() > (alone.transduction_ == y)[hidden].mean() + 0.03


def test_it_says_nothing_of_rows_whose_label_is_given(model):
    answer = model._answer
    means = np.tensordot([m.weight for m in answer.members], [m.F[answer.labelled] for m in answer.members], 1)
    np.testing.assert_allclose(answer.opinion[0][answer.labelled], means / means.sum(axis=1, keepdims=True))


def test_it_is_kept_in_the_file(model, tmp_path):
    X, _, _ = overlapping(seed=1)
    model.save(tmp_path / "model.npz")
    loaded = PGLearnClassifier.load(tmp_path / "model.npz")
    assert loaded.regression_weight_ == model.regression_weight_
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_the_best_alone_is_alone():
    X, _, shown = overlapping()
    assert PGLearnClassifier(budget=2, selection="best", random_state=0).fit(X, shown).regression_weight_ == 0


# On kernels


def around(n=300, d=8, seed=0):
    """One class lies around the other, in so many dimensions that near rows are often of different classes."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    squares = (X**2).sum(axis=1)
    y = (squares > np.median(squares)).astype(int)
    return X, y, np.where(np.arange(n) < 80, y, -1)


@pytest.fixture(scope="module")
def bent():
    X, _, shown = around()
    return PGLearnClassifier(budget=4, random_state=0).fit(X, shown)


def test_kernels_are_heard_where_one_class_lies_around_the_other(bent):
    _, y, shown = around()
    hidden = shown < 0
    assert bent.regression_ == "kernel"
    assert bent.regression_weight_ > 0.5
    graphs = replace(bent._answer, beside=None).distributions.argmax(axis=1)
    assert (bent.transduction_ == y)[hidden].mean() > (graphs == y)[hidden].mean() + 0.1
    X_new, y_new, _ = around(seed=1)
    assert bent.score(X_new, y_new) > 0.75


def test_a_line_counts_most_where_it_does_as_well():
    lines = []
    for seed in range(10):
        X, _, shown = overlapping(seed=seed)
        voices = opinion_of(X, shown, 0.9)[1].voices
        lines.append(sum(voice.weight for voice in voices if isinstance(voice.regression, Line)))
    assert np.mean(lines) > 0.6


def test_a_regression_on_kernels_is_kept_in_the_file(bent, tmp_path):
    X, _, _ = around(seed=1)
    bent.save(tmp_path / "model.npz")
    loaded = PGLearnClassifier.load(tmp_path / "model.npz")
    assert (loaded.regression_, loaded.regression_weight_) == ("kernel", bent.regression_weight_)
    np.testing.assert_array_equal(loaded.predict_proba(X), bent.predict_proba(X))


def test_kernels_are_left_alone_where_labels_are_many(monkeypatch):
    X, _, shown = around()
    monkeypatch.setattr(opinion, "MOST_LABELS", 50)
    linear = opinion_of(X, shown, 0.9)[1]
    assert linear is None or linear.kind == "linear"


def test_on_noise_the_best_of_the_kernels_is_not_far_from_chance():
    shares = []
    for seed in range(20):
        X, Y = np.random.default_rng(seed).normal(size=(200, 15)), np.eye(2)[np.arange(40) % 2]
        shares.append(min(one.share for one in opinion._at_distances(X, np.arange(40), Y, (), far=np.inf)))
    assert np.mean(shares) > 1


def shells(n=400, d=4, seed=0):
    """Three classes around each other."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), np.arange(n) % 3
    X *= ((1.0 + 0.8 * y + 0.1 * rng.normal(size=n)) / np.linalg.norm(X, axis=1))[:, None]
    return X, y, np.where(np.arange(n) < 60, y, -1)


def test_pairs_of_classes_are_heard_where_three_lie_around_each_other(tmp_path):
    X, _, shown = shells()
    model = PGLearnClassifier(budget=2, n_candidates=5, random_state=0).fit(X, shown)
    assert model.regression_ == "kernel"
    assert any(len(voice.regression.pairs) == 3 for voice in model._answer.beside.voices)
    X_new, y_new, _ = shells(seed=1)
    assert model.score(X_new, y_new) > 0.75
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(
        PGLearnClassifier.load(tmp_path / "model.npz").predict_proba(X_new), model.predict_proba(X_new)
    )


def test_pairs_are_not_looked_at_where_the_graphs_are_far_ahead(monkeypatch):
    X, _, shown = shells()

    def looked_at(*_):
        raise AssertionError("pairs were looked at")

    monkeypatch.setattr(KernelRidge, "fitted_to_pairs", looked_at)
    with pytest.raises(AssertionError, match="looked at"):
        opinion_of(X, shown, 0.9)
    assert opinion_of(X, shown, 0.05)[1] is None


# At distances that were learned


def same_sign(n=300, noise=8, seed=0):
    """Whether two columns have the same sign, beside others that say nothing."""
    X = np.random.default_rng(seed).normal(size=(n, 2 + noise))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return X, y, np.where(np.arange(n) < 80, y, -1)


def test_kernels_at_learned_distances_see_through_noise():
    X, y, shown = same_sign()
    columns = np.array([1.0, 1.0] + [0.1] * 8)
    basis, learned = opinion_of(X, shown, 1.0, [columns])
    _, plain = opinion_of(X, shown, 1.0)
    right = [
        0.5 if heard is None else (heard.mixed(np.full((220, 2), 0.5), X[80:], [basis]).argmax(axis=1) == y[80:]).mean()
        for heard in (plain, learned)
    ]
    assert right[1] > right[0] + 0.1
    most = max(learned.voices, key=lambda voice: voice.weight)
    np.testing.assert_array_equal(most.regression.columns, columns)


def few_columns_matter(n=300, noise=40, seed=0):
    """Two columns that say something, together, beside many that say nothing."""
    X = np.random.default_rng(seed).normal(size=(n, 2 + noise))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    return X, y, np.where(np.arange(n) < 40, y, -1)


def test_a_line_at_learned_distances_sees_through_noise():
    X, y, shown = few_columns_matter()
    basis, heard = opinion_of(X, shown, 1.0, [np.array([1.0, 1.0] + [0.1] * 40)])
    learned = [voice for voice in heard.voices if isinstance(voice.regression, LinearRidge)]
    lines = [voice for voice in heard.voices if isinstance(voice.regression, Line)]
    right = [(voice.of(X[40:], [basis]).argmax(axis=1) == y[40:]).mean() for voice in (*lines, *learned)]
    assert len(right) == 2
    assert right[1] > right[0] + 0.1
    assert learned[0].weight > lines[0].weight


def test_a_line_at_learned_distances_is_kept_in_the_file(model, tmp_path):
    assert any(isinstance(voice.regression, LinearRidge) for voice in model._answer.beside.voices)
    model.save(tmp_path / "model.npz")
    loaded = PGLearnClassifier.load(tmp_path / "model.npz")._answer
    X = np.random.default_rng(1).normal(size=(9, model.n_features_in_))
    for voice, kept in zip(model._answer.beside.voices, loaded.beside.voices, strict=True):
        np.testing.assert_array_equal(kept.of(X, loaded.bases), voice.of(X, model._answer.bases))


def test_learned_distances_are_of_those_that_weight_columns_as_they_are_and_of_all():
    bases = [Basis("raw", np.array([1.0, 1.0])), Basis("shared", np.array([1.0, 0.5]))]
    members = [(0, np.array([4.0, 0.0]), 0.5), (1, np.array([2.0, 8.0]), 0.5)]
    of_raw, of_all = learned_distances(bases, members)
    np.testing.assert_allclose(of_raw, np.sqrt([2.0, 0.0]))
    np.testing.assert_allclose(of_all, np.sqrt([3.0, 1.0]))
    (only,) = learned_distances(bases, members[1:])
    np.testing.assert_allclose(only, np.sqrt([1.0, 1.0]))


def test_distances_at_which_all_rows_are_the_same_say_nothing():
    X, _, shown = overlapping()
    expected = [voice.weight for voice in opinion_of(X, shown, 0.9)[1].voices]
    assert [voice.weight for voice in opinion_of(X, shown, 0.9, [np.zeros(20)])[1].voices] == expected
