"""What is the torch engine's own; the contract that it shares with the others is in test_engines.py."""

from __future__ import annotations

import gc
import threading
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from weakref import WeakSet

import numpy as np
import pytest
from tests.conftest import EXTRAS
from tests.estimators.test_sparse import QUICK, wide  # noqa: F401  a fixture
from tests.problems import LABEL_LOSSES, partly_labelled, points

from pglearn import PGLearnClassifier
from pglearn.engine import Configuration, CPUEngine
from pglearn.errors import InputError
from pglearn.objective.folds import VALIDATIONS
from pglearn.objective.loss import LOSSES, Log
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC

if "torch" not in EXTRAS:
    pytest.skip("PGLEARN_TEST_EXTRAS does not ask for torch", allow_module_level=True)

import torch

from pglearn.engine.torch import TorchEngine, cholesky, dense, eager, iterative, replay
from pglearn.engine.torch.losses import batched
from pglearn.engine.torch.placed import Placed
from pglearn.engine.torch.precision import whole_products

pytestmark = pytest.mark.filterwarnings("ignore:Please use the new API settings")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


def problem_of(n=150, validation="loo"):
    return Problem.from_labels(points(n, 6), partly_labelled(n, 45), validation=validation)


def population(size=5, d=6):
    rng = np.random.default_rng(1)
    return [
        Configuration(int(k), a)
        for k, a in zip(rng.integers(3, 12, size), rng.exponential(size=(size, d)), strict=True)
    ]


FORMS = {"few points": TorchEngine, "many points": partial(TorchEngine, dense_limit=1)}


@pytest.fixture(params=FORMS)
def make(request):
    """Makes an engine that works in one of its two ways, whatever the number of points."""
    return FORMS[request.param]


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "two together"])
def test_no_more_columns_are_solved_for_than_on_the_cpu(alone, monkeypatch):
    widths = []

    def solved(P, lgc, B, original=iterative.solved):
        widths.append(B.shape[1])
        return original(P, lgc, B)

    monkeypatch.setattr(iterative, "solved", solved)
    problem, (configuration, *_) = Problem.from_labels(points(450, 6), partly_labelled(450, 430)), population(1)
    if not alone:
        first, second = problem.fold[problem.scored][:2]
        problem = replace(problem, fold=np.where(problem.fold == second, first, problem.fold))
    (expected,) = CPUEngine(Log(), LGC()).value_and_gradient(problem, [configuration])
    engine = TorchEngine(Log(), LGC(), dtype="float64", dense_limit=1)
    (found,) = engine.value_and_gradient(problem, [configuration])
    scored = int(problem.scored.sum())
    assert widths == [scored, problem.n_classes if alone else scored]
    assert found.loss == pytest.approx(expected.loss, rel=1e-6)
    np.testing.assert_allclose(found.dg_da, expected.dg_da, rtol=0, atol=1e-6 * np.abs(expected.dg_da).max())


@pytest.mark.parametrize(("loss", "validation"), [*zip(LABEL_LOSSES, [*VALIDATIONS] * 2, strict=False)])
def test_float32_is_close_to_the_cpu_engine(loss, validation, make):
    problem, configurations = problem_of(validation=validation), population()
    expected = CPUEngine(LOSSES[loss](), LGC()).value_and_gradient(problem, configurations)
    found, again = (make(LOSSES[loss](), LGC()).value_and_gradient(problem, configurations) for _ in range(2))
    assert [e.loss for e in found] == [e.loss for e in again], "to the last bit"
    np.testing.assert_array_equal([e.dg_da for e in found], [e.dg_da for e in again])
    for one, other in zip(found, expected, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-4)
        assert one.accuracy == pytest.approx(other.accuracy, abs=1e-6)
        np.testing.assert_allclose(one.dg_da, other.dg_da, rtol=0, atol=1e-3 * np.abs(other.dg_da).max())


