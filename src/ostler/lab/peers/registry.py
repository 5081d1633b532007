"""The registry of brokers that the laboratory can run beside Ostler: where they are, what they promise, how to get
them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of_distribution
from pathlib import Path
from typing import Any

from ostler.lab.load import spec
from ostler.lab.peers import activemq, mosquitto, nats, nats_cluster, rabbitmq, rabbitmq_cluster, redis
from ostler.lab.peers.broker_process import Peer
from ostler.lab.peers.packages import PeerUnavailable, find_unpacked, unpack_packages

INSTALLED = "installed"
UNPACKED = "unpacked"
NOT_HERE = "not here"
UNUSABLE = "unusable"


@dataclass(frozen=True)
class Clients:
    """The protocols of `ostler.lab.load.spec` that a peer is driven with: for non-persistent messages, and for
    persistent ones."""

    lean: tuple[str, str]
    library: tuple[str, str]
    """Through the library that a Python user would choose; empty where the laboratory has no such client."""


@dataclass(frozen=True)
class KnownPeer:
    """A broker from Debian packages, and the library that a Python user would choose for it."""

    name: str
    title: str
    protocol: str
    library: str
    """The distribution's name, as `pip install` takes it."""
    packages: tuple[str, ...]
    proof: str
    version: Callable[[Path], str]
    start: Callable[[Path, bool], Peer]
    """Called with a directory for its state, and whether messages are persistent. Raises PeerUnavailable."""
    clients: Clients
    durabilities: tuple[str, ...]
    requirement: Callable[[], object] | None = None
    """A further requirement; raises PeerUnavailable when the machine does not meet it."""
    persistent_title: str = ""
    """The title for persistent messages, where those are a contestant of their own."""
    copies: int = 1
    """The number of brokers that have a copy of each queue."""

    def client(self, persistent: bool, through_library: bool = False) -> str:
        """Return the protocol for a `LoadSpec`; empty where there is none."""
        return (self.clients.library if through_library else self.clients.lean)[persistent]


def _start_rabbitmq(scratch: Path, _persistent: bool) -> Peer:
    return rabbitmq.start(scratch)


def _start_activemq(scratch: Path, _persistent: bool) -> Peer:
    return activemq.start(scratch)


def _start_mosquitto(scratch: Path, _persistent: bool) -> Peer:
    return mosquitto.start(scratch)


KNOWN: tuple[KnownPeer, ...] = (
    KnownPeer(
        rabbitmq.NAME,
        "RabbitMQ",
        "AMQP 0-9-1",
        "pika",
        rabbitmq.PACKAGES,
        rabbitmq.PROOF,
        rabbitmq.version,
        _start_rabbitmq,
        Clients((spec.AMQP, spec.AMQP), (spec.PIKA, spec.PIKA)),
        (rabbitmq.DURABILITY,),
    ),
    KnownPeer(
        nats.NAME,
        "NATS",
        "NATS",
        "nats-py",
        nats.PACKAGES,
        nats.PROOF,
        nats.version,
        nats.start,
        Clients((spec.NATS, spec.JETSTREAM), (spec.NATS_PY, spec.NATS_PY)),
        (nats.IN_MEMORY, nats.IN_FILES),
        persistent_title="NATS JetStream",
    ),
    KnownPeer(
        activemq.NAME,
        "ActiveMQ",
        "STOMP 1.2",
        "stomp.py",
        activemq.PACKAGES,
        activemq.PROOF,
        activemq.version,
        _start_activemq,
        Clients((spec.STOMP, spec.STOMP), (spec.STOMP_PY, spec.STOMP_PY)),
        (activemq.DURABILITY,),
        activemq.java,
    ),
    KnownPeer(
        mosquitto.NAME,
        "Mosquitto",
        "MQTT 5",
        "paho-mqtt",
        mosquitto.PACKAGES,
        mosquitto.PROOF,
        mosquitto.version,
        _start_mosquitto,
        Clients((spec.MQTT, spec.MQTT), (spec.PAHO, spec.PAHO)),
        (mosquitto.DURABILITY,),
    ),
    KnownPeer(
        redis.NAME,
        "Redis",
        "RESP",
        "redis",
        redis.PACKAGES,
        redis.PROOF,
        redis.version,
        redis.start,
        Clients((spec.REDIS, spec.REDIS), (spec.REDIS_PY, spec.REDIS_PY)),
        (redis.IN_MEMORY, redis.FORCED),
    ),
)

NAMES: tuple[str, ...] = tuple(each.name for each in KNOWN)


def _start_rabbitmq_cluster(scratch: Path, _persistent: bool) -> Peer:
    return rabbitmq_cluster.start(scratch)


def _start_nats_cluster(scratch: Path, _persistent: bool) -> Peer:
    return nats_cluster.start(scratch)


def _as_cluster(name: str, **changes: Any) -> KnownPeer:
    return replace(next(each for each in KNOWN if each.name == name), **changes)


REPLICATED: tuple[KnownPeer, ...] = (
    _as_cluster(
        rabbitmq.NAME,
        title="RabbitMQ quorum queues",
        start=_start_rabbitmq_cluster,
        durabilities=(rabbitmq_cluster.DURABILITY,),
        copies=rabbitmq_cluster.NODES,
    ),
    _as_cluster(
        nats.NAME,
        title="NATS JetStream R3",
        start=_start_nats_cluster,
        durabilities=(nats_cluster.DURABILITY,),
        copies=nats_cluster.SERVERS,
        persistent_title="",
    ),
)
"""The peers that copy their queues, as clusters of three on this machine. They carry persistent messages only."""


@dataclass(frozen=True)
class PeerStatus:
    """The status of a peer on this machine."""

    peer: KnownPeer
    state: str
    where: str
    version: str
    library_version: str
    """The version of the Python library; empty when it is not installed."""
    advice: str
    """The remedy with which it can take part in full; empty when there is nothing to do."""

    @property
    def is_usable(self) -> bool:
        return self.state in (INSTALLED, UNPACKED)

    def as_json(self) -> dict[str, object]:
        peer = self.peer
        return {
            "name": peer.name,
            "title": peer.title,
            "state": self.state,
            "where": self.where,
            "version": self.version,
            "protocol": peer.protocol,
            "library": peer.library,
            "library_version": self.library_version,
            "durabilities": list(peer.durabilities),
            "packages": list(peer.packages),
            "advice": self.advice,
        }


def inspect_peer(peer: KnownPeer) -> PeerStatus:
    """Return the status of a peer. Nothing is downloaded, and nothing of it stays running."""
    library = _library_version(peer.library)
    root = find_unpacked(peer.name, peer.proof)
    advice = [] if library else [f"pip install {peer.library}"]
    state, version = NOT_HERE, ""
    if root is None:
        advice.insert(0, f"ostler lab peers --fetch {peer.name}")
    else:
        state = INSTALLED if root == Path("/") else UNPACKED
        try:
            version = peer.version(root)
        except PeerUnavailable as reason:
            state = UNUSABLE
            advice.insert(0, str(reason))
    try:
        if peer.requirement is not None:
            peer.requirement()
    except PeerUnavailable as reason:
        state = UNUSABLE if root is not None else state
        advice.insert(0, str(reason))
    return PeerStatus(peer, state, "" if root is None else str(root), version, library, "; ".join(advice))


def fetch(peer: KnownPeer) -> Path:
    """Download and unpack its packages into the cache, unless they exist. Raises PeerUnavailable."""
    return unpack_packages(peer.name, peer.packages, peer.proof)


def _library_version(distribution: str) -> str:
    try:
        return version_of_distribution(distribution)
    except PackageNotFoundError:
        return ""
