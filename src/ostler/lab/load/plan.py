"""Which clients a driver is to run, against whom, and over which protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ostler.lab.load.amqp.client import AmqpClient, AmqpRoutes
from ostler.lab.load.bare.client import BareClient
from ostler.lab.load.client import LoadClient, LoadFailed, Pace
from ostler.lab.load.drivers.connection_flood import sockets_max
from ostler.lab.load.drivers.epoll_driver import EpollDriver, Round, TlsUse
from ostler.lab.load.link import Address
from ostler.lab.load.moments import Tell
from ostler.lab.load.mqtt.client import MqttClient
from ostler.lab.load.nats.client import NatsClient
from ostler.lab.load.nats.jetstream import JetStreamClient
from ostler.lab.load.pacing import Pacing
from ostler.lab.load.redis.client import RedisClient
from ostler.lab.load.stomp.client import StompClient
from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.lab.runner.contract import PUT, ROUND_TRIP, SESSION
from ostler.model.errors import MQError

BARE = "bare"
NATS = "NATS"
JETSTREAM = "JetStream"
AMQP = "AMQP"
MQTT = "MQTT"
REDIS = "Redis"
STOMP = "STOMP"
MQ_VERBS = "MQI verb by verb"
MQ_PIPELINED = "MQI pipelined"
PIKA = "pika"
NATS_PY = "nats-py"
PAHO = "paho-mqtt"
REDIS_PY = "redis-py"
STOMP_PY = "stomp.py"
OSTLER_API = "ostler.connect"
TRUSTED = "MQI inside the queue manager"
# Limits that need no broker.
GROUP_COMMIT = "group commit"
MEMORY_COPY = "memory copy"


# What clients do.
REQUEST_REPLY = "request-reply"
ONE_WAY = "one-way"
SESSIONS = "sessions"
PUBLISH = "publish-subscribe"

# A driver has a few descriptors besides its sockets.
_DESCRIPTORS_KEPT = 32

_MAIN_OPERATIONS = {REQUEST_REPLY: ROUND_TRIP, ONE_WAY: PUT, SESSIONS: SESSION, PUBLISH: PUT}

# Who works in units of work.
BY_PERSISTENCE = "by-persistence"
NOBODY = "out"
RESPONDERS = "server-in"
EVERYBODY = "in"

# What messages look like.
PLAIN = "plain"
JMS = "jms"


if TYPE_CHECKING:
    from ostler.lab.load.drivers.threaded_driver import ThreadedDriver
    from ostler.lab.load.libraries.nats_library_driver import NatsLibraryDriver


@dataclass(frozen=True)
class TlsPlan:
    """How clients of a load use TLS: the CipherSpec, and the file with the certificate of who signed the broker's."""

    cipher_spec: str
    authority_file: str


