"""A load of applications that run inside the process of the queue manager, seen from the laboratory."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import struct
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Final

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.driver_process import DriverEnd, Load
from ostler.lab.load.libraries.trusted_adapter import SERVE
from ostler.lab.load.spec import TRUSTED, LoadSpec
from ostler.lab.runner.contract import PointFailed
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.sampling.process_sampler import WatchedProcess

_CONNECT_SECONDS_MAX: Final = 30.0
_CREDENTIALS: Final = struct.Struct("3i")


class TrustedLoad(Load):
    """A load whose clients are threads of the queue manager's process.

    It runs requesters, responders or both, whatever protocol the load names. Raises LoadFailed.
    """

    def __init__(self, manager: LabQueueManager) -> None:
        super().__init__([_TrustedEnd(manager)])
        self._manager = manager

    def _new_driver(self) -> DriverEnd:
        return _TrustedEnd(self._manager)

    def processes(self) -> list[WatchedProcess]:
        """Return nothing: the queue manager's process is sampled already."""
        return []

    def open(self, spec: LoadSpec) -> None:
        super().open(replace(spec, protocol=TRUSTED))


class _TrustedEnd(DriverEnd):
    """The parent's end of a pipe to a driver inside a queue manager's process."""

    def __init__(self, manager: LabQueueManager) -> None:
        self._manager = manager
        super().__init__(_connected(manager))

    @property
    def pid(self) -> int:
        return self._manager.pid

    def end(self) -> None:
        """Close the pipe. Its threads end when they notice; the queue manager continues."""
        self.pipe.close()

    def kill(self) -> None:
        self.pipe.close()

    def break_off(self) -> None:
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self.pipe.fileno())) as link:
            link.shutdown(socket.SHUT_RDWR)

    def describe_end(self) -> str:
        return f"The applications inside it are gone. {self._manager.describe_end()}"


def _connected(manager: LabQueueManager) -> Connection:
    """Load the driver into the queue manager, and wait for it to connect."""
    address = f"ostler-lab-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(f"\0{address}")
        listener.listen(1)
        listener.settimeout(_CONNECT_SECONDS_MAX)
        try:
            manager.run_trusted(SERVE, address)
            return _accepted(listener, manager.pid)
        except (PointFailed, TimeoutError) as failure:
            raise LoadFailed(f"Queue manager {manager.name} did not load the applications: {failure}") from None


def _accepted(listener: socket.socket, pid: int) -> Connection:
    """Accept the connection of that process only, by the credentials that the kernel reports."""
    while True:
        link, _ = listener.accept()
        with link, contextlib.suppress(OSError):
            credentials = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            if _CREDENTIALS.unpack(credentials)[0] == pid:
                link.settimeout(None)
                return Connection(link.detach())
