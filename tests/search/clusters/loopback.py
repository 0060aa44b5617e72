"""Runs Python in a network that has nothing but loopback, for Ray listens on every address that there is.

unshare --map-root-user --net python tests/search/clusters/loopback.py -m pytest tests/search/clusters
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys


def up() -> None:
    """Switch loopback on, which a new network has switched off."""
    assert [name for _, name in socket.if_nameindex()] == ["lo"], "not in a network of its own: see above"
    set_flags, flag_up = 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sH14x", b"lo", flag_up))


if __name__ == "__main__":
    up()
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
