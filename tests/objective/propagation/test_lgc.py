"""One contract for both ways to solve (I − μP) F = (1−μ) Y, against a dense solve; and what a solve begins from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests import oracle
from tests.memory import needs_linux, printed
from tests.problems import points

from pglearn.objective.graph import weighted_graph
from pglearn.objective.propagation import LGC, conjugate
from pglearn.objective.propagation import linear_system as module
from pglearn.objective.propagation.conjugate import BATCH, conjugate_gradients
from pglearn.runtime.threads import at_most


@pytest.fixture(params=["factor", "iterations"])
def system_of(request):
    """lgc, graph → system."""
    return lambda lgc, graph: replace(lgc.linear_system(graph), is_direct=request.param == "factor")


def graph_of(n=25, k=4):
    return weighted_graph(points(n), np.full(4, 0.3), k)


def one_hot(n=25, n_labels=8, n_classes=3):
    Y = np.zeros((n, n_classes))
    Y[np.arange(n_labels), np.arange(n_labels) % n_classes] = 1
    return Y


def true_residual(graph, alpha, B, F):
    """Largest ‖B − MF‖ / ‖B‖ over the columns, from dense arrays."""
    M = np.eye(len(B)) - alpha * graph.P.toarray()
    size = np.linalg.norm(B, axis=0)
    return float((np.linalg.norm(B - M @ F, axis=0) / np.where(size > 0, size, 1)).max())


@pytest.mark.parametrize("alpha", [0.5, 0.99])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-12])
@pytest.mark.parametrize("form", [np.asarray, sparse.csc_matrix])
def test_solution_is_the_oracles_to_the_tolerance_asked_for(system_of, alpha, tolerance, form):
    graph, Y, lgc = graph_of(), one_hot(), LGC(alpha, tolerance)
    B, system = lgc.source * Y, system_of(lgc, graph)
    solution = system.solve(form(B))
    assert solution.converged
    assert solution.residual <= tolerance
    assert solution.residual == pytest.approx(true_residual(graph, alpha, B, solution.F), rel=1e-3, abs=1e-14)
    assert (solution.iterations == 0) == system.is_direct
    assert solution.F.dtype == ("float32" if tolerance == 1e-2 and not system.is_direct else "float64")
    left = B - solution.F + alpha * graph.P @ solution.F
    np.testing.assert_allclose(solution.doubt(), 0 if system.is_direct else np.abs(left).sum(axis=1), atol=1e-7)
    # The error is at most 1/(1−μ) residuals.
    atol = tolerance / (1 - alpha) * np.linalg.norm(Y, axis=0).max()
    np.testing.assert_allclose(solution.F, oracle.lgc(graph.P.toarray(), Y, alpha), rtol=0, atol=atol)
    np.testing.assert_array_equal(B, lgc.source * one_hot())  # is not written to


@pytest.mark.parametrize(("apart", "tolerance", "left"), [(1e-10, 1e-14, 1e-9), (1e-6, 1e-5, 1e-4)])
def test_a_tolerance_out_of_reach_and_what_is_no_number_are_not_called_reached(system_of, apart, tolerance, left):
    # ‖F‖ is ‖B‖/(1−μ): its rounding alone, in float64 or float32, is far above the tolerance.
    graph, B = graph_of(), one_hot()
    solution = system_of(LGC(1 - apart, tolerance), graph).solve(B)
    assert solution.converged == (solution.residual <= tolerance)
    if solution.F.dtype == LGC(1 - apart, tolerance).dtype:
        assert true_residual(graph, 1 - apart, B, solution.F) > left
        assert not solution.converged
    B[3, 1] = np.nan
    solution = system_of(LGC(0.5), graph).solve(B)
    assert not solution.converged
    assert not solution.residual <= 1


def test_many_right_hand_sides_are_solved_as_if_alone_and_zeros_stay_zero(system_of):
    graph, columns = graph_of(40), 2 * BATCH + 3
    B = np.random.default_rng(0).normal(size=(40, columns)) * np.logspace(-8, 8, columns)
    B[:, 7] = 0
    system = system_of(LGC(0.9), graph)
    together = system.solve(B)
    assert together.converged
    for c in range(0, columns, 7):
        alone = system.solve(B[:, [c]])
        assert alone.converged
        np.testing.assert_allclose(together.F[:, [c]], alone.F, rtol=0, atol=1e-8 * np.linalg.norm(alone.F))
    assert not together.F[:, 7].any()


def test_a_component_without_labels_gets_exactly_nothing(system_of):
    graph = weighted_graph(np.vstack([points(15), points(10, seed=1) + 1000]), np.full(4, 0.3), 4)
    F = system_of(LGC(), graph).solve(one_hot()).F
    assert not F[15:].any()
    assert (F[:15].sum(axis=1) > 0).all()


def test_a_finer_system_is_closer_in_float32_then_the_dense_factor_or_the_finest_iteration(monkeypatch):
    graph, B = graph_of(), one_hot()
    coarse = LGC(0.9, 3e-2).linear_system(graph, {})
    closer = coarse.finer()
    assert (closer.tolerance, closer.dtype, closer.memory) == (1e-4, "float32", coarse.memory)
    exact = closer.finer()
    assert exact.solve(B).iterations == 0
    assert exact.finer() is None
    monkeypatch.setattr(module, "DENSE_LIMIT", 10)
    finest = closer.finer()
    assert (finest.tolerance, finest.dtype, finest.memory) == (1e-14, "float64", None)
    assert finest.solve(B).iterations > closer.solve(B).iterations > coarse.solve(B).iterations > 0
    assert finest.finer() is None


# What a solve begins from


def moved(a):
    return weighted_graph(points(300), np.full(4, a), 5)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-8])
def test_a_solve_that_begins_from_the_last_solution_takes_fewer_products_to_the_same(tolerance):
    B, lgc, memory = np.eye(300)[:, :20], LGC(0.99, tolerance), {}
    lgc.linear_system(moved(0.3), memory).solve(B, "labels")
    kept = memory["labels"]
    begun, afresh = (
        lgc.linear_system(moved(0.301), memory).solve(B, "labels"),
        lgc.linear_system(moved(0.301)).solve(B, "labels"),
    )
    assert begun.converged
    assert begun.iterations < afresh.iterations
    np.testing.assert_allclose(begun.F, afresh.F, rtol=0, atol=2 * tolerance / (1 - lgc.alpha))
    assert memory["labels"] is begun.F is not kept
    assert lgc.linear_system(moved(0.301), memory).solve(B, "labels").iterations == 0, "nothing is left to do"


def test_what_a_solve_begins_from_is_that_of_its_role_and_shape():
    graph, memory, B = graph_of(), {"adjoint": np.ones((25, 7))}, one_hot()
    expected, system = LGC().linear_system(graph).solve(B).F, LGC().linear_system(graph, memory)
    for role in ("", "adjoint", "labels"):
        np.testing.assert_array_equal(system.solve(B, role).F, expected)
    assert {role: F.shape for role, F in memory.items()} == {"adjoint": B.shape, "labels": B.shape}


@pytest.mark.parametrize("tolerance", [1e-2, 1e-12])
@pytest.mark.parametrize("before", [1e-3, 1.0, 1e12])
def test_columns_that_have_become_zero_or_far_smaller_are_solved_all_the_same(before, tolerance):
    graph, B = graph_of(), np.zeros((25, 3))
    B[2, 0], B[3, 1] = 1, 1e-30
    P = graph.P.astype(LGC(0.9, tolerance).dtype)
    F, R, size, _ = conjugate_gradients(P, 0.9, tolerance, B, np.full((25, 3), before, dtype=P.dtype))
    assert (np.linalg.norm(R / size, axis=0) <= tolerance).all()
    assert true_residual(graph, 0.9, B, F) <= 1.01 * tolerance
    assert not F[:, 2].any()


# Scale, threads and effort


@pytest.mark.parametrize(
    ("scale", "tolerance"), [(1e-60, 1e-9), (1e60, 1e-9), (1e-25, 1e-4), (1.0, 1e-4), (1e25, 1e-4)]
)
def test_what_was_asked_for_is_reached_at_any_scale(scale, tolerance):
    graph, Y, alpha = graph_of(60), np.eye(60)[:, :8], 0.99
    solution = LGC(alpha, tolerance).linear_system(graph).solve(scale * Y)
    assert solution.converged
    expected = oracle.lgc(graph.P.toarray(), Y, alpha) / (1 - alpha)
    np.testing.assert_allclose(solution.F / scale, expected, rtol=0, atol=tolerance / (1 - alpha))


@pytest.mark.parametrize("shared_from", [0, 10**6], ids=["rows are shared", "batches are shared"])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-12])
def test_the_number_of_threads_does_not_change_a_bit(shared_from, tolerance, monkeypatch):
    graph, B, found = graph_of(300), np.eye(300)[:, :150], []
    monkeypatch.setattr(conjugate, "SHARED_FROM", shared_from)
    monkeypatch.setattr(conjugate, "MOST_NUMBERS", 300 * 40)  # as for more points: columns are taken 40 at a time
    for threads in (1, 3):
        with at_most(threads):
            found.append(LGC(0.99, tolerance).linear_system(graph).solve(B))
    assert found[0].converged
    np.testing.assert_array_equal(found[0].F, found[1].F)
    assert (found[0].residual, found[0].iterations) == (found[1].residual, found[1].iterations)


@pytest.mark.parametrize(("alpha", "tolerance"), [(0.5, 1e-10), (0.99, 1e-6), (0.9999, 1e-10)])
def test_a_solve_stays_within_the_products_that_theory_allows_however_many_points_there_are(alpha, tolerance):
    """On a chain, whose eigenvalues are everywhere."""
    n = 3000
    graph = weighted_graph(np.arange(float(n))[:, None], np.full(1, 0.3), 2)
    B = np.random.default_rng(0).normal(size=(n, 2))
    *_, iterations = conjugate_gradients(graph.P, alpha, tolerance, B)
    root = np.sqrt((1 + alpha) / (1 - alpha))
    most = np.ceil(root / 2 * np.log(4 * root / tolerance))
    assert most / 20 < iterations <= most < 15_000


@pytest.mark.parametrize(("n", "most"), [(2, 100), (3000, 2000)])
def test_a_solve_that_gets_nowhere_ends_and_says_so(n, most):
    """Its matrix has an eigenvalue of 2."""
    P = sparse.csr_matrix(2 * np.eye(n, dtype=np.float32) - np.eye(n, k=1, dtype=np.float32))
    _, R, _, iterations = conjugate_gradients(P, 0.99, 1e-4, np.eye(n, 2))
    assert not np.linalg.norm(R, axis=0).max() <= 1e-4
    assert iterations < most


@pytest.mark.parametrize("mu", [0.5, 0.99])
def test_the_papers_power_iteration_may_be_ended_at_any_time(mu):
    graph, Y = graph_of(), one_hot()
    P, F = graph.P.toarray(), LGC(mu).linear_system(graph).solve((1 - mu) * Y).F
    errors = np.array([np.linalg.norm(oracle.power_iteration(P, Y, mu, steps) - F) for steps in range(60)])
    assert (errors[1:] <= mu * errors[:-1] + 1e-12).all()
    if mu == 0.99:
        assert errors[50] > 0.3 * errors[1], "the slowest part of the error is nearly all there after 50 steps"


SPREAD = """
import numpy as np
from pglearn.objective.graph import Edges
from pglearn.objective.graph.approximate import k_near
from pglearn.objective.graph.weights import graph_of_exponents
from pglearn.objective.propagation import LGC

