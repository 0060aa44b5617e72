"""Methods by name, and those of a file of one's own."""

from __future__ import annotations

import pytest

from pglearn.errors import InputError
from pglearn.paper.methods import METHODS, Budget, methods_with


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_the_budget_and_seed_it_was_given_and_the_papers_setting(name):
    parameters = METHODS[name](Budget(4, 2, 3, 0.5), 7).get_params()
    given = {"budget": 4, "n_candidates": 2, "unit_steps": 3, "unit_seconds": 0.5, "random_state": 7}
    if name != "PG-learn (default)":
        given |= {"validation": "holdout", "scale": False}
    assert {key: parameters[key] for key in given} == given


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "There is no file"),
        ("x = 1", "has no dict METHODS"),
        ("METHODS = {'a': 1}", "has no dict METHODS"),
        ("METHODS = {'Grid': print}", "defines Grid, which there is already"),
    ],
)
def test_a_file_that_is_no_good(tmp_path, content, sentence):
    path = tmp_path / "mine.py"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=sentence):
        methods_with([path])
