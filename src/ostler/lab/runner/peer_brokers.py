"""Other brokers in a run: each is started once when a step needs it, and ends with the run.

Nothing is downloaded here: a peer that is not installed is absent, with advice. Persistent and non-persistent messages
may use two different brokers (Redis), or two different contestants (NATS and JetStream).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final

from ostler.lab.load import spec
from ostler.lab.load.amqp.queue_names import shared_queues
from ostler.lab.load.nats.jetstream import stream_config
from ostler.lab.load.nats.one_way import shared_streams
from ostler.lab.load.spec import ONE_WAY, PUBLISH, REQUEST_REPLY, LoadSpec
from ostler.lab.peers import activemq, mosquitto, nats, nats_cluster, rabbitmq, redis
from ostler.lab.peers import registry as known
from ostler.lab.peers.amqp_queues import declare_queues
from ostler.lab.peers.broker_process import LOOPBACK, Peer
from ostler.lab.peers.packages import PeerUnavailable
from ostler.lab.peers.registry import KnownPeer, PeerStatus
from ostler.lab.runner.contract import Contestant, ContestantKind
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.roles import FOLLOWER, LEADER, PEER, role_at
from ostler.server.storage.descriptor_budget import raise_limit

KINDS: Final = (REQUEST_REPLY, ONE_WAY, PUBLISH)

# The meaning of an acknowledgement by broker and kind of load: of non-persistent messages, and of persistent ones.
PROMISES: Final[dict[tuple[str, str], tuple[str, str]]] = {
    (rabbitmq.NAME, REQUEST_REPLY): (
        "no confirms, no acknowledgements, nothing forced",
        "durable queues and messages, forced before confirms; acknowledged when confirmed",
    ),
    (rabbitmq.NAME, ONE_WAY): (
        "confirmed when queued, nothing forced; not acknowledged by consumers",
        "durable queues and messages, forced or got before confirms; acknowledged by consumers",
    ),
    (nats.NAME, REQUEST_REPLY): (
        "core NATS: nothing kept, at most once",
        "streams in files, acknowledged when written, not forced; acknowledged by responders when stored",
    ),
    (nats.NAME, ONE_WAY): (
        "core NATS: nothing kept, at most once; a put counts when a ping behind it is answered",
        "streams in files, acknowledged when written, not forced; acknowledged by consumers",
    ),
    (activemq.NAME, REQUEST_REPLY): (
        "no receipts, acknowledged when delivered, nothing forced",
        "persistent messages, forced before receipts; acknowledged when the reply has its receipt",
    ),
    (activemq.NAME, ONE_WAY): (
        "receipts when queued, nothing forced; acknowledged when delivered",
        "persistent messages, forced before receipts; acknowledged by consumers",
    ),
    (nats.NAME, PUBLISH): ("core NATS: nothing kept, at most once; a put counts when a ping behind it is answered", ""),
    (mosquitto.NAME, PUBLISH): (
        "QoS 0: nothing kept, at most once; a put counts when a ping behind it is answered",
        "QoS 1: acknowledged when in memory, never forced; acknowledged by subscribers",
    ),
    (mosquitto.NAME, REQUEST_REPLY): (
        "QoS 0: nothing acknowledged, nothing kept, at most once",
        "QoS 1: acknowledged when in memory, never forced; acknowledged by responders when replied",
    ),
    (mosquitto.NAME, ONE_WAY): (
        "QoS 0: nothing kept, at most once; a put counts when a ping behind it is answered",
        "QoS 1: acknowledged when in memory, never forced; acknowledged by consumers",
    ),
    (redis.NAME, REQUEST_REPLY): (
        "lists in memory, popped at most once, nothing forced",
        "streams and lists, forced before each answer; replied and acknowledged in one transaction",
    ),
    (redis.NAME, ONE_WAY): (
        "lists in memory, popped at most once, nothing forced",
        "streams, forced before each answer; acknowledged and deleted by consumers in one transaction",
    ),
}
# The same for brokers whose queues have copies, all of persistent messages.
REPLICATED_PROMISES: Final[dict[tuple[str, str], str]] = {
    (rabbitmq.NAME, REQUEST_REPLY): (
        "quorum queues on three nodes: forced at two before confirms; acknowledged when confirmed"
    ),
    (rabbitmq.NAME, ONE_WAY): "quorum queues on three nodes: forced at two before confirms; acknowledged by consumers",
    (nats.NAME, REQUEST_REPLY): (
        "streams of three servers: written at two before acknowledgements, forced at none; acknowledged by responders "
        "when stored"
    ),
    (nats.NAME, ONE_WAY): (
        "streams of three servers: written at two before acknowledgements, forced at none; acknowledged by consumers"
    ),
}
# Where a library offers less than the protocol.
PROMISES_OF_LIBRARIES: Final[dict[tuple[str, str, bool], str]] = {
    (
        mosquitto.NAME,
        ONE_WAY,
        False,
    ): "QoS 0: nothing kept, at most once; a put counts when its socket has it",
}


@dataclass(frozen=True)
class DeliveryMode:
    """The way one broker carries persistent messages, or non-persistent ones."""

    protocol: str
    broker: Peer
    promise: str
    copies: int = 1


@dataclass(frozen=True)
class PeerContestant:
    """A peer that takes part. `delivery_modes` are those it supports, by persistence."""

    contestant: Contestant
    is_library: bool
    """The peer is driven through a library, with one thread for each client. With many clients that measures the
    threads, not the broker."""
    delivery_modes: Mapping[bool, DeliveryMode]

    def spec_like(self, like: LoadSpec) -> LoadSpec:
        """Return the load of another contestant for this one."""
        way = self.delivery_modes[like.persistent]
        return replace(
            like,
            protocol=way.protocol,
            address=(LOOPBACK, way.broker.port),
            channel="",
            responder_protocol="",
            responder_address=None,
            messages=spec.PLAIN,
            tls=None,
            conversations=1,
            other_addresses=(),
            copies=way.copies,
        )

    def declare_queues(self, made: LoadSpec) -> None:
        """Declare the queues and streams that clients of a load share, where they cannot do so all at once. Raises
        PeerUnavailable."""
        way = self.delivery_modes[made.persistent]
        if way.copies == 1:
            return
        queues = shared_queues(made)
        try:
            if queues:
                declare_queues(way.broker.port, queues, way.copies)
            for name in shared_streams(made):
                nats_cluster.make_stream(way.broker, way.broker.port, stream_config(name, way.copies))
        except OSError as failure:
            raise PeerUnavailable(f"{way.broker.name}: queues cannot be declared: {failure}") from None

    def describe_end(self, persistent: bool) -> str:
        """Describe the end of its broker; empty while the broker runs."""
        return self.delivery_modes[persistent].broker.describe_end()

    def watched(self, persistent: bool) -> list[WatchedProcess]:
        """Return the processes of its broker; in a cluster those that only hold copies have a role of their own."""
        broker = self.delivery_modes[persistent].broker
        if not broker.follower_pids:
            return [WatchedProcess(PEER, pid) for pid in broker.pids]
        ends = {pid: FOLLOWER if pid in broker.follower_pids else LEADER for pid in broker.pids}
        return [WatchedProcess(role_at(PEER, end), pid) for pid, end in ends.items()]


class PeerBrokers:
    """The brokers of a run. `absent` lists peers that are not available, with the reason. Closing it ends all brokers.

    It must be used in the main thread: only there can brokers be started so that they end with a killed laboratory.
    """

    def __init__(
        self,
        names: Sequence[str],
        scratch: Path,
        libraries: bool = True,
        catalogue: Sequence[KnownPeer] = known.KNOWN,
    ) -> None:
        self._catalogue = catalogue
        self._names = tuple(dict.fromkeys(names))
        self._scratch = scratch
        self._libraries = libraries
        self._stack = ExitStack()
        self._found: dict[str, PeerStatus] = {}
        self._brokers: dict[tuple[str, bool], Peer] = {}
        self.absent: dict[str, str] = {}
        # Brokers inherit the limit, and some use it as their maximum number of connections.
        raise_limit()

    def __enter__(self) -> PeerBrokers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def configuration(self) -> dict[str, str]:
        """The configuration of each broker that runs, by name."""
        titles = {each.name: each.title for each in self._catalogue}
        twice = {name for name, _ in self._brokers if sum(key[0] == name for key in self._brokers) > 1}
        return {
            f"{titles[name]}, {'persistent' if keeps else 'non-persistent'}" if name in twice else titles[name]:
            broker.configuration
            for (name, keeps), broker in self._brokers.items()
        }  # fmt: skip

    def contestants(self, persistence: Mapping[int, bool], kind: str = REQUEST_REPLY) -> list[PeerContestant]:
        """Return the peers that can take part, with their steps. `persistence` has by step number whether messages are
        persistent.

        Starts the brokers that are needed and do not run yet.
        """
        contestants: list[PeerContestant] = []
        for name in self._names:
            peer = self._usable(name)
            if peer is None or not any(_promises(peer, kind)):
                continue
            libraries = self._libraries and kind != PUBLISH
            for through_library in (False, True) if libraries else (False,):
                contestants += self._contestants_of(peer, through_library, persistence, kind)
        return contestants

    def close(self) -> None:
        self._stack.close()
        self._brokers.clear()

    def _usable(self, name: str) -> KnownPeer | None:
        if name in self._found:
            found = self._found[name]
        else:
            peers = [each for each in self._catalogue if each.name == name]
            if not peers:
                # One that is known otherwise has nothing of this kind.
                if name not in known.NAMES:
                    self.absent[name] = f"there is no such peer; known are {', '.join(known.NAMES)}"
                return None
            found = self._found[name] = known.inspect_peer(peers[0])
        if not found.is_usable:
            self.absent[found.peer.title] = found.advice or f"it is {found.state}"
        return found.peer if found.is_usable else None

    def _contestants_of(
        self, peer: KnownPeer, through_library: bool, persistence: Mapping[int, bool], kind: str
    ) -> list[PeerContestant]:
        found = self._found[peer.name]
        library = peer.client(False, through_library)
        if through_library and not found.library_version:
            self.absent[f"{peer.title}, {library}"] = f"pip install {peer.library}"
            return []
        # There are two contestants where persistent messages use a different protocol.
        is_split = bool(peer.persistent_title)
        groups = [(False,), (True,)] if is_split else [(False, True)]
        contestants: list[PeerContestant] = []
        for group in groups:
            delivery_modes = self._delivery_modes(
                peer, through_library, [each for each in group if each in persistence.values()], kind
            )
            if not delivery_modes:
                continue
            title = peer.persistent_title if is_split and group == (True,) else peer.title
            name = f"{title}, {library}" if through_library else title
            version = f"{found.library_version}, broker {found.version}" if through_library else found.version
            steps = frozenset(number for number, persistent in persistence.items() if persistent in delivery_modes)
            contestant = Contestant(name, ContestantKind.PEER, _promise(delivery_modes), steps, version)
            contestants.append(PeerContestant(contestant, through_library, delivery_modes))
        return contestants

    def _delivery_modes(
        self, peer: KnownPeer, through_library: bool, wanted: list[bool], kind: str
    ) -> dict[bool, DeliveryMode]:
        delivery_modes: dict[bool, DeliveryMode] = {}
        for persistent in wanted:
            protocol = peer.client(persistent, through_library)
            promise = _promises(peer, kind)[persistent]
            broker = self._broker(peer, persistent) if protocol and promise else None
            if broker is not None:
                if through_library:
                    promise = PROMISES_OF_LIBRARIES.get((peer.name, kind, persistent), promise)
                delivery_modes[persistent] = DeliveryMode(protocol, broker, promise, peer.copies)
        return delivery_modes

    def _broker(self, peer: KnownPeer, persistent: bool) -> Peer | None:
        """Return the broker, and start it first if it does not run; None when it cannot be started."""
        # Redis forces everything or nothing. The others obey each message, JetStream beside core NATS.
        is_keeping = persistent if peer.name == redis.NAME else True
        key = (peer.name, is_keeping)
        if key not in self._brokers and peer.title not in self.absent:
            directory = self._scratch / (f"{peer.name}-{'kept' if is_keeping else 'memory'}")
            try:
                self._brokers[key] = peer.start(directory, is_keeping)
            except PeerUnavailable as reason:
                self.absent[peer.title] = str(reason)
                return None
            self._stack.callback(self._brokers[key].end)
        return self._brokers.get(key)


def _promises(peer: KnownPeer, kind: str) -> tuple[str, str]:
    """Return its promises for non-persistent and for persistent messages; empty where it carries none."""
    if peer.copies > 1:
        return "", REPLICATED_PROMISES.get((peer.name, kind), "")
    return PROMISES.get((peer.name, kind), ("", ""))


def _promise(delivery_modes: Mapping[bool, DeliveryMode]) -> str:
    if len(delivery_modes) == 1:
        return next(iter(delivery_modes.values())).promise
    return f"non-persistent: {delivery_modes[False].promise}. Persistent: {delivery_modes[True].promise}"
