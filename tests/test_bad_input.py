"""Bad input: a sentence that says what to do, and nothing lost."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pandas as pd
import pytest

from pglearn import PGLearnClassifier, cli
from pglearn.errors import InputError, ModelFileError, OutputError, PGLearnError

SEARCH = ["--budget", "1", "--candidates", "2", "--jobs", "1", "--quiet"]


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


def test_no_labelled_row():
    refused("No row is labelled: give at least two rows of each class a label", y=np.full(20, -1))
    refused("No row is labelled", y=[None] * 20)
    refused("No row is labelled", y=np.full(20, np.nan))


def test_one_class_only():
    refused(
        "Only one class is labelled (3): there is nothing to tell apart. Label rows of at least two classes",
        y=np.where(np.arange(20) < 8, 3, -1),
    )


def lonely():
    _, y = points()
    y[9] = 2
    return y


def test_a_class_with_a_single_label_is_allowed_with_loo():
    model = fit(y=lonely(), validation="loo")
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.label_distributions_.shape == (20, 3)


def test_a_class_with_a_single_label_is_explained_with_holdout():
    refused(
        "Class 2 has a single labelled row, and validation='holdout' hides half of the labels of every class: "
        "label one more row of it, or use validation='loo'.",
        y=lonely(),
        validation="holdout",
    )


def test_single_labels_of_every_class_cannot_be_compared():
    y = np.full(20, -1)
    y[:2] = [0, 1]
    refused("Every class has a single labelled row", y=y)


def test_y_of_the_wrong_length():
    refused("X has 20 rows but y has 19 entries: give one label per row, -1 where unknown.", y=points()[1][:-1])


def test_y_of_two_columns():
    refused("1d", y=np.zeros((20, 2)), error=ValueError)


def test_y_of_quantities():
    refused("y holds numbers with fractions, but pglearn predicts classes", y=np.linspace(0, 1, 20))


def test_y_of_text_and_numbers():
    refused("y mixes numbers and strings: make all labels of one kind", y=np.array(["a", 1] * 10, dtype=object))


# Through the estimator: points


def test_nan_in_a_frame_is_found_with_its_row_and_column():
    X, _ = points()
    X[4, 1] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    refused("X has 1 NaN or infinite (inf) values, the first (NaN) in row 4, column 'b': fill or drop them", X=frame)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_points_are_found_with_their_row_and_column(value):
    X, _ = points()
    X[[7, 8], 2] = value
    refused("X has 2 NaN or infinite (inf) values, the first (inf) in row 7, column 2: fill or drop them first", X=X)


def test_nan_in_new_rows():
    model = fit()
    X = points()[0]
    X[0, 0] = np.nan
    with pytest.raises(InputError, match=r"the first \(NaN\) in row 0, column 0"):
        model.predict(X)


# Through the estimator: parameters


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"budget": 0}, "budget=0 must be a whole number of at least 1"),
        ({"budget": 1.5}, "budget=1.5 must be a whole number of at least 1"),
        ({"downsampling_rate": 1}, "downsampling_rate=1 must be a whole number of at least 2"),
        ({"n_candidates": 2, "downsampling_rate": 3}, "n_candidates=2 is less than downsampling_rate=3"),
        ({"loss": "hinge"}, "loss='hinge' is not known: choose one of 'log', 'ranking', 'error', 'power', 'expon"),
        ({"loss": None}, "loss=None is not known"),
        ({"validation": "cv"}, "validation='cv' is not known: choose one of 'loo', 'kfold', 'holdout'."),
        ({"selection": "mean"}, "selection='mean' is not known: choose one of 'best', 'ensemble'."),
        ({"views": "given"}, "views='given' must be \"auto\" or a list of different names among given, components, sh"),
        ({"views": []}, "views=[] must be"),
        ({"views": None}, "views=None must be"),
        ({"views": ["given", "given"]}, "views=['given', 'given'] must be"),
        ({"views": ["given", "ica"]}, "views has 'ica', which is not known: choose among given, components"),
        ({"views": ["linear"], "validation": "kfold"}, "The view 'linear' cannot be had: it needs validation='loo'"),
        ({"class_prior": "uniform"}, "class_prior='uniform' is not known: choose 'auto', 'labels', None, or give"),
        ({"scale": "yes"}, "scale='yes' is not known: choose 'auto', True or False."),
        ({"alpha": 1.0}, "alpha=1.0 is not between 0 and 1"),
        ({"alpha": 0}, "alpha=0 is not between 0 and 1"),
        ({"alpha": float("nan")}, "alpha=nan is not between 0 and 1"),
        ({"alpha": "high"}, "alpha='high'"),
        ({"alpha": None}, "alpha=None"),
        ({"k_range": (0, 5)}, "k_range=(0, 5) must be two whole numbers with 1 ≤ low ≤ high."),
        ({"k_range": (9, 5)}, "k_range=(9, 5) must be two whole numbers with 1 ≤ low ≤ high."),
        ({"k_range": 5}, "k_range=5 must be two numbers, low and high"),
        ({"k_range": (5.5, 7.5)}, "k_range=(5.5, 7.5) must be two whole numbers with 1 ≤ low ≤ high."),
        ({"bandwidth_range": (0, 1)}, "bandwidth_range=(0, 1) must be two numbers with 0 < low ≤ high."),
        ({"bandwidth_range": (1, float("inf"))}, "bandwidth_range=(1, inf) must be two numbers"),
        ({"bandwidth_range": ("a", "b")}, "bandwidth_range=('a', 'b') must be two numbers"),
        ({"unit_steps": 0}, "unit_steps=0 must be"),
        ({"unit_steps": 1.5}, "unit_steps=1.5"),
        ({"unit_steps": None}, "unit_steps=None"),
        ({"unit_steps": "two"}, "unit_steps='two'"),
        ({"unit_seconds": -1}, "unit_seconds=-1 must be above 0, or None."),
        ({"unit_seconds": "1"}, "unit_seconds='1'"),
        ({"max_time": 0}, "max_time=0 must be above 0, or None."),
        ({"max_time": float("nan")}, "max_time=nan must be above 0, or None."),
        ({"max_time": "60"}, "max_time='60'"),
        ({"executor": "desk"}, "executor='desk' is not known: give a concurrent.futures.Executor, 'loky', 'threads'"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"engine": "cpu", "device_memory": 1.0}, "device_memory is for the torch engine: leave it out"),
        ({"n_jobs": "all"}, "n_jobs='all'"),
        ({"random_state": -1}, "random_state=-1"),
        ({"random_state": "seed"}, "random_state='seed'"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_unknown_parameter_values(parameters, sentence):
    refused(sentence, **parameters)


def test_parameters_are_checked_before_the_search_starts():
    events = []
    X, y = points()
    for parameters in ({"selection": "mean"}, {"validation": "cv"}, {"scale": "yes"}, {"views": ["ica"]}):
        with pytest.raises(InputError):
            PGLearnClassifier(**parameters).fit(X, y, listeners=(events.append,))
    assert events == []


def test_every_error_is_caught_as_one_kind():
    for error in (InputError, ModelFileError, OutputError):
        assert issubclass(error, PGLearnError)
    assert issubclass(InputError, ValueError)


# Through the command line


@pytest.fixture
def table(tmp_path):
    def write(y=None, name="table.csv", **columns):
        X, labels = points()
        labels = [None if label == -1 else label for label in labels] if y is None else y
        frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(**columns, kind=pd.array(labels, dtype=object))
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
    def run(table, *options, sentence, target="kind"):
        out = tmp_path / "new" / "out"
        says("fit", table, "--target", target, "-o", out, *SEARCH, *options, sentence=sentence)
        left = [path for path in (tmp_path / "new").rglob("*") if path.is_file()]
        assert left == []

    return run


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([None] * 20, "No row is labelled"),
        (["x"] * 5 + [None] * 15, "Only one class is labelled (x)"),
        (["x", "y"] + [None] * 18, "Every class has a single labelled row"),
    ],
)
def test_command_line_labels_that_do_not_suffice(fit_says, table, labels, sentence):
    fit_says(table(labels), sentence=sentence)


def test_command_line_a_single_label_with_holdout(fit_says, table):
    path = table(["x", "x", "y"] + [None] * 17)
    fit_says(path, "--validation", "holdout", sentence="Class y has a single labelled row, and validation='holdout'")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--budget", "0"], "budget=0 must be a whole number of at least 1"),
        (["--rate", "1"], "downsampling_rate=1 must be a whole number of at least 2"),
        (["--candidates", "2", "--rate", "3"], "n_candidates=2 is less than downsampling_rate=3"),
        (["--loss", "hinge"], "loss='hinge' is not known"),
        (["--validation", "cv"], "validation='cv' is not known"),
        (["--selection", "mean"], "selection='mean' is not known"),
        (["--max-time", "-1"], "max_time=-1.0 must be above 0"),
        (["--max-time", "nan"], "max_time=nan must be above 0"),
        (["--jobs", "0"], "n_jobs=0"),
        (["--seed", "-1"], "random_state=-1"),
        (["--seed", str(2**40)], f"random_state={2**40}"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_command_line_unknown_values(fit_says, table, options, sentence):
    fit_says(table(), *options, sentence=sentence)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"a,b,kind\n", "has column names but no rows"),
        (b"a,b,kind\n1,2,x\n1,2\n", "is ragged: line 3 has 2 fields, the header has 3"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not text: it holds binary data"),
        (b"a,b\n1,2\n", "There is no column 'kind' in the table. Its columns are 'a', 'b'."),
        (b"kind\nx\ny\n", "The table holds only the target 'kind'"),
        (b"a,a,kind\n1,2,x\n", "has two columns called 'a'"),
    ],
)
def test_command_line_tables_that_are_none(fit_says, tmp_path, content, sentence):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    fit_says(path, sentence=sentence)


def test_command_line_a_missing_target_column_is_guessed(fit_says, table):
    fit_says(table(), target="kinds", sentence="There is no column 'kinds' in the table. Did you mean 'kind'?")


def test_command_line_files_that_are_none(fit_says, tmp_path):
    fit_says(tmp_path / "absent.csv", sentence="absent.csv does not exist")
    fit_says(tmp_path, sentence="is a folder")
    (tmp_path / "report.docx").write_bytes(b"PK")
    fit_says(tmp_path / "report.docx", sentence="has an ending that is not known. Convert it to one of .csv")
    for name, sentence in [("t.parquet", "is not a Parquet file"), ("t.npz", "is not an .npz archive")]:
        (tmp_path / name).write_bytes(b"nothing of the kind")
        fit_says(tmp_path / name, sentence=sentence)


def test_command_line_infinite_numbers_are_filled_in_and_noted(table, tmp_path, capsys):
    numbers = np.arange(20.0)
    numbers[3] = np.inf
    assert cli.main(["fit", str(table(d=numbers)), "--target", "kind", "-o", str(tmp_path / "out"), *SEARCH]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Missing or infinite numbers take the median of their column: 'd' (1)." in out


# Where results go


@pytest.mark.parametrize("below", ["", "/", "/out", "/deeper/out"])
def test_an_output_folder_that_cannot_be_written_is_found_before_the_search_starts(
    says, table, tmp_path, monkeypatch, below
):
    (tmp_path / "file").write_text("precious")
    monkeypatch.setattr(PGLearnClassifier, "fit", lambda *_, **__: pytest.fail("the search started"))
    says(
        *("fit", table(), "--target", "kind", "-o", f"{tmp_path}/file{below}", *SEARCH),
        sentence="cannot be written",
    )
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.parametrize("name", ["predictions.csv", "feature_weights.csv", "model.npz", "events.jsonl"])
def test_a_folder_in_place_of_a_result_is_found_before_the_search_starts(says, table, tmp_path, monkeypatch, name):
    (tmp_path / "out" / name).mkdir(parents=True)
    monkeypatch.setattr(PGLearnClassifier, "fit", lambda *_, **__: pytest.fail("the search started"))
    says(
        *("fit", table(), "--target", "kind", "-o", tmp_path / "out", *SEARCH),
        sentence=name,
    )


@pytest.fixture
def results(table, tmp_path, capsys):
    out = tmp_path / "out"
    assert cli.main(["fit", str(table()), "--target", "kind", "-o", str(out), *SEARCH]) == 0
    capsys.readouterr()
    return out


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_earlier_results_stay_when_the_new_fit_fails_on_its_input(says, table, results):
    before = contents(results)
    assert set(before) == {"predictions.csv", "feature_weights.csv", "model.npz", "events.jsonl"}
    for options, path, sentence in [
        (["--loss", "hinge"], table(), "loss='hinge' is not known"),
        ([], table([None] * 20, name="none.csv"), "No row is labelled"),
        ([], table(["x"] * 20, name="one.csv"), "Only one class is labelled"),
    ]:
        says("fit", path, "--target", "kind", "-o", results, *SEARCH, *options, sentence=sentence)
        assert contents(results) == before


def test_earlier_results_stay_when_the_new_search_breaks_down(says, table, results, monkeypatch):
    before = contents(results)

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


def test_a_full_disk_leaves_the_earlier_model(results, monkeypatch):
    before = contents(results)
    model = fit()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OutputError, match=r"model.npz could not be written \(No space left on device\)"):
        model.save(results / "model.npz")
    assert contents(results) == before


def test_a_model_cannot_be_saved_into_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(OutputError, match=r"cannot be written \(No such file or directory\): choose a folder"):
        fit().save(tmp_path / "absent" / "model.npz")


# Model files


@pytest.fixture(scope="module")
def model_bytes(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.npz"
    fit().save(path)
    return path.read_bytes()


@pytest.mark.parametrize("share", [0, 0.0001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.9999])
def test_a_model_cut_short(tmp_path, model_bytes, share):
    path = tmp_path / "model.npz"
    path.write_bytes(model_bytes[: int(len(model_bytes) * share)])
    with pytest.raises(ModelFileError, match="is not a pglearn model or was cut short: copy it again or fit again"):
        PGLearnClassifier.load(path)


def test_a_model_cut_short_anywhere(tmp_path, model_bytes):
    path = tmp_path / "model.npz"
    for length in range(0, len(model_bytes), 37):
        path.write_bytes(model_bytes[:length])
        with pytest.raises(ModelFileError, match="cut short"):
            PGLearnClassifier.load(path)


def test_a_model_with_a_damaged_byte_is_refused_or_predicts_the_same(tmp_path, model_bytes):
    path = tmp_path / "model.npz"
    X, _ = points()
    path.write_bytes(model_bytes)
    expected = PGLearnClassifier.load(path).predict_proba(X)
    refusals = 0
    for place in range(0, len(model_bytes), 41):
        damaged = bytearray(model_bytes)
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            model = PGLearnClassifier.load(path)
        except ModelFileError:
            refusals += 1
        else:
            np.testing.assert_array_equal(model.predict_proba(X), expected)
    assert refusals > 10


def test_a_model_that_is_missing(tmp_path):
    with pytest.raises(
        ModelFileError, match=r"There is no model file .*model.npz: fit a model first, or check the path"
    ):
        PGLearnClassifier.load(tmp_path / "model.npz")


@pytest.mark.parametrize("content", [b"hello", b"a,b\n1,2\n", b"PK\x03\x04", b"\x80\x04N."])
def test_a_file_that_is_no_model(tmp_path, content):
    (tmp_path / "model.npz").write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a pglearn model or was cut short"):
        PGLearnClassifier.load(tmp_path / "model.npz")


def test_an_array_or_an_archive_that_is_no_model(tmp_path):
    np.save(tmp_path / "array.npy", np.ones(3))
    with pytest.raises(ModelFileError, match="is not a pglearn model"):
        PGLearnClassifier.load(tmp_path / "array.npy")
    np.savez(tmp_path / "data.npz", X=np.ones(3))
    with pytest.raises(ModelFileError, match=r"is an .npz file but not a pglearn model: give the model.npz that"):
        PGLearnClassifier.load(tmp_path / "data.npz")


def test_a_model_with_python_objects_is_not_unpickled(tmp_path):
    np.savez(tmp_path / "model.npz", pglearn_format=1, pglearn_version="0.1.0", X=np.array([{}], dtype=object))
    with pytest.raises(ModelFileError, match="is not a pglearn model"):
        PGLearnClassifier.load(tmp_path / "model.npz")


def altered(path, **changes):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays |= changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def test_a_model_of_another_version(tmp_path):
    path = tmp_path / "model.npz"
    fit().save(path)
    altered(path, pglearn_format=99, pglearn_version="7.0")
    with pytest.raises(
        ModelFileError,
        match=r"was written by pglearn 7.0 in format 99; this is pglearn .*: use that version, or fit again",
    ):
        PGLearnClassifier.load(path)


def test_a_model_that_lacks_an_array(tmp_path):
    path = tmp_path / "model.npz"
    fit().save(path)
    altered(path, F=None)
    with pytest.raises(ModelFileError, match="fit again"):
        PGLearnClassifier.load(path)


@pytest.mark.parametrize("damaged", [{"view_shapes": np.zeros((1, 2))}, {"parameters": np.array('{"budget": ')}])
def test_a_model_whose_parts_do_not_fit_together(tmp_path, damaged):
    path = tmp_path / "model.npz"
    fit().save(path)
    altered(path, **damaged)
    with pytest.raises(ModelFileError, match="copy it again or fit again"):
        PGLearnClassifier.load(path)


def test_command_line_models_that_cannot_be_used(says, table, tmp_path, results):
    says("predict", tmp_path / "absent", table(), sentence="There is no model file")
    says("predict", tmp_path, table(), sentence="There is no model file")
    says("predict", table(), table(), sentence="is not a pglearn model or was cut short")
    fit().save(tmp_path / "array.npz")
    says("predict", tmp_path / "array.npz", table(), sentence="holds a classifier for plain arrays")
    cut = tmp_path / "cut.npz"
    cut.write_bytes((results / "model.npz").read_bytes()[:500])
    says("predict", cut, table(), sentence="cut short")
    shutil.copy(results / "model.npz", tmp_path / "other.npz")
    altered(tmp_path / "other.npz", pglearn_format=99, pglearn_version="7.0")
    says("predict", tmp_path / "other.npz", table(), sentence="was written by pglearn 7.0 in format 99")


def test_command_line_new_tables_that_cannot_be_used(says, tmp_path, results):
    (tmp_path / "new.csv").write_text("a,b\n1,2\n")
    says("predict", results, tmp_path / "new.csv", sentence="The table lacks 'c', which fit has seen.")
    (tmp_path / "new.csv").write_text("a,b,c\n1,2,three\n")
    says("predict", results, tmp_path / "new.csv", sentence="'c'")
    says("predict", results, tmp_path / "absent.csv", sentence="does not exist")


def test_command_line_predictions_that_cannot_be_written(says, table, tmp_path, results):
    (tmp_path / "file").write_text("precious")
    says("predict", results, table(), "-o", tmp_path / "file" / "labels.csv", sentence="cannot be written")
    says("predict", results, table(), "-o", results, sentence="written")
    assert (tmp_path / "file").read_text() == "precious"


def test_command_line_predictions_do_not_replace_the_table(says, table, tmp_path, results, monkeypatch):
    path = table(name="new.csv")
    before = path.read_bytes()
    (tmp_path / "link.csv").symlink_to(path)
    monkeypatch.setattr("pglearn.tables.read.read_table", lambda *_, **__: pytest.fail("the work began"))
    for output in (path, tmp_path / "out" / ".." / "new.csv", tmp_path / "link.csv"):
        says(
            "predict", results, path, "-o", output, sentence=".csv is the table itself, which the results would replace"
        )
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["predictions.csv", "feature_weights.csv"])
def test_command_line_results_do_not_replace_the_table(says, table, tmp_path, name):
    path = table(name=name)
    before = path.read_bytes()
    says(
        *("fit", path, "--target", "kind", "-o", tmp_path, *SEARCH),
        sentence=f"{name} is the table itself, which the results would replace: choose another -o.",
    )
    assert contents(tmp_path) == {name: before}


@pytest.mark.parametrize("arguments", [[], ["fit"], ["fit", "t.csv", "--target", "y"], ["fly"], ["predict", "out"]])
def test_incomplete_commands_show_the_usage(capsys, arguments):
    with pytest.raises(SystemExit) as exit:
        cli.main(arguments)
    assert exit.value.code == 2
    assert "usage: pglearn" in capsys.readouterr().err
