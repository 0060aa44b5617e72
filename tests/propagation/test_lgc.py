"""One contract for all ways to solve (I − μP) F = (1−μ) Y, against a dense solve."""

from __future__ import annotations

import numpy as np
import pytest
from tests import oracle
from tests.problems import points

from pglearn.graph import weighted_graph
from pglearn.propagation import LGC, conjugate
from pglearn.propagation import lgc as module
from pglearn.propagation.conjugate import BATCH


@pytest.fixture(params=["factor", "iterations", "compiled iterations"])
def solver(request, monkeypatch):
    """Every system is factored, or none."""
    monkeypatch.setattr("pglearn.compiled.FROM_ROWS", 0 if request.param == "compiled iterations" else 10**9)
    monkeypatch.setattr(module, "DENSE_LIMIT", 10**9 if request.param == "factor" else 0)
    monkeypatch.setattr(module, "DENSE_WORTH", 10**9)
    return request.param


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
def test_solution_is_the_oracles_to_the_tolerance_asked_for(solver, alpha, tolerance):
    graph, Y, lgc = graph_of(), one_hot(), LGC(alpha, tolerance)
    B = lgc.source * Y
    solution = lgc.system(graph).solve(B)
    assert solution.converged
    assert solution.residual <= tolerance
    assert solution.residual == pytest.approx(true_residual(graph, alpha, B, solution.F), rel=1e-3, abs=1e-14)
    assert (solution.iterations == 0) == (solver == "factor")
    # The error is at most 1/(1−μ) residuals.
    atol = tolerance / (1 - alpha) * np.linalg.norm(Y, axis=0).max()
    np.testing.assert_allclose(solution.F, oracle.lgc(graph.P.toarray(), Y, alpha), rtol=0, atol=atol)
    np.testing.assert_array_equal(B, lgc.source * one_hot())  # is not written to


def test_a_tolerance_out_of_reach_and_what_is_no_number_are_not_called_reached(solver):
    # ‖F‖ is ‖B‖/(1−μ): its rounding alone is far above 1e-14.
    graph, alpha = graph_of(), 1 - 1e-10
    B = one_hot()
    solution = LGC(alpha, 1e-14).system(graph).solve(B)
    assert true_residual(graph, alpha, B, solution.F) > 1e-9
    assert solution.residual > 1e-9
    assert not solution.converged
    B[3, 1] = np.nan
    solution = LGC(0.5).system(graph).solve(B)
    assert not solution.converged
    assert not solution.residual <= 1


def test_many_right_hand_sides_are_solved_as_if_alone_and_zeros_stay_zero(solver):
    graph, columns = graph_of(40), 2 * BATCH + 3
    B = np.random.default_rng(0).normal(size=(40, columns)) * np.logspace(-8, 8, columns)
    B[:, 7] = 0
    system = LGC(0.9).system(graph)
    together = system.solve(B)
    assert together.converged
    for c in range(0, columns, 7):
        alone = system.solve(B[:, [c]])
        assert alone.converged
        np.testing.assert_allclose(together.F[:, [c]], alone.F, rtol=0, atol=1e-8 * np.linalg.norm(alone.F))
    assert not together.F[:, 7].any()


def test_a_component_without_labels_gets_exactly_nothing(solver):
    graph = weighted_graph(np.vstack([points(15), points(10, seed=1) + 1000]), np.full(4, 0.3), 4)
    F = LGC().system(graph).solve(one_hot()).F
    assert not F[15:].any()
    assert (F[:15].sum(axis=1) > 0).all()


def test_a_finer_system_is_the_dense_factor_while_that_is_small_and_the_finest_iteration_beyond(monkeypatch):
    graph, B = graph_of(), one_hot()
    exact = LGC(0.9).system(graph).finer()
    assert exact.solve(B).iterations == 0
    assert exact.finer() is None
    monkeypatch.setattr(module, "DENSE_LIMIT", 10)
    coarse = LGC(0.9).system(graph)
    finest = coarse.finer()
    assert finest.lgc.tolerance == 1e-14
    assert finest.solve(B).iterations > coarse.solve(B).iterations > 0
    assert finest.finer() is None


def test_a_small_system_is_factored_when_right_hand_sides_are_many_for_its_points():
    system = LGC(0.9).system(graph_of(600, 5))
    assert system.solve(one_hot(600, n_classes=1)).iterations > 0
    assert system.solve(one_hot(600)).iterations == 0
    assert system.solve(one_hot(600, n_classes=1)).iterations == 0, "the factor is there already"


@pytest.mark.parametrize(("alpha", "tolerance"), [(0.5, 1e-10), (0.99, 1e-6), (0.9999, 1e-10)])
def test_a_solve_stays_within_the_products_that_theory_allows_however_many_points_there_are(alpha, tolerance):
    """On a chain, whose eigenvalues are everywhere."""
    n = 3000
    graph = weighted_graph(np.arange(float(n))[:, None], np.full(1, 0.3), 2)
    B = np.random.default_rng(0).normal(size=(n, 2))
    _, iterations = conjugate.conjugate_gradients(graph.P, alpha, tolerance, B)
    most = conjugate._most_products(n, alpha, tolerance)
    assert most / 50 < iterations <= most / conjugate.SAFETY
    assert conjugate._most_products(10**6, alpha, tolerance) == most < 15_000
    assert conjugate._most_products(2, alpha, tolerance) <= 20


def test_a_solve_that_gets_nowhere_ends_and_says_so(monkeypatch):
    monkeypatch.setattr(conjugate.NumPyPasses, "reduce", lambda passes, step: passes.rho)
    monkeypatch.setattr(module, "DENSE_LIMIT", 0)
    solution = LGC(0.99, 1e-6).system(weighted_graph(points(3000, 1), np.full(1, 0.3), 2)).solve(np.eye(3000, 2))
    assert not solution.converged
    assert solution.iterations < 2000


@pytest.mark.parametrize("mu", [0.5, 0.99])
def test_the_papers_power_iteration_may_be_ended_at_any_time(mu):
    graph, Y = graph_of(), one_hot()
    P, F = graph.P.toarray(), LGC(mu).system(graph).solve((1 - mu) * Y).F
    errors = np.array([np.linalg.norm(oracle.power_iteration(P, Y, mu, steps) - F) for steps in range(60)])
    assert (errors[1:] <= mu * errors[:-1] + 1e-12).all()
    if mu == 0.99:
        assert errors[50] > 0.3 * errors[1], "the slowest part of the error is nearly all there after 50 steps"
