"""Methods by name, and those of a file of one's own."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from pglearn.errors import InputError
from pglearn.reproduction.methods import METHODS, Budget, methods_with


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_the_budget_and_seed_it_was_given(name):
    model = METHODS[name](Budget(4, 2, 3, 0.5), 7)
    parameters = clone(model).get_params()
    given = {"budget": 4, "n_candidates": 2, "unit_steps": 3, "unit_seconds": 0.5, "random_state": 7}
    assert {key: parameters[key] for key in given} == given


@pytest.mark.parametrize("name", [name for name in METHODS if name != "PG-learn (default)"])
def test_the_paper_holds_out_half_of_the_labels_and_takes_features_as_they_are(name):
    parameters = METHODS[name](Budget(4, 2), 0).get_params()
    assert parameters["validation"] == "holdout"
    assert parameters["scale"] is False


def test_the_total_is_what_a_competitor_gets():
    assert Budget(64, 32).total == 2048
    assert str(Budget(64, 32)) == "B = 64, T = 32, unit 1 step"
    assert str(Budget(64, 32, unit_seconds=15.0)) == "B = 64, T = 32, unit 15 s"


def test_methods_of_a_file_join_the_others(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("METHODS = {'mine': lambda budget, seed: (budget.total, seed)}\n")
    found = methods_with([path])
    assert list(found) == [*METHODS, "mine"]
    assert found["mine"](Budget(3, 2), 5) == (6, 5)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("x = 1", "defines no dict METHODS"),
        ("METHODS = {}", "defines no dict METHODS"),
        ("METHODS = {'a': 1}", "defines no dict METHODS"),
        ("METHODS = {'Grid': print}", "defines Grid, which there is already"),
    ],
)
def test_a_file_that_is_no_good(tmp_path, content, sentence):
    path = tmp_path / "mine.py"
    path.write_text(content)
    with pytest.raises(InputError, match=sentence):
        methods_with([path])


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        methods_with([tmp_path / "mine.py"])
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(InputError, match=r"must end in \.py"):
        methods_with([tmp_path / "mine.txt"])
