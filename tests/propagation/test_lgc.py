"""One contract for every solver of (I − μP) F = (1−μ) Y, against a dense solve."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import linalg
from tests import oracle
from tests.problems import points

from pglearn.errors import InputError
from pglearn.graph import weighted_graph
from pglearn.propagation import LGC, PROPAGATIONS, conjugate
from pglearn.propagation import lgc as module
from pglearn.propagation.conjugate import BATCH
from pglearn.propagation.lgc import SOLVERS

ALL_SOLVERS = ["auto", *SOLVERS]
solvers = pytest.mark.parametrize("solver", ALL_SOLVERS)
alphas = pytest.mark.parametrize("alpha", [0.5, 0.9, 0.99])


def graph_of(n=25, k=4):
    return weighted_graph(points(n), np.full(4, 0.3), k)


def one_hot(n=25, n_labels=8, n_classes=3):
    Y = np.zeros((n, n_classes))
    Y[np.arange(n_labels), np.arange(n_labels) % n_classes] = 1
    return Y


def true_residual(graph, alpha, B, F):
    """Largest ‖B − MF‖ / ‖B‖ over the columns, from dense float64 arrays."""
    M = np.eye(len(B)) - alpha * graph.P.toarray().astype(np.float64)
    error = np.linalg.norm(B.astype(np.float64) - M @ F.astype(np.float64), axis=0)
    size = np.linalg.norm(B.astype(np.float64), axis=0)
    return float((error / np.where(size > 0, size, 1)).max())


@solvers
@alphas
def test_solution_is_the_oracles(solver, alpha):
    graph, Y, lgc = graph_of(), one_hot(), LGC(alpha, solver)
    solution = lgc.system(graph).solve(lgc.source * Y)
    F = oracle.lgc(graph.P.toarray(), Y, alpha)
    assert solution.converged
    # The error is at most 1/(1−μ) residuals.
    np.testing.assert_allclose(
        solution.F, F, rtol=0, atol=lgc.tolerance / (1 - alpha) * np.linalg.norm(Y, axis=0).max()
    )


@solvers
@alphas
@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-12])
def test_the_tolerance_asked_for_is_reached_and_reported(solver, alpha, tolerance):
    graph, lgc = graph_of(), LGC(alpha, solver, tolerance)
    B = lgc.source * one_hot()
    solution = lgc.system(graph).solve(B)
    assert solution.converged
    assert solution.residual <= tolerance
    assert solution.residual == pytest.approx(true_residual(graph, alpha, B, solution.F), rel=1e-3, abs=1e-14)


@pytest.mark.parametrize("solver", ["power", "cg"])
def test_iterative_solvers_stop_sooner_when_less_is_asked_for(solver):
    graph, B = graph_of(60), one_hot(60)
    counts = [LGC(0.99, solver, tolerance).system(graph).solve(B).iterations for tolerance in (1e-2, 1e-5, 1e-10)]
    assert 0 < counts[0] < counts[1] < counts[2]


def test_direct_solver_reports_no_iterations():
    assert LGC(solver="cholesky").system(graph_of()).solve(one_hot()).iterations == 0


@pytest.mark.parametrize("solver", ["power", "cg"])
def test_iterations_are_products_with_the_graph(solver, monkeypatch):
    graph, B = graph_of(), one_hot()

    class Counted:
        products = 0

        def __matmul__(self, F):
            Counted.products += 1
            return graph.edges.matrix(graph.p) @ F

    system = LGC(0.9, solver).system(graph)
    monkeypatch.setitem(graph.__dict__, "P", Counted())
    _, iterations = SOLVERS[solver](system, B)
    assert iterations == Counted.products > 0


@pytest.mark.parametrize("solver", ["cg", "cholesky"])
def test_a_tolerance_out_of_reach_is_not_called_reached(solver):
    # ‖F‖ is ‖B‖/(1−μ): its rounding alone is far above 1e-14.
    graph, alpha = graph_of(), 1 - 1e-10
    B = one_hot()
    solution = LGC(alpha, solver, 1e-14).system(graph).solve(B)
    assert true_residual(graph, alpha, B, solution.F) > 1e-9
    assert solution.residual > 1e-9
    assert not solution.converged


@solvers
def test_what_is_not_a_number_has_not_converged(solver):
    B = one_hot()
    B[3, 1] = np.nan
    solution = LGC(0.5, solver).system(graph_of()).solve(B)
    assert not solution.converged
    assert not solution.residual <= 1


@solvers
def test_columns_of_zeros_stay_zero_and_leave_the_others_alone(solver):
    graph, B = graph_of(), one_hot()
    system = LGC(solver=solver).system(graph)
    with_zeros = system.solve(np.hstack([np.zeros((25, 1)), B, np.zeros((25, 2))]))
    assert with_zeros.converged
    assert not with_zeros.F[:, [0, 4, 5]].any()
    np.testing.assert_allclose(with_zeros.F[:, 1:4], system.solve(B).F, rtol=1e-9, atol=1e-9)


@solvers
def test_nothing_shown_gives_nothing(solver):
    solution = LGC(solver=solver).system(graph_of()).solve(np.zeros((25, 3)))
    assert solution.converged
    assert solution.residual == 0
    assert not solution.F.any()


@solvers
def test_many_right_hand_sides_are_solved_as_if_alone(solver):
    graph, columns = graph_of(40), 2 * BATCH + 3
    B = np.random.default_rng(0).normal(size=(40, columns)) * np.logspace(-8, 8, columns)
    together = LGC(0.9, solver).system(graph).solve(B)
    assert together.converged
    for c in range(columns):
        alone = LGC(0.9, solver).system(graph).solve(B[:, [c]]).F[:, 0]
        np.testing.assert_allclose(together.F[:, c], alone, rtol=0, atol=1e-8 * np.linalg.norm(alone))


def test_a_finer_system_is_the_dense_factor_while_that_is_small_and_the_finest_iteration_beyond(monkeypatch):
    graph = graph_of()
    assert LGC(0.9).system(graph).finer().lgc.solver == "cholesky"
    monkeypatch.setattr("pglearn.propagation.lgc.DENSE_LIMIT", 10)
    finest = LGC(0.9).system(graph).finer()
    assert (finest.lgc.solver, finest.lgc.tolerance) == ("cg", 1e-14)
    assert finest.finer() is None
    assert LGC(0.9, "cholesky").system(graph).finer() is None
    assert LGC(0.9, "power").system(graph).finer() is None


@solvers
def test_right_hand_sides_are_not_written_to(solver):
    B = one_hot()
    LGC(solver=solver).system(graph_of()).solve(B)
    np.testing.assert_array_equal(B, one_hot())


@solvers
def test_a_component_without_labels_gets_exactly_nothing(solver):
    graph = weighted_graph(np.vstack([points(15), points(10, seed=1) + 1000]), np.full(4, 0.3), 4)
    F = LGC(solver=solver).system(graph).solve(one_hot()).F
    assert not F[15:].any()
    assert (F[:15].sum(axis=1) > 0).all()


@pytest.mark.parametrize(("solver", "times"), [("cholesky", 1), ("auto", 1), ("cg", 0), ("power", 0)])
def test_the_factor_is_made_once_and_serves_every_solve(solver, times, monkeypatch):
    made = []

    def cho_factor(*arguments, **options):
        made.append(arguments)
        return linalg_cho_factor(*arguments, **options)

    linalg_cho_factor = linalg.cho_factor
    monkeypatch.setattr(module.linalg, "cho_factor", cho_factor)
    system = LGC(0.9, solver).system(graph_of())
    first, second = system.solve(one_hot()), system.solve(2 * one_hot())
    assert len(made) == times
    np.testing.assert_allclose(second.F, 2 * first.F, atol=1e-8)


def test_auto_factors_when_right_hand_sides_are_many_for_the_points():
    graph = graph_of(600, 5)
    system = LGC(0.9).system(graph)
    assert system.solve(one_hot(600, n_classes=1)).iterations > 0
    assert system.solve(one_hot(600)).iterations == 0
    assert system.solve(one_hot(600, n_classes=1)).iterations == 0, "the factor is there already"


def test_auto_never_factors_a_large_graph(monkeypatch):
    monkeypatch.setattr(module, "DENSE_LIMIT", 24)
    assert LGC(0.9).system(graph_of()).solve(one_hot()).iterations > 0


@pytest.mark.parametrize("alpha", [0, 1, -0.5, 1.5, float("nan")])
def test_alpha_outside_its_range_is_an_error(alpha):
    text = f"alpha={alpha!r} is not between 0 and 1: the paper uses 0.99."
    with pytest.raises(InputError, match=f"^{re.escape(text)}$"):
        LGC(alpha)


def test_unknown_solver_lists_what_there_is():
    text = "solver='lu' is not known: choose one of 'auto', 'power', 'cg', 'cholesky'."
    with pytest.raises(InputError, match=f"^{re.escape(text)}$"):
        LGC(solver="lu")


@pytest.mark.parametrize("propagation", PROPAGATIONS.values(), ids=PROPAGATIONS)
def test_source_and_coupling_are_the_terms_of_the_system(propagation):
    """M F = source·Y with M = I − coupling·P, checked from outside."""
    graph, Y = graph_of(), one_hot()
    spread = propagation(0.7)
    F = spread.system(graph).solve(spread.source * Y).F
    np.testing.assert_allclose(F - spread.coupling * graph.P @ F, spread.source * Y, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.5, 0.99, 0.9999])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
def test_a_solve_stays_within_the_products_that_theory_allows_however_many_points_there_are(alpha, tolerance):
    """On a chain, whose eigenvalues are everywhere."""
    n = 3000
    graph = weighted_graph(np.arange(float(n))[:, None], np.full(1, 0.3), 2)
    solution = LGC(alpha, "cg", tolerance).system(graph).solve(np.random.default_rng(0).normal(size=(n, 2)))
    assert solution.converged
    most = conjugate._most_products(n, alpha, tolerance)
    assert most / 50 < solution.iterations <= most / conjugate.SAFETY
    assert conjugate._most_products(10**6, alpha, tolerance) == most < 15_000
    assert conjugate._most_products(2, alpha, tolerance) <= 20


def test_a_solve_that_gets_nowhere_ends_and_says_so(monkeypatch):
    monkeypatch.setattr(conjugate.NumPyPasses, "reduce", lambda passes, step: passes.rho)
    solution = LGC(0.99, "cg", 1e-6).system(weighted_graph(points(3000, 1), np.full(1, 0.3), 2)).solve(np.eye(3000, 2))
    assert not solution.converged
    assert solution.iterations < 2000
