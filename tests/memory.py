"""How much memory something takes: arrays of NumPy in this process, or all of it for code in one of its own.

`ru_maxrss` begins with the peak of the process that started it, which is that of the tests, and would hide the growth.
"""

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

CLEAR = Path("/proc/self/clear_refs")
needs_linux = pytest.mark.skipif(not CLEAR.exists(), reason="the peak can be measured from here on by Linux only")

MEASURING = f"""
from pathlib import Path

def resident(field):
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])

def size_from_here():
    "What the process has now, in bytes; `peak` is of the time after that."
    Path("{CLEAR}").write_text("5")
    return resident("VmRSS")

def peak():
    return resident("VmHWM")
"""


def printed(code):
    """The numbers that code prints in a process of its own, on one thread; it has `size_from_here` and `peak`."""
    command, alone = [sys.executable, "-c", MEASURING + code], {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, env=alone)
    return [float(number) for number in run.stdout.split()]


def traced(function):
    """What it gives, and the most bytes that it held at a time."""
    tracemalloc.start()
    try:
        return function(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
