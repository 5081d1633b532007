"""Listening sockets, as LISTENER objects define them."""

from __future__ import annotations

import errno
import os
import socket
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from ostler.command.admin.context import ListenerStatus
from ostler.model import constants as mq
from ostler.model.definitions import Definition

DEFAULT_PORT: Final = 1414
_BACKLOG: Final = 4096
LOOPBACK: Final = "127.0.0.1"
_UNIX: Final = "/"

Listen = Callable[[str, int, int], socket.socket]


class ListenerRefused(Exception):
    """A listener cannot be started. The text gives the reason, and what to do."""


@dataclass
class ListenerSocket:
    """A listening socket and its listener."""

    name: str
    sock: socket.socket
    address: str
    port: int
    backlog: int
    is_local: bool = False  # the queue manager's own socket
    path: str = ""  # of a Unix socket, which is removed with the listener
    is_group: bool = False  # INDISP(GROUP): partners reach the queue-sharing group
    started_ms: int = field(default_factory=lambda: int(time.time() * 1000))

    def status(self) -> ListenerStatus:
        return ListenerStatus(
            self.name, self.port, self.address, self.backlog, os.getpid(), self.started_ms, "RUNNING", "TCP"
        )

    def close(self) -> None:
        self.sock.close()
        if self.path:
            Path(self.path).unlink(missing_ok=True)


def open_listener(definition: Definition, listen: Listen | None = None, own_address: str = "") -> ListenerSocket:
    """Listen as a LISTENER object defines. ListenerRefused names the port, and the process that uses it if known.

    `listen` is that of the machine; see `Machine.listen`. `own_address` replaces the address of a definition that is
    copied to several machines.
    """
    name = definition.name
    port = _integer(definition, "PORT") or DEFAULT_PORT
    backlog = _integer(definition, "BACKLOG") or _BACKLOG
    address = str(definition.attributes.get("IPADDR", "") or "").strip()
    if address.startswith(_UNIX):
        return _open_unix(name, address, backlog)
    address = own_address or address
    host = {"": LOOPBACK, "*": ""}.get(address, address)
    is_group = definition.attributes.get("INDISP") == mq.MQINBD_GROUP
    try:
        sock = bind_tcp(host, port, backlog, True) if is_group else (listen or bind_tcp)(host, port, backlog)
    except socket.gaierror as error:
        raise ListenerRefused(f"{address!r} of listener {name} is not an address: {error.strerror}.") from error
    except OSError as error:
        raise ListenerRefused(_why_not(name, host, port, error)) from error
    return ListenerSocket(name, sock, address or LOOPBACK, sock.getsockname()[1], backlog, is_group=is_group)


def bind_tcp(host: str, port: int, backlog: int, is_port_shared: bool = False) -> socket.socket:
    """Return a listening socket. An empty host means all addresses, of both families if the machine has both.

    With `is_port_shared` several processes of a user listen on the port (SO_REUSEPORT), and the kernel chooses one of
    them for each connection.
    """
    if not host and socket.has_dualstack_ipv6():
        sock = socket.create_server(
            ("", port), family=socket.AF_INET6, backlog=backlog, reuse_port=is_port_shared, dualstack_ipv6=True
        )
    else:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family = found[0][0]
        sock = socket.create_server(found[0][4][:2], family=family, backlog=backlog, reuse_port=is_port_shared)
    sock.setblocking(False)
    return sock


def _open_unix(name: str, path: str, backlog: int) -> ListenerSocket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale(path)
        sock.bind(path)
        sock.listen(backlog)
    except OSError as error:
        sock.close()
        raise ListenerRefused(
            f"Listener {name} cannot use the Unix socket {path}: {error.strerror or error}."
        ) from error
    sock.setblocking(False)
    return ListenerSocket(name, sock, path, 0, backlog, path=path)


def _remove_stale(path: str) -> None:
    """Remove a Unix socket that no process listens on. Any other file stays."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            Path(path).unlink(missing_ok=True)


def _why_not(name: str, host: str, port: int, error: OSError) -> str:
    where = f"port {port}" + (f" of {host}" if host else "")
    if error.errno == errno.EADDRINUSE:
        return (
            f"Listener {name} cannot listen on {where}: it is in use{_holder(port)}. "
            "End that, or give the listener another port."
        )
    if error.errno == errno.EACCES:
        return (
            f"Listener {name} may not listen on {where}: ports below 1024 are for privileged users. Choose another one."
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return f"Listener {name} cannot listen on {where}: this machine does not have that address."
    return f"Listener {name} cannot listen on {where}: {error.strerror or error}."


def _holder(port: int) -> str:
    """Return which process listens on a port, as far as this user may see it."""
    try:
        for each in psutil.net_connections("tcp"):
            if each.status == psutil.CONN_LISTEN and each.laddr and each.laddr.port == port:
                if each.pid is None:
                    return " by a process of another user"
                return f" by process {each.pid} ({psutil.Process(each.pid).name()})"
    except (psutil.Error, OSError):
        pass
    return ""


def _integer(definition: Definition, name: str) -> int:
    value = definition.attributes.get(name, 0)
    return value if isinstance(value, int) else 0
