"""The registry of protocols: the lean client or the library driver that each one is driven with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.lab.load.amqp.client import AmqpClient, AmqpRoutes
from ostler.lab.load.amqp.one_way import AmqpOneWayClient
from ostler.lab.load.bare.client import BareClient
from ostler.lab.load.bare.one_way import BareOneWayClient
from ostler.lab.load.client import LoadClient, LoadFailed, Pace
from ostler.lab.load.mq.factory import mq_clients
from ostler.lab.load.mqtt.client import MqttClient
from ostler.lab.load.mqtt.one_way import MqttOneWayClient
from ostler.lab.load.nats.client import NatsClient
from ostler.lab.load.nats.jetstream import JetStreamClient
from ostler.lab.load.nats.one_way import JetStreamOneWayClient, NatsOneWayClient
from ostler.lab.load.redis.client import RedisClient
from ostler.lab.load.redis.one_way import RedisOneWayClient
from ostler.lab.load.spec import (
    AMQP,
    BARE,
    GROUP_COMMIT,
    JETSTREAM,
    MEMORY_COPY,
    MQ_PIPELINED,
    MQ_VERBS,
    MQTT,
    NATS,
    NATS_PY,
    ONE_WAY,
    OSTLER_API,
    PAHO,
    PIKA,
    PUBLISH,
    REDIS,
    REDIS_PY,
    REPLICATED_FORCE,
    STOMP,
    STOMP_PY,
    TRUSTED,
    LoadSpec,
)
from ostler.lab.load.stomp.client import StompClient
from ostler.lab.load.stomp.one_way import StompOneWayClient

# Drivers that are imported when they are needed, as "module:function". Each library needs a package of its own, which
# is installed only where the library is measured.
LIBRARY_DRIVERS: Final = {
    PIKA: "ostler.lab.load.libraries.pika_adapter:pika_driver",
    NATS_PY: "ostler.lab.load.libraries.nats_adapter:nats_driver",
    PAHO: "ostler.lab.load.libraries.paho_adapter:paho_driver",
    REDIS_PY: "ostler.lab.load.libraries.redis_adapter:redis_driver",
    STOMP_PY: "ostler.lab.load.libraries.stomp_adapter:stomp_driver",
    OSTLER_API: "ostler.lab.load.libraries.ostler_adapter:ostler_driver",
    TRUSTED: "ostler.lab.load.libraries.trusted_adapter:trusted_driver",
}
PROBE_DRIVERS: Final = {
    GROUP_COMMIT: "ostler.lab.load.drivers.probe_drivers:probe_driver",
    REPLICATED_FORCE: "ostler.lab.load.drivers.probe_drivers:probe_driver",
    MEMORY_COPY: "ostler.lab.load.drivers.probe_drivers:probe_driver",
}


def lean_clients(spec: LoadSpec, pace: Pace, is_requester: bool, numbers: range) -> list[LoadClient]:
    """Return requesters or responders, one for each connection. A connection to Ostler may carry several
    conversations."""
    if spec.protocol in MQ_PROTOCOLS:
        return mq_clients(spec, pace, is_requester, numbers)
    if spec.kind in (ONE_WAY, PUBLISH):
        return [one_way_client(spec, pace, is_requester, number) for number in numbers]
    make = LEAN_CLIENTS[spec.protocol]
    return [make(spec, pace, is_requester, number) for number in numbers]


def _bare(spec: LoadSpec, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return BareClient(pace, is_requester, number, spec.body_bytes)


def _nats(spec: LoadSpec, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return NatsClient(pace, is_requester, number, spec.pairs, spec.body_bytes, spec.goes_round)


def _jetstream(spec: LoadSpec, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    terms = (spec.pairs, spec.body_bytes, spec.goes_round, spec.copies)
    return JetStreamClient(pace, is_requester, number, *terms)


def amqp_routes(spec: LoadSpec) -> AmqpRoutes:
    return AmqpRoutes(spec.routes, spec.line.encode())


def _amqp(spec: LoadSpec, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    terms = (spec.pairs, spec.body_bytes, spec.persistent, spec.goes_round)
    return AmqpClient(pace, is_requester, number, *terms, amqp_routes(spec), spec.copies)


def _mqtt(spec: LoadSpec, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    qos = 1 if spec.persistent else 0
    return MqttClient(pace, is_requester, number, spec.pairs, spec.body_bytes, qos, spec.goes_round)


def _redis(spec: LoadSpec, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return RedisClient(pace, is_requester, number, spec.pairs, spec.body_bytes, spec.persistent, spec.goes_round)


def _stomp(spec: LoadSpec, pace: Pace, is_requester: bool, number: int) -> LoadClient:
    return StompClient(pace, is_requester, number, spec.pairs, spec.body_bytes, spec.persistent, spec.goes_round)


MakeClient = Callable[[LoadSpec, Pace, bool, int], LoadClient]
MQ_PROTOCOLS: Final = (MQ_VERBS, MQ_PIPELINED)
LEAN_CLIENTS: Final[dict[str, MakeClient]] = {
    BARE: _bare,
    NATS: _nats,
    JETSTREAM: _jetstream,
    AMQP: _amqp,
    MQTT: _mqtt,
    REDIS: _redis,
    STOMP: _stomp,
}


def one_way_client(spec: LoadSpec, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    """Return a producer or a consumer. Raises LoadFailed for a protocol that has none."""
    make = _ONE_WAY_CLIENTS.get(spec.protocol)
    if make is None or (spec.kind == PUBLISH and spec.protocol not in PUBLISHING):
        raise LoadFailed(f"{spec.protocol} has no clients for a {spec.kind} load")
    return make(spec, pace, is_producer, number)


def _bare_one_way(spec: LoadSpec, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    return BareOneWayClient(pace, is_producer, number, spec.pairs, spec.body_bytes)


def _amqp_one_way(spec: LoadSpec, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    terms = (spec.pairs, spec.body_bytes, spec.persistent)
    return AmqpOneWayClient(pace, is_producer, number, *terms, amqp_routes(spec), spec.copies)


def _nats_one_way(spec: LoadSpec, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    return NatsOneWayClient(pace, is_producer, number, spec.pairs, spec.body_bytes, spec.subscribers)


def _jetstream_one_way(spec: LoadSpec, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    return JetStreamOneWayClient(pace, is_producer, number, spec.pairs, spec.body_bytes, spec.copies)


def _mqtt_one_way(spec: LoadSpec, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    qos = 1 if spec.persistent else 0
    return MqttOneWayClient(pace, is_producer, number, spec.pairs, spec.body_bytes, qos, spec.subscribers)


def _redis_one_way(spec: LoadSpec, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    return RedisOneWayClient(pace, is_producer, number, spec.pairs, spec.body_bytes, spec.persistent)


def _stomp_one_way(spec: LoadSpec, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    return StompOneWayClient(pace, is_producer, number, spec.pairs, spec.body_bytes, spec.persistent)


PUBLISHING: Final = (NATS, MQTT)
"""Protocols whose lean clients publish to several subscribers."""
_ONE_WAY_CLIENTS: Final[dict[str, MakeClient]] = {
    BARE: _bare_one_way,
    AMQP: _amqp_one_way,
    NATS: _nats_one_way,
    JETSTREAM: _jetstream_one_way,
    MQTT: _mqtt_one_way,
    REDIS: _redis_one_way,
    STOMP: _stomp_one_way,
}
