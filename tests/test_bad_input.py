"""Bad input of the estimator: a sentence that says what to do, and nothing lost. Commands: cli/test_refusals.py."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest

from pglearn import PGLearnClassifier
from pglearn.errors import InputError, ModelFileError, OutputError
from pglearn.files import digest


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


# Labels


def test_labels_are_refused_as_a_problem_refuses_them():
    refused("No row is labelled: give at least two rows of each class a label", y=[None] * 20)
    refused("X has 20 rows but y has 19 entries: give one label per row, -1 where unknown.", y=points()[1][:-1])
    refused("1d", y=np.zeros((20, 2)), error=ValueError)


# Points


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


# Parameters


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


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


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
        (
            lambda path, _: np.savez(path, X=np.ones(3)),
            "is an .npz file but not a pglearn model: give the model.npz that",
        ),
        (lambda path, arrays: np.savez(path, **arrays | {"table.X": 1}), "its checksum is not that of its content"),
        (altered(member0_F=np.array([{}], dtype=object)), "is not a file of pglearn"),
        (altered(classifier_version=None, ensemble_version=None), "is an .npz file but not a pglearn model: give the"),
        (altered(ensemble_prior=np.array([0.4, 0.4])), "has shares of the classes that do not add up to one: copy"),
        (altered(member0_F=np.full((20, 2), 0.4)), "has class probabilities that do not add up to one: copy it again"),
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
