"""A Ray head with a port for clients, and `pglearn fit` on it, in a network of their own that has nothing but loopback.

    unshare --map-root-user --net python tests/clusters/ray_client.py table.csv --target side -o out/

Ray listens on every address of the machine, also when it is told to use 127.0.0.1; where there is no other, that is
harmless. What follows the script's name goes to `pglearn fit`, with the head's address after it.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
PORT = 10001


def main() -> int:
    from tests.clusters import loopback
    from tests.clusters.processes import ray_head

    loopback.up()
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex()}  # of the head and its client
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ray_head(Path(folder), PORT) as address:
        command = [str(Path(sys.executable).parent / "pglearn"), "fit", *sys.argv[1:], "--cluster", address]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
