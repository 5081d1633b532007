"""A client's connection: a socket that never blocks, not even while it connects, with or without TLS."""

from __future__ import annotations

import errno
import os
import socket
from typing import Final

from ostler.lab.load.client import LoadClient, LoadFailed
from ostler.wire.tls_stream import TlsStream

Address = tuple[str, int] | str
"""Host and port, or the path of a Unix socket."""

# A buffer is allocated for each read: a small one for clients that receive little.
READ_BYTES: Final = 8192
READ_BYTES_MAX: Final = 262_144
_CONNECT_SECONDS_MAX: Final = 60.0
CLOSED: Final = "the broker closed a connection"
# Each address has about 28,000 ports to connect from. Fewer are used, since closed ones stay in TIME_WAIT for a minute.
_CONNECTIONS_PER_ADDRESS: Final = 5000
_ADDRESSES_MAX: Final = 200
_BIND_ADDRESS_NO_PORT: Final = 24  # of Linux; Python 3.11 has no name for it


class LoadLink:
    """A client, its socket while it has one, and the bytes that the socket has not accepted yet."""

    def __init__(self, client: LoadClient, address: Address) -> None:
        self.client = client
        self.address: Address = address
        self.sock: socket.socket | None = None
        self.descriptor = -1
        self.is_connecting = False
        # The number of bytes sent is counted: cutting them off would copy the rest of a long message many times.
        self.backlog = b""
        self.backlog_sent = 0
        self.read_bytes = READ_BYTES
        self.tls: TlsStream | None = None
        self.is_opened = False
        """The client's first bytes are on their way."""

    def close(self) -> None:
        """Close the socket. The link may be connected again."""
        if self.sock is not None:
            self.sock.close()
        self.sock = None
        self.descriptor = -1
        self.is_connecting = False
        self.is_opened = False
        self.backlog = b""
        self.backlog_sent = 0
        self.read_bytes = READ_BYTES
        self.tls = None

    def read_more_or_less(self, received: int) -> None:
        """Adapt the size of the buffer to the received bytes."""
        if received < READ_BYTES:
            self.read_bytes = READ_BYTES
        elif received == self.read_bytes and received < READ_BYTES_MAX:
            self.read_bytes = min(4 * received, READ_BYTES_MAX)


def begin_connecting(link: LoadLink, number: int) -> bool:
    """Give a link the nth socket of a driver, which begins to connect. Returns False when the listener's accept queue
    is full."""
    address = link.address
    sock = _new_socket(address, number)
    sock.setblocking(False)
    error = _connect(sock, address)
    if error == errno.EAGAIN:
        sock.close()
        return False
    if error not in (0, errno.EINPROGRESS):
        sock.close()
        raise LoadFailed(_cannot(address, error))
    link.sock = sock
    link.descriptor = sock.fileno()
    link.is_connecting = error != 0
    return True


def check_connected(link: LoadLink) -> None:
    """Check a socket that became writable. Raises LoadFailed when it is not connected."""
    assert link.sock is not None
    error = link.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise LoadFailed(_cannot(link.address, error))
    link.is_connecting = False


def connect_socket(address: Address, number: int = 0) -> socket.socket:
    """Return a connected, non-blocking socket; this waits until it is connected."""
    sock = _new_socket(address, number)
    sock.settimeout(_CONNECT_SECONDS_MAX)
    error = _connect(sock, address)
    if error:
        sock.close()
        raise LoadFailed(_cannot(address, error))
    sock.setblocking(False)
    return sock


def _new_socket(address: Address, number: int) -> socket.socket:
    if isinstance(address, str):
        return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _bind(sock, address[0], number)
    return sock


def _connect(sock: socket.socket, address: Address) -> int:
    return _connect_unix(sock, address) if isinstance(address, str) else sock.connect_ex(address)


def _bind(sock: socket.socket, host: str, number: int) -> None:
    """Bind thousands of connections to several loopback addresses."""
    source = number // _CONNECTIONS_PER_ADDRESS % _ADDRESSES_MAX
    if source == 0 or not host.startswith("127."):
        return
    # Without this option the port would be chosen before the destination is known, from fewer ones.
    sock.setsockopt(socket.IPPROTO_IP, _BIND_ADDRESS_NO_PORT, 1)
    sock.bind((f"127.0.0.{1 + source}", 0))


def _connect_unix(sock: socket.socket, path: str) -> int:
    # An address holds 107 bytes; through its directory's descriptor a path is always short.
    try:
        directory = os.open(os.path.dirname(path) or ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        return error.errno or errno.ENOENT
    try:
        return sock.connect_ex(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
    finally:
        os.close(directory)


def _cannot(address: Address, error: int) -> str:
    where = address if isinstance(address, str) else f"{address[0]}:{address[1]}"
    return f"no connection to {where}: {os.strerror(error)}"
