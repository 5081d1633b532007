"""Outgoing TCP connections: local binding (LOCLADDR), non-blocking connect, keepalive (KAINT).

`start_connect` does not wait. The caller waits until the socket is writable, and then asks for `connect_result`.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from ostler.model import constants as mq
from ostler.model.connection_names import LocalAddress

# Of a host with more addresses, the first ones are tried.
ADDRESSES_MAX: Final = 8
_AUTOMATIC_EXTRA_SECONDS: Final = 60
_IDLE_SECONDS_MAX: Final = 32_767  # the maximum of Linux
_PROBE_SECONDS: Final = 75
_MILLISECONDS: Final = 1000
# Linux: choose the local port at connect, where the partner is known. Then one port can serve many partners.
_IP_BIND_ADDRESS_NO_PORT: Final = 24

_SocketAddress = tuple[str, int] | tuple[str, int, int, int]


class HostAddress(NamedTuple):
    """One address of a host. `scope` is the interface of a link-local IPv6 address."""

    family: int
    host: str
    scope: int = 0

    def at(self, port: int) -> _SocketAddress:
        """Return the address in the form of the socket calls."""
        return (self.host, port, 0, self.scope) if self.family == socket.AF_INET6 else (self.host, port)


class LocalBinding(NamedTuple):
    """A local address and port range to bind to. None is any address, 0 any port."""

    address: HostAddress | None
    port_low: int
    port_high: int


ANY_BINDING: Final = LocalBinding(None, 0, 0)


def resolve_host(host: str, is_numeric: bool = False) -> list[HostAddress]:
    """Return the addresses of a host, the best first. OSError if it is unknown. May block unless `is_numeric`."""
    flags = socket.AI_NUMERICHOST if is_numeric else 0
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError:
        # Not a valid name: a label is empty or too long.
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
    seen: dict[HostAddress, None] = {}
    for family, _, _, _, address in found:
        if family == socket.AF_INET6 and len(address) == 4:
            seen[HostAddress(family, str(address[0]).partition("%")[0], int(address[3]))] = None
        elif family == socket.AF_INET:
            seen[HostAddress(family, str(address[0]))] = None
    return list(seen)[:ADDRESSES_MAX]


def local_bindings(local: Sequence[LocalAddress], addresses: dict[str, list[HostAddress]]) -> list[LocalBinding]:
    """Return the bindings of a LOCLADDR, given the addresses of its hosts."""
    made: list[LocalBinding] = []
    for each in local:
        if each.host:
            made.extend(LocalBinding(found, each.port_low, each.port_high) for found in addresses[each.host])
        else:
            made.append(LocalBinding(None, each.port_low, each.port_high))
    return made


def start_connect(target: HostAddress, port: int, bindings: Sequence[LocalBinding], turn: int = 0) -> socket.socket:
    """Return a socket that is connecting to a partner. OSError if that failed at once.

    The first binding of the target's address family is used. Of a range of ports the first free one is used, beginning
    with number `turn`, so that a caller with many connections need not try the earlier ones each time.
    """
    binding = _fitting(target, bindings)
    for local_port in _ports(binding, turn):
        sock = socket.socket(target.family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _bind(sock, binding, local_port)
            code = sock.connect_ex(target.at(port))
            if code not in (0, errno.EINPROGRESS):
                raise OSError(code, os.strerror(code))
        except OSError as error:
            is_bound = sock.getsockname()[1] != 0
            sock.close()
            # The port is in use; or, once it is bound, this pair of addresses and ports is.
            if local_port == 0 or error.errno != (errno.EADDRNOTAVAIL if is_bound else errno.EADDRINUSE):
                raise
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    text = f"All local ports from {binding.port_low} to {binding.port_high} are in use"
    raise OSError(errno.EADDRINUSE, text)


def _fitting(target: HostAddress, bindings: Sequence[LocalBinding]) -> LocalBinding:
    for binding in bindings:
        if binding.address is None or binding.address.family == target.family:
            return binding
    if not bindings:
        return ANY_BINDING
    raise OSError(errno.EAFNOSUPPORT, "The local address is of another family of addresses")


def _ports(binding: LocalBinding, turn: int) -> Iterator[int]:
    count = binding.port_high - binding.port_low + 1
    for step in range(count):
        yield binding.port_low + (turn + step) % count


def _bind(sock: socket.socket, binding: LocalBinding, port: int) -> None:
    address = binding.address
    if address is None and port == 0:
        return
    if port == 0:
        with suppress(OSError):
            sock.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
    else:
        # A recently closed connection blocks its port only for the same partner.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if address is None:
        address = HostAddress(sock.family, "::" if sock.family == socket.AF_INET6 else "0.0.0.0")
    sock.bind(address.at(port))


def connect_result(sock: socket.socket) -> int:
    """Return 0 if a socket that has become writable is connected, otherwise the error number."""
    code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        return code
    try:
        peer = sock.getpeername()
    except OSError as error:
        return error.errno or errno.ENOTCONN
    # Without a listener, a local connect may reach itself: the kernel chose the target port as its own.
    return errno.ECONNREFUSED if peer == sock.getsockname() else 0


def wait_connected(sock: socket.socket, seconds: float) -> None:
    """Wait until a socket is connected. OSError if it is refused; TimeoutError if there is no answer."""
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    if not poll.poll(seconds * _MILLISECONDS):
        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
    code = connect_result(sock)
    if code:
        raise OSError(code, os.strerror(code))


def keep_alive_seconds(interval: int, heartbeat_seconds: int) -> int:
    """Return the keepalive interval of KAINT (DEFINE CHANNEL). AUTO is HBINT plus 60 seconds, or 0 if that is 0."""
    if interval != mq.MQKAI_AUTO:
        return max(0, interval)
    return heartbeat_seconds + _AUTOMATIC_EXTRA_SECONDS if heartbeat_seconds > 0 else 0


def set_keep_alive(sock: socket.socket, seconds: int) -> None:
    """Let the kernel probe the partner after so many silent seconds. 0: never."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1 if seconds > 0 else 0)
    if seconds > 0:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, min(seconds, _IDLE_SECONDS_MAX))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, min(seconds, _PROBE_SECONDS))


def error_text(error: OSError) -> str:
    """Return the system's text with the error number: "Connection refused (111)"."""
    text = error.strerror or str(error) or type(error).__name__
    return f"{text} ({error.errno})" if error.errno is not None else text