def points(n):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 5)) @ rng.normal(size=(5, 50))

def spread(X):
    edges = Edges.between_neighbours(k_near(X, 10)[0])
    Y = np.zeros((len(X), 10))
    Y[np.arange(100), np.arange(100) % 10] = 0.01
    return LGC(0.99, tolerance=1e-6).linear_system(graph_of_exponents(edges, np.zeros(len(edges)))).solve(Y)

spread(points(4_000))  # what is imported on first use does not count
X = points(30_000)
before = size_from_here()
spread(X)
print(1 + (peak() - before) / X.nbytes)
"""


@needs_linux
def test_labels_spread_over_a_plain_graph_within_five_times_the_points():
    """X counted."""
    (times,) = printed(SPREAD)
    assert times < 5


@pytest.mark.parametrize("tolerance", [1e-2, 1e-12])
def test_what_spreads_evenly_over_a_component_takes_no_iteration(tolerance):
    """The slowest part of a solution, which is known: √D, of each component by itself."""
    graph = weighted_graph(np.vstack([points(15), points(10, seed=1) + 1000]), np.full(4, 0.3), 4)
    roots = np.sqrt(np.asarray(graph.W.sum(axis=1)).ravel())
    B = np.column_stack([np.where(np.arange(25) < 15, roots, 0), np.where(np.arange(25) < 15, 0, roots)])
    solution = LGC(0.99, tolerance).linear_system(graph).solve(B)
    assert solution.iterations == 0
    np.testing.assert_allclose(solution.F, 100 * B, rtol=1e-4 if tolerance == 1e-2 else 1e-10)
    np.testing.assert_allclose((graph.modes.T @ graph.modes).toarray(), np.eye(2), atol=1e-12)
