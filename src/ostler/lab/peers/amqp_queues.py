"""Queues of a RabbitMQ node, declared over one connection before clients use them.

Several connections that declare the same new quorum queue at once are refused by RabbitMQ 3.10 with INTERNAL_ERROR, so
queues that clients share are declared here first.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final

from ostler.lab.load.amqp import frames as amqp
from ostler.lab.load.amqp.client import CHANNEL, connection_steps
from ostler.lab.peers import rabbitmq
from ostler.lab.peers.broker_process import LOOPBACK
from ostler.lab.peers.packages import PeerUnavailable

_ANSWER_SECONDS_MAX: Final = 60.0
_READ_BYTES: Final = 65_536


def declare_queues(port: int, queues: Sequence[str], copies: int = 1) -> dict[str, int]:
    """Declare durable queues at a node, one after the other, unless they exist, and return the number of consumers of
    each.

    Raises PeerUnavailable when the node refuses one, and OSError.
    """
    found: dict[str, int] = {}
    steps = connection_steps()
    with closing(socket.create_connection((LOOPBACK, port), _ANSWER_SECONDS_MAX)) as link:
        link.sendall(amqp.PROTOCOL_HEADER)
        for which, data in _methods(link):
            if steps and which == steps[0][0]:
                link.sendall(steps.pop(0)[1])
                continue
            if which == amqp.QUEUE_DECLARE_OK:
                name = data[1 : 1 + data[0]].decode()
                found[name] = int.from_bytes(data[-4:], "big")
            elif which != amqp.CHANNEL_OPEN_OK:
                raise PeerUnavailable(f"{rabbitmq.NAME} sent method {which[0]}.{which[1]}")
            if len(found) == len(queues):
                break
            link.sendall(amqp.declare_queue(CHANNEL, queues[len(found)].encode(), True, copies))
    return found


def _methods(link: socket.socket) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Yield methods with their arguments."""
    data = b""
    while received := link.recv(_READ_BYTES):
        data += received
        at = 0
        while True:
            kind, payload, after = amqp.read_frame(data, at)
            if kind == 0:
                break
            if kind == amqp.METHOD:
                yield amqp.read_method(data, payload), data[payload + 4 : after - 1]
            at = after
        data = data[at:]
