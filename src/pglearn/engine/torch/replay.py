"""A step recorded once and replayed: hundreds of small kernels without the time it takes to launch each from Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from weakref import WeakSet

import torch

from pglearn.engine.torch.placed import Tensor

ROUND_UP = 8  # populations are filled up to a multiple of this, so that few sizes are ever recorded


def part_size(most: int) -> int:
    """Candidates taken at once where `most` fit: a multiple of 8, or a power of two below it."""
    return most // ROUND_UP * ROUND_UP or 1 << (most.bit_length() - 1)


def filled_up(size: int, part: int) -> int:
    """What `size` candidates are filled up to, of which `part` are taken at once; never more than that, for it fits."""
    return min(-(-size // ROUND_UP) * ROUND_UP, part)


def in_parts(step: Callable[[Tensor, Tensor], Tensor], a: Tensor, k: Tensor, part: int) -> Tensor:
    """`step` of a population, `part` candidates at a time."""
    return torch.cat([step(a[start : start + part], k[start : start + part]) for start in range(0, len(a), part)])


class Recorded:
    """`step(a, k)` on a CUDA device, for populations of one size: that of a and k, which are on the host."""

    def __init__(self, step: Callable[[Tensor, Tensor], Tensor], a: Tensor, k: Tensor, pool: Tensor | None) -> None:
        self._a, self._k = a.cuda(), k.cuda()
        aside = _stream(torch.cuda.current_device())
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # libraries set themselves up, kernels are compiled
            step(self._a, self._k)
        torch.cuda.current_stream().wait_stream(aside)
        self._graph = torch.cuda.CUDAGraph()
        with warnings.catch_warnings():  # of an error in `step`, which says more than the recording that it cut short
            warnings.filterwarnings("ignore", "The CUDA Graph is empty")
            with torch.cuda.graph(self._graph, pool=pool, stream=aside):
                self._result = step(self._a, self._k)

    @property
    def pool(self) -> Tensor:
        """Its memory, which others may share: they run one after another, and results are copied before the next."""
        return self._graph.pool()

    def __call__(self, a: Tensor, k: Tensor) -> Tensor:
        self._a.copy_(a)
        self._k.copy_(k)
        self._graph.replay()
        return self._result.cpu()


@lru_cache
def _stream(device: int) -> Tensor:
    """What is recorded on one stream can share its memory. Torch has one, too, but of the first device alone."""
    return torch.cuda.Stream(device)


class Replayed:
    """`step(slots, a, k)` for populations of any size, of which `most` fit the device: arrays of the host in, and out.

    `alive` are the recordings of all steps that run one after another, this one's among them: they share their memory.
    """

    def __init__(self, step: Callable[[int, Tensor, Tensor], Tensor], alive: WeakSet[Recorded]) -> None:
        self._step = step
        self._alive = alive
        self._recorded: dict[tuple[int, int], Recorded] = {}

    def __call__(self, a: Tensor, k: Tensor, slots: int, most: int) -> Tensor:
        part = part_size(most)
        return in_parts(partial(self._filled_up, part, slots), a, k, part)

    def _filled_up(self, part: int, slots: int, a: Tensor, k: Tensor) -> Tensor:
        size = len(a)
        full = filled_up(size, part)
        if full > size:  # the last candidate once more, as often as it takes
            index = torch.arange(full).clamp(max=size - 1)
            a, k = a[index], k[index]
        if (full, slots) not in self._recorded:
            # One that is alive until then, and no handle: torch refuses that of a pool whose last recording is gone.
            other = next(iter(self._alive), None)
            recorded = Recorded(partial(self._step, slots), a, k, None if other is None else other.pool)
            self._recorded[full, slots] = recorded
            self._alive.add(recorded)
        return self._recorded[full, slots](a, k)[:size]
