"""A link for a socket that was accepted: where it comes from, and for local ones who is there."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from typing import Final

from ostler.server.net.link import ServerLink
from ostler.server.net.listeners import ListenerSocket
from ostler.server.net.reactor import Reactor
from ostler.server.security.os_users import user_name

_CREDENTIALS: Final = struct.Struct("3i")


def new_link(
    reactor: Reactor,
    listener: ListenerSocket,
    sock: socket.socket,
    address: object,
    is_administrator: Callable[[str], bool],
) -> ServerLink:
    """The link of a socket. OSError when it is gone already, or the kernel is short of something."""
    sock.setblocking(False)
    if isinstance(address, tuple):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        # An IPv4 address is the same one when it comes by a socket for IPv6.
        short = address[0].removeprefix("::ffff:")
        where = f"{address[0] if ':' in short else short}({address[1]})"
    else:
        where = "local"
    link = ServerLink(reactor, sock, where, listener.is_local)
    link.listener = listener.name
    if sock.family == socket.AF_UNIX:
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        process, uid, _ = _CREDENTIALS.unpack(raw)
        link.process_id = process
        link.uid = uid
        link.user = user_name(uid)
        link.is_owner = uid == os.getuid() or is_administrator(link.user)
    return link
