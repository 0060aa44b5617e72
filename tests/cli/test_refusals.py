"""Commands that cannot be done: one sentence on stderr, and nothing lost."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cli.conftest import FILES, SEARCH, fit, rows

from pglearn import PGLearnClassifier


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def with_kinds(tmp_path, kinds):
    """The table with other labels."""
    rows()[0].assign(kind=kinds).to_csv(tmp_path / "kinds.csv", index=False)
    return tmp_path / "kinds.csv"


@pytest.fixture
def fit_says(says, out):
    def refused(table, *options, sentence):
        says("fit", table, "--target", "kind", "-o", out, *SEARCH, *options, sentence=sentence)
        assert not [path for path in out.rglob("*") if path.is_file()]

    return refused


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--candidates", "2", "--rate", "3"], "n_candidates=2 is less than downsampling_rate=3"),
        (["--class-prior", "a=many"], "--class-prior a=many is no list of shares"),
        (["--seed", str(2**40)], f"random_state={2**40}"),
        (["--target", "kinds"], "There is no column 'kinds' in the table. Did you mean 'kind'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_that_are_none(fit_says, csv, options, sentence):
    fit_says(csv, *options, sentence=sentence)


def test_a_place_that_cannot_be_written_is_found_before_the_search_starts(says, csv, tmp_path, out):
    (tmp_path / "file").write_text("precious")
    for below in ("file", "file/deeper/out"):
        says("fit", csv, "--target", "kind", "-o", tmp_path / below, *SEARCH, sentence="Nothing was run.")
    assert (tmp_path / "file").read_text() == "precious"
    for name in FILES:
        (out / name).mkdir(parents=True)
        sentence = f"{name} is not an ordinary file, and one is to be written there"
        says("fit", csv, "--target", "kind", "-o", out, *SEARCH, sentence=sentence)
        (out / name).rmdir()
        assert not contents(out)


def test_earlier_results_stay_when_a_new_fit_fails(says, csv, tmp_path, results):
    before = contents(results)
    assert sorted(before) == FILES
    where = ("--target", "kind", "-o", results, *SEARCH)
    says("fit", with_kinds(tmp_path, "x"), *where, sentence="Only one class is labelled (x)")
    assert contents(results) == before
    fit(csv, results)
    assert set(contents(results)) == set(before)


def test_models_that_cannot_be_used(says, csv, tmp_path):
    for absent in (tmp_path / "absent", tmp_path):
        says("predict", absent, csv, sentence="There is no model file")
    says("predict", csv, csv, sentence="is not a file of pglearn or was cut short")
    PGLearnClassifier(budget=1, n_candidates=2).fit(np.eye(4), [0, 0, 1, 1]).save(tmp_path / "array.npz")
    says("predict", tmp_path / "array.npz", csv, sentence="holds a classifier for plain arrays")


def test_predictions_that_cannot_be_made_or_written(says, csv, tmp_path, results):
    (tmp_path / "new.csv").write_text("a,height\n1,2\n")
    says("predict", results, tmp_path / "new.csv", sentence="The table lacks 'width', which fit has seen.")
    says("predict", results, tmp_path / "absent.csv", sentence="cannot be read (No such file or directory)")
    says("predict", results, csv, "-o", tmp_path / "new.csv" / "labels.csv", sentence="cannot be written")
    says("predict", results, csv, "-o", results, sentence="written")
    assert (tmp_path / "new.csv").read_text() == "a,height\n1,2\n"


def test_results_do_not_replace_the_table(says, tmp_path, results):
    sentence = ".csv is the table itself, which the results would replace: choose another name or folder."
    path, before = tmp_path / "predictions.csv", b"\0 what would be refused when it is read"
    path.write_bytes(before)
    says("fit", path, "--target", "kind", "-o", tmp_path, *SEARCH, sentence=sentence)
    (tmp_path / "link.csv").symlink_to(path)
    for output in (path, results / ".." / path.name, tmp_path / "link.csv"):
        says("predict", results, path, "-o", output, sentence=sentence)
    assert path.read_bytes() == before
