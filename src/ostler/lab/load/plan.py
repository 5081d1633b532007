"""Which clients a driver is to run, against whom, and over which protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from ostler.lab.load.amqp_client import AmqpClient
from ostler.lab.load.bare_client import BareClient
from ostler.lab.load.client import LoadClient, Pace
from ostler.lab.load.epoll_driver import Address, EpollDriver, Round
from ostler.lab.load.jetstream_client import JetStreamClient
from ostler.lab.load.mqtt_client import MqttClient
from ostler.lab.load.nats_client import NatsClient
from ostler.lab.load.redis_client import RedisClient
from ostler.lab.load.stomp_client import StompClient

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


# What clients do.
REQUEST_REPLY = "request-reply"
ONE_WAY = "one-way"
SESSIONS = "sessions"

# Who works in units of work.
BY_PERSISTENCE = "by-persistence"
NOBODY = "out"
RESPONDERS = "server-in"
EVERYBODY = "in"

# What messages look like.
PLAIN = "plain"
JMS = "jms"


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
    `session_round_trips` and disconnects, again and again.
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
    """More queue managers: client n uses address n modulo their number, `address` being the first."""

    def part(self, number: int, parts: int) -> Plan:
        """What the driver with this number does, of so many."""
        return replace(self, requesters=self.requesters[number::parts], responders=self.responders[number::parts])


def host_and_port(plan: Plan) -> tuple[str, int]:
    """The address of a load that must go over TCP."""
    if isinstance(plan.address, str):
        raise ValueError(f"{plan.protocol} is driven over TCP only")
    return plan.address


class Driver(Protocol):
    """What runs clients. It is open when it is made."""

    def round(self, seconds: float) -> Round: ...

    def close(self) -> None: ...


def start_driver(plan: Plan) -> Driver:
    """A driver with all its clients connected and ready."""
    if plan.protocol in _LEAN or plan.protocol in _MQ:
        pace = Pace()
        driver = EpollDriver(plan.address, pace)
        clients = lean_clients(plan, pace, False, plan.responders) + lean_clients(plan, pace, True, plan.requesters)
        driver.open(clients)
        return driver
    return _library_driver(plan)


def lean_clients(plan: Plan, pace: Pace, is_requester: bool, numbers: range) -> list[LoadClient]:
    """Requesters or responders, one for each connection: those of Ostler may be several conversations."""
    if plan.protocol in _MQ:
        # Clients of Ostler need the plan.
        from ostler.lab.load.mq_making import mq_clients

        return mq_clients(plan, pace, is_requester, numbers)
    make = _LEAN[plan.protocol]
    return [make(plan, pace, is_requester, number) for number in numbers]


def _library_driver(plan: Plan) -> Driver:
    # Each needs a package of its own, which only who measures it must have.
    if plan.protocol == PIKA:
        from ostler.lab.load.pika_workers import pika_driver

        return pika_driver(plan)
    if plan.protocol == NATS_PY:
        from ostler.lab.load.nats_library_driver import NatsLibraryDriver

        return NatsLibraryDriver(plan)
    if plan.protocol == PAHO:
        from ostler.lab.load.paho_workers import paho_driver

        return paho_driver(plan)
    if plan.protocol == REDIS_PY:
        from ostler.lab.load.redis_workers import redis_driver

        return redis_driver(plan)
    if plan.protocol == STOMP_PY:
        from ostler.lab.load.stomp_workers import stomp_driver

        return stomp_driver(plan)
    if plan.protocol == OSTLER_API:
        from ostler.lab.load.ostler_workers import ostler_driver

        return ostler_driver(plan)
    raise ValueError(f"there is no protocol {plan.protocol}")


def _bare(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return BareClient(pace, is_requester, number, plan.body_bytes)


def _nats(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return NatsClient(pace, is_requester, number, plan.pairs, plan.body_bytes)


def _jetstream(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return JetStreamClient(pace, is_requester, number, plan.pairs, plan.body_bytes)


def _amqp(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return AmqpClient(pace, is_requester, number, plan.pairs, plan.body_bytes, plan.persistent)


def _mqtt(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return MqttClient(pace, is_requester, number, plan.pairs, plan.body_bytes, 1 if plan.persistent else 0)


def _redis(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return RedisClient(pace, is_requester, number, plan.pairs, plan.body_bytes, plan.persistent)


def _stomp(plan: Plan, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return StompClient(pace, is_requester, number, plan.pairs, plan.body_bytes, plan.persistent)


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
