"""Lean clients of one-way loads, by protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.lab.load import plan as plans
from ostler.lab.load.amqp.one_way import AmqpOneWayClient
from ostler.lab.load.bare.one_way import BareOneWayClient
from ostler.lab.load.client import LoadClient, LoadFailed, Pace
from ostler.lab.load.mqtt.one_way import MqttOneWayClient
from ostler.lab.load.nats.one_way import JetStreamOneWayClient, NatsOneWayClient
from ostler.lab.load.plan import Plan
from ostler.lab.load.redis.one_way import RedisOneWayClient
from ostler.lab.load.stomp.one_way import StompOneWayClient


def one_way_client(plan: Plan, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    """A producer or a consumer of a plan. Raises LoadFailed for a protocol that has none."""
    make = _MAKE.get(plan.protocol)
    if make is None or (plan.kind == plans.PUBLISH and plan.protocol not in PUBLISHING):
        raise LoadFailed(f"{plan.protocol} has no clients for a {plan.kind} load")
    return make(plan, pace, is_producer, number)


def _bare(plan: Plan, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    return BareOneWayClient(pace, is_producer, number, plan.pairs, plan.body_bytes)


def _amqp(plan: Plan, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    routes = plans.amqp_routes(plan)
    return AmqpOneWayClient(pace, is_producer, number, plan.pairs, plan.body_bytes, plan.persistent, routes)


def _nats(plan: Plan, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    return NatsOneWayClient(pace, is_producer, number, plan.pairs, plan.body_bytes, plan.subscribers)


def _jetstream(plan: Plan, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    return JetStreamOneWayClient(pace, is_producer, number, plan.pairs, plan.body_bytes)


def _mqtt(plan: Plan, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    qos = 1 if plan.persistent else 0
    return MqttOneWayClient(pace, is_producer, number, plan.pairs, plan.body_bytes, qos, plan.subscribers)


def _redis(plan: Plan, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    return RedisOneWayClient(pace, is_producer, number, plan.pairs, plan.body_bytes, plan.persistent)


def _stomp(plan: Plan, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    return StompOneWayClient(pace, is_producer, number, plan.pairs, plan.body_bytes, plan.persistent)


PUBLISHING: Final = (plans.NATS, plans.MQTT)
"""Protocols whose lean clients publish to several subscribers."""
_Make = Callable[[Plan, Pace, bool, int], LoadClient]
_MAKE: Final[dict[str, _Make]] = {
    plans.BARE: _bare,
    plans.AMQP: _amqp,
    plans.NATS: _nats,
    plans.JETSTREAM: _jetstream,
    plans.MQTT: _mqtt,
    plans.REDIS: _redis,
    plans.STOMP: _stomp,
}
