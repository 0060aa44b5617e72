"""A step recorded once and replayed: hundreds of small kernels without the time it takes to launch each from Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache

import torch

from pglearn.engine.torch.placed import Placed, Tensor

ROUND_UP = 8  # populations are filled up to a multiple of this, so that few sizes are ever recorded


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


def replayed(
    step: Callable[[Tensor, Tensor], Tensor],
    placed: Placed,
    slots: int,
    a: Tensor,
    k: Tensor,
    most: int,
    others: Sequence[Placed],
) -> Tensor:
    """`step` of a population of any size, of which `most` fit the device.

    The recordings of all `others` run one after another, with those of `placed` among them: they share their memory.
    """
    part = most // ROUND_UP * ROUND_UP or 1 << (most.bit_length() - 1)  # a multiple, or a power of two below it

    def filled_up(a: Tensor, k: Tensor) -> Tensor:
        size, full = len(a), min(-(-len(a) // ROUND_UP) * ROUND_UP, part)  # never more than a part, for it fits
        if full > size:  # the last candidate once more, as often as it takes
            index = torch.arange(full).clamp(max=size - 1)
            a, k = a[index], k[index]
        if (full, slots) not in placed.recordings:
            # One that is alive until then, and no handle: torch refuses that of a pool whose last recording is gone.
            other = next((recorded for each in others for recorded in each.recordings.values()), None)
            placed.recordings[full, slots] = Recorded(step, a, k, None if other is None else other.pool)
        return placed.recordings[full, slots](a, k)[:size]

    return in_parts(filled_up, a, k, part)
