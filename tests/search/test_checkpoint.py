"""A search that goes on from its checkpoint ends as if it had never stopped; what cannot be gone on from is refused."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pglearn import PGLearnClassifier
from pglearn.engine import CPUEngine
from pglearn.errors import CheckpointError, InputError, OutputError
from pglearn.files import digest
from pglearn.search import checkpoint as module
from pglearn.search import read_events
from pglearn.search.events import EventLog
from pglearn.search.lock import locked
from pglearn.search.state import State

PATIENCE = 60


class Killed(BaseException):
    """Stands in for a SIGKILL where the moment must be exact; tests/test_resume.py kills a real process."""


def points(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    X[:20, 0] += 1
    return X, np.where(np.arange(40) % 2 == 0, np.repeat([0, 1], 20), -1)


def model(folder=None, **changes):
    setting = {"budget": 4, "n_candidates": 4, "random_state": 0, "checkpoint": folder, **changes}
    return PGLearnClassifier(**setting)


def kills_at(number):
    """A listener that ends everything when an event of this number is told."""

    def listen(event):
        if event["number"] == number:
            raise Killed

    return listen


def killed(folder, number, *listeners, **changes):
    with pytest.raises(Killed):
        model(folder, **changes).fit(*points(), listeners=(*listeners, kills_at(number)))


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


@pytest.fixture
def in_the_round(monkeypatch):
    """Write a state whenever a candidate comes back."""
    monkeypatch.setattr(module, "EVERY", 0.0)


def stored(folder):
    """The arrays of the checkpoint."""
    with np.load(folder / module.NAME, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


# Going on


def test_a_checkpoint_does_not_change_the_answer_and_nothing_is_pickled(folder, uninterrupted):
    assert_same_fit(model(folder).fit(*points()), uninterrupted)
    assert sorted(path.name for path in folder.iterdir()) == ["lock", module.NAME]
    assert {array.dtype.kind for array in stored(folder).values()} <= set("biufU")


def test_killed_at_any_event_and_resumed_is_as_if_nothing_had_happened(tmp_path, uninterrupted, in_the_round):
    """By another number of workers before and after."""
    told = []
    model(tmp_path / "whole").fit(*points(), listeners=(told.append,))
    for number in sorted(np.random.default_rng(0).choice(len(told), 12, replace=False).tolist()):
        folder = tmp_path / str(number)
        executors = ("threads", "serial") if number % 2 else ("serial", "threads")
        killed(folder, number, executor=executors[0], n_jobs=2)
        assert_same_fit(model(folder, executor=executors[1], n_jobs=3).fit(*points()), uninterrupted)


class AllAtOnce(CPUEngine):
    """Evaluates a population in one go, as the torch engine does."""

    together = None


@pytest.mark.parametrize("engine", [CPUEngine, AllAtOnce])
def test_killed_between_two_parts_of_a_stint_nothing_is_lost_and_nothing_is_told_otherwise(
    tmp_path, in_the_round, monkeypatch, engine
):
    monkeypatch.setattr("pglearn.search.pool.PART", 1)
    monkeypatch.setattr("pglearn.estimators.pglearn.chosen_engine", lambda _, *given, **__: engine(*given[:2]))
    usual, evaluated = CPUEngine.value_and_gradient, []

    def counted(self, problem, configurations):
        evaluated.extend(configurations)
        return usual(self, problem, configurations)

    monkeypatch.setattr(CPUEngine, "value_and_gradient", counted)
    changes = {"unit_steps": 3, "budget": 2}
    alone, told = [], []
    uninterrupted = model(**changes).fit(*points(), listeners=(alone.append,))
    needed = len(evaluated)
    model(tmp_path / "whole", **changes).fit(*points(), listeners=(told.append,))
    written = [event["number"] for event in told if event["event"] == "checkpoint_written"]
    between_parts = 0
    for number in written[1 :: max(len(written) // 4, 1)]:
        evaluated.clear()
        folder, path = tmp_path / str(number), tmp_path / f"{number}.jsonl"
        with EventLog(path) as log:
            killed(folder, number, log, **changes)
        between_parts += any(candidate.done for candidate in State.from_arrays(stored(folder)).candidates)
        with EventLog(path) as log:
            resumed = model(folder, **changes).fit(*points(), listeners=(log,))
        assert len(evaluated) == needed, "of the search and of the answer"
        assert_same_fit(resumed, uninterrupted)
        events = read_events(path)
        assert of_the_search(events) == of_the_search(alone)
        for candidate in State.from_arrays(stored(folder)).candidates:
            told = sum(event["seconds"] for event in advanced(events) if event["candidate"] == candidate.id)
            assert told == pytest.approx(candidate.seconds)
    assert between_parts > 1


def advanced(events):
    return [event for event in events if event["event"] == "candidate_advanced"]


def of_the_search(events):
    """What happened, whenever and however often it was written down."""
    others = {"search_resumed", "checkpoint_written"}
    clock = {"time", "number", "seconds", "a"}
    return [
        {name: value for name, value in event.items() if name not in clock}
        for event in events
        if event["event"] not in others
    ]


@pytest.mark.parametrize("name", ["candidate_eliminated", "candidate_drawn"])
def test_killed_between_two_rounds_the_state_before_is_whole(folder, uninterrupted, name):
    """It is written as the process ends, and must not know of what came after it."""
    calls = []

    def kills(event):
        if event["event"] == name and calls.append(1) is None and len(calls) == 2:
            raise Killed

    with pytest.raises(Killed):
        model(folder).fit(*points(), listeners=(kills,))
    assert_same_fit(model(folder).fit(*points()), uninterrupted)


def test_with_a_candidate_that_fails_on_the_way_it_is_the_same(tmp_path, in_the_round, monkeypatch):
    usual, first = CPUEngine.value_and_gradient, {}

    def raises_after_the_first(self, problem, configurations):
        (here,) = configurations
        if here.owner == 1 and not np.array_equal(first.setdefault(here.owner, here.a), here.a):
            raise MemoryError("no room")
        return usual(self, problem, configurations)

    monkeypatch.setattr(CPUEngine, "value_and_gradient", raises_after_the_first)

    def fitted(*arguments):
        with pytest.warns(UserWarning, match="1 of 8 candidates failed and were left out"):
            return model(*arguments).fit(*points())

    uninterrupted = fitted()
    for number in (5, 20):
        killed(tmp_path / str(number), number)
        assert_same_fit(fitted(tmp_path / str(number)), uninterrupted)


def test_a_finished_search_is_not_run_again(folder, uninterrupted):
    model(folder).fit(*points())
    told = []
    again = model(folder).fit(*points(), listeners=(lambda event: told.append(event["event"]),))
    assert_same_fit(again, uninterrupted)
    assert "search_resumed" in told
    assert not {"round_started", "candidate_advanced"} & set(told), "it ran"


@pytest.mark.usefixtures("interruptible")
@pytest.mark.xdist_group("signals")
def test_what_was_interrupted_goes_on_to_its_full_budget(folder, uninterrupted):
    """A candidate that was stopped on its way begins its stint again, or the answer would not be the same."""
    calls = []

    def interrupt_in_round_1(event):
        if event["event"] == "candidate_advanced" and event["number"] > 15 and not calls:
            calls.append(1)
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UserWarning, match="interrupted"):
        stopped = model(folder).fit(*points(), listeners=(interrupt_in_round_1,))
    assert stopped.stop_reason_ == "interrupted"
    assert_same_fit(model(folder).fit(*points()), uninterrupted)


def test_a_search_out_of_time_goes_on_with_more_and_its_time_is_counted(folder, uninterrupted):
    assert model(folder, max_time=1e-6).fit(*points()).stop_reason_ == "out of time"
    assert State.from_arrays(stored(folder)).seconds > 0
    assert model(folder, max_time=1e-6).fit(*points()).stop_reason_ == "out of time"
    assert_same_fit(model(folder, max_time=600).fit(*points()), uninterrupted)


def test_a_state_is_the_same_after_writing_and_reading(folder, in_the_round):
    killed(folder, 20)
    state = State.from_arrays(stored(folder))
    again = State.from_arrays(state.to_arrays())
    assert digest(again.to_arrays()) == digest(state.to_arrays())
    assert 0 < len(state.back) < 4
    for one, two in zip(state.candidates, again.candidates, strict=True):
        assert {name: type(value) for name, value in vars(one).items()} == {
            name: type(value) for name, value in vars(two).items()
        }


# What has changed


def refused(folder, sentence, X=None, y=None, **changes):
    given = points()
    with pytest.raises(CheckpointError, match=sentence):
        model(folder, **changes).fit(given[0] if X is None else X, given[1] if y is None else y)


def test_a_changed_parameter_is_named_and_the_checkpoint_is_left_as_it_was(folder, uninterrupted):
    killed(folder, 12)
    before = (folder / module.NAME).read_bytes()
    for changes, difference in (
        ({"k_range": (5, 7)}, r"k_range was \[5, 20\] and is \[5, 7\]"),
        ({"loss": "ranking", "alpha": 0.9}, r'alpha was 0.99 and is 0.9; loss was "log" and is "ranking"'),
        ({"class_prior": {0: 0.5, 1: 0.5}}, 'class_prior was "auto" and is {"0": 0.5, "1": 0.5}'),
    ):
        sentence = f"the checkpoint of another search: {difference}. Go on with what it was begun with"
        refused(folder, sentence, **changes)
    assert (folder / module.NAME).read_bytes() == before
    assert_same_fit(model(folder, max_time=600, n_jobs=1, executor="serial").fit(*points()), uninterrupted)


def test_another_device_is_named(folder, monkeypatch):
    def runs_on(device):
        engine = type("Torch", (AllAtOnce,), {"name": f"torch on {device}"})
        monkeypatch.setattr("pglearn.estimators.pglearn.chosen_engine", lambda _, *given, **__: engine(*given[:2]))

    runs_on("NVIDIA H200")
    killed(folder, 12)
    runs_on("cpu")
    refused(folder, 'another search: engine was "torch on NVIDIA H200" and is "torch on cpu". Go on with what it was')
    runs_on("NVIDIA H200")
    model(folder, device_memory=1.0).fit(*points())


def test_changed_points_and_labels_are_named(tmp_path):
    folder = tmp_path / "given"
    killed(folder, 12)
    X, y = points()
    other = X.copy()
    other[7, 1] = np.nextafter(other[7, 1], 9)
    refused(folder, r"another search: X has changed\. Go on", X=other)
    refused(folder, r"another search: y has changed\. Go on", y=np.where(y == 1, -1, y) + (np.arange(40) == 30) * 2)
    refused(folder, r"another search: X has changed; y has changed\. Go on", X=other[:38], y=y[:38])
    killed(tmp_path / "scaled", 12, scale=True)
    refused(tmp_path / "scaled", r"another search: X has changed\. Go on", X=4 * X, scale=True)


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0), True])
def test_a_checkpoint_needs_a_seed(folder, random_state):
    with pytest.raises(InputError, match="checkpoint needs a whole number as random_state"):
        model(folder, random_state=random_state).fit(*points())


def test_a_checkpoint_must_be_a_folder(tmp_path):
    with pytest.raises(InputError, match="checkpoint=3 must be the path of a folder, or None"):
        model(3).fit(*points())
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"file cannot be made \(File exists\): choose another"):
        model(tmp_path / "file").fit(*points())


def test_a_saved_model_does_not_know_the_checkpoint(folder, tmp_path):
    model(folder).fit(*points()).save(tmp_path / "model.npz")
    assert PGLearnClassifier.load(tmp_path / "model.npz").checkpoint is None


# Files that are torn, damaged or foreign


def rewritten(path, **changes):
    arrays = stored(path.parent) | changes
    with path.open("wb") as file:
        np.savez(file, **{name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (lambda content: content[:-100], "is not a checkpoint or was cut short"),
        (lambda content: b"", "is not a checkpoint or was cut short"),
        (lambda content: b"what is this?", "is not a checkpoint or was cut short"),
        ({"checksum": None}, "is not a checkpoint of pglearn"),
        ({"a": np.ones(12)}, "is damaged: its checksum is not that of its content"),
        ({"pglearn_checkpoint": np.array(99)}, "is a checkpoint in format 99, and this version of pglearn reads"),
    ],
)
def test_a_bad_file_is_refused_with_a_sentence_that_says_what_to_do(folder, changes, sentence):
    killed(folder, 25)
    path = folder / module.NAME
    if isinstance(changes, dict):
        rewritten(path, **changes)
    else:
        path.write_bytes(changes(path.read_bytes()))
    refused(folder, f"{sentence}.*To begin again, remove {folder}")
    shutil.rmtree(folder)
    model(folder).fit(*points())


def test_a_file_with_any_byte_changed_is_refused_or_means_the_same(folder):
    """At sixty seeded places."""
    killed(folder, 25)
    path = folder / module.NAME
    whole = path.read_bytes()
    known = module.Identity({}, {})
    known.parts = json.loads(str(stored(folder)["identity"]))
    expected = digest(module.Folder(folder, known).found.to_arrays())
    refusals = 0
    for place in np.random.default_rng(0).choice(len(whole), 60, replace=False):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            assert digest(module.Folder(folder, known).found.to_arrays()) == expected
        except CheckpointError:
            refusals += 1
    assert refusals > 30


def test_what_a_killed_writer_left_behind_is_removed(folder):
    killed(folder, 12)
    (folder / f".{module.NAME}-x7f").write_bytes(b"half of it")
    model(folder).fit(*points())
    assert sorted(path.name for path in folder.iterdir()) == ["lock", module.NAME]


# A full disk

FULL = """
import resource, signal, sys, warnings
from pathlib import Path
from tests.search.test_checkpoint import model, points
from pglearn.files import digest