@dataclass(frozen=True)
class Plan:
    """A load of one contestant. Clients have numbers, so that several drivers can share a load.

    In a load of `kind` ONE_WAY the requesters are producers and the responders consumers, and producer and consumer
    with the same number modulo `pairs` share the request queue of that pair. In SESSIONS a requester connects, makes
    `session_round_trips` and disconnects, again and again. In PUBLISH requesters are publishers and responders are
    subscribers: client n publishes, or subscribes, to topic n modulo `pairs`, and each subscriber gets everything.
    """

    protocol: str
    address: Address
    requesters: range
    responders: range
    pairs: int
    body_bytes: int
    persistent: bool
    channel: str = ""
    kind: str = REQUEST_REPLY
    rate_per_second: float = 0.0
    """Of each requester or producer; 0: the next as soon as the one before is done."""
    responder_protocol: str = ""
    """Empty: as requesters. Responders that no driver of this plan runs have an empty range."""
    responder_address: Address | None = None
    units: str = BY_PERSISTENCE
    """BY_PERSISTENCE: responders work in units of work when messages are persistent, requesters never."""
    goes_round: bool = True
    """Requesters use the pairs of queues in turn; otherwise each stays with the pair of its number modulo `pairs`."""
    own_replies: bool = False
    """Each requester has a reply queue of its own."""
    messages: str = PLAIN
    session_round_trips: int = 0
    tls: TlsPlan | None = None
    conversations: int = 1
    """How many clients share a connection, as SHARECNV has it; 0 and 1: none do."""
    async_put: bool = False
    """Producers wait for no answer to a put of a non-persistent message, or of one in a unit of work."""
    read_ahead: bool = False
    """Consumers have messages sent before they ask for them, as read-ahead does; never in units of work."""
    other_addresses: tuple[Address, ...] = ()
    """More queue managers: client n of m of them uses address n modulo m, `address` being the first, and there the pair
    n / m modulo `pairs`."""

    drivers: int = 1
    """How many share the load of which this is a part."""
    subscribers: int = 0
    """Of each topic, in all parts of the load."""
    consumer_unit: int = 1
    """How many messages consumers get in a unit of work, where they work in such."""
    routes: int = 0
    """Channels each way, where responders are at another queue manager than requesters; 0: they are at the same one.
    Client n uses route n modulo so many; one that goes round, for pair p, route n + p modulo so many."""
    line: str = ""
    """What names of routes begin with, where brokers need that."""
    window: int = 0
    """How many one-way messages may be on their way before producers wait; 0: any number. Not with several drivers, of
    which none knows what others get."""

    def part(self, number: int, parts: int) -> Plan:
        """What the driver with this number does, of so many."""
        return replace(
            self,
            requesters=self.requesters[number::parts],
            responders=self.responders[number::parts],
            drivers=self.drivers * parts,
        )

    def pacing(self) -> Pacing:
        """What the driver of this part keeps to. Requesters of several drivers are due one after the other, too."""
        step = abs(self.requesters.step)
        offset = self.requesters.start % step / step
        return Pacing(_MAIN_OPERATIONS[self.kind], self.rate_per_second, offset, self.drivers > 1)

    def address_of(self, number: int) -> Address:
        """Where a client of this number connects to."""
        return (self.address, *self.other_addresses)[number % (1 + len(self.other_addresses))]


def pair_of(plan: Plan, number: int, turn: int) -> int:
    """Which pair of queues a requester uses for the nth time."""
    return (number + turn if plan.goes_round else number) % plan.pairs


def host_and_port(plan: Plan) -> tuple[str, int]:
    """The address of a load that must go over TCP."""
    if isinstance(plan.address, str):
        raise ValueError(f"{plan.protocol} is driven over TCP only")
    return plan.address


class Driver(Protocol):
    """What runs clients. It is open when it is made."""

    def round(self, seconds: float) -> Round: ...

    def run(self, timeline: Timeline, tell: Tell) -> PhaseRecorder: ...

    def close(self) -> None: ...


@runtime_checkable
class Sharing(Protocol):
    """A driver whose producers and consumers may belong to those of others."""

    def arm(self, timeline: Timeline) -> None:
        """Count by a timeline already before `run` is called with it: others may begin to put before that."""

    @property
    def outstanding(self) -> int:
        """One-way messages that were put here and not yet got here."""


@runtime_checkable
class Serving(Protocol):
    """A driver whose clients only work while it is called, and who must be served when it has nothing else to do."""

    def serve_until_readable(self, descriptor: int) -> None: ...


def start_driver(plan: Plan) -> Driver:
    """A driver with all its clients connected and ready."""
    if plan.protocol in _LEAN or plan.protocol in _MQ:
        return _lean_driver(plan)
    if plan.protocol in (GROUP_COMMIT, MEMORY_COPY):
        from ostler.lab.load.drivers.probe_drivers import probe_driver

        return probe_driver(plan)
    driver = _library_driver(plan)
    driver.pacing = plan.pacing()
    return driver


def _lean_driver(plan: Plan) -> Driver:
    """Responders are all there before the first requester. They may have a protocol and an address of their own."""
    _check_descriptors(plan)
    pace = Pace(plan.pacing(), plan.window if plan.drivers == 1 else 0)
    driver = EpollDriver(plan.address, pace, _tls_use(plan))
    theirs = plan
    if plan.responder_protocol:
        theirs = replace(theirs, protocol=plan.responder_protocol)
    if plan.responder_address is not None:
        theirs = replace(theirs, address=plan.responder_address, other_addresses=())
    for part, is_requester, numbers in ((theirs, False, plan.responders), (plan, True, plan.requesters)):
        clients = lean_clients(part, pace, is_requester, numbers)
        shown = [each.members[0].number if each.members else numbers[at] for at, each in enumerate(clients)]
        driver.open(clients, [part.address_of(number) for number in shown])
    return driver


