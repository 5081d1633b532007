"""The machine that a queue manager runs on, as a port: clocks, threads, sockets, the disk and chance.

The server takes all of them from here, and nothing of the kind from anywhere else. `MACHINE` is the real one. The
simulator (`ostler.testing.simulation`) has another, on which time passes as a seed decides. Its objects have the
methods of the standard library's, whose types are used here for both.

A caller on the hot path keeps the function itself (`self._monotonic_ns = machine.monotonic_ns`), which on the real
machine is the system's: such a call costs what it would cost without the port.
"""

from __future__ import annotations

import os
import secrets
import select
import selectors
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from ostler.model.disk import Disk
    from ostler.server.config.directories import InstanceLock, QueueManagerDirectory
    from ostler.server.net.outgoing_sockets import HostAddress, LocalBinding


class Machine:
    """The real machine. A subclass replaces what it simulates."""

    def __init__(self) -> None:
        self.monotonic: Callable[[], float] = time.monotonic
        self.monotonic_ns: Callable[[], int] = time.monotonic_ns
        self.perf_counter_ns: Callable[[], int] = time.perf_counter_ns
        self.sleep: Callable[[float], None] = time.sleep
        # None: the engine's clock reads the system's clocks itself, which is quicker.
        self.wall: Callable[[], float] | None = None
        self.steady: Callable[[], float] | None = None
        self.random_bytes: Callable[[int], bytes] = secrets.token_bytes
        self.event: Callable[[], threading.Event] = threading.Event
        self.lock: Callable[[], threading.Lock] = threading.Lock
        self.epoll: Callable[[], select.epoll] = select.epoll
        self.selector: Callable[[], selectors.BaseSelector] = selectors.DefaultSelector
        self.eventfd_write: Callable[[int, int], None] = os.eventfd_write
        self.eventfd_read: Callable[[int], int] = os.eventfd_read
        self.close: Callable[[int], None] = os.close

    def eventfd(self) -> int:
        """Return the descriptor of a new counter that is 0 and never blocks."""
        return os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        """Return a daemon thread that has not been started."""
        return threading.Thread(target=work, name=name, daemon=True)

    def executor(self, threads_max: int, name: str) -> Executor:
        """Return a pool of threads, which are started as they are needed."""
        return ThreadPoolExecutor(threads_max, name)

    def current_thread(self) -> threading.Thread:
        return threading.current_thread()

    # -- sockets -------------------------------------------------------------------------------------------------------

    def listen(self, host: str, port: int, backlog: int) -> socket.socket:
        """Return a non-blocking listening TCP socket. An empty host means all addresses of the machine. OSError."""
        from ostler.server.net.listeners import bind_tcp

        return bind_tcp(host, port, backlog)

    def listen_locally(self, directory: QueueManagerDirectory) -> socket.socket:
        """Return the listening local socket of a queue manager. See `bind_local`."""
        from ostler.server.net.local_socket import bind_local

        return bind_local(directory)

    def start_connect(
        self, target: HostAddress, port: int, bindings: list[LocalBinding], turn: int = 0
    ) -> socket.socket:
        """Return a socket that is connecting to a partner. See `outgoing_sockets.start_connect`."""
        from ostler.server.net.outgoing_sockets import start_connect

        return start_connect(target, port, bindings, turn)

    def reserve_descriptor(self) -> int:
        """Return a descriptor that is kept for the time when there is no other one left."""
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    # -- storage -------------------------------------------------------------------------------------------------------

    def disk(self, base: Path, limit_megabytes: int | None = None) -> Disk:
        """Return the disk below a directory, with a limit on its space if one is given."""
        from ostler.server.storage.space_quota import manager_disk

        return manager_disk(base, limit_megabytes)

    def instance_lock(self, directory: QueueManagerDirectory) -> InstanceLock:
        """Return the lock of the one process that runs a queue manager. See `InstanceLock`."""
        from ostler.server.config.directories import InstanceLock

        return InstanceLock(directory)


MACHINE: Final = Machine()