folder = Path(sys.argv[1])

def disk_full():
    with open(folder.parent / "ballast", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1024))
        except OSError:
            pass

def limit_of_file_sizes():  # the operating system refuses to write on
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

def listen(event):
    if event["event"] == "search_resumed":
        print("resumed in round", event["round"])
    if event["event"] == "checkpoint_failed":
        print("failed:", event["reason"])
    if event["event"] == "round_started" and event["round"] == 1 and len(sys.argv) > 2:
        globals()[sys.argv[2]]()

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fitted = model(folder).fit(*points(), listeners=(listen,))
print(*[f"warned: {warning.message}" for warning in caught], sep="\\n")
print("answer:", digest({"answer": fitted.label_distributions_}))
"""


def run_script(script, *arguments):
    """What a script printed, run where the tests can be imported."""
    ran = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KB, where one may be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here; the limit of file sizes is tested all the same")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def goes_on_without_room(folder, how, reason, uninterrupted):
    answer = f"answer: {digest({'answer': uninterrupted.label_distributions_})}"
    first = run_script(FULL, folder, how)
    assert first.count("failed: ") == 2, "after rounds 1 and 2"
    assert first.count("warned: ") == 1, "it is said once"
    assert f"could not be written ({reason}): is the disk full? The search goes on; the checkpoint before" in first
    assert answer in first
    (folder.parent / "ballast").unlink(missing_ok=True)
    second = run_script(FULL, folder)
    assert "resumed in round 1" in second
    assert answer in second


def test_a_full_disk_costs_the_checkpoint_and_not_the_search(small_disk, uninterrupted):
    goes_on_without_room(small_disk / "checkpoint", "disk_full", "No space left on device", uninterrupted)


def test_files_that_may_not_grow_cost_the_checkpoint_and_not_the_search(folder, uninterrupted):
    goes_on_without_room(folder, "limit_of_file_sizes", "File too large", uninterrupted)


# One search at a time

HOLD = """
import sys, time
from pathlib import Path
from pglearn.search.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_process_is_told_who_has_the_folder_and_a_killed_one_does_not_keep_it(folder):
    folder.mkdir()
    running = subprocess.Popen([sys.executable, "-c", HOLD, str(folder / "lock")], stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout.readline() == "held\n"
        refused(folder, f"is in use by process {running.pid}: wait until its search has ended")
    finally:
        running.kill()
        running.wait()
        running.stdout.close()
    model(folder).fit(*points())


def test_a_second_search_in_this_process_is_refused_and_the_first_keeps_its_lock(folder):
    def fit_again(event):
        if event["event"] == "round_started" and event["round"] == 0:
            refused(folder, f"is in use by process {os.getpid()}")
            with pytest.raises(AssertionError, match="in use by process"):
                run_script(HOLD, folder / "lock")

    model(folder).fit(*points(), listeners=(fit_again,))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_does_not_hold_the_lock_of_its_parent(tmp_path):
    context = multiprocessing.get_context("fork")
    runs = context.Event()
    with locked(tmp_path / "lock"):
        fork = context.Process(target=lambda: (runs.set(), signal.pause()))
        fork.start()
        assert runs.wait(PATIENCE)
    try:
        with locked(tmp_path / "lock"):
            assert fork.is_alive()
    finally:
        fork.kill()
        fork.join()


def test_the_lock_is_free_after_an_error(folder):
    killed(folder, 3)
    with locked(folder / "lock"):
        pass


def test_what_cannot_be_locked_is_a_sentence(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"), locked(tmp_path / "no folder" / "lock"):
        pass


def test_a_checkpoint_that_another_search_has_by_now_is_not_removed(folder):
    model(folder).fit(*points())
    with locked(folder / "lock"):
        module.remove(folder)
        assert sorted(path.name for path in folder.iterdir()) == ["lock", module.NAME]
    module.remove(folder)
    assert not folder.exists()


# Events of a search that was resumed


def test_the_log_goes_on_and_no_event_is_there_twice(tmp_path, folder, in_the_round, uninterrupted):
    path = tmp_path / "events.jsonl"
    for number in (9, 17, 30):
        with EventLog(path) as log:
            killed(folder, number, log)
        with path.open("a") as file:
            file.write('{"event": "torn')  # as by a kill in mid-write
    with EventLog(path) as log:
        fitted = model(folder).fit(*points(), listeners=(log,))
    assert_same_fit(fitted, uninterrupted)
    events = read_events(path)
    assert [event["number"] for event in events] == list(range(len(events)))
    names = [event["event"] for event in events]
    assert names.count("search_started") == names.count("search_ended") == 1
    assert names.count("search_resumed") == 3
    assert sum(len(event["history"]) for event in advanced(events)) == len(fitted.history_["step"])
    rounds = [event["round"] for event in events if event["event"] == "round_started"]
    assert rounds == sorted(set(rounds))


def test_the_log_of_an_interrupted_search_goes_on_without_its_end(tmp_path, folder):
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        model(folder, max_time=1e-6).fit(*points(), listeners=(log,))
    assert read_events(path)[-1]["reason"] == "out of time"
    with EventLog(path) as log:
        model(folder).fit(*points(), listeners=(log,))
    events = read_events(path)
    assert [event["reason"] for event in events if event["event"] == "search_ended"] == ["finished"]
    assert [event["number"] for event in events] == list(range(len(events)))
