"""Learning again without some of the labels: honest, only where it matters, and heard."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from pglearn import PGLearnClassifier
from pglearn.errors import ModelFileError
from pglearn.estimators import opinion, rehearsal
from pglearn.estimators.members import sharpened
from pglearn.estimators.opinion import BOOSTED, CLOUDS, DISCRIMINANT, FOREST, GRAPHS, PLAIN, SELF_TAUGHT
from pglearn.estimators.rehearsal import Stage, judged, parts, rehearsals
from pglearn.problem import Problem
from pglearn.progress import progress_bar
from pglearn.search.events import Stream
from pglearn.search.pool import Pool
from pglearn.search.state import State
from pglearn.sparse import sparse_rows

SMALL = {"budget": 2, "n_candidates": 5, "random_state": 0}


def overlapping(n=300, d=20, seed=0):
    """Two classes that every column tells apart a little, thirty labels of each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d)) + np.where(y, 0.35, -0.35)[:, None]
    return X, y, np.where(np.arange(n) < 60, y, -1)


def apart(n=120, seed=0):
    """Two clouds far from each other."""
    X, y, shown = overlapping(n, 4, seed)
    return X + 20 * y[:, None], y, shown


def around(n=300, d=8, seed=0):
    """One class lies around the other, in so many dimensions that near rows are often of different classes."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    squares = (X**2).sum(axis=1)
    y = (squares > np.median(squares)).astype(int)
    return X, y, np.where(np.arange(n) < 80, y, -1)


def linked(n=450, seed=3):
    """Two rings through each other in a cloud, five labels of each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    angle, flat = rng.uniform(0, 2 * np.pi, n), np.zeros(n)
    first = np.column_stack([np.cos(angle), np.sin(angle), flat])
    second = np.column_stack([1 + np.cos(angle), flat, np.sin(angle)])
    cloud = rng.normal([0.5, 0, 0], 2, size=(n, 3))
    X = np.choose(y[:, None], [first, second, cloud]) + rng.normal(scale=0.12, size=(n, 3))
    return X, y, np.where(np.arange(n) < 15, y, -1)


def searched(X, shown, **changes):
    """What a fit has when its search is over: the table, what it was searched with, and candidates as they began."""
    model = PGLearnClassifier(**(SMALL | changes))
    table, search, task, _ = model._prepared(X, shown)
    candidates = [search.draws.candidate(number) for number in range(len(table.bases))]
    for candidate in candidates:
        (evaluation,) = task.engine.value_and_gradient(table.searched, [candidate.here])
        candidate.record(evaluation)
    return table, Stage(task, search.draws, steps=2), candidates


def rehearsed(table, stage, candidates):
    n_bases = len({candidate.basis for candidate in candidates})
    return rehearsals(table, stage, n_bases, rehearsal.parts(table.searched, stage.draws.seed))


# Which labels are hidden


def test_every_scored_label_is_hidden_once_and_no_class_loses_all():
    y = np.array([0] * 12 + [1] * 3 + [2] + [-1] * 5)
    problem = Problem.of(np.zeros((21, 2)), y)
    dealt = parts(problem, seed=0)
    assert sorted(np.concatenate(dealt).tolist()) == list(range(15)), "the only label of class 2 is not scored"
    assert [len(part) for part in dealt] == [3] * 5
    for part in dealt:
        left = problem.without(part)
        assert set(left.codes) == {0, 1, 2}
        assert (left.codes[left.scored] != 2).all()


def test_of_many_labels_two_hundred_are_hidden():
    problem = Problem.of(np.zeros((600, 1)), np.arange(600) % 3, validation="kfold")
    dealt = parts(problem, seed=0)
    assert sum(map(len, dealt)) == 200
    shares = np.bincount(problem.codes[np.concatenate(dealt)])
    assert shares.max() - shares.min() <= 1


def test_fewer_labels_than_parts():
    problem = Problem.of(np.zeros((6, 1)), [0, 0, 1, -1, -1, -1])
    assert [len(part) for part in parts(problem, seed=0)] == [1, 1]


