"""Ports for listeners of a test, that nobody else is given meanwhile."""

from __future__ import annotations

import socket
from collections import deque

# A test needs two or three, and is done with them when the next ones begin.
_KEPT = 64
_reserved: deque[socket.socket] = deque()


def free_port() -> int:
    """A port of 127.0.0.1 on which nobody listens, for the caller to listen on, now or later, here or in a process.

    It stays bound: the system gives a bound port to nobody who asks for any port, and lets somebody listen on it who
    names it and allows its reuse, as servers do. Until then, who connects to it is refused.
    """
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", 0))
    _reserved.append(made)
    if len(_reserved) > _KEPT:
        _reserved.popleft().close()
    port: int = made.getsockname()[1]
    return port
