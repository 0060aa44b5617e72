"""The engines that every engine test runs on, and how hypothesis runs."""

from __future__ import annotations

import pytest
from hypothesis import settings

from pglearn.engine import CPUEngine

# A slow machine is no failure, and a failure is the same on every machine.
settings.register_profile("pglearn", deadline=None, derandomize=True)
settings.load_profile("pglearn")

# name → factory taking (loss, propagation); an engine is under the whole contract once it is named here.
ENGINES = {"cpu": CPUEngine}


@pytest.fixture(params=ENGINES)
def make_engine(request):
    """loss, propagation → engine, for each engine there is."""
    return ENGINES[request.param]