# What is learned without them


def test_what_is_learned_knows_nothing_of_the_hidden_labels(monkeypatch):
    X, _, shown = overlapping()
    hidden = np.arange(10)
    monkeypatch.setattr(rehearsal, "parts", lambda problem, seed: [hidden])
    turned = shown.copy()
    turned[hidden] = 1 - turned[hidden]
    one, other = (next(rehearsed(*searched(X, y))) for y in (shown, turned))
    np.testing.assert_array_equal(one.hidden, hidden)
    np.testing.assert_array_equal(one.graphs, other.graphs)
    for mine, yours in zip(one.members, other.members, strict=True):
        np.testing.assert_array_equal(mine[1], yours[1])
        assert mine[2] == yours[2]
    for mine, yours in zip(one.bases, other.bases, strict=True):
        np.testing.assert_array_equal(mine.of(X), yours.of(X))
    said, of_turned = (
        rehearsal._Lessons.of(searched(X, y)[0], 0).said_of_hidden(part) for y, part in ((shown, one), (turned, other))
    )
    assert {PLAIN, FOREST, BOOSTED, CLOUDS, SELF_TAUGHT, DISCRIMINANT} < set(said)
    assert {"kernels, relevant columns", "lines, learned in all bases"} < set(said)
    for name, probabilities in said.items():
        np.testing.assert_array_equal(probabilities, of_turned[name], err_msg=name)


def recorded(monkeypatch, change=lambda ran: ran):
    """Runs of candidates in parts, as they began, with their stint and task; `change` is done to what comes back."""
    seen = []

    class Recorded(Pool):
        def run(self, starts, stint, on_part=None):
            seen.append(([start.copy() for start in starts], stint, self._task))
            return change(list(super().run(starts, stint, on_part)))

    monkeypatch.setattr(rehearsal, "Pool", Recorded)
    return seen


@pytest.mark.parametrize("n_candidates", [5, 10])
def test_what_the_search_chose_by_hidden_labels_tells_nothing_of_them(monkeypatch, n_candidates):
    """With two members of five bases, even of which bases they are is chosen by all labels."""
    X, _, shown = overlapping(n=80, d=6)
    shown[10:] = -1
    hidden, heard = np.arange(4), []
    monkeypatch.setattr(rehearsal, "parts", lambda problem, seed: [hidden])
    whole = rehearsal.rehearsals

    def listened(*about):
        for one in whole(*about):
            heard.append(one)
            yield one

    monkeypatch.setattr(rehearsal, "rehearsals", listened)
    turned = shown.copy()
    turned[hidden] = 1 - turned[hidden]
    models = [PGLearnClassifier(budget=4, n_candidates=n_candidates, random_state=0).fit(X, y) for y in (shown, turned)]
    of_bases = [set(model.search_results_["basis"][model.search_results_["selected"]]) for model in models]
    assert n_candidates > 5 or of_bases[0] != of_bases[1], "the search itself has chosen otherwise"
    np.testing.assert_array_equal(heard[0].graphs, heard[1].graphs)


def test_the_first_draws_set_out_and_the_one_that_is_ahead_in_its_basis_goes_on(monkeypatch):
    X, _, shown = overlapping()
    table, stage, candidates = searched(X, shown)
    came_back = []
    seen = recorded(monkeypatch, lambda ran: came_back.append(ran) or ran)
    next(rehearsed(table, replace(stage, steps=12), candidates))
    (starts, first, task), (ahead, then, _) = seen
    n_bases = len(table.bases)
    assert [start.id for start in starts] == list(range(3 * n_bases))
    assert not any(start.started for start in starts)
    assert (first.steps, then.steps) == (2, 10)
    assert task.descent.labels == 48
    assert {candidate.basis for candidate in ahead} == set(range(n_bases))
    assert len(ahead) == n_bases
    for candidate in ahead:
        assert candidate.loss == min(one.loss for one in came_back[0] if one.basis == candidate.basis)
        assert candidate.done == 0, "its second stint is a whole one"
    assert max(candidate.steps for candidate in came_back[1]) == 12


