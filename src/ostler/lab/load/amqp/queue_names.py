"""The names of the queues that clients of RabbitMQ use, lean ones and those of the library."""

from __future__ import annotations

from typing import Final

from ostler.lab.load.spec import AMQP, ONE_WAY, PIKA, LoadSpec

REQUEST: Final = "request"
REPLY: Final = "reply"
ONE_WAY_QUEUE: Final = "one-way"


def queue_name(protocol: str, durable: bool, purpose: str, number: int) -> str:
    """Return the name of a queue. Lean clients and the library use different ones."""
    prefix = "pika." if protocol == PIKA else ""
    return f"{prefix}{'durable' if durable else 'transient'}.{purpose}.{number}"


def shared_queues(spec: LoadSpec) -> list[str]:
    """Return the queues of a load that several clients declare: all but the reply queues, which are each requester's
    own. Empty for other brokers."""
    if spec.protocol not in (AMQP, PIKA):
        return []
    purpose = ONE_WAY_QUEUE if spec.kind == ONE_WAY else REQUEST
    return [queue_name(spec.protocol, spec.persistent, purpose, pair) for pair in range(spec.pairs)]
