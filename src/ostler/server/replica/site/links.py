"""Short connections between sites: one asks what the other does, and says what it does itself.

The log goes over the link of the site that works (`leading.py`). Whoever has no such link asks: a site that starts, one
that is to change its role, and two recovery sites. An instance that leads answers at its replication address.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from ostler.model.connection_names import Address
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.replica.group_tls import GroupTls, certified_instance
from ostler.server.replica.transport import ConnectionLost, ReplicaConnection
from ostler.server.supervised_thread import SupervisedThread
from ostler.wire.frames import MalformedFrame
from ostler.wire.replica_frames import (
    FIRST_REPLICA_FRAME_BYTES_MAX,
    PURPOSE_DR,
    SITE_ACTIVE,
    ReplicaHello,
    decode_replica_frame,
)

_CONNECT_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 5.0
_ACCEPT_SECONDS: Final = 0.5
_SENT_SECONDS: Final = 0.01
_CONNECTIONS_MAX: Final = 8


def receive_hello(connection: ReplicaConnection, seconds: float) -> ReplicaHello:
    """Return the hello that comes next, of the instance that its certificate names.

    Raises ConnectionLost and MalformedFrame.
    """
    found = connection.receive(seconds)
    if found is None:
        raise ConnectionLost("no hello came in time")
    hello = decode_replica_frame(found.type, found.request, found.buffer, found.start, found.end)
    if not isinstance(hello, ReplicaHello):
        raise ConnectionLost("the first frame is no hello")
    if connection.stream is not None and certified_instance(connection.stream) != hello.instance:
        raise ConnectionLost(f"the certificate is not that of {hello.instance}")
    return hello


def ask_site(addresses: tuple[Address, ...], tls: GroupTls | None, hello: ReplicaHello) -> ReplicaHello | None:
    """Return what another site says of itself, the instance that works if there is one; None: nobody answers."""
    answered: ReplicaHello | None = None
    for address in addresses:
        try:
            sock = socket.create_connection((address.host, address.port), _CONNECT_SECONDS)
        except OSError:
            continue
        stream = tls.stream(False) if tls is not None else None
        connection = ReplicaConnection(sock, str(address), stream, FIRST_REPLICA_FRAME_BYTES_MAX)
        try:
            connection.finish_handshake()
            connection.send(hello.encode())
            found = receive_hello(connection, _ANSWER_SECONDS)
        except (ConnectionLost, MalformedFrame):
            continue
        finally:
            connection.close("asked")
        if found.purpose == PURPOSE_DR and (answered is None or _rank(found) > _rank(answered)):
            answered = found
    return answered


def _rank(hello: ReplicaHello) -> tuple[bool, bool, int, int]:
    """Of several instances that answer, the one that leads speaks for its site; else the one with the most."""
    return (
        hello.term > 0,
        hello.site_role == SITE_ACTIVE,
        hello.lives[-1].epoch if hello.lives else 0,
        int(hello.end_lsn),
    )


class SiteDoor:
    """Answers other sites at the replication address of an instance that leads."""

    def __init__(
        self,
        listener: socket.socket,
        tls: GroupTls | None,
        answer: Callable[[ReplicaHello], ReplicaHello],
        note: Callable[[str], None],
    ) -> None:
        self._listener = listener
        self._tls = tls
        self._answer = answer
        self._notes = RateLimitedLog(note)
        self._open = 0
        self._turn = threading.Lock()
        self._stopping = threading.Event()
        listener.settimeout(_ACCEPT_SECONDS)
        self._thread = SupervisedThread(
            "ostler-site",
            "thread that answers other sites",
            self._run,
            self._stopping.is_set,
            note,
            stopping=self._stopping,
        )
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._listener.close()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                accepted, address = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                if self._stopping.wait(_ACCEPT_SECONDS):
                    return
                continue
            with self._turn:
                is_full = self._open >= _CONNECTIONS_MAX
                self._open += 0 if is_full else 1
            if is_full:
                accepted.close()
                continue
            where = f"{address[0]}({address[1]})"
            threading.Thread(target=self._serve, args=(accepted, where), name="ostler-site-ask", daemon=True).start()

    def _serve(self, accepted: socket.socket, where: str) -> None:
        connection = ReplicaConnection(
            accepted, where, self._tls.stream(True) if self._tls is not None else None, FIRST_REPLICA_FRAME_BYTES_MAX
        )
        try:
            connection.finish_handshake()
            hello = receive_hello(connection, _ANSWER_SECONDS)
            connection.send(self._answer(hello).encode())
            connection.finish()
            deadline = monotonic() + _ANSWER_SECONDS
            while connection.is_open and monotonic() < deadline:
                self._stopping.wait(_SENT_SECONDS)
        except (ConnectionLost, MalformedFrame) as error:
            self._notes.write(str(error), f"AMQ3280W: A connection from {where} is refused: {error}")
        finally:
            connection.close("answered")
            with self._turn:
                self._open -= 1
