"""Bad input: a sentence that says what to do, and nothing lost."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest

from pglearn import PGLearnClassifier
from pglearn.cli import main as cli
from pglearn.errors import InputError, ModelFileError, OutputError
from pglearn.files import digest

SEARCH = ["--budget", "1", "--candidates", "2", "--jobs", "1", "--quiet"]
FILES = ["events.jsonl", "feature_weights.csv", "model.npz", "predictions.csv"]


def points(n=20):
    """Two classes, the first eight rows labelled."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    classes = np.arange(n) % 2
    X[:, 0] += 4 * classes
    return X, np.where(np.arange(n) < 8, classes, -1)


def fit(X=None, y=None, **parameters):
    X_default, y_default = points()
    model = PGLearnClassifier(**{"budget": 1, "n_candidates": 2, "random_state": 0, **parameters})
    return model.fit(X_default if X is None else X, y_default if y is None else y)


def refused(sentence, X=None, y=None, error=InputError, **parameters):
    with pytest.raises(error, match=re.escape(sentence)):
        fit(X, y, **parameters)


# Through the estimator: labels


def test_labels_are_refused_as_a_problem_refuses_them():
    refused("No row is labelled: give at least two rows of each class a label", y=[None] * 20)
    refused("X has 20 rows but y has 19 entries: give one label per row, -1 where unknown.", y=points()[1][:-1])
    refused("1d", y=np.zeros((20, 2)), error=ValueError)


# Through the estimator: points


def test_gaps_are_found_with_their_row_and_column():
    X, _ = points()
    X[4, 1] = np.nan
    sentence = "X has 1 NaN or infinite (inf) values, the first (NaN) in row 4, column 'b': fill or drop them"
    refused(sentence, X=pd.DataFrame(X, columns=["a", "b", "c"]))
    with pytest.raises(InputError, match=r"the first \(NaN\) in row 4, column 1"):
        fit().predict(X)
    X, _ = points()
    X[[7, 8], 2] = -np.inf
    refused("X has 2 NaN or infinite (inf) values, the first (inf) in row 7, column 2: fill or drop them first", X=X)


# Through the estimator: parameters


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"budget": 0}, "budget=0 must be a whole number of at least 1"),
        ({"budget": 1.5}, "budget=1.5 must be a whole number of at least 1"),
        ({"downsampling_rate": 1}, "downsampling_rate=1 must be a whole number of at least 2"),
        ({"n_candidates": 2, "downsampling_rate": 3}, "n_candidates=2 is less than downsampling_rate=3"),
        ({"loss": "hinge"}, "loss='hinge' is not known: choose one of 'log', 'ranking', 'error', 'power', 'expon"),
        ({"validation": "cv"}, "validation='cv' is not known: choose one of 'loo', 'kfold', 'holdout'."),
        ({"selection": "mean"}, "selection='mean' is not known: choose one of 'best', 'ensemble'."),
        ({"views": "given"}, "views='given' must be \"auto\" or a list of different names among given, components, sh"),
        ({"views": []}, "views=[] must be"),
        ({"views": ["given", "given"]}, "views=['given', 'given'] must be"),
        ({"views": ["given", "ica"]}, "views has 'ica', which is not known: choose among given, components"),
        ({"views": ["linear"], "validation": "kfold"}, "The view 'linear' cannot be had: it needs validation='loo'"),
        ({"class_prior": "uniform"}, "class_prior='uniform' is not known: choose 'auto', 'labels', None, or give"),
        ({"scale": "yes"}, "scale='yes' is not known: choose 'auto', True or False."),
        ({"alpha": 1.0}, "alpha=1.0 is not between 0 and 1"),
        ({"alpha": float("nan")}, "alpha=nan is not between 0 and 1"),
        ({"alpha": "high"}, "alpha='high'"),
        ({"k_range": (0, 5)}, "k_range=(0, 5) must be two whole numbers with 1 ≤ low ≤ high."),
        ({"k_range": 5}, "k_range=5 must be two numbers, low and high"),
        ({"bandwidth_range": (0, 1)}, "bandwidth_range=(0, 1) must be two numbers with 0 < low ≤ high."),
        ({"bandwidth_range": (1, float("inf"))}, "bandwidth_range=(1, inf) must be two numbers"),
        ({"bandwidth_range": ("a", "b")}, "bandwidth_range=('a', 'b') must be two numbers"),
        ({"unit_steps": 0}, "unit_steps=0 must be"),
        ({"unit_seconds": -1}, "unit_seconds=-1 must be above 0, or None."),
        ({"max_time": float("nan")}, "max_time=nan must be above 0, or None."),
        ({"executor": "desk"}, "executor='desk' is not known: give a concurrent.futures.Executor, 'loky', 'threads'"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"engine": "cpu", "device_memory": 1.0}, "device_memory is for the torch engine: leave it out"),
        ({"random_state": -1}, "random_state=-1"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_parameter_values_that_are_none_are_refused_before_the_search_starts(parameters, sentence):
    events = []
    with pytest.raises(InputError, match=re.escape(sentence)):
        PGLearnClassifier(**parameters).fit(*points(), listeners=(events.append,))
    assert events == []


# Through the command line


@pytest.fixture
def table(tmp_path):
    def write(y=None, name="table.csv"):
        X, labels = points()
        labels = [None if label == -1 else label for label in labels] if y is None else y
        frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=pd.array(labels, dtype=object))
        frame.to_csv(tmp_path / name, index=False)
        return tmp_path / name

    return write