def test_as_many_bases_go_on_as_the_members_are_of(monkeypatch):
    X, _, shown = overlapping()
    table, stage, candidates = searched(X, shown)
    seen = recorded(monkeypatch)
    next(rehearsed(table, stage, candidates[1:3]))
    (starts, _, _), (ahead, _, _) = seen
    assert {start.basis for start in starts} == set(range(len(table.bases)))
    assert len(ahead) == 2


@pytest.mark.parametrize(("steps", "taken"), [(None, [2, 30]), (1000, [2, 30]), (1, [1, 0])])
def test_nobody_takes_more_steps_than_in_the_search_or_with_the_default_budget(monkeypatch, steps, taken):
    X, _, shown = overlapping(n=100, d=4)
    table, stage, candidates = searched(X, shown)
    seen = recorded(monkeypatch)
    next(rehearsed(table, replace(stage, steps=steps), candidates))
    assert [stint.steps for _, stint, _ in seen] == taken


def test_of_a_large_table_the_hidden_rows_are_those_of_the_table(monkeypatch):
    monkeypatch.setattr("pglearn.estimators.sample.ALL_UP_TO", 10)
    monkeypatch.setattr("pglearn.estimators.sample.SEARCHED_ROWS", 100)
    X, y, _ = overlapping()
    shown = np.where(np.arange(300) % 5 == 0, y, -1)
    table, stage, candidates = searched(X, shown)
    assert table.is_sampled
    hidden = np.concatenate([one.hidden for one in rehearsed(table, stage, candidates)])
    np.testing.assert_array_equal(np.sort(hidden), np.flatnonzero(shown >= 0))
    assert (PGLearnClassifier(**SMALL).fit(X, shown).transduction_ == y).mean() > 0.7


# What comes of it


@pytest.fixture(scope="module")
def model():
    X, _, shown = overlapping()
    return PGLearnClassifier(budget=4, random_state=0).fit(X, shown)


@pytest.fixture(scope="module")
def bent():
    X, _, shown = around()
    return PGLearnClassifier(budget=4, random_state=0).fit(X, shown)


def test_regressions_help_where_every_column_says_a_little(model):
    X, y, shown = overlapping()
    hidden = shown < 0
    assert model.regression_weight_ > 0.2
    alone = PGLearnClassifier(budget=4, random_state=0, basis="raw").fit(X, shown)
    assert (alone.regression_, alone.regression_weight_, alone.hidden_losses_) == ("", 0, {})
    assert (model.transduction_ == y)[hidden].mean() > (alone.transduction_ == y)[hidden].mean() + 0.03


def test_kernels_are_heard_where_one_class_lies_around_the_other(bent):
    _, y, shown = around()
    hidden = shown < 0
    assert bent.regression_ == "kernel"
    assert bent.regression_weight_ > 0.5
    graphs = replace(bent._answer, beside=None).distributions.argmax(axis=1)
    assert (bent.transduction_ == y)[hidden].mean() > (graphs == y)[hidden].mean() + 0.1
    X_new, y_new, _ = around(seed=1)
    assert bent.score(X_new, y_new) > 0.75


@pytest.fixture(scope="module")
def few():
    X, _, shown = linked()
    return PGLearnClassifier(random_state=0, n_candidates=5, budget=4).fit(X, shown)


def test_the_plain_graph_is_heard_where_labels_are_few(few):
    _, y, shown = linked()
    hidden = shown < 0
    assert few.regression_ == "graph"
    graphs = replace(few._answer, beside=None).distributions.argmax(axis=1)
    assert (few.transduction_ == y)[hidden].mean() > (graphs == y)[hidden].mean() + 0.05
    assert few.hidden_losses_[PLAIN] < few.hidden_losses_[GRAPHS]
    X_new, y_new, _ = linked(seed=4)
    assert few.score(X_new, y_new) > 0.75


