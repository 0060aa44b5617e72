"""Threads inside one evaluation: every part once, in order, within limits; and the same result for any number."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.problems import partly_labelled, points
from threadpoolctl import threadpool_info, threadpool_limits

from pglearn import PGLearnClassifier
from pglearn.engine import Configuration, CPUEngine
from pglearn.objective.loss import Log
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC
from pglearn.runtime.threads import at_most, each, one_thread, threads


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("n", [0, 1, 2, 100])
def test_every_part_is_done_once_and_in_order_with_a_thread_to_itself(n, limit):
    with at_most(limit):
        parts = each(lambda part: (part, threads()), n)
    assert parts == [(part, 1 if min(limit, n) > 1 else limit) for part in range(n)]


def test_no_more_threads_than_allowed(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads() == 1
    with at_most(2):
        assert threads() == 2
        with at_most(1):
            here = threading.get_ident()
            assert set(each(lambda _: threading.get_ident(), 10)) == {here}
    assert threads() == 1


def test_an_error_in_a_part_is_raised():
    with at_most(2), pytest.raises(ZeroDivisionError):
        each(lambda part: 1 // part, 10)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("neighbours", ["exact", "approximate"])
def test_steps_are_the_same_to_the_bit_on_any_number_of_threads(neighbours, dtype, monkeypatch):
    for blocks in ("arrays.BLOCK", "objective.graph.neighbours.ROWS", "objective.graph.approximate.ROWS"):
        monkeypatch.setattr(f"pglearn.{blocks}", 100)
    monkeypatch.setattr("pglearn.objective.graph.differences.KEPT_BYTES", 0)
    problem = Problem.from_labels(points(600, 5).astype(dtype), partly_labelled(600, 100))
    engine = CPUEngine(Log(), LGC(tolerance=1e-8 if dtype == "float64" else 3e-2), neighbours, search_every=2)
    results = []
    for limit in (1, 2, 3):
        carried = {}
        with at_most(limit):
            for weight in (0.3, 0.31, 0.32):
                (evaluation,) = engine.value_and_gradient(problem, [Configuration(8, np.full(5, weight))], carried)
                results.append((evaluation.loss, *evaluation.dg_da))
    assert results[:3] == results[3:6] == results[6:]


def test_the_last_who_needs_one_blas_thread_lifts_the_limit():
    def blas_threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(2):
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}


def test_by_default_a_fit_uses_the_cores_there_are_by_threads_and_answers_as_on_one():
    X, y = points(120, 5), partly_labelled(120, 30)
    options = {"budget": 4, "n_candidates": 5, "random_state": 0, "engine": "cpu"}
    seen, found = [], []
    for limit, n_jobs in ((3, None), (3, 1), (1, None)):
        seen.append(set())
        with at_most(limit):
            model = PGLearnClassifier(n_jobs=n_jobs, **options)
            found.append(model.fit(X, y, listeners=(lambda _: seen[-1].update(threading.enumerate()),)))
    workers = [sum("ThreadPoolExecutor" in thread.name for thread in threads) for threads in seen]
    assert workers[0] >= 2
    assert workers[1:] == [0, 0]
    for other in found[1:]:
        np.testing.assert_array_equal(other.label_distributions_, found[0].label_distributions_)
        np.testing.assert_array_equal(other.search_results_["loss"], found[0].search_results_["loss"])
