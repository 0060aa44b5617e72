"""The torch engine: where a problem is placed, how much of a population is taken at once, and what when memory ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import torch

from pglearn.arrays import Array
from pglearn.engine import Configuration, CPUEngine, Evaluation
from pglearn.engine.torch import dense, iterative
from pglearn.engine.torch.device_graph import DeviceGraph
from pglearn.engine.torch.placed import Placed
from pglearn.engine.torch.precision import whole_products
from pglearn.engine.torch.replay import in_parts, replayed
from pglearn.errors import warn
from pglearn.objective.graph import Graph
from pglearn.objective.graph.neighbours import scaled_points
from pglearn.objective.loss import Log, Loss
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import LGC, Solution
from pglearn.parameters import choice

SHARE_OF_MEMORY = 0.6  # of what is free on the device, where no limit is given
CPU_MEMORY = 2 << 30
LEAST_MEMORY = 1 << 24  # a device without even this much is full
DTYPES = {"float32": torch.float32, "float64": torch.float64}

Result = TypeVar("Result")


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
    dense_limit : int
        Points up to which n × n arrays are used, and graphs and labels are the CPU engine's.
    """

    loss: Loss = field(default_factory=Log)
    propagation: LGC = field(default_factory=LGC)
    device: str = "auto"
    dtype: str = "float32"
    memory: int | None = None
    dense_limit: int = 4000
    _placed: WeakKeyDictionary[Problem, Placed] = field(default_factory=WeakKeyDictionary, repr=False)

    def __post_init__(self) -> None:
        choice(self.dtype, DTYPES, "dtype")

    @property
    def neighbours(self) -> str:
        return "exact"

    def for_search(self, dtype: str) -> TorchEngine:
        coarse = self.propagation.for_search("float64")
        return TorchEngine(self.loss, coarse, self.device, dtype, self.memory, self.dense_limit)

    def for_answer(self, neighbours: str, is_large: bool) -> TorchEngine:
        propagation = self.propagation.for_large_table() if is_large else self.propagation
        return TorchEngine(self.loss, propagation, self.device, self.dtype, self.memory, self.dense_limit)

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

    @property
    def _cpu(self) -> CPUEngine:
        """What makes the graphs and labels of few points."""
        return CPUEngine(self.loss, self.propagation)

    def graph(self, problem: Problem, configuration: Configuration) -> Graph:
        """With exact neighbours, found and weighed in the precision of the points."""
        if problem.n <= self.dense_limit:
            return self._cpu.graph(problem, configuration)
        view = problem.views[configuration.view]
        Z = scaled_points(view.X, configuration.a, view.centre)
        with self._at_work():
            there = torch.as_tensor(Z).to(self.where)
            return self._within_memory(partial(DeviceGraph.from_points, there, configuration.k)).on_host()

    def propagate(self, problem: Problem, graph: Graph, beliefs: Array | None = None) -> Solution:
        if problem.n <= self.dense_limit:
            return self._cpu.propagate(problem, graph, beliefs)
        with self._at_work():
            return iterative.propagated(problem.sources(beliefs), graph, self.propagation, self.where)

    def value_and_gradient(
        self, problem: Problem, configurations: Sequence[Configuration], carried: dict[int | None, Any] | None = None
    ) -> list[Evaluation]:
        """As the contract has it; every evaluation is by itself, and nothing is carried."""
        found: dict[int, Iterator[Evaluation]] = {}
        with self._at_work():
            for view in sorted({configuration.view for configuration in configurations}):
                members = [configuration for configuration in configurations if configuration.view == view]
                found[view] = iter(self._in_view(problem.views[view], members))
        return [next(found[configuration.view]) for configuration in configurations]

    def _in_view(self, view: Problem, configurations: Sequence[Configuration]) -> list[Evaluation]:
        if view not in self._placed:
            self._placed[view] = Placed.on(self.where, view, DTYPES[self.dtype])
        placed = self._placed[view]
        if view.n <= self.dense_limit:
            return self._side_by_side(placed, configurations)
        return [self._within_memory(partial(self._by_itself, placed, c)) for c in configurations]

    def _side_by_side(self, placed: Placed, configurations: Sequence[Configuration]) -> list[Evaluation]:
        a = torch.as_tensor(np.stack([c.a for c in configurations])).to(placed.X.dtype)
        k = torch.as_tensor([c.k for c in configurations])
        slots = dense.slots_for(k)
        step = partial(dense.evaluated, placed, slots, self.loss, self.propagation)
        _ = placed.one_per_label  # which a recorded step must find made

        def population(memory: int) -> Array:
            most = max(1, memory // dense.bytes_per_candidate(placed, slots))
            if dense.is_fused(placed.X):
                found = replayed(step, placed, slots, a, k, most, list(self._placed.values()))
            else:
                found = in_parts(step, a, k, most).cpu()
            return np.asarray(found, dtype=np.float64)

        return [Evaluation(float(row[0]), float(row[1]), row[2:]) for row in self._within_memory(population)]

    def _by_itself(self, placed: Placed, configuration: Configuration, memory: int) -> Evaluation:
        root = torch.as_tensor(np.sqrt(configuration.a)).to(placed.X)
        try:
            graph = DeviceGraph.from_points(placed.X * root, configuration.k, memory)
        except OverflowError:
            return Evaluation(np.nan, np.nan, np.full_like(configuration.a, np.nan))
        g, accuracy, dg_da = iterative.evaluated(placed, graph, self.loss, self.propagation, memory)
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
            for placed in self._placed.values():
                placed.recordings.clear()
            torch.cuda.empty_cache()
            memory //= 2
        self.memory = memory
        if memory < start:
            warn(f"The device ran out of memory: going on with {memory / 2**30:.2g} GiB.")
        return result

    def _free_memory(self) -> int:
        """A share of what nobody holds, and of what torch holds for nobody, as for recordings, which share it."""
        if self.where.type != "cuda":
            return CPU_MEMORY
        free, _ = torch.cuda.mem_get_info(self.where)
        cached = torch.cuda.memory_reserved(self.where) - torch.cuda.memory_allocated(self.where)
        return int(SHARE_OF_MEMORY * (free + cached))