def test_columns_that_say_nothing_are_seen_through():
    X, y, shown = around(d=3)
    X = np.hstack([X, np.random.default_rng(9).normal(size=(len(X), 5))])
    model = PGLearnClassifier(budget=4, random_state=0).fit(X, shown)
    losses = model.hidden_losses_
    assert losses["kernels, relevant columns"] == min(losses.values())
    assert (model.transduction_ == y)[shown < 0].mean() > 0.8


def test_trees_are_heard_where_rules_make_the_classes(tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 8))
    y = np.where(X[:, 0] > 0, np.where(X[:, 1] > 0.3, 2, 1), np.where(X[:, 2] > 0.3, 2, 0))
    shown = np.where(np.arange(400) < 80, y, -1)
    model = PGLearnClassifier(budget=4, random_state=0).fit(X, shown)
    assert {FOREST, BOOSTED} == set(sorted(model.hidden_losses_, key=model.hidden_losses_.get)[:2])
    assert model.regression_ == "trees"
    graphs = replace(model._answer, beside=None).distributions.argmax(axis=1)
    assert (model.transduction_ == y)[80:].mean() > (graphs == y)[80:].mean() + 0.05
    model.save(tmp_path / "model.npz")
    loaded = PGLearnClassifier.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    state = model.to_arrays()
    for kind in ("Forest", "Boosted"):
        left = f"voice_{state['voices'].tolist().index(kind)}_left"
        with pytest.raises(ModelFileError, match="a tree has no end"):
            PGLearnClassifier.from_arrays(state | {left: np.zeros_like(state[left])})


def test_the_losses_of_all_are_told_and_weigh_them(bent, monkeypatch):
    losses = bent.hidden_losses_
    assert {GRAPHS, PLAIN, FOREST, "kernels, the table", "lines, the table", "discriminant"} < set(losses)
    assert losses["kernels, the table"] < losses[GRAPHS] < np.log(2) * 1.2
    asked = []

    def weights_by(told, n_hidden):
        asked.append((told, n_hidden, opinion.weights_by(told, n_hidden)))
        return asked[-1][2]

    monkeypatch.setattr(rehearsal, "weights_by", weights_by)
    X, _, shown = around()
    again = PGLearnClassifier(budget=4, random_state=0).fit(X, shown)
    ((told, n_hidden, weights),) = asked
    assert n_hidden == 80
    assert {name: -np.log(one).mean() for name, one in told.items()} == pytest.approx(losses)
    assert again.regression_weight_ == bent.regression_weight_ == pytest.approx(1 - weights[GRAPHS])


def test_the_loss_of_graphs_is_honest():
    """On labels that they have not learned from they lose what they lose on other rows, and not what the search saw."""
    seen, told, found = [], [], []
    for seed in range(4):
        X, y, shown = overlapping(seed=seed)
        model = PGLearnClassifier(random_state=seed, n_candidates=8, class_prior=None).fit(0.6 * X, shown)
        chosen = model.search_results_["selected"]
        seen.append(np.average(model.search_results_["loss"][chosen], weights=model.search_results_["weight"][chosen]))
        told.append(60 * model.hidden_losses_[GRAPHS])
        graphs = sharpened(replace(model._answer, beside=None).opinion[0][60:], model._answer.beside.power)
        found.append(-60 * np.log(graphs[np.arange(240), y[60:]]).mean())
    assert np.mean(seen) < 0.9 * np.mean(found), "the search's own loss is too low"
    assert np.mean(told) == pytest.approx(np.mean(found), rel=0.2)


def test_it_is_not_done_where_no_regression_comes_near(monkeypatch):
    def unexpected(*_):
        raise AssertionError("rehearsed")

    monkeypatch.setattr(rehearsal, "NEAR", 0.0)
    monkeypatch.setattr(rehearsal, "rehearsals", unexpected)
    X, y, shown = apart()
    model = PGLearnClassifier(**SMALL).fit(X, shown)
    assert (model.regression_, model.regression_weight_, model.hidden_losses_) == ("", 0, {})
    assert (model.transduction_ == y).all()


