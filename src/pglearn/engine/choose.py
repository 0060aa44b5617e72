"""Which engine a search runs on. torch is looked for only when it may be used."""

from __future__ import annotations

import ctypes
import logging
import sys
from importlib.util import find_spec
from typing import Any

from pglearn.arrays import Points, is_sparse
from pglearn.engine.base import Engine
from pglearn.engine.cpu import CPUEngine
from pglearn.errors import InputError
from pglearn.objective.graph.approximate import APPROXIMATE_FROM
from pglearn.objective.loss import Loss
from pglearn.objective.problem import Problem
from pglearn.objective.propagation import Propagation
from pglearn.objective.views import View
from pglearn.parameters import choice

# Below this many seconds on one core a GPU is not worth its start (loading torch, a context, compiling kernels).
WORTH_SECONDS = 10.0
# What the torch engine knows: without a look at torch, which takes long to load.
LOSSES_OF_TORCH, PROPAGATIONS_OF_TORCH = ("log", "ranking", "error", "power", "exponential"), ("lgc",)
DISTANCES_PER_SECOND, UNKNOWNS_PER_SECOND = 8e10, 2e7  # of a core: features of distances, rows × labels of a solve


def chosen_engine(
    name: str,
    loss: Loss,
    propagation: Propagation,
    problem: Problem,
    evaluations: int,
    device_memory: float | None = None,
    dtype: str = "float32",
    neighbors: str = "exact",
) -> Engine:
    """The engine called `name`; "auto" is CUDA where torch sees one and the search is long enough to be worth it.

    `dtype` is the precision of the torch engine; the CPU engine has that of the points. The torch engine finds
    neighbours exactly; the CPU engine, with `neighbors="auto"`, of tables of fewer than 10,000 rows.
    """
    refused = check_engine(name, loss, propagation, neighbors)
    stays_sparse = any(is_sparse(view.X) for view in problem.views)
    if stays_sparse and name == "torch":
        raise InputError(
            "X is sparse, which the torch engine does not take: use engine='cpu', or X.toarray() if it is small."
        )
    pays = not (refused or stays_sparse) and seconds_on_a_core(problem, evaluations) > WORTH_SECONDS
    if name == "torch" or (name == "auto" and pays and sees_cuda()):
        return _torch_engine(loss, propagation, device_memory, dtype)
    found = chosen_neighbours(neighbors, problem.X.shape[0], stays_sparse)
    return CPUEngine(loss, propagation, found)


def check_engine(name: str, loss: Loss, propagation: Propagation, neighbors: str) -> str:
    """Whether there is such an engine, and it can do what is asked for; why torch cannot, where it need not."""
    choice(name, {"auto": None, "cpu": None, "torch": None}, "engine")
    choice(neighbors, {"auto": None, "exact": None, "approximate": None}, "neighbors")
    refused = ""
    if neighbors == "approximate":
        refused = "The torch engine finds neighbours exactly: use engine='cpu', or neighbors='exact'."
    elif loss.name not in LOSSES_OF_TORCH:
        refused = f"loss={loss.name!r} is not known to the torch engine: use engine='cpu', or another loss."
    elif propagation.name not in PROPAGATIONS_OF_TORCH:
        refused = f"propagation={propagation.name!r} is not known to the torch engine: use engine='cpu'."
    if name == "torch" and refused:
        raise InputError(refused)
    return refused


def chosen_neighbours(name: str, rows: int, sparse: bool = False) -> str:
    """What `neighbors` comes to: "exact" or "approximate"."""
    if sparse:
        if name == "approximate":
            raise InputError("Neighbours of sparse rows are found exactly: use neighbors='exact', or 'auto'.")
        return "exact"
    if name == "auto":
        return "exact" if rows < APPROXIMATE_FROM else "approximate"
    return name


def neighbours_among(X: Points, views: list[View], asked: str) -> str:
    """How neighbours among the rows of X are found. Those of rows that stay sparse in a view always are exactly."""
    stays_sparse = is_sparse(X) and any(view.axes is None for view in views)
    return chosen_neighbours(asked, X.shape[0], stays_sparse)


def announce_neighbours(asked: str, found: str, rows: int) -> None:
    """Say where "auto" has come to approximate neighbours, to the logger "pglearn": it is normal, so no warning."""
    if asked == "auto" and found == "approximate":
        logging.getLogger("pglearn").info(
            "Neighbours of %d rows are found approximately, being %d or more: neighbors='exact' finds all of them.",
            rows,
            APPROXIMATE_FROM,
        )


def seconds_on_a_core(problem: Problem, evaluations: int) -> float:
    """What the CPU engine needs, roughly: distances, and a solve per label."""
    (n, d), labels = problem.X.shape, len(problem.scored_codes)
    return float(evaluations * (n * n * d / DISTANCES_PER_SECOND + n * labels / UNKNOWNS_PER_SECOND))


def sees_cuda() -> bool:
    """Whether torch sees a CUDA device. Where there is no driver, torch is not even loaded to find out."""
    if find_spec("torch") is None:
        return False
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    from pglearn.engine.torch import cuda_is_available

    return cuda_is_available()


def _torch_engine(loss: Loss, propagation: Any, device_memory: float | None, dtype: str) -> Engine:
    if find_spec("torch") is None:
        raise InputError('engine="torch" needs PyTorch, which is not installed. Run: pip install "pglearn[torch]"')
    from pglearn.engine.torch import TorchEngine

    memory = None if device_memory is None else int(device_memory * 2**30)
    return TorchEngine(loss, propagation, dtype=dtype, memory=memory)
