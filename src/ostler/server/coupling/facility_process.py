"""The process of a coupling facility: sockets, signals and messages around the loop.

Everything is in memory. A facility that ends, in order or not, has lost all structures; members recover them from their
logs into the next one.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from ostler.coupling.displays import describe_structures
from ostler.coupling.machine import CouplingMachine
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import count_messages
from ostler.server.coupling.facility_directory import FacilityDirectory, FacilityLock, FacilityRecord
from ostler.server.coupling.facility_loop import LINKS_MAX, FacilityLoop
from ostler.server.replica.group_tls import GroupTls

SERVER_NAME: Final = "COUPLING"
"""In place of a channel's name in the TLS handshake."""
_CREDENTIALS: Final = struct.Struct("3i")
_ACCEPTS_MAX: Final = 16
_BACKLOG: Final = 128


@dataclass(frozen=True)
class FacilityAddress:
    """Where members on other machines connect."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        return ip_address(self.host).is_loopback


class AddressNotAllowed(Exception):
    """The facility must not listen there."""


class FacilityProcess:
    """A facility that runs in this process. `start`, then `run` until it is ended."""

    def __init__(
        self,
        directory: FacilityDirectory,
        address: FacilityAddress | None,
        tls: GroupTls | None,
        note: Callable[[str], None],
    ) -> None:
        """Raises AddressNotAllowed for an address that other machines reach without TLS."""
        if address is not None and tls is None and not address.is_loopback:
            raise AddressNotAllowed(
                f"{address.host} can be reached from other machines, and who reaches a facility can read and write "
                "every shared queue: give it keys, so that members must prove who they are"
            )
        self._directory = directory
        self._address = address
        self._tls = tls
        self._note = note
        self._lock: FacilityLock | None = None
        self._sockets: dict[int, socket.socket] = {}
        self._local_fd = -1
        identity = secrets.token_bytes(cf.IDENTITY_BYTES)
        # Fences go on where earlier facilities of the name have ended, as far as clocks can tell.
        self.machine = CouplingMachine(identity, (time.time_ns() // 1_000_000_000) << 24)
        self.loop = FacilityLoop(
            self.machine, directory.name, time.monotonic_ns, time.time_ns, self._accept, self._end_refusal, note
        )

    @property
    def address(self) -> str:
        """Where it listens for other machines; empty: nowhere."""
        for sock in self._sockets.values():
            if sock.family != socket.AF_UNIX:
                host, port = sock.getsockname()[:2]
                return f"{host}:{port}"
        return ""

    def start(self) -> None:
        """Take the lock and listen. Raises FacilityRunning and OSError."""
        self._directory.make()
        self._lock = FacilityLock(self._directory)
        try:
            local = self._directory.bind()
            self._local_fd = local.fileno()
            self._listen(local)
            if self._address is not None:
                family = socket.AF_INET6 if ip_address(self._address.host).version == 6 else socket.AF_INET
                sock = socket.socket(family, socket.SOCK_STREAM)
                self._sockets[sock.fileno()] = sock
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((self._address.host, self._address.port))
                sock.listen(_BACKLOG)
                self._listen(sock)
            started = time.strftime("%Y-%m-%d %H:%M:%S")
            identity = self.machine.state.identity.hex()
            is_tls = self._tls is not None
            self._directory.write_record(FacilityRecord(os.getpid(), started, identity, self.address, is_tls))
        except BaseException:
            self.close()
            raise
        where = f" It listens on {self.address}." if self.address else ""
        self._note(f"AMQ3851I: Coupling facility {self._directory.name} has started, empty.{where}")

    def _listen(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sockets[sock.fileno()] = sock
        self.loop.listen(sock)

    def run(self) -> None:
        """Serve until CF_END, SIGTERM or SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.loop.stop())
        try:
            self.loop.run()
        finally:
            self.close()
        self._note(f"AMQ3852I: Coupling facility {self._directory.name} has ended. Nothing of its structures is kept.")

    def close(self) -> None:
        for sock in self._sockets.values():
            sock.close()
        self._sockets = {}
        self._directory.unbind()
        if self._lock is not None:
            self._lock.release()

    def _accept(self, fd: int) -> None:
        """Accept what waits on a listening socket."""
        listener = self._sockets[fd]
        for _ in range(_ACCEPTS_MAX):
            try:
                sock, address = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self._note(f"AMQ3863E: A connection could not be accepted: {error.strerror or error}.")
                return
            if len(self.loop.links) >= LINKS_MAX:
                self._note(f"AMQ3863E: {LINKS_MAX} links are open, which is the maximum. Another one is refused.")
                sock.close()
                continue
            sock.setblocking(False)
            if fd == self._local_fd:
                credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
                pid, uid, _ = _CREDENTIALS.unpack(credentials)
                self.loop.add(sock, f"process {pid}", uid in (os.getuid(), 0), None)
            else:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                stream = None if self._tls is None else self._tls.stream(True)
                self.loop.add(sock, f"{address[0]}:{address[1]}", False, stream)

    def _end_refusal(self, is_forced: bool) -> str:
        """Return why the facility does not end, which would lose what it has; empty: it does."""
        if is_forced:
            return ""
        state = self.machine.state
        active = sorted(m.name for m in state.members.values() if m.state == cf.MEMBER_ACTIVE_STATE)
        if active:
            return f"Queue managers are connected: {', '.join(active)}. End them first."
        entries = count_messages(describe_structures(state))
        if entries:
            return f"Its structures hold {entries} messages, which would be lost."
        return ""
