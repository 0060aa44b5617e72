"""Conjugate gradients in compiled passes: step by step what NumPy does, and compiled only once.

That answers are right is in test_lgc.py.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from tests import oracle
from tests.memory import MEASURING, needs_linux
from tests.problems import points

from pglearn.compiled import compiled as compiling
from pglearn.graph import weighted_graph
from pglearn.propagation import LGC
from pglearn.propagation.conjugate import COARSE
from pglearn.threads import at_most


@pytest.fixture(autouse=True)
def no_factor(monkeypatch):
    monkeypatch.setattr("pglearn.propagation.lgc.DENSE_LIMIT", 0)


def graph_of(n=60, k=4):
    return weighted_graph(points(n), np.full(4, 0.3), k)


def solved(graph, B, alpha=0.99, tolerance=1e-12):
    return LGC(alpha, tolerance).system(graph).solve(B)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-8, 1e-12])
def test_it_takes_the_steps_that_numpy_takes(tolerance, monkeypatch):
    graph = graph_of(300)
    B = np.random.default_rng(0).normal(size=(300, 40)) * np.logspace(-8, 8, 40)
    expected = solved(graph, B, tolerance=tolerance)
    monkeypatch.setattr("pglearn.compiled.FROM_ROWS", 0)
    found = solved(graph, B, tolerance=tolerance)
    assert found.converged
    # Corrections in float32 begin anew, which costs some; in float64 it is step by step the same.
    assert abs(found.iterations - expected.iterations) <= (1 if tolerance < COARSE else 0.5 * expected.iterations)
    size = np.linalg.norm(B, axis=0)
    np.testing.assert_allclose(found.F / size, expected.F / size, rtol=0, atol=200 * tolerance)


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_what_was_asked_for_is_reached_at_any_scale(scale, monkeypatch):
    monkeypatch.setattr("pglearn.compiled.FROM_ROWS", 0)
    graph, Y = graph_of(), np.eye(60)[:, :8]
    alpha, tolerance = 0.99, 1e-9
    solution = solved(graph, scale * Y, alpha, tolerance)
    assert solution.converged
    assert solution.F.dtype == (np.float32 if scale == 1 else np.float64), "what is beyond float32 is not kept in it"
    expected = oracle.lgc(graph.P.toarray(), Y, alpha) / (1 - alpha)
    np.testing.assert_allclose(solution.F / scale, expected, rtol=1e-6, atol=tolerance / (1 - alpha))


COUNTED = """
import numpy as np
from pglearn.propagation import compiled
step, block = np.zeros(3), np.zeros((5, 3))
compiled.reduced(0, 5, block, block.copy(), step, step.copy())
stats = compiled.reduced.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def hits_and_misses(**environment):
    run = [sys.executable, "-c", COUNTED]
    done = subprocess.run(run, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_second_start_compiles_nothing(tmp_path):
    assert hits_and_misses(NUMBA_CACHE_DIR=str(tmp_path)) == ["0", "1"]
    assert hits_and_misses(NUMBA_CACHE_DIR=str(tmp_path)) == ["1", "0"]


def test_where_nothing_can_be_written_it_still_compiles(monkeypatch):
    def njit(cache=False, original=numba.njit, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return original(**options)

    monkeypatch.setattr(numba, "njit", njit)
    assert compiling(lambda x: x + 1)(1) == 2


@pytest.mark.parametrize("shared_from", [0, 10**6], ids=["rows are shared", "batches are shared"])
@pytest.mark.parametrize("tolerance", [1e-8, 1e-12])
def test_the_number_of_threads_does_not_change_a_bit(shared_from, tolerance, monkeypatch):
    monkeypatch.setattr("pglearn.compiled.FROM_ROWS", 0)
    monkeypatch.setattr("pglearn.propagation.conjugate.SHARED_FROM", shared_from)
    monkeypatch.setattr("pglearn.threads.ROWS_PER_SUM", 30)
    graph, B = graph_of(300), np.eye(300)[:, :80]
    found = []
    for threads in (1, 3):
        with at_most(threads):
            found.append(solved(graph, B, tolerance=tolerance))
    assert found[0].converged
    np.testing.assert_array_equal(found[0].F, found[1].F)
    assert found[0].residual == found[1].residual


SPREAD = """
import numpy as np
from pglearn.graph import Edges
from pglearn.graph.approximate import k_near
from pglearn.graph.weights import graph_of_exponents
from pglearn.propagation import LGC

def points(n):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 5)) @ rng.normal(size=(5, 50))

def spread(X):
    edges = Edges.between_neighbours(k_near(X, 10))
    Y = np.zeros((len(X), 10))
    Y[np.arange(100), np.arange(100) % 10] = 0.01
    return LGC(0.99, tolerance=1e-6).system(graph_of_exponents(edges, np.zeros(len(edges)))).solve(Y)

spread(points(4_000))  # Numba itself, compiled or read from its cache
X = points(30_000)
before = size_from_here()
spread(X)
print(1 + (peak() - before) / X.nbytes)
"""


@needs_linux
def test_labels_spread_over_a_plain_graph_within_four_times_the_points():
    """X counted. One thread leaves the same behind every time; the rest to four is for more, and for other points."""
    command, alone = [sys.executable, "-c", MEASURING + SPREAD], {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, env=alone)
    assert float(run.stdout) < 3.1
