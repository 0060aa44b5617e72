"""Which modules pytest may import to look for doctests: not those that need what this run does not have."""

import os

collect_ignore = ["src/pglearn/engine/torch/kernels.py"]  # Triton comes with CUDA builds of torch
if "torch" not in os.environ.get("PGLEARN_TEST_EXTRAS", "").split():
    collect_ignore.append("src/pglearn/engine/torch")
