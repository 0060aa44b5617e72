"""The torch engine: where a problem is placed, how much of a population is taken at once, and what when memory ends."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
import torch

from pglearn.arrays import Array
from pglearn.engine.base import Configuration, Engine, Evaluation
from pglearn.engine.cpu import CPUEngine
from pglearn.engine.torch import dense, sparse
from pglearn.engine.torch.neighbours import k_nearest
from pglearn.engine.torch.placed import Placed, Tensor
from pglearn.engine.torch.precision import whole_products
from pglearn.engine.torch.replay import Recorded, Replayed, in_parts
from pglearn.objective.graph import Edges, Graph
from pglearn.objective.graph.neighbours import scaled_points
from pglearn.objective.graph.weights import graph_on_edges
from pglearn.objective.loss import Log, Loss
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC, Solution
from pglearn.parameters import choice

DENSE_LIMIT = 4000  # points up to which n × n arrays are used
SHARE_OF_MEMORY = 0.6  # of what is free on the device, where no limit is given
CPU_MEMORY = 2 << 30
LEAST_MEMORY = 1 << 24  # a device without even this much is full
DTYPES = {"float32": torch.float32, "float64": torch.float64}

Result = TypeVar("Result")
Step: TypeAlias = Callable[[Tensor, Tensor, int, int], Tensor]


def cuda_is_available() -> bool:
    return bool(torch.cuda.is_available())


@dataclass(eq=False)
class TorchEngine:
    """A population at a time, on CUDA where there is a device and on the CPU otherwise.

    Parameters
    ----------
    loss, propagation
        As for the CPU engine.
    device : str
        "auto", "cuda", "cuda:1", "cpu".
    dtype : {"float32", "float64"}
        Precision of products and solves.
    memory : int, optional
        Bytes of the device for working arrays; by default 60 % of what is free. With more than a few thousand points
        it is for blocks of neighbours and edges alone (docs/gpu.md). Where the device runs out of memory nevertheless,
        the engine warns once and stays with the half, quarter, … that was enough.
    """

    loss: Loss = field(default_factory=Log)
    propagation: LGC = field(default_factory=LGC)
    device: str = "auto"
    dtype: str = "float32"
    memory: int | None = None
    _placed: WeakKeyDictionary[Problem, Placed] = field(default_factory=WeakKeyDictionary, repr=False)
    _steps: WeakKeyDictionary[Placed, Step] = field(default_factory=WeakKeyDictionary, repr=False)
    _recorded: WeakSet[Recorded] = field(default_factory=WeakSet, repr=False)

    def __post_init__(self) -> None:
        choice(self.dtype, DTYPES, "dtype")

    @property
    def neighbours(self) -> str:
        return "exact"

    def for_search(self, dtype: str) -> TorchEngine:
        return TorchEngine(self.loss, self.propagation.for_search("float64"), self.device, dtype, self.memory)

    def for_answer(self, neighbours: str, is_large: bool) -> Engine:
        if is_large:
            return CPUEngine(self.loss, self.propagation, neighbours).for_answer(neighbours, is_large)
        return self

    @property
    def together(self) -> int | None:
        """All of a population."""
        return None

    @property
    def name(self) -> str:
        device = torch.cuda.get_device_name(self.where) if self.where.type == "cuda" else "cpu"
        return f"torch on {device}"

    @property
    def where(self) -> torch.device:
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return torch.device(self.device)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Its device as the current one: recordings and kernels go there, wherever their arguments are.

        Products keep all bits of their factors: what is recorded otherwise is replayed so.
        """
        device = torch.cuda.device(self.where) if self.where.type == "cuda" else nullcontext()
        with device, whole_products():
            yield

    def graph(self, problem: Problem, configuration: Configuration) -> Graph:
        """The graph that `value_and_gradient` weighs, found in the precision of the points."""
        view = problem.views[configuration.view]
        Z = scaled_points(view.X, configuration.a, view.centre)
        with self._at_work():
            placed = torch.as_tensor(Z).to(self.where)
            if len(Z) <= DENSE_LIMIT:
                p, q = dense.joined(placed, configuration.k)
                edges = Edges.between(len(Z), p.cpu().numpy(), q.cpu().numpy())
            else:
                neighbours = self._within_memory(partial(k_nearest, placed, configuration.k))
                edges = Edges.between_neighbours(neighbours.cpu().numpy())
        return graph_on_edges(view.X, configuration.a, edges)

    def propagate(self, problem: Problem, graph: Graph, beliefs: Array | None = None) -> Solution:
        if self.where.type == "cpu" or problem.n <= DENSE_LIMIT:
            return CPUEngine(self.loss, self.propagation).propagate(problem, graph, beliefs)
        with self._at_work():
            return sparse.propagated(problem.sources(beliefs), graph, self.propagation, self.where)

    def value_and_gradient(
        self, problem: Problem, configurations: Sequence[Configuration], carried: dict[int | None, Any] | None = None
    ) -> list[Evaluation]:
        """As the contract has it; every evaluation is by itself, and nothing is carried."""
        found: dict[int, Evaluation] = {}
        for view in sorted({configuration.view for configuration in configurations}):
            positions = [i for i, configuration in enumerate(configurations) if configuration.view == view]
            members = [configurations[i] for i in positions]
            with self._at_work():
                placed = self._placed_on_device(problem.views[view])
                found |= zip(positions, self._evaluations(placed, members), strict=True)
        return [found[i] for i in range(len(configurations))]

    def _placed_on_device(self, view: Problem) -> Placed:
        if view not in self._placed:
            self._placed[view] = Placed.on(self.where, view, DTYPES[self.dtype])
        return self._placed[view]

    def _evaluations(self, placed: Placed, configurations: Sequence[Configuration]) -> list[Evaluation]:
        if len(placed.X) <= DENSE_LIMIT:
            return self._dense(placed, configurations)
        return [self._within_memory(partial(self._sparse, placed, c)) for c in configurations]

    def _dense(self, placed: Placed, configurations: Sequence[Configuration]) -> list[Evaluation]:
        a = torch.as_tensor(np.stack([c.a for c in configurations])).to(placed.X.dtype)
        k = torch.as_tensor([c.k for c in configurations])
        slots = dense.slots_for(k)

        def population(memory: int) -> Array:
            step = self._step_on(placed)  # not kept outside: what it recorded must go when memory runs out
            most = max(1, memory // dense.bytes_per_candidate(placed, slots))
            return np.asarray(step(a, k, slots, most), dtype=np.float64)

        return [Evaluation(float(row[0]), float(row[1]), row[2:]) for row in self._within_memory(population)]

    def _step_on(self, placed: Placed) -> Step:
        """A step of a population, of which so many fit the device: arrays of the host in, one array of the host out."""
        if placed in self._steps:
            return self._steps[placed]
        there = weakref.proxy(placed)  # a step must not keep alive what it is kept for
        loss, propagation = self.loss, self.propagation

        def on_device(slots: int, a: Tensor, k: Tensor) -> Tensor:
            g, accuracy, dg_da = dense.evaluated(there, a.to(there.X), k.to(there.X.device), slots, loss, propagation)
            return torch.cat([g[:, None], accuracy[:, None], dg_da], dim=1)

        def eager(a: Tensor, k: Tensor, slots: int, most: int) -> Tensor:
            return in_parts(lambda a, k: on_device(slots, a, k).cpu(), a, k, most)

        _ = placed.one_per_label  # which a recorded step must find made
        self._steps[placed] = Replayed(on_device, self._recorded) if dense.is_fused(placed.X) else eager
        return self._steps[placed]

    def _sparse(self, placed: Placed, configuration: Configuration, memory: int) -> Evaluation:
        Z = placed.X * torch.as_tensor(np.sqrt(configuration.a)).to(placed.X)
        # Where all points are infinitely far, the columns that pad a block of neighbours are as near as any.
        if not bool(Z.square().sum(1).isfinite().all()):
            return Evaluation(np.nan, np.nan, np.full_like(configuration.a, np.nan))
        edges = sparse.DeviceEdges.between_neighbours(k_nearest(Z, configuration.k, memory // 2))
        block = memory // (8 * Z.element_size())
        graph = sparse.DeviceGraph.weighted(Z, edges, block)
        del Z
        g, accuracy, dg_da = sparse.evaluated(placed, graph, self.loss, self.propagation, block)
        return Evaluation(float(g), float(accuracy), dg_da.cpu().numpy())

    def _within_memory(self, work: Callable[[int], Result]) -> Result:
        """`work` with the memory there is; where that was too much, with half of it, and so on, and it is said.

        What was enough is remembered: a search takes hundreds of steps, and each would run out and record anew. So is
        what was free at first: to ask takes as long as a small step, and then all have one size.
        """
        memory = start = self.memory or self._free_memory()
        while True:
            try:
                result = work(memory)
                break
            except torch.OutOfMemoryError:
                if memory // 2 < LEAST_MEMORY:
                    raise
            # Not in the except clause: as long as there is an error it holds the arrays of the work that it ended.
            self._steps.clear()
            torch.cuda.empty_cache()
            memory //= 2
        self.memory = memory
        if memory < start:
            warnings.warn(f"The device ran out of memory: going on with {memory / 2**30:.2g} GiB.", stacklevel=2)
        return result

    def _free_memory(self) -> int:
        """A share of what nobody holds, and of what torch holds for nobody, as for recordings, which share it."""
        if self.where.type != "cuda":
            return CPU_MEMORY
        free, _ = torch.cuda.mem_get_info(self.where)
        cached = torch.cuda.memory_reserved(self.where) - torch.cuda.memory_allocated(self.where)
        return int(SHARE_OF_MEMORY * (free + cached))