def test_a_regression_comes_near_with_three_times_the_loss_of_the_graphs():
    problem = Problem.of(np.zeros((40, 1)), np.arange(40) % 2)
    chance = np.log(2)
    assert rehearsal._comes_near(0.29 * chance, 0.1, problem)
    assert not rehearsal._comes_near(0.31 * chance + 3 / 40, 0.1, problem)
    assert rehearsal._comes_near(2 / 40, 0.0, problem), "a nat or two of few labels say nothing"
    twenty, one_more = (
        Problem.of(np.zeros((40, 1)), np.where(np.arange(40) < n, np.arange(40) % 2, -1)) for n in (20, 21)
    )
    assert rehearsal._comes_near(chance, 0.0, twenty), "graphs can be bent to explain any so few"
    assert not rehearsal._comes_near(chance, 0.0, one_more)


def test_the_best_alone_is_alone():
    X, _, shown = overlapping()
    assert PGLearnClassifier(**SMALL, selection="best").fit(X, shown).hidden_losses_ == {}


def test_it_says_nothing_of_rows_whose_label_is_given(model):
    answer = model._answer
    means = np.tensordot([m.weight for m in answer.members], [m.F[answer.labelled] for m in answer.members], 1)
    np.testing.assert_allclose(answer.opinion[0][answer.labelled], means / means.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("heard", ["model", "bent", "few"])
def test_what_is_heard_is_kept_in_the_file(heard, request, tmp_path):
    model = request.getfixturevalue(heard)
    X = np.random.default_rng(1).normal(size=(50, model.n_features_in_))
    model.save(tmp_path / "model.npz")
    loaded = PGLearnClassifier.load(tmp_path / "model.npz")
    assert (loaded.regression_, loaded.regression_weight_) == (model.regression_, model.regression_weight_)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("heard", ["model", "bent", "few"])
def test_damage_to_what_is_heard_is_told(heard, request):
    """Every array of it, of another kind, shape or size: no raw error, and no NaN that is found later."""
    state = request.getfixturevalue(heard).to_arrays()
    names = [name for name in state if name.startswith("voice_") or name == "beside"]
    assert len(names) > 20
    damages = [lambda a: a.astype(str), lambda a: a[..., None], lambda a: a.ravel()[0], lambda a: a.astype(complex)]
    damages.append(lambda a: np.full(a.shape, np.nan))
    for name in names:
        for damage in damages if state[name].size else damages[:2]:
            with pytest.raises(ModelFileError, match="do not fit together"):
                PGLearnClassifier.from_arrays(state | {name: damage(state[name])})
    for name in ("beside", "voice_weights", "voice_powers"):
        with pytest.raises(ModelFileError, match="counts what cannot be"):
            PGLearnClassifier.from_arrays(state | {name: -state[name]})


def test_a_fit_of_many_classes_with_two_labels_each_warns_of_nothing():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 15
    X = rng.normal(size=(300, 5)) + rng.normal(size=(15, 5))[y]
    model = PGLearnClassifier(**SMALL).fit(X, np.where(np.arange(300) < 30, y, -1))
    assert {FOREST, CLOUDS, SELF_TAUGHT} < set(model.hidden_losses_)
    assert BOOSTED not in model.hidden_losses_, "a tree for each of fifteen classes, forty times"


def test_regressions_learn_from_every_class(monkeypatch):
    monkeypatch.setattr(rehearsal, "MOST_LABELS", 220)
    X, y, _ = overlapping(n=600)
    y[[7, 300]] = 2, 3  # one label each, among 600
    table, stage, _ = searched(X, y)
    assert set(rehearsal._Lessons.of(table, stage.draws.seed).codes) == {0, 1, 2, 3}


def test_a_damaged_plain_graph_is_told(few):
    state = few.to_arrays()
    number = state["voices"].tolist().index("PlainSpread")
    F = state[f"voice_{number}_F"]
    for damaged in (F[1:], F[:, :1], F[:, :2], np.full_like(F, np.nan), F[0, 0], 0 * F, -F):
        with pytest.raises(ModelFileError, match="do not fit together"):
            PGLearnClassifier.from_arrays(state | {f"voice_{number}_F": damaged})


def test_nothing_is_kept_of_a_prediction(few):
    few.predict(linked(seed=4)[0])
    (plain,) = (voice.regression.plain for voice in few._answer.beside.voices if hasattr(voice.regression, "plain"))
    assert set(vars(plain)) == {"X"}
    assert plain.X is few._answer.X


def test_of_many_rows_there_is_no_plain_graph(monkeypatch):
    monkeypatch.setattr(rehearsal, "EXACT_UP_TO", 299)
    X, _, shown = overlapping()
    table, *_ = searched(X, shown)
    assert rehearsal._Lessons.of(table, 0).plain is None


def test_relevant_columns_are_looked_for_where_there_are_two_labels_for_each():
    X, _, shown = overlapping(d=31)
    found = [rehearsal._Lessons.of(searched(table, shown)[0], 0).by_relevance for table in (X, X[:, :30])]
    assert found == [False, True]


def test_many_labels_take_no_longer(monkeypatch):
    """Regressions learn from some of them: all that are scored and, class by class, of the others."""
    monkeypatch.setattr(rehearsal, "MOST_LABELS", 70)
    monkeypatch.setattr("pglearn.problem.MOST_SCORED", 30)
    X, y, _ = overlapping()
    problem = Problem.of(X, np.where(np.arange(300) < 100, y, -1))
    taken = rehearsal._regressed(problem, seed=0)
    assert len(taken) == 70
    assert set(np.flatnonzero(problem.scored)) <= set(taken.tolist())
    monkeypatch.setattr(rehearsal, "MOST_LABELS", 20)
    assert len(rehearsal._regressed(problem, seed=0)) == 20


def test_a_sparse_table_has_its_line_judged():
    X, _, shown = overlapping()
    X = np.where(np.abs(X) > 0.6, X, 0)
    model = PGLearnClassifier(**SMALL).fit(sparse_rows(X), shown)
    assert set(model.hidden_losses_) == {GRAPHS, "line"}
    assert model.regression_weight_ > 0.2
    new, y_new, _ = overlapping(seed=1)
    assert model.score(sparse_rows(np.where(np.abs(new) > 0.6, new, 0)), y_new) > 0.65


# When it is cut short


def test_the_parts_so_far_are_judged_by(monkeypatch):
    X, _, shown = overlapping()
    heard = []
    table, stage, candidates = searched(X, shown)
    ran = recorded(monkeypatch)

    def listen(event):
        heard.append(event)
        if len(heard) == 3:
            stage.stop.interrupt()

    judgement = judged(table, stage, candidates, Stream([listen]))
    assert [event["event"] for event in heard] == [
        "rehearsal_started",
        *["rehearsal_part_ended"] * 2,
        "rehearsal_ended",
    ]
    assert len(ran) == 2 * 2, "no part was begun after the interrupt"
    assert judgement.opinion is not None
    hidden = sum(event["hidden"] for event in heard[1:3])
    total = {name: sum(event["losses"][name] for event in heard[1:3]) / hidden for name in judgement.losses}
    assert judgement.losses["discriminant"] == pytest.approx(total["discriminant"])
    assert judgement.losses[GRAPHS] < total[GRAPHS], "the power that makes hidden labels most likely"


def test_an_interrupt_stops_the_part_that_is_under_way(monkeypatch):
    X, _, shown = overlapping()
    table, stage, candidates = searched(X, shown)
    stage = replace(stage, steps=30)

    class Interrupted(Pool):
        def run(self, starts, stint, on_part=None):
            stage.stop.interrupt()
            ran = list(super().run(starts, stint, on_part))
            assert all(candidate.steps == 0 for candidate in ran)
            return ran

    monkeypatch.setattr(rehearsal, "Pool", Interrupted)
    judgement = judged(table, stage, candidates, Stream())
    assert (judgement.opinion, judgement.losses) == (None, {})
    assert stage.stop.reason == "interrupted"


@pytest.mark.parametrize(("parts", "told"), [(0, "nothing, and none are heard"), (2, "some of the labels")])
def test_ctrl_c_after_the_search_says_what_it_has_cost(parts, told):
    X, _, shown = overlapping()
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    heard, last = [], "rehearsal_part_ended" if parts else "rehearsal_started"

    def listen(event):
        heard.append(event["event"])
        if heard[-1] == last and heard.count(last) == max(parts, 1):
            signal.raise_signal(signal.SIGINT)

    try:
        with pytest.warns(UserWarning, match=f"after the search: how far to believe .* told by {told}"):
            model = PGLearnClassifier(**SMALL).fit(X, shown, listeners=(listen,))
    finally:
        signal.signal(signal.SIGINT, usual)
    assert model.stop_reason_ == "interrupted"
    assert heard.count("rehearsal_part_ended") == parts
    assert (model.regression_weight_ > 0) == (parts > 0)


def test_the_progress_bar_shows_it():
    X, _, shown = overlapping()
    console = Console(record=True, width=120, force_terminal=True)
    with progress_bar(console) as listeners:
        model = PGLearnClassifier(**SMALL).fit(X, shown, listeners=listeners)
    text = console.export_text()
    assert "hidden labels · part 5/5" in text
    assert f"regressions count {model.regression_weight_:.2f}" in text


def test_workers_that_fail_after_the_search_do_not_take_its_answer_with_them():
    X, y, shown = overlapping()
    executor = ThreadPoolExecutor(1)

    def listen(event):
        if event["event"] == "rehearsal_part_ended":
            executor.shutdown()

    with pytest.warns(UserWarning, match="judged by less than all labels, or not heard. The given executor"):
        model = PGLearnClassifier(**SMALL, executor=executor).fit(X, shown, listeners=(listen,))
    assert model.hidden_losses_
    assert (model.transduction_ == y).mean() > 0.7


def test_time_before_a_resume_counts():
    X, _, shown = overlapping()
    table, search, task, workers = PGLearnClassifier(**SMALL, max_time=1100)._prepared(X, shown)
    before = replace(State.at_the_start(search.draws, search.schedule.population, False), seconds=1000.0)
    checkpoint = SimpleNamespace(found=before, keep=lambda *_, **__: None)
    with Pool(table.searched, task, workers) as pool:
        assert search.run(pool, (), checkpoint).deadline == pytest.approx(time.time() + 100, abs=60)


def test_time_that_is_up_is_up(monkeypatch):
    X, _, shown = overlapping()

    def long_ago(ran):
        monkeypatch.setattr("pglearn.search.interrupts.time.time", lambda: 1e12)
        return ran

    seen = recorded(monkeypatch, long_ago)
    model = PGLearnClassifier(**SMALL, max_time=1000).fit(X, shown)
    assert len(seen) == 1
    assert model.stop_reason_ == "out of time"
    assert model.regression_weight_ == 0


def failed(candidate):
    candidate.failure = "for a test"
    return candidate


def test_a_failing_candidate_is_left_out(monkeypatch):
    X, _, shown = overlapping()
    table, stage, candidates = searched(X, shown)
    with monkeypatch.context() as patch:
        recorded(patch, lambda ran: [failed(ran[0]), *ran[1:]])
        found = next(rehearsed(table, stage, candidates))
    assert len(found.members) == len(candidates) - 1
    recorded(monkeypatch, lambda ran: [failed(candidate) for candidate in ran])
    assert list(rehearsed(table, stage, candidates)) == []
    assert judged(table, stage, candidates, Stream()).opinion is None


def test_any_number_of_processes_comes_to_the_same():
    X, _, shown = overlapping(n=120)
    one, two = (PGLearnClassifier(**SMALL, n_jobs=jobs).fit(X, shown) for jobs in (1, 2))
    assert one.hidden_losses_ == two.hidden_losses_
    np.testing.assert_array_equal(one.label_distributions_, two.label_distributions_)