@pytest.mark.parametrize(
    ("levels", "dtype", "within"), [(0, "float32", 1e-3), (2, "float64", 1e-9), (4, "float64", 1e-9)]
)
def test_graphs_and_labels_of_many_points_are_those_of_the_cpu_engine_with_blocks_of_any_size(levels, dtype, within):
    """Clouds, or few values, most distances between which are ties; with an island that has no label."""
    X = np.random.default_rng(0).integers(0, levels, (700, 8)) * 0.1 if levels else points(700, 8)
    X[600:, 0] += 50
    problem = Problem.from_labels(X.astype(dtype), partly_labelled(700, 60))
    configuration, cpu = Configuration(7, np.full(8, 0.4)), CPUEngine(Log(), LGC())
    expected = cpu.graph(problem, configuration)
    F = cpu.propagate(problem, expected).F
    for memory in (1, 1 << 18, None):
        engine = TorchEngine(Log(), LGC(), device="cpu", memory=memory, dense_limit=1)
        graph = engine.graph(problem, configuration)
        np.testing.assert_array_equal((graph.edges.i, graph.edges.j), (expected.edges.i, expected.edges.j))
        assert abs(graph.P - expected.P).max() <= within / 100
        solution = engine.propagate(problem, graph)
        assert solution.converged
        reached = F.sum(axis=1) > 0
        assert (~reached).sum() >= 100
        assert not solution.F[~reached].any()
        shares, wanted = (each[reached] / each[reached].sum(axis=1, keepdims=True) for each in (solution.F, F))
        np.testing.assert_allclose(shares, wanted, rtol=0, atol=within)
        np.testing.assert_array_equal(shares.argmax(axis=1), wanted.argmax(axis=1))


