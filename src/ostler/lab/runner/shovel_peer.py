"""RabbitMQ with shovels as a contestant: two nodes, and lines of shovels for each distance and durability."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from ostler.lab.load import spec
from ostler.lab.load.spec import LoadSpec
from ostler.lab.peers import rabbitmq
from ostler.lab.peers import registry as known
from ostler.lab.peers.broker_process import LOOPBACK, free_port
from ostler.lab.peers.packages import PeerUnavailable
from ostler.lab.peers.rabbitmq_shovels import Line, ShovelPair
from ostler.lab.runner.contract import Contestant, ContestantKind
from ostler.lab.runner.queue_managers.channel_wiring import Wiring
from ostler.lab.runner.queue_managers.relay import Relay, RelayFailed
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.roles import FAR, LABORATORY, NEAR, PEER, role_at
from ostler.server.storage.descriptor_budget import raise_limit

CONTESTANT: Final = Contestant(
    "RabbitMQ, shovel",
    ContestantKind.PEER,
    "two nodes. Transient: shovels acknowledge nothing. Durable: forced before confirms at both nodes, at least once",
)
_TITLE: Final = "RabbitMQ, shovel"


def line_name(persistent: bool, round_trip_ms: int) -> str:
    return f"{'durable' if persistent else 'transient'}-{round_trip_ms}ms"


class ShovelPeer:
    """Both nodes and the relays between them. The caller closes it."""

    def __init__(self, scratch: Path, lines: Sequence[tuple[bool, int]], shovels: int) -> None:
        """Start the nodes. Raises PeerUnavailable and RelayFailed."""
        # Nodes inherit the limit, and use it as their maximum number of connections.
        raise_limit()
        self._stack = ExitStack()
        self._relays: list[Relay] = []
        try:
            ports = free_port(), free_port()
            made = [self._line(persistent, distance, shovels, ports) for persistent, distance in lines]
            self._pair = ShovelPair(scratch, ports, made)
            self._stack.callback(self._pair.end)
        except BaseException:
            self._stack.close()
            raise
        self.ports = ports
        self.version = self._pair.version

    @classmethod
    def started(
        cls, scratch: Path, lines: Sequence[tuple[bool, int]], shovels: int, absent: dict[str, str]
    ) -> ShovelPeer | None:
        """Return a started peer; None when it is unavailable, with the reason in `absent`. Nothing is downloaded."""
        peer = next(each for each in known.KNOWN if each.name == rabbitmq.NAME)
        found = known.inspect_peer(peer)
        if not found.is_usable:
            absent[_TITLE] = found.advice or f"it is {found.state}"
            return None
        try:
            return cls(scratch, lines, shovels)
        except (PeerUnavailable, RelayFailed) as reason:
            absent[_TITLE] = str(reason)
            return None

    def _line(self, persistent: bool, round_trip_ms: int, shovels: int, ports: tuple[int, int]) -> Line:
        back, there = (self._by_relay(port, round_trip_ms) for port in ports)
        return Line(line_name(persistent, round_trip_ms), shovels, persistent, there, back)

    def _by_relay(self, port: int, round_trip_ms: int) -> int:
        if not round_trip_ms:
            return port
        relay = Relay(port, round_trip_ms / 2)
        self._stack.callback(relay.close)
        self._relays.append(relay)
        return relay.port

    def spec_like(self, like: LoadSpec, wiring: Wiring) -> LoadSpec:
        """Return the load of another contestant for this one."""
        return replace(
            like,
            protocol=spec.AMQP,
            address=(LOOPBACK, self.ports[0]),
            responder_address=(LOOPBACK, self.ports[1]),
            channel="",
            routes=wiring.routes,
            line=line_name(like.persistent, wiring.round_trip_ms),
        )

    def describe_end(self) -> str:
        """Describe the end of one of the nodes; empty while both run."""
        return self._pair.describe_end()

    def watched(self) -> list[WatchedProcess]:
        ends = zip((NEAR, FAR), self._pair.nodes, strict=True)
        nodes = [WatchedProcess(role_at(PEER, end), pid) for end, node in ends for pid in node.pids]
        return [*nodes, *(WatchedProcess(LABORATORY, relay.pid) for relay in self._relays)]

    def close(self) -> None:
        self._stack.close()
