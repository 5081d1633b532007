"""Two RabbitMQ nodes with shovels between them in both directions: RabbitMQ's nearest equivalent of message channels.

A line is a number of shovels in each direction, all with the same distance and the same acknowledgement mode. Each
shovel has a queue of its own at the node it consumes from, and a fan-out exchange before it: a message published there,
with the name of a queue of the other node as routing key, arrives in that queue. So the queue corresponds to a
transmission queue.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ostler.lab.peers import rabbitmq
from ostler.lab.peers.amqp_queues import declare_queues
from ostler.lab.peers.broker_process import LOOPBACK, Peer
from ostler.lab.peers.packages import PeerUnavailable

PLUGIN: Final = "rabbitmq_shovel"
# RabbitMQ's default: messages that may be in flight without an acknowledgement.
PREFETCH: Final = 1000
_HOST: Final = "/"
_USER: Final = "guest"
_SALT: Final = b"ostl"
_READY_SECONDS_MAX: Final = 60.0
_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True)
class Line:
    """Shovels in each direction. `there` and `back` are the ports at which they reach the other node, possibly through
    a relay."""

    name: str
    shovels: int
    is_durable: bool
    there: int
    back: int

    def routes(self) -> list[str]:
        """Return the names of its exchanges and queues, at both nodes."""
        return [route_name(self.name, number) for number in range(self.shovels)]


def route_name(line: str, number: int) -> str:
    return f"{line}.{number}"


def definitions(own_port: int, routes: Sequence[tuple[str, bool, int]]) -> str:
    """Return the definitions of a node: exchanges, queues, and shovels from them. Each route has its name, whether
    messages are durable, and the port they are sent to."""
    password = base64.b64encode(_SALT + hashlib.sha256(_SALT + _USER.encode()).digest()).decode()
    durable = {"vhost": _HOST, "durable": True, "auto_delete": False, "arguments": {}}
    names = [name for name, _, _ in routes]
    return json.dumps(
        {
            "users": [{"name": _USER, "password_hash": password, "tags": "administrator"}],
            "vhosts": [{"name": _HOST}],
            "permissions": [{"user": _USER, "vhost": _HOST, "configure": ".*", "write": ".*", "read": ".*"}],
            "exchanges": [{"name": name, "type": "fanout", "internal": False, **durable} for name in names],
            "queues": [{"name": name, **durable} for name in names],
            "bindings": [
                {
                    "source": name,
                    "vhost": _HOST,
                    "destination": name,
                    "destination_type": "queue",
                    "routing_key": "",
                    "arguments": {},
                }
                for name in names
            ],
            "parameters": [_shovel(own_port, *each) for each in routes],
        }
    )


def _shovel(own_port: int, name: str, is_durable: bool, port: int) -> dict[str, object]:
    value: dict[str, object] = {
        "src-protocol": "amqp091",
        "src-uri": f"amqp://{LOOPBACK}:{own_port}",
        "src-queue": name,
        "src-prefetch-count": PREFETCH,
        "dest-protocol": "amqp091",
        "dest-uri": f"amqp://{LOOPBACK}:{port}",
        "dest-exchange": "",
        "ack-mode": "on-confirm" if is_durable else "no-ack",
        "reconnect-delay": 1,
    }
    return {"component": "shovel", "vhost": _HOST, "name": name, "value": value}


class ShovelPair:
    """Both nodes, and all lines between them. The caller ends it."""

    def __init__(self, scratch: Path, ports: tuple[int, int], lines: Sequence[Line]) -> None:
        """Start them, and wait until every shovel consumes. Raises PeerUnavailable."""
        there = [(name, line.is_durable, line.there) for line in lines for name in line.routes()]
        back = [(name, line.is_durable, line.back) for line in lines for name in line.routes()]
        self.nodes: list[Peer] = []
        try:
            for place, port, routes in (("asking", ports[0], there), ("answering", ports[1], back)):
                made = definitions(port, routes)
                self.nodes.append(rabbitmq.start_node(scratch / place, port, (PLUGIN,), made))
            for port in ports:
                _wait_for_consumers(port, [name for name, _, _ in there])
        except BaseException:
            self.end()
            raise

    @property
    def version(self) -> str:
        return self.nodes[0].version

    def describe_end(self) -> str:
        """Describe how one of them ended; empty while both run."""
        return next((text for node in self.nodes if (text := node.describe_end())), "")

    def end(self) -> None:
        while self.nodes:
            self.nodes.pop().end()


def _wait_for_consumers(port: int, queues: Sequence[str]) -> None:
    """Wait until each of the queues has a consumer: its shovel has reached the other node before that."""
    deadline = time.monotonic() + _READY_SECONDS_MAX
    left = list(queues)
    while left:
        try:
            counts = declare_queues(port, left)
        except (OSError, PeerUnavailable):
            counts = {}
        left = [name for name in left if not counts.get(name)]
        if left and time.monotonic() > deadline:
            raise PeerUnavailable(f"{rabbitmq.NAME}: the shovel of {left[0]} did not start")
        if left:
            time.sleep(_POLL_SECONDS)