def test_distances_beyond_all_numbers_are_an_error_as_on_the_cpu():
    problem = Problem.from_labels(points(30).astype("float32"), partly_labelled(30, 9))
    for engine in (CPUEngine(Log(), LGC()), TorchEngine(Log(), LGC(), dense_limit=1)):
        with np.errstate(over="ignore"), pytest.raises(OverflowError, match="scale X, or give smaller weights"):
            engine.graph(problem, Configuration(5, np.full(4, 1e80)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_population_in_parts_is_the_same_but_for_its_last_bits(dtype):
    problem, configurations = problem_of(), population(9)
    each = dense.bytes_per_candidate(Placed.on(torch.device("cpu"), problem, getattr(torch, dtype)), 16)
    last_bits = 64 * float(np.finfo(dtype).eps)
    whole, *others = (
        TorchEngine(Log(), LGC(), device="cpu", dtype=dtype, memory=size * each).value_and_gradient(
            problem, configurations
        )
        for size in (9, 1, 3, 8)
    )
    for parts in others:
        for one, other in zip(parts, whole, strict=True):
            assert one.loss == pytest.approx(other.loss, rel=last_bits)
            np.testing.assert_allclose(one.dg_da, other.dg_da, rtol=0, atol=last_bits * np.abs(other.dg_da).max())


replayed = []
alive = WeakSet()


class OnHost:
    """A recording that is none, with a pool of its own where it is given none to share."""

    def __init__(self, step, a, k, pool):
        self.step, self.size, self.pool = step, len(a), pool or object()
        alive.add(self)

    def __call__(self, a, k):
        assert len(a) == len(k) == self.size
        replayed.append(len(a))
        return self.step(a, k)


@pytest.mark.parametrize(("most", "taken"), [(1, [1] * 11), (3, [2] * 6), (9, [8, 8]), (12, [8, 8]), (100, [16])])
def test_no_more_candidates_are_replayed_than_fit(most, taken, monkeypatch):
    monkeypatch.setattr(replay, "Recorded", OnHost)
    replayed.clear()
    a, k = torch.arange(22.0).view(11, 2), torch.arange(11)
    found = replay.replayed(lambda a, k: a * k[:, None], SimpleNamespace(recordings={}), 16, a, k, most, [])
    torch.testing.assert_close(found, a * k[:, None], rtol=0, atol=0)
    assert replayed == taken


def in_three_views(n):
    X = points(n, 6)
    return replace(problem_of(n), others=(2 * X[:, ::-1], X[:, :5]))


def in_view(view, configurations):
    return [replace(configuration, view=view) for configuration in configurations]


def test_recordings_of_all_views_share_their_memory_and_a_new_one_none_that_is_gone(monkeypatch):
    monkeypatch.setattr(replay, "Recorded", OnHost)
    monkeypatch.setattr(dense, "is_fused", lambda X: True)
    monkeypatch.setattr(dense, "_operations", lambda X: eager)
    problem, engine = in_three_views(150), TorchEngine(Log(), LGC(), device="cpu")
    for size in (5, 12):
        for view, d in enumerate((6, 6, 5)):
            engine.value_and_gradient(problem, in_view(view, population(size, d)))
    pools = {recording.pool for recording in alive}
    assert (len(alive), len(pools)) == (6, 1)
    del problem
    gc.collect()
    assert len(alive) == 0
    problem = problem_of()
    engine.value_and_gradient(problem, population(5))
    assert pools.isdisjoint(recording.pool for recording in alive)


def idle_memory():
    """What torch holds on the device and nothing but a recording uses."""
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return torch.cuda.memory_reserved() - torch.cuda.memory_allocated()


@needs_cuda
def test_all_views_hold_the_memory_of_one():
    problem = in_three_views(2000)
    populations = [in_view(view, population(16, d)) for view, d in enumerate((6, 6, 5))]
    alone = [TorchEngine(Log(), LGC(), memory=1 << 33).value_and_gradient(problem, each) for each in populations]
    before = idle_memory()
    engine = TorchEngine(Log(), LGC(), memory=1 << 33)
    engine.value_and_gradient(problem, populations[0])
    of_one = idle_memory() - before
    assert of_one > 16 * 2 * 4 * 2000**2, "at least two n × n arrays of every candidate"
    for each in populations[1:]:
        engine.value_and_gradient(problem, each)
    assert idle_memory() - before < 1.5 * of_one
    for each, expected in zip(populations, alone, strict=True):  # replayed, with memory that others have written to
        found = engine.value_and_gradient(problem, each)
        assert [e.loss for e in found] == [e.loss for e in expected]
        np.testing.assert_array_equal([e.dg_da for e in found], [e.dg_da for e in expected])


@needs_cuda
def test_running_out_while_one_view_is_recorded_frees_the_memory_of_all(monkeypatch):
    problem = in_three_views(2000)
    first, last = in_view(0, population(16)), in_view(2, population(16, 5))
    expected = TorchEngine(Log(), LGC()).value_and_gradient(problem, [*first, *last])
    evaluated, refused, left = dense.evaluated, [], []

    def hungry(placed, slots, loss, propagation, a, k):
        capturing = torch.cuda.is_current_stream_capturing()
        if refused and not left:
            assert not capturing
            left.append(idle_memory())
        if placed.X.shape[1] == 5 and len(a) > 8 and capturing:
            refused.append(len(a))
            torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
        return evaluated(placed, slots, loss, propagation, a, k)

    monkeypatch.setattr(dense, "evaluated", hungry)
    monkeypatch.setattr(dense, "bytes_per_candidate", lambda placed, slots: 1 << 26)
    before = idle_memory()
    engine = TorchEngine(Log(), LGC(), memory=16 << 26)
    engine.value_and_gradient(problem, first)
    of_one = idle_memory() - before
    with pytest.warns(UserWarning, match="ran out of memory: going on with 0.5 GiB"):
        engine.value_and_gradient(problem, last)
    assert refused == [16]
    assert left[0] - before < of_one / 2
    found = engine.value_and_gradient(problem, [*first, *last])
    assert [e.loss for e in found] == pytest.approx([e.loss for e in expected], rel=1e-5)


@dataclass(frozen=True)
class Watched:
    """The logarithmic loss, on a device that has room for so many candidates."""

    seen: list
    room: int = 100

    def __call__(self, S, codes):
        return Log()(S, codes)


@batched.register
def _(loss: Watched, S, Y):
    loss.seen.append((len(S), torch.get_float32_matmul_precision()))
    if len(S) > loss.room:
        raise torch.OutOfMemoryError
    return batched(Log(), S, Y)


def test_running_out_of_memory_is_halved_retried_said_once_and_remembered():
    problem, configurations, seen = problem_of(600), population(8), []
    each = dense.bytes_per_candidate(Placed.on(torch.device("cpu"), problem, torch.float32), 32)
    engine = TorchEngine(Watched(seen, room=2), LGC(), device="cpu", memory=8 * each)
    with pytest.warns(UserWarning, match=f"ran out of memory: going on with {2 * each / 2**30:.2g} GiB") as said:
        found = engine.value_and_gradient(problem, configurations)
    assert len(said) == 1
    assert len(found) == 8
    assert [size for size, _ in seen] == [8, 4, 2, 2, 2, 2]
    engine.value_and_gradient(problem, configurations)  # and no second warning, which would be an error
    assert [size for size, _ in seen[6:]] == [2, 2, 2, 2]


def test_a_device_that_never_has_enough_memory_is_an_error():
    engine = TorchEngine(Watched([], room=0), LGC(), device="cpu", memory=1 << 26)
    with pytest.raises(torch.OutOfMemoryError):
        engine.value_and_gradient(problem_of(), population(3))


@pytest.fixture
def products():
    """Sets how many bits torch's products of float32 matrices keep, for a test."""
    before = torch.get_float32_matmul_precision()
    yield torch.set_float32_matmul_precision
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("room", [100, 0], ids=["to the end", "until an error"])
def test_products_keep_all_bits_while_it_works_whatever_was_asked_of_torch(room, make, products):
    seen = []
    products("medium")
    with nullcontext() if room else pytest.raises(torch.OutOfMemoryError):
        engine = make(Watched(seen, room), LGC(), device="cpu", memory=1 << 24)
        engine.value_and_gradient(problem_of(), population(1))
    assert {precision for _, precision in seen} == {"highest"}
    assert torch.get_float32_matmul_precision() == "medium"


def test_engines_of_two_threads_do_not_put_back_each_other_s_setting(products):
    products("medium")
    entered = threading.Event()

    def other():
        with whole_products():
            entered.set()

    thread = threading.Thread(target=other)
    with whole_products():
        thread.start()
        assert not entered.wait(0.2)
    thread.join(10)
    assert entered.is_set()
    assert torch.get_float32_matmul_precision() == "medium"


def test_a_setting_of_one_library_is_put_back_too():
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    try:
        matmul.fp32_precision = "tf32"
        with whole_products():
            assert matmul.fp32_precision == "ieee"
        assert matmul.fp32_precision == "tf32"
    finally:
        matmul.fp32_precision = before


@needs_cuda
def test_what_was_asked_of_torch_changes_no_bit(make, products):
    problem, configurations = problem_of(), population(8)
    products("highest")
    expected = make(Log(), LGC()).value_and_gradient(problem, configurations)
    products("medium")
    engine = make(Log(), LGC())
    for found in (engine.value_and_gradient(problem, configurations) for _ in range(2)):  # recorded, and replayed
        assert [e.loss for e in found] == [e.loss for e in expected]
        np.testing.assert_array_equal([e.dg_da for e in found], [e.dg_da for e in expected])


def test_more_labels_features_and_neighbours_than_a_kernel_takes_at_once():
    problem = Problem.from_labels(points(300, 300), partly_labelled(300, 130))
    configurations = [Configuration(k, np.linspace(0, 0.02, 300)) for k in (3, 40, 299)]
    expected = CPUEngine(Log(), LGC()).value_and_gradient(problem, configurations)
    found = TorchEngine(Log(), LGC()).value_and_gradient(problem, configurations)
    for one, other in zip(found, expected, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-4)
        np.testing.assert_allclose(one.dg_da, other.dg_da, rtol=0, atol=1e-3 * np.abs(other.dg_da).max())


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_cuda)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 300, 530])
def test_systems_are_solved_by_blocks(n, dtype, device):
    torch.manual_seed(n)
    W = torch.rand(3, n, n, dtype=torch.float64)
    M = torch.eye(n) - 0.99 * (W + W.mT) / (W + W.mT).sum(2).amax(1)[:, None, None]
    exact = torch.linalg.solve(M, torch.eye(n, dtype=M.dtype)[None, :, : (n + 1) // 2].expand(3, -1, -1))
    B = torch.eye(n)[:, : (n + 1) // 2].expand(3, -1, -1).to(device, dtype, copy=True).contiguous()
    M = M.to(device, dtype)
    M[1, n // 2, n // 2] = -1
    X = cholesky.by_blocks(M, B).cpu()
    assert not X[1].isfinite().any()
    for t in (0, 2):
        torch.testing.assert_close(X[t].double(), exact[t], rtol=0, atol=1e-4 if dtype == torch.float32 else 1e-12)


# The estimator and the command line


@pytest.fixture
def table():
    return points(90, 4), partly_labelled(90, 30)


def test_a_fit_is_that_of_the_cpu_engine_and_twice_the_same(table):
    cpu, gpu, again = (
        PGLearnClassifier(budget=4, random_state=0, engine=name, dtype="float64").fit(*table)
        for name in ("cpu", "torch", "torch")
    )
    assert cpu.engine_ == "cpu"
    assert gpu.engine_.startswith("torch on ")
    np.testing.assert_allclose(gpu.search_results_["loss"], cpu.search_results_["loss"], rtol=1e-2)
    assert (gpu.transduction_ == cpu.transduction_).mean() > 0.97
    np.testing.assert_array_equal(gpu.search_results_["loss"], again.search_results_["loss"])
    np.testing.assert_array_equal(gpu.label_distributions_, again.label_distributions_)


def test_a_table_that_is_searched_on_a_sample_is_labelled_on_the_device_too():
    rng = np.random.default_rng(1)
    classes = rng.integers(0, 3, 20_100)
    X, y = rng.normal(size=(20_100, 4)) + classes[:, None], np.where(np.arange(20_100) < 60, classes, -1)
    options = {
        "budget": 1,
        "n_candidates": 2,
        "selection": "best",
        "views": ["given"],
        "dtype": "float64",
        "random_state": 0,
    }
    cpu = PGLearnClassifier(**options, engine="cpu", neighbors="exact").fit(X, y)
    gpu = PGLearnClassifier(**options, engine="torch", device_memory=0.05).fit(X, y)
    assert gpu.engine_.startswith("torch on ")
    assert gpu.neighbors_ == "exact", "as the CPU would not find them in a table of this size"
    assert gpu.n_searched_ < 6000
    np.testing.assert_array_equal(gpu.transduction_, cpu.transduction_)
    np.testing.assert_allclose(gpu.label_distributions_, cpu.label_distributions_, rtol=0, atol=1e-3)
    assert abs(gpu.graph_ - cpu.graph_).max() < 1e-6


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"n_jobs": 2}, "leave out n_jobs and executor"), ({"device_memory": 0}, "device_memory=0 must be above 0")],
)
def test_processes_and_no_memory_are_refused(options, sentence, table):
    with pytest.raises(InputError, match=sentence):
        PGLearnClassifier(engine="torch", **options).fit(*table)


def test_the_coordinates_of_a_wide_sparse_table_are_taken(wide):  # noqa: F811
    X, y, _, expected = wide
    model = PGLearnClassifier(**QUICK, engine="torch").fit(X, y)
    assert model.engine_.startswith("torch")
    assert (model.transduction_ == expected.transduction_).mean() > 0.95
