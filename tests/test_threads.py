"""Threads inside one evaluation: all rows once, in order, within limits; and the same result for any number."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from pglearn.engine import Configuration, CPUEngine
from pglearn.loss import Log
from pglearn.problem import Problem
from pglearn.propagation import LGC
from pglearn.search.pool import run_task
from pglearn.threads import at_most, each, in_parts, one_thread, threads
from tests.problems import partly_labelled, points


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 100])
def test_parts_cover_all_rows_once_and_in_order(n, limit):
    with at_most(limit):
        parts = in_parts(lambda start, stop: list(range(start, stop)), n)
    assert [row for part in parts for row in part] == list(range(n))


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
    def fails(start, stop):
        raise ZeroDivisionError

    with at_most(2), pytest.raises(ZeroDivisionError):
        in_parts(fails, 10)


def test_a_worker_of_several_has_one_thread(monkeypatch):
    seen = []
    monkeypatch.setattr("pglearn.search.pool.run_here", lambda *_: seen.append(threads()))
    run_task(None, None, [], None)
    assert seen == [1]


@pytest.mark.parametrize("neighbours", ["exact", "approximate"])
def test_a_step_is_the_same_to_the_bit_on_any_number_of_threads(neighbours, monkeypatch):
    monkeypatch.setattr("pglearn.compiled.FROM_ROWS", 100)
    problem = Problem.of(points(600, 5), partly_labelled(600, 40))
    monkeypatch.setattr("pglearn.propagation.lgc.DENSE_LIMIT", 0)
    engine = CPUEngine(Log(), LGC(tolerance=1e-8), neighbours)
    results = []
    for limit in (1, 2, 3):
        with at_most(limit):
            (evaluation,) = engine.value_and_gradient(problem, [Configuration(8, np.full(5, 0.3))])
            results.append((evaluation.loss, *evaluation.dg_da))
    assert results[0] == results[1] == results[2]


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
