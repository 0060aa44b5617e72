"""A search that goes on from its checkpoint ends as if it had never stopped; what cannot be gone on from is refused."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from contextlib import contextmanager
from itertools import count

import numpy as np
import pytest
from tests.search.fakes import points

from pglearn import PGLearnClassifier
from pglearn.engine import CPUEngine
from pglearn.errors import CheckpointError, InputError, ModelFileError, OutputError
from pglearn.search import checkpoint as module
from pglearn.search import read_events
from pglearn.search.events import EventLog
from pglearn.sections import write_sections


class Killed(BaseException):
    """Stands in for a SIGKILL where the moment must be exact; tests/cli/test_resume.py kills a real process."""


def model(folder=None, **changes):
    setting = {"budget": 4, "n_candidates": 4, "random_state": 0, "checkpoint": folder, **changes}
    return PGLearnClassifier(**setting)


def killed(folder, number, *listeners, **changes):
    """A fit that ends with everything when an event of this number is told."""

    def kill(event):
        if event["number"] == number:
            raise Killed

    with pytest.raises(Killed):
        model(folder, **changes).fit(*points(), listeners=(*listeners, kill))


def assert_same_fit(one, two):
    for name in ("search_results_", "history_"):
        mine, other = getattr(one, name), getattr(two, name)
        assert set(mine) == set(other)
        for key in mine:
            np.testing.assert_array_equal(mine[key], other[key], strict=True)
    for name in ("transduction_", "label_distributions_", "feature_weights_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), strict=True)
    assert one.stop_reason_ == two.stop_reason_


@pytest.fixture(scope="module")
def uninterrupted():
    return model().fit(*points())


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "checkpoint"


def stored(folder):
    """The arrays of the checkpoint."""
    with np.load(folder / module.NAME, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


# Going on


def test_a_checkpoint_does_not_change_the_answer_and_nothing_is_pickled(folder, tmp_path, uninterrupted):
    folder.mkdir()
    (folder / f".{module.NAME}-x7f").write_bytes(b"left behind by a killed writer")
    fitted = model(folder).fit(*points())
    assert_same_fit(fitted, uninterrupted)
    assert sorted(path.name for path in folder.iterdir()) == ["lock", module.NAME]
    assert {array.dtype.kind for array in stored(folder).values()} <= set("biufU")
    fitted.save(tmp_path / "model.npz")
    assert PGLearnClassifier.load(tmp_path / "model.npz").checkpoint is None


@pytest.mark.usefixtures("interruptible")
@pytest.mark.xdist_group("signals")
@pytest.mark.parametrize("step", [3, 20, 33])
def test_a_search_that_was_stopped_in_the_middle_of_a_part_begins_that_part_again(
    folder, uninterrupted, monkeypatch, step
):
    usual, calls = CPUEngine.value_and_gradient, count(1)

    def interrupted(self, problem, configurations, carried=None):
        if next(calls) == step:
            os.kill(os.getpid(), signal.SIGINT)
        return usual(self, problem, configurations, carried)

    monkeypatch.setattr(CPUEngine, "value_and_gradient", interrupted)
    with pytest.warns(UserWarning, match="The search was interrupted"):
        assert model(folder).fit(*points()).stop_reason_ == "interrupted"
    monkeypatch.setattr(CPUEngine, "value_and_gradient", usual)
    assert_same_fit(model(folder).fit(*points()), uninterrupted)


def of_the_search(events):
    """What happened, whenever and in which order candidates came in, and however often it was written down."""
    passed_over = {"time", "number", "seconds", "a"}
    told = [event for event in events if event["event"] not in {"search_resumed", "checkpoint_written"}]
    return sorted(str({name: value for name, value in event.items() if name not in passed_over}) for event in told)


def test_killed_at_any_event_and_resumed_is_as_if_nothing_had_happened(tmp_path, monkeypatch):
    """By another number of workers before and after; with a state written after each part, or as the process ends."""
    monkeypatch.setattr("pglearn.search.pool.PART", 1)
    told = []
    whole = model(tmp_path / "whole").fit(*points(), listeners=(told.append,))
    for number in sorted(np.random.default_rng(0).choice(len(told), 12, replace=False).tolist()):
        monkeypatch.setattr(module, "EVERY", 0.0 if number % 3 else 30.0)
        folder, path = tmp_path / str(number), tmp_path / f"{number}.jsonl"
        executors = ("threads", "serial") if number % 2 else ("serial", "threads")
        with EventLog(path) as log:
            killed(folder, number, log, executor=executors[0], n_jobs=2)
        with path.open("a") as file:
            file.write('{"event": "torn')  # as by a kill in mid-write
        with EventLog(path) as log:
            assert_same_fit(model(folder, executor=executors[1], n_jobs=3).fit(*points(), listeners=(log,)), whole)
        events = read_events(path)
        assert of_the_search(events) == of_the_search(told)
        assert [event["number"] for event in events] == list(range(len(events)))


def test_a_finished_search_is_not_run_again(folder, uninterrupted):
    model(folder).fit(*points())
    told = []
    again = model(folder).fit(*points(), listeners=(lambda event: told.append(event["event"]),))
    assert_same_fit(again, uninterrupted)
    assert told == ["search_resumed", "search_ended"]


def test_a_search_out_of_time_goes_on_with_more_and_its_time_is_counted(folder, tmp_path, uninterrupted):
    path = tmp_path / "events.jsonl"
    for most in (1e-6, 1e-6, 600):
        with EventLog(path) as log:
            fitted = model(folder, max_time=most).fit(*points(), listeners=(log,))
        assert stored(folder)["search.seconds"] > 0
        ends = [event["reason"] for event in read_events(path) if event["event"] == "search_ended"]
        assert ends == [fitted.stop_reason_] == ["out of time" if most < 1 else "finished"]
    assert_same_fit(fitted, uninterrupted)


# What has changed


def refused(folder, sentence, X=None, y=None, **changes):
    given = points()
    with pytest.raises(CheckpointError, match=sentence):
        model(folder, **changes).fit(given[0] if X is None else X, given[1] if y is None else y)


def test_what_has_changed_is_named_and_the_checkpoint_is_left_as_it_was(folder, uninterrupted, monkeypatch):
    killed(folder, 12)
    before = (folder / module.NAME).read_bytes()
    X, y = points()
    other = X.copy()
    other[7, 1] = np.nextafter(other[7, 1], 9)
    for changes, difference in (
        ({"k_range": (5, 7)}, r"k_range was \[5, 20\] and is \[5, 7\]"),
        ({"loss": "ranking", "alpha": 0.9}, r'alpha was 0.99 and is 0.9; loss was "log" and is "ranking"'),
        ({"X": other}, "X has changed"),
        ({"y": np.where(y == 1, -1, y) + (np.arange(40) == 30) * 2}, "y has changed"),
        ({"X": other[:38], "y": y[:38]}, "X has changed; y has changed"),
    ):
        sentence = f"the checkpoint of another search: {difference}. Go on with what it was begun with"
        refused(folder, sentence, **changes)
    assert (folder / module.NAME).read_bytes() == before
    with monkeypatch.context() as patch:
        patch.setattr(CPUEngine, "name", "torch on NVIDIA H200")
        refused(folder, 'engine was "cpu" and is "torch on NVIDIA H200". Go on with what it was')
    assert_same_fit(model(folder, max_time=600, n_jobs=1, executor="serial").fit(*points()), uninterrupted)
    shutil.rmtree(folder)
    killed(folder, 12, scale=True)
    refused(folder, r"another search: X has changed\. Go on", X=4 * X, scale=True)


def test_a_checkpoint_needs_a_seed_and_a_folder(tmp_path):
    for seed in (None, np.random.RandomState(0), True):
        with pytest.raises(InputError, match="checkpoint needs a whole number as random_state"):
            model(tmp_path, random_state=seed).fit(*points())
    with pytest.raises(InputError, match="checkpoint=3 must be the path of a folder, or None"):
        model(3).fit(*points())
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"file cannot be written \(File exists\): choose another"):
        model(tmp_path / "file").fit(*points())


# Files that are torn, damaged or foreign


def test_a_bad_file_is_refused_with_a_sentence_that_says_what_to_do(folder):
    killed(folder, 25)
    path = folder / module.NAME
    whole, arrays = path.read_bytes(), stored(folder)
    for content in (whole[:-100], b"", b"what is this?"):
        path.write_bytes(content)
        refused(folder, f"is not a file of pglearn or was cut short. To begin again, remove {folder}")
    for changes, sentence in (
        ({"checksum": None}, "is an .npz file but not a checkpoint. To begin again"),
        ({"candidate0.a": arrays["candidate0.a"] + 1}, "is damaged: its checksum is not that of its content"),
    ):
        np.savez(path, **{name: array for name, array in (arrays | changes).items() if array is not None})
        refused(folder, sentence)
    path.write_bytes(whole)
    with pytest.raises(
        ModelFileError, match=r"is an \.npz file but not a pglearn model: give the model\.npz that a fit"
    ):
        PGLearnClassifier.load(path)
    shutil.rmtree(folder)
    model(folder).fit(*points())


def test_what_the_search_cannot_have_come_to_is_refused_though_its_checksum_is_right(folder):
    """Here of a search that has ended, with a progress bar."""
    model(folder).fit(*points())
    arrays = stored(folder)
    nothing = {name: arrays[name][:0] for name in arrays if name.endswith((".evaluated", ".losses", ".accuracies"))}
    unevaluated = {name: None for name in arrays if name.endswith((".best", ".dg_da"))}
    unevaluated |= {name: np.array(np.inf) for name in arrays if name.endswith(".loss")}
    for changes in (
        {"search.round": np.array(99)},
        {"search.round": np.array(1)},
        {"search.n_candidates": np.array(5)},
        {"candidate2.view": arrays["candidate2.view"] + 40},
        {f"candidate2.{name}": np.ones(17) for name in ("a", "dg_da", "best")},
        {"candidate2.k": np.array(0)},
        {"candidate2.died": np.array(3.0)},
        {"candidate2.loss": np.array(np.nan)},
        nothing,
        nothing | unevaluated,
    ):
        content = {name: array for name, array in (arrays | changes).items() if array is not None}
        write_sections(folder / module.NAME, {name: content[name] for name in content.keys() - {"checksum", "pglearn"}})
        refused(folder, f"holds what this search cannot have come to. To begin again, remove {folder}", verbose=1)


# A full disk


@contextmanager
def no_large_files():
    """The operating system refuses to write on, as on a full disk."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, usual[0][1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual[0])
        signal.signal(signal.SIGXFSZ, usual[1])


