"""Solves that a search asks for: how large, how close, in which precision, and what they begin from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.memory import needs_linux, printed
from tests.problems import partly_labelled, points

from pglearn.engine import Configuration, CPUEngine
from pglearn.objective.graph import weighted_graph
from pglearn.objective.loss import Entropy, Log
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC, Solution
from pglearn.objective.propagation.linear_system import LinearSystem

MANY_LABELS = """
import numpy as np
import pglearn

rng = np.random.default_rng(0)
n = 10_000
y = rng.integers(4, size=n)
X = rng.normal(size=(n, 6)) + 2 * rng.normal(size=(4, 6))[y]
shown = np.where(np.arange(n) < n // 2, y, -1)

def step(rows):
    return pglearn.loss_and_gradient(X[:rows], shown[:rows], a=np.full(6, 0.5), k=10)

step(1_000)  # what is imported on first use does not count
before = size_from_here()
step(n)
print((peak() - before) / 2**20)
"""


@needs_linux
def test_leave_one_out_of_five_thousand_labels_takes_no_array_of_rows_by_labels():
    """10,000 × 5,000 numbers would be 381 MB."""
    (megabytes,) = printed(MANY_LABELS)
    assert megabytes < 120


@pytest.mark.parametrize(
    ("first", "finest", "is_solved"), [(9e-13, 5e-13, True), (9e-13, 2e-12, False), (2e-12, 1e-12, False)]
)
def test_a_finer_solution_need_only_be_as_close_as_was_asked_for(monkeypatch, first, finest, is_solved):
    """Rounding may leave more than the finest tolerance, and nobody is to be warned of that."""
    problem = Problem.from_labels(np.zeros((4, 1)), [0, 1, 0, -1])
    F = np.eye(4)[:, :2]
    solved = iter([Solution(F, 9, first, first <= 1e-12, 1.0), Solution(F, 99, finest, False)])
    monkeypatch.setattr(LinearSystem, "solve", lambda *_: next(solved))
    graph = weighted_graph(np.arange(4.0)[:, None], np.ones(1), 2)
    found = CPUEngine().propagate(problem, graph)
    assert (found.iterations, found.converged) == (99, is_solved)


@pytest.mark.parametrize("scored", [30, 8], ids=["by label", "by row"])
def test_float32_where_a_search_allows_it_changes_little(scored):
    """Against float64: points, differences, solutions and adjoint in float32, sums in float64."""
    problem = Problem.from_labels(points(300, 5), partly_labelled(300, 30))
    problem = replace(problem, scored=problem.scored & (np.arange(30) < scored))
    here = [Configuration(8, np.linspace(0.1, 0.5, 5))]
    (expected,) = CPUEngine(Log(), LGC()).value_and_gradient(problem, here)
    coarse = replace(problem, X=problem.X.astype(np.float32))
    for tolerance, relative in ((1e-5, 1e-3), (3e-2, 0.2)):
        engine = CPUEngine(Log(), LGC(tolerance=tolerance, precision=1.0))
        (found,) = engine.value_and_gradient(coarse, here)
        assert found.loss == pytest.approx(expected.loss, rel=relative)
        np.testing.assert_allclose(found.dg_da, expected.dg_da, rtol=0, atol=relative * np.abs(expected.dg_da).max())
    graph, B = engine.graph(coarse, here[0]), np.eye(300)[:, :5]
    assert engine.propagation.linear_system(graph).solve(B).F.dtype == np.float32
    assert LGC().linear_system(graph).solve(B).F.dtype == np.float64


# What is carried from one evaluation of a candidate to its next

SEARCH = LGC(tolerance=3e-2, precision=1.0)
ON_A_WAY = [Configuration(8, np.linspace(0.1, 0.5, 5) * 1.1**step, owner=0) for step in range(5)]


def walked(engine, carried, validation="loo", others=()):
    problem = Problem.from_labels(points(300, 5).astype(np.float32), partly_labelled(300, 40), validation=validation)
    return [engine.value_and_gradient(problem, [*others, here], carried)[-1] for here in ON_A_WAY]


def numbers(evaluations):
    return [(e.loss, e.accuracy, *e.dg_da) for e in evaluations]


@pytest.mark.parametrize(("every", "taken"), [(1, 5), (2, 3), (3, 2), (9, 1)])
def test_edges_stay_for_as_many_evaluations_as_is_said(every, taken, monkeypatch):
    searches, searched = [], CPUEngine.searched
    monkeypatch.setattr(CPUEngine, "searched", lambda *how: searches.append(how) or searched(*how))
    engine, carried = CPUEngine(Log(), SEARCH, search_every=every), {}
    expected = numbers(walked(engine, carried))
    assert (len(searches), set(carried)) == (taken, {0} if every > 1 else set())
    others = Configuration(5, np.ones(5), 1), Configuration(3, np.ones(5), 2)
    assert numbers(walked(engine, {}, others=others)) == expected, "to the bit, whoever else there is"
    del searches[:]
    alone = numbers(walked(engine, None))
    assert len(searches) == 5, "nothing is kept"
    assert (alone == expected) == (every == 1)
    assert alone == numbers(walked(CPUEngine(Log(), SEARCH), None))


@pytest.mark.parametrize("validation", ["loo", "kfold", "holdout"])
@pytest.mark.parametrize("loss", [Log, Entropy])
def test_solves_that_begin_from_the_last_take_fewer_products_to_nearly_the_same(loss, validation, monkeypatch):
    products, solve = [], LinearSystem.solve

    def counted(system, *how):
        products.append((solution := solve(system, *how)).iterations)
        return solution

    monkeypatch.setattr(LinearSystem, "solve", counted)
    engine = CPUEngine(loss(), SEARCH, search_every=2)
    found = walked(engine, {}, validation)
    of_found = sum(products)
    monkeypatch.setattr(LinearSystem, "solve", lambda system, B, role: counted(replace(system, memory=None), B, role))
    expected = walked(engine, {}, validation)
    assert of_found < 0.9 * (sum(products) - of_found)
    for one, other in zip(found, expected, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=0.1)
        np.testing.assert_allclose(one.dg_da, other.dg_da, rtol=0, atol=0.3 * np.abs(other.dg_da).max())
