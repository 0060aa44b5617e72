"""Which engine a search runs on."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.problems import partly_labelled, points

import pglearn
from pglearn.arrays import sparse_rows
from pglearn.engine import CPUEngine, choose, chosen_engine
from pglearn.errors import InputError
from pglearn.objective.loss import Entropy, Log
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC


def problem_of(n=30):
    return Problem.from_labels(points(n), partly_labelled(n, 9))


def engine(name, evaluations=10):
    return chosen_engine(name, Log(), LGC(), problem_of(), evaluations)


def test_an_absent_torch_is_an_error_with_the_pip_line_and_auto_takes_the_cpu(monkeypatch):
    monkeypatch.setattr(choose, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'pip install "pglearn\[torch\]"'):
        engine("torch")
    assert isinstance(engine("auto", 10**9), CPUEngine)


def test_auto_asks_for_a_device_and_takes_it_when_the_search_is_long(monkeypatch):
    asked = []
    monkeypatch.setattr(choose, "sees_cuda", lambda: asked.append(True) or True)
    monkeypatch.setattr(choose, "_torch_engine", lambda *arguments: "torch")
    assert isinstance(engine("auto"), CPUEngine)
    assert not asked
    assert engine("auto", 10**9) == "torch"


def test_a_search_solves_coarsely_and_keeps_edges_in_float32_and_the_answer_does_neither():
    exact = engine("cpu")
    coarse, whole = exact.for_search("float32"), exact.for_search("float64")
    assert (coarse.propagation.dtype, coarse.search_every) == ("float32", 2)
    assert (whole.propagation.dtype, whole.search_every) == ("float64", 1)
    answering = exact.for_answer("approximate", is_large=False)
    assert (answering.propagation, answering.search_every, answering.neighbours) == (LGC(), 1, "approximate")
    assert exact.for_answer("exact", is_large=True).propagation.precision > LGC().precision


def test_torch_is_not_loaded_to_learn_that_there_is_no_driver(monkeypatch):
    def no_driver(name):
        raise OSError

    monkeypatch.setattr(choose, "find_spec", lambda name: importlib.util.find_spec("json"))
    monkeypatch.setattr(choose.ctypes, "CDLL", no_driver)
    before = "torch" in sys.modules
    assert not choose.sees_cuda()
    assert ("torch" in sys.modules) == before


@pytest.mark.parametrize(
    ("loss", "X", "neighbors", "sentence"),
    [
        (Log(), points(30), "approximate", "The torch engine finds neighbours exactly: use engine='cpu'"),
        (Entropy(), points(30), "auto", "loss='entropy' is not known to the torch engine: use engine='cpu'"),
        (Log(), sparse_rows(points(30)), "auto", "X is sparse, which the torch engine does not take: use engine='cpu'"),
    ],
)
def test_what_the_torch_engine_does_not_take_is_refused_and_auto_takes_the_cpu(
    loss, X, neighbors, sentence, monkeypatch
):
    monkeypatch.setattr(choose, "sees_cuda", lambda: True)
    problem = Problem.from_labels(X, partly_labelled(30, 9))
    with pytest.raises(InputError, match=f"^{sentence}"):
        chosen_engine("torch", loss, LGC(), problem, 1, neighbors=neighbors)
    assert isinstance(chosen_engine("auto", loss, LGC(), problem, 10**9, neighbors=neighbors), CPUEngine)


def test_the_estimate_grows_with_the_problem():
    small, large = problem_of(30), problem_of(300)
    assert choose.seconds_on_a_core(large, 10) > 5 * choose.seconds_on_a_core(small, 10)
    assert np.isclose(choose.seconds_on_a_core(small, 20), 2 * choose.seconds_on_a_core(small, 10))


def test_only_the_torch_engine_imports_torch():
    root = Path(pglearn.__file__).parent
    importers = {
        path.relative_to(root).parts[:2]
        for path in root.rglob("*.py")
        if re.search(r"^\s*(import|from) (torch|triton)\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert importers == {("engine", "torch")}
