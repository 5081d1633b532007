"""TCP sockets of those who call somebody: where they are bound, how they are kept alive, and what became of the call.

A socket is made, bound and sent on its way without waiting; whoever made it waits as it likes until it is writable, and
then asks for the outcome.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from ostler.model.connection_names import LocalAddress
from ostler.model.constants import MQKAI_AUTO

# A host with more addresses than this is tried at the first ones.
ADDRESSES_MAX: Final = 8
_AUTOMATIC_EXTRA_SECONDS: Final = 60
_IDLE_SECONDS_MAX: Final = 32_767  # what Linux takes
_PROBE_SECONDS: Final = 75
_MILLISECONDS: Final = 1000
# Linux: leave the choice of a port to the connect, which knows the partner. Then a port may serve for many partners.
_IP_BIND_ADDRESS_NO_PORT: Final = 24

_SocketAddress = tuple[str, int] | tuple[str, int, int, int]


class HostAddress(NamedTuple):
    """One address of a host. `scope` is for IPv6 addresses that count on one interface only."""

    family: int
    host: str
    scope: int = 0

    def at(self, port: int) -> _SocketAddress:
        """As the socket calls want it."""
        return (self.host, port, 0, self.scope) if self.family == socket.AF_INET6 else (self.host, port)


class LocalBinding(NamedTuple):
    """Where a socket is bound: an address, or any for None, and a port of a range, or any for 0."""

    address: HostAddress | None
    port_low: int
    port_high: int


ANY_BINDING: Final = LocalBinding(None, 0, 0)


def resolve_host(host: str, is_numeric: bool = False) -> list[HostAddress]:
    """The addresses of a host, the best ones first. OSError when it is not known. May take long unless `is_numeric`."""
    flags = socket.AI_NUMERICHOST if is_numeric else 0
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError:
        # A name that no name server can know: a part of it is empty or too long.
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
    seen: dict[HostAddress, None] = {}
    for family, _, _, _, address in found:
        if family == socket.AF_INET6 and len(address) == 4:
            seen[HostAddress(family, str(address[0]).partition("%")[0], int(address[3]))] = None
        elif family == socket.AF_INET:
            seen[HostAddress(family, str(address[0]))] = None
    return list(seen)[:ADDRESSES_MAX]


def local_bindings(local: Sequence[LocalAddress], addresses: dict[str, list[HostAddress]]) -> list[LocalBinding]:
    """Where to bind as LOCLADDR says, when `addresses` tells what its hosts are."""
    made: list[LocalBinding] = []
    for each in local:
        if each.host:
            made.extend(LocalBinding(found, each.port_low, each.port_high) for found in addresses[each.host])
        else:
            made.append(LocalBinding(None, each.port_low, each.port_high))
    return made


def start_connect(target: HostAddress, port: int, bindings: Sequence[LocalBinding], turn: int = 0) -> socket.socket:
    """A socket on its way to a partner. OSError when it is over before it began.

    The first binding counts that fits the family of the target. Of a range of ports the first free one is taken,
    beginning at the `turn`-th, so that whoever makes many need not try those before every time.
    """
    binding = _fitting(target, bindings)
    for local_port in _ports(binding, turn):
        made = socket.socket(target.family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _bind(made, binding, local_port)
            code = made.connect_ex(target.at(port))
            if code not in (0, errno.EINPROGRESS):
                raise OSError(code, os.strerror(code))
        except OSError as error:
            is_bound = made.getsockname()[1] != 0
            made.close()
            # The port is somebody else's; or, once it is bound, this very pair of addresses and ports is.
            if local_port == 0 or error.errno != (errno.EADDRNOTAVAIL if is_bound else errno.EADDRINUSE):
                raise
        except BaseException:
            made.close()
            raise
        else:
            return made
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


def _bind(made: socket.socket, binding: LocalBinding, port: int) -> None:
    address = binding.address
    if address is None and port == 0:
        return
    if port == 0:
        with suppress(OSError):
            made.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
    else:
        # A connection that was closed a moment ago holds its port only against the same partner.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if address is None:
        address = HostAddress(made.family, "::" if made.family == socket.AF_INET6 else "0.0.0.0")
    made.bind(address.at(port))


def connect_result(made: socket.socket) -> int:
    """What became of a call, now that the socket is writable: 0 when the partner is there, or else the error number."""
    code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        return code
    try:
        peer = made.getpeername()
    except OSError as error:
        return error.errno or errno.ENOTCONN
    # With nobody listening, a call within a machine may find itself: it got the very port that it calls.
    return errno.ECONNREFUSED if peer == made.getsockname() else 0


def wait_connected(made: socket.socket, seconds: float) -> None:
    """Wait until a call is taken. OSError when it is not; TimeoutError when nobody answers at all."""
    poll = select.poll()
    poll.register(made, select.POLLOUT)
    if not poll.poll(seconds * _MILLISECONDS):
        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
    code = connect_result(made)
    if code:
        raise OSError(code, os.strerror(code))


def keep_alive_seconds(interval: int, heartbeat_seconds: int) -> int:
    """What KAINT comes to. AUTO goes by the heartbeats, as MQ does: with none there is none."""
    if interval != MQKAI_AUTO:
        return max(0, interval)
    return heartbeat_seconds + _AUTOMATIC_EXTRA_SECONDS if heartbeat_seconds > 0 else 0


def set_keep_alive(made: socket.socket, seconds: int) -> None:
    """Have the system look whether the partner is still there, when nothing came for so long. 0: never."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1 if seconds > 0 else 0)
    if seconds > 0:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, min(seconds, _IDLE_SECONDS_MAX))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, min(seconds, _PROBE_SECONDS))


def error_text(error: OSError) -> str:
    """What the system says, and its number: "Connection refused (111)"."""
    text = error.strerror or str(error) or type(error).__name__
    return f"{text} ({error.errno})" if error.errno is not None else text
