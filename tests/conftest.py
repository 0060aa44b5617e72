"""The engines that every engine test runs on, and how hypothesis runs."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import settings

from pglearn.engine import CPUEngine
from pglearn.engine.choose import LOSSES_OF_TORCH

# A slow machine is no failure, and a failure is the same on every machine.
settings.register_profile("pglearn", deadline=None, derandomize=True)
settings.load_profile("pglearn")

# Extras that this run must have, installed by scripts/test: a stranger's run pulls no torch.
EXTRAS = os.environ.get("PGLEARN_TEST_EXTRAS", "").split()

# name → factory taking (loss, propagation); an engine is under the whole contract once it is named here.
ENGINES = {"cpu": CPUEngine}
if "torch" in EXTRAS:
    import torch

    from pglearn.engine.torch import TorchEngine

    ENGINES["torch"] = partial(TorchEngine, dtype="float64")
    ENGINES["torch, many points"] = partial(TorchEngine, dtype="float64", dense_limit=1)
    ENGINES["torch, float32"] = partial(TorchEngine, device="cpu")
    if torch.cuda.is_available():
        ENGINES["torch on CUDA"] = TorchEngine


@dataclass(frozen=True)
class Precision:
    """What an engine's loss and gradient may be off by, relative, where a test does not allow more."""

    loss: float = 0.0
    gradient: float = 0.0
    largest: float = float("inf")
    """Weights beyond this overflow: the candidate has no loss."""
    smallest: float = 0.0
    """A row that labels reach by less than this, whatever the number of points, is lost."""


PRECISIONS = dict.fromkeys(("torch, float32", "torch on CUDA"), Precision(1e-4, 1e-3, 1e37))
PRECISIONS["torch, many points"] = Precision(smallest=1e-10)  # iterative solves have no dense factor to fall back on


@pytest.fixture(params=ENGINES)
def make_engine(request):
    """loss, propagation → engine, for each engine there is; one that it does not know is passed over."""

    def make(loss, propagation):
        if request.param.startswith("torch") and loss.name not in LOSSES_OF_TORCH:
            pytest.skip(f"the torch engine does not know {loss.name}")
        return ENGINES[request.param](loss, propagation)

    return make


@pytest.fixture
def precision(request, make_engine):
    """That of the engine of this test."""
    return PRECISIONS.get(request.node.callspec.params["make_engine"], Precision())


@pytest.fixture
def interruptible():
    """Ctrl-C as in a terminal, even where the tests run in the background and ignore it."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)