@pytest.mark.xdist_group("signals")
def test_a_full_disk_costs_the_checkpoint_and_not_the_search(folder, uninterrupted):
    killed(folder, 12)
    told = []
    with pytest.warns(UserWarning, match="disk full") as warned, no_large_files():
        fitted = model(folder).fit(*points(), listeners=(told.append,))
    assert_same_fit(fitted, uninterrupted)
    failed = [event["reason"] for event in told if event["event"] == "checkpoint_failed"]
    assert len(failed) == 3 - told[0]["round"], "after each round"
    (said,) = {str(warning.message) for warning in warned}  # which Python says once
    assert {warning.filename for warning in warned} == {__file__}, "who called fit"
    assert "could not be written (File too large): is the disk full? The search goes on; the checkpoint before" in said
    again = []
    assert_same_fit(model(folder).fit(*points(), listeners=(again.append,)), uninterrupted)
    assert again[0]["event"] == "search_resumed"
    assert again[0]["round"] == told[0]["round"]


# One search at a time


def test_a_second_search_in_this_process_is_refused(folder, uninterrupted):
    def fit_again(event):
        if event["event"] == "round_started" and event["round"] == 1:
            refused(folder, f"is in use by process {os.getpid()}")

    assert_same_fit(model(folder).fit(*points(), listeners=(fit_again,)), uninterrupted)