def _check_descriptors(plan: Plan) -> None:
    """Before clients by the thousand are made that cannot be connected."""
    sockets = -(-(len(plan.requesters) + len(plan.responders)) // max(plan.conversations, 1))
    most = sockets_max(_DESCRIPTORS_KEPT)
    if sockets > most:
        raise LoadFailed(
            f"a process may have {most:,} connections here, not {sockets:,}: use more --drivers, or let it have more "
            "descriptors (ulimit -n)"
        )


def _tls_use(plan: Plan) -> TlsUse | None:
    if plan.tls is None:
        return None
    # Long to import, and seldom needed.
    from ostler.client.link.tls_client import ClientTls
    from ostler.client.locate.connect_parameters import TlsSettings

    settings = TlsSettings(plan.tls.cipher_spec, ca_file=plan.tls.authority_file)
    try:
        return TlsUse(ClientTls(settings), plan.channel)
    except MQError as told:
        raise LoadFailed(str(told)) from None


def lean_clients(plan: Plan, pace: Pace, is_requester: bool, numbers: range) -> list[LoadClient]:
    """Requesters or responders, one for each connection: those of Ostler may be several conversations."""
    if plan.protocol in _MQ:
        # Clients of Ostler need the plan.
        from ostler.lab.load.mq.factory import mq_clients

        return mq_clients(plan, pace, is_requester, numbers)
    if plan.kind in (ONE_WAY, PUBLISH):
        from ostler.lab.load.one_way_clients import one_way_client

        return [one_way_client(plan, pace, is_requester, number) for number in numbers]
    make = _LEAN[plan.protocol]
    return [make(plan, pace, is_requester, number) for number in numbers]


def _library_driver(plan: Plan) -> ThreadedDriver | NatsLibraryDriver:
    # Each needs a package of its own, which only who measures it must have.
    if plan.protocol == PIKA:
        from ostler.lab.load.libraries.pika_workers import pika_driver

        return pika_driver(plan)
    if plan.protocol == NATS_PY:
        from ostler.lab.load.libraries.nats_library_ways import nats_driver

        return nats_driver(plan)
    if plan.protocol == PAHO:
        from ostler.lab.load.libraries.paho_workers import paho_driver

        return paho_driver(plan)
    if plan.protocol == REDIS_PY:
        from ostler.lab.load.libraries.redis_workers import redis_driver

        return redis_driver(plan)
    if plan.protocol == STOMP_PY:
        from ostler.lab.load.libraries.stomp_workers import stomp_driver

        return stomp_driver(plan)
    if plan.protocol == OSTLER_API:
        from ostler.lab.load.libraries.ostler_workers import ostler_driver

        return ostler_driver(plan)
    if plan.protocol == TRUSTED:
        from ostler.lab.load.libraries.trusted_workers import trusted_driver

        return trusted_driver(plan)
    raise ValueError(f"there is no protocol {plan.protocol}")


def _bare(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return BareClient(pace, is_requester, number, plan.body_bytes)


def _nats(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return NatsClient(pace, is_requester, number, plan.pairs, plan.body_bytes, plan.goes_round)


def _jetstream(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return JetStreamClient(pace, is_requester, number, plan.pairs, plan.body_bytes, plan.goes_round)


def amqp_routes(plan: Plan) -> AmqpRoutes:
    return AmqpRoutes(plan.routes, plan.line.encode())


def _amqp(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    terms = (plan.pairs, plan.body_bytes, plan.persistent, plan.goes_round)
    return AmqpClient(pace, is_requester, number, *terms, amqp_routes(plan))


def _mqtt(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    qos = 1 if plan.persistent else 0
    return MqttClient(pace, is_requester, number, plan.pairs, plan.body_bytes, qos, plan.goes_round)


def _redis(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return RedisClient(pace, is_requester, number, plan.pairs, plan.body_bytes, plan.persistent, plan.goes_round)


def _stomp(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return StompClient(pace, is_requester, number, plan.pairs, plan.body_bytes, plan.persistent, plan.goes_round)


_Make = Callable[[Plan, Pace, bool, int], LoadClient]
_MQ = (MQ_VERBS, MQ_PIPELINED)
_LEAN: dict[str, _Make] = {
    BARE: _bare,
    NATS: _nats,
    JETSTREAM: _jetstream,
    AMQP: _amqp,
    MQTT: _mqtt,
    REDIS: _redis,
    STOMP: _stomp,
}