@pytest.fixture
def says(capsys):
    """Runs a command that must be refused with a sentence on stderr."""

    def run(*arguments, sentence):
        capsys.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert sentence in err
        assert err.startswith("pglearn: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert out == ""
        assert code == 2

    return run


@pytest.fixture
def fit_says(says, tmp_path):
    def run(table, *options, sentence):
        out = tmp_path / "new" / "out"
        says("fit", table, "--target", "kind", "-o", out, *SEARCH, *options, sentence=sentence)
        assert not [path for path in (tmp_path / "new").rglob("*") if path.is_file()]

    return run


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--budget", "0"], "budget=0 must be a whole number of at least 1"),
        (["--candidates", "2", "--rate", "3"], "n_candidates=2 is less than downsampling_rate=3"),
        (["--loss", "hinge"], "loss='hinge' is not known"),
        (["--validation", "cv"], "validation='cv' is not known"),
        (["--selection", "mean"], "selection='mean' is not known"),
        (["--neighbors", "near"], "neighbors='near' is not known"),
        (["--class-prior", "a=many"], "--class-prior a=many is no list of shares"),
        (["--max-time", "nan"], "max_time=nan must be above 0"),
        (["--jobs", "0"], "n_jobs=0"),
        (["--seed", str(2**40)], f"random_state={2**40}"),
        (["--target", "kinds"], "There is no column 'kinds' in the table. Did you mean 'kind'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_command_line_options_that_are_none(fit_says, table, options, sentence):
    fit_says(table(), *options, sentence=sentence)


def test_command_line_tables_that_are_none(fit_says, table, tmp_path):
    fit_says(tmp_path / "absent.csv", sentence="absent.csv does not exist")
    fit_says(table([None] * 20), sentence="No row is labelled")
    (tmp_path / "ragged.csv").write_bytes(b"a,b,kind\n1,2,x\n1,2\n")
    fit_says(tmp_path / "ragged.csv", sentence="is ragged: line 3 has 2 fields, the header has 3")


# Where results go


def test_a_place_that_cannot_be_written_is_found_before_the_search_starts(says, table, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("precious")
    monkeypatch.setattr(PGLearnClassifier, "fit", lambda *_, **__: pytest.fail("the search started"))
    for below in ("file", "file/deeper/out"):
        says("fit", table(), "--target", "kind", "-o", tmp_path / below, *SEARCH, sentence="cannot be written")
    assert (tmp_path / "file").read_text() == "precious"
    for name in FILES:
        (tmp_path / "out" / name).mkdir(parents=True)
        sentence = f"{name} is not an ordinary file, and one is to be written there"
        says("fit", table(), "--target", "kind", "-o", tmp_path / "out", *SEARCH, sentence=sentence)
        (tmp_path / "out" / name).rmdir()


@pytest.fixture
def results(table, tmp_path, capsys):
    out = tmp_path / "out"
    assert cli.main(["fit", str(table()), "--target", "kind", "-o", str(out), *SEARCH]) == 0
    capsys.readouterr()
    return out


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_earlier_results_stay_when_a_new_fit_fails(says, table, results, monkeypatch):
    before = contents(results)
    assert sorted(before) == FILES
    says(
        "fit", table(["x"] * 20), "--target", "kind", "-o", results, *SEARCH, sentence="Only one class is labelled (x)"
    )
    assert contents(results) == before

    def breaks(*_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("pglearn.engine.cpu.CPUEngine.value_and_gradient", breaks)
    sentence = "No candidate could be evaluated. The first failed with ZeroDivisionError at step 0: a bug"
    says("fit", table(), "--target", "kind", "-o", results, *SEARCH, sentence=sentence)
    for name in ("predictions.csv", "feature_weights.csv", "model.npz"):
        assert (results / name).read_bytes() == before[name]
    monkeypatch.undo()
    assert cli.main(["fit", str(table()), "--target", "kind", "-o", str(results), *SEARCH]) == 0
    assert set(contents(results)) == set(before)


def test_a_model_that_cannot_be_saved_leaves_the_earlier_one(tmp_path, monkeypatch):
    model = fit()
    with pytest.raises(OutputError, match=r"cannot be written \(No such file or directory\): choose a folder"):
        model.save(tmp_path / "absent" / "model.npz")
    model.save(tmp_path / "model.npz")
    before = contents(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OutputError, match=r"model.npz could not be written \(No space left on device\)"):
        model.save(tmp_path / "model.npz")
    assert contents(tmp_path) == before


# Model files


@pytest.fixture(scope="module")
def model_bytes(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.npz"
    fit().save(path)
    return path.read_bytes()


def test_a_model_cut_short_anywhere_is_refused(tmp_path, model_bytes):
    path = tmp_path / "model.npz"
    for length in (*range(0, len(model_bytes), 97), len(model_bytes) - 1):
        path.write_bytes(model_bytes[:length])
        with pytest.raises(
            ModelFileError, match="is not a file of pglearn or was cut short: copy it again or fit again"
        ):
            PGLearnClassifier.load(path)


def array_file(path, arrays):
    with path.open("wb") as file:
        np.save(file, arrays["table.X"])


def altered(**changes):
    """Writes the arrays of a model with some of them changed, or left out where None, and the checksum of what is."""

    def write(path, arrays):
        changed = arrays | {name.replace("_", ".", 1): array for name, array in changes.items()}
        kept = {name: array for name, array in changed.items() if array is not None and name != "checksum"}
        np.savez(path, **kept, checksum=np.array(digest(kept)))

    return write


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (lambda path, _: None, "There is no model file .*model.npz: fit a model first, or check the path"),
        (lambda path, _: path.write_bytes(b"a,b\n1,2\n"), "is not a file of pglearn or was cut short"),
        (lambda path, _: path.write_bytes(b"\x80\x04N."), "is not a file of pglearn or was cut short"),
        (array_file, "is not a file of pglearn"),
        (lambda path, _: np.savez(path, X=np.ones(3)), "is an .npz file but not one of pglearn: copy it again"),
        (lambda path, arrays: np.savez(path, **arrays | {"table.X": 1}), "its checksum is not that of its content"),
        (altered(member0_F=np.array([{}], dtype=object)), "is not a file of pglearn"),
        (altered(member0_F=None), r"The model lacks member0\.F: copy it again or fit again"),
        (
            altered(view0_axes=np.eye(4)),
            r"view0\.axes has the shape \(4, 4\), not \(q, u\): copy it again or fit again",
        ),
        (altered(table_X=np.full((20, 3), np.nan)), r"table\.X is not finite or not within .*: copy it again"),
        (altered(ensemble_labelled=np.array([3, 30])), r"ensemble\.labelled is not finite or not within 0 and 19"),
        (altered(ensemble_labelled=np.array([3, 2])), r"ensemble\.labelled does not increase"),
        (altered(member0_k=np.array(3.0)), r"member0\.k holds float64, not a whole number"),
        (altered(classifier_parameters=np.array('{"budget": ')), "copy it again or fit again"),
        (altered(classifier_parameters=np.array('{"turbo": 1}')), "classifier.parameters has unknown names"),
        (
            altered(view0_version=np.array(99), pglearn=np.array("7.0")),
            "was written by pglearn 7.0 with version 99 of view0: this one reads 1: copy it again or fit again",
        ),
    ],
)
def test_a_file_that_is_no_model_is_refused_and_nothing_unpickled(tmp_path, model_bytes, write, sentence):
    with np.load(io.BytesIO(model_bytes)) as model:
        write(tmp_path / "model.npz", dict(model))
    with pytest.raises(ModelFileError, match=sentence):
        PGLearnClassifier.load(tmp_path / "model.npz")


def test_command_line_models_that_cannot_be_used(says, table, tmp_path):
    says("predict", tmp_path / "absent", table(), sentence="There is no model file")
    says("predict", tmp_path, table(), sentence="There is no model file")
    says("predict", table(), table(), sentence="is not a file of pglearn or was cut short")
    fit().save(tmp_path / "array.npz")
    says("predict", tmp_path / "array.npz", table(), sentence="holds a classifier for plain arrays")


def test_command_line_predictions_that_cannot_be_made_or_written(says, table, tmp_path, results):
    (tmp_path / "new.csv").write_text("a,b\n1,2\n")
    says("predict", results, tmp_path / "new.csv", sentence="The table lacks 'c', which fit has seen.")
    says("predict", results, tmp_path / "absent.csv", sentence="does not exist")
    says("predict", results, table(), "-o", tmp_path / "new.csv" / "labels.csv", sentence="cannot be written")
    says("predict", results, table(), "-o", results, sentence="written")
    assert (tmp_path / "new.csv").read_text() == "a,b\n1,2\n"


def test_command_line_results_do_not_replace_the_table(says, table, tmp_path, results, monkeypatch):
    sentence = ".csv is the table itself, which the results would replace: choose another -o."
    monkeypatch.setattr("pglearn.tables.read.read_table", lambda *_, **__: pytest.fail("the work began"))
    path = table(name="predictions.csv")
    before = path.read_bytes()
    says("fit", path, "--target", "kind", "-o", tmp_path, *SEARCH, sentence=sentence)
    (tmp_path / "link.csv").symlink_to(path)
    for output in (path, results / ".." / path.name, tmp_path / "link.csv"):
        says("predict", results, path, "-o", output, sentence=sentence)
    assert path.read_bytes() == before


@pytest.mark.parametrize("arguments", [[], ["fit"], ["fit", "t.csv", "--target", "y"], ["fly"], ["predict", "out"]])
def test_incomplete_commands_show_the_usage(capsys, arguments):
    with pytest.raises(SystemExit) as exit:
        cli.main(arguments)
    assert exit.value.code == 2
    assert "usage: pglearn" in capsys.readouterr().err
