"""Who takes part in request/reply: queue managers, other brokers and limit probes, all running at the same time."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ostler.lab.load import spec
from ostler.lab.load.bare import server as bare_server
from ostler.lab.load.drivers.driver_process import Load, new_load
from ostler.lab.load.drivers.epoll_driver import Address
from ostler.lab.load.mq.ostler_server import CHANNEL, OstlerServer
from ostler.lab.load.spec import LoadSpec
from ostler.lab.peers import activemq, mosquitto, nats, rabbitmq, redis
from ostler.lab.peers.broker_process import LOOPBACK, Peer, Usage, usage
from ostler.lab.peers.packages import PeerUnavailable
from ostler.lab.runner.peer_brokers import PROMISES

PEERS_VARIABLE = "OSTLER_PEERS"
USUAL_PEERS = (rabbitmq.NAME, nats.NAME)
ALL_PEERS = (*USUAL_PEERS, activemq.NAME, mosquitto.NAME, redis.NAME)
NON_PERSISTENT = "non-persistent"
PERSISTENT = "persistent"
PING_PONG = "bare ping-pong"
RELAY = "bare relay"
RABBITMQ = "RabbitMQ"
NATS = "NATS"
JETSTREAM = "NATS JetStream"
ACTIVEMQ = "ActiveMQ"
MOSQUITTO = "Mosquitto"
REDIS = "Redis"
OSTLER = "Ostler"
TCP, UNIX = "TCP", "Unix"
LEAN = "lean"


@dataclass(frozen=True)
class Contestant:
    """One broker over one transport with one kind of client."""

    broker: str
    transport: str
    client: str
    protocol: str
    address: Address
    pids: tuple[int, ...]
    exchanges: int
    """Requests of clients that the broker answers for each round trip, at least: how often somebody waits for it."""
    promise: str
    """What a reply means: what was forced to disk before, and who was told."""
    channel: str = ""
    is_limit: bool = False
    server: OstlerServer | None = None

    @property
    def name(self) -> str:
        how = "" if self.client == LEAN else f", {self.client}"
        return f"{self.broker}{how}, {self.transport}"

    def plan(self, requesters: int, responders: int, pairs: int, body_bytes: int, persistent: bool) -> LoadSpec:
        return LoadSpec(
            self.protocol,
            self.address,
            range(requesters),
            range(responders),
            pairs,
            body_bytes,
            persistent,
            self.channel,
        )

    def usage(self) -> Usage:
        return usage(list(self.pids))


class Field:
    """All contestants, started; ends them when it is left. `missing` says who is not there, and why."""

    def __init__(self, scratch: Path, pairs: int, body_bytes: int, peers: tuple[str, ...], log_file_pages: int) -> None:
        self._scratch = scratch
        self._pairs = pairs
        self._body_bytes = body_bytes
        self._log_file_pages = log_file_pages
        self._stack = ExitStack()
        self._loads: dict[str, Load] = {}
        self._contestants: list[tuple[Contestant, frozenset[bool]]] = []
        self.missing: list[str] = []
        try:
            self._add_probes()
            self._add_ostler()
            starters: dict[str, Callable[[], None]] = {
                rabbitmq.NAME: self._add_rabbitmq,
                nats.NAME: self._add_nats,
                activemq.NAME: self._add_activemq,
                mosquitto.NAME: self._add_mosquitto,
                redis.NAME: self._add_redis,
            }
            for name in peers:
                try:
                    starters[name]()
                except PeerUnavailable as reason:
                    self.missing.append(f"Without {name}: {reason}.")
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Field:
        return self

    def __exit__(self, *_: object) -> None:
        for load in self._loads.values():
            load.end()
        self._stack.close()

    def of(self, persistent: bool) -> list[Contestant]:
        return [contestant for contestant, kinds in self._contestants if persistent in kinds]

    def load(self, contestant: Contestant, processes: int) -> Load:
        """The drivers of a contestant; they stay for the whole benchmark."""
        found = self._loads.get(contestant.name)
        if found is None:
            many = processes if contestant.client == LEAN or contestant.client.startswith("pipelined") else 1
            found = self._loads[contestant.name] = new_load(many)
        return found

    def _add(self, contestant: Contestant, *persistent: bool) -> None:
        self._contestants.append((contestant, frozenset(persistent)))

    def _add_probes(self) -> None:
        for kind, name, exchanges in ((bare_server.ECHO, PING_PONG, 1), (bare_server.RELAY, RELAY, 2)):
            listener = bare_server.listening((LOOPBACK, 0))
            address: tuple[str, int] = listener.getsockname()
            process = bare_server.start(kind, listener, self._body_bytes)
            listener.close()
            self._stack.callback(_end, process)
            promise = "blocks of the same size, nothing in between"
            found = Contestant(name, TCP, LEAN, spec.BARE, address, (process.pid,), exchanges, promise, is_limit=True)
            self._add(found, False)

    def _add_ostler(self) -> None:
        server = OstlerServer(self._scratch / "ostler", self._pairs, self._log_file_pages)
        self._stack.callback(server.end)
        pids = tuple(server.pids)
        promise = "persistent: requests, and units of work of responders, are forced before they are answered"
        for transport, address, channel in ((TCP, server.address, CHANNEL), (UNIX, server.local_path, "")):
            for client, protocol, exchanges in ((LEAN, spec.MQ_VERBS, 4), ("pipelined", spec.MQ_PIPELINED, 2)):
                found = Contestant(
                    OSTLER, transport, client, protocol, address, pids, exchanges, promise, channel, server=server
                )
                self._add(found, False, True)
        api = Contestant(
            OSTLER, TCP, "ostler.connect", spec.OSTLER_API, server.address, pids, 4, promise, CHANNEL, server=server
        )
        self._add(api, False, True)

    def _add_rabbitmq(self) -> None:
        peer = self._started(rabbitmq.start(self._scratch / "rabbitmq"))
        for persistent, promise in enumerate(PROMISES[rabbitmq.NAME, spec.REQUEST_REPLY]):
            self._add(self._peer(peer, RABBITMQ, LEAN, spec.AMQP, promise), bool(persistent))
            if find_spec("pika") is not None:
                self._add(self._peer(peer, RABBITMQ, "pika", spec.PIKA, promise), bool(persistent))

    def _add_nats(self) -> None:
        peer = self._started(nats.start(self._scratch / "nats", jetstream=True))
        promise, kept = PROMISES[nats.NAME, spec.REQUEST_REPLY]
        self._add(self._peer(peer, NATS, LEAN, spec.NATS, promise), False)
        self._add(self._peer(peer, JETSTREAM, LEAN, spec.JETSTREAM, kept), True)
        if find_spec("nats") is not None:
            self._add(self._peer(peer, NATS, "nats-py", spec.NATS_PY, promise), False)

    def _add_activemq(self) -> None:
        peer = self._started(activemq.start(self._scratch / "activemq"))
        for persistent, promise in enumerate(PROMISES[activemq.NAME, spec.REQUEST_REPLY]):
            self._add(self._peer(peer, ACTIVEMQ, LEAN, spec.STOMP, promise), bool(persistent))
            if find_spec("stomp") is not None:
                self._add(self._peer(peer, ACTIVEMQ, spec.STOMP_PY, spec.STOMP_PY, promise), bool(persistent))

    def _add_mosquitto(self) -> None:
        peer = self._started(mosquitto.start(self._scratch / "mosquitto"))
        for persistent, promise in enumerate(PROMISES[mosquitto.NAME, spec.REQUEST_REPLY]):
            self._add(self._peer(peer, MOSQUITTO, LEAN, spec.MQTT, promise), bool(persistent))
            if find_spec("paho") is not None:
                self._add(self._peer(peer, MOSQUITTO, spec.PAHO, spec.PAHO, promise), bool(persistent))

    def _add_redis(self) -> None:
        for persistent, promise in enumerate(PROMISES[redis.NAME, spec.REQUEST_REPLY]):
            scratch = self._scratch / f"redis-{'forced' if persistent else 'memory'}"
            peer = self._started(redis.start(scratch, forced=bool(persistent)))
            self._add(self._peer(peer, REDIS, LEAN, spec.REDIS, promise), bool(persistent))
            if find_spec("redis") is not None:
                self._add(self._peer(peer, REDIS, spec.REDIS_PY, spec.REDIS_PY, promise), bool(persistent))

    def _started(self, peer: Peer) -> Peer:
        self._stack.callback(peer.end)
        return peer

    def _peer(self, peer: Peer, broker: str, client: str, protocol: str, promise: str) -> Contestant:
        # The broker itself is started last; what is started before only helps it to start.
        address = (LOOPBACK, peer.port)
        return Contestant(broker, TCP, client, protocol, address, (peer.pids[-1],), 2, f"{peer.version}: {promise}")


def wanted_peers() -> tuple[str, ...]:
    """Which peers to measure: those `OSTLER_PEERS` names, `all` of them, or without it the usual ones."""
    given = os.environ.get(PEERS_VARIABLE)
    if given is None:
        return USUAL_PEERS
    names = given.replace(",", " ").split()
    return ALL_PEERS if "all" in names else tuple(name for name in ALL_PEERS if name in names)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()
