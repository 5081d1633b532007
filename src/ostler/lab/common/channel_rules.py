"""Many channel authentication records of every kind for measurements, and a queue manager with them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ostler.client.locate.embedded import start
from ostler.engine import objects
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import Definition, new_definition
from ostler.security.channel_authentication import rule_key
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager

# Records defined between two forced writes of the log.
_BATCH = 500


def channel_rules(channel: str, count: int) -> Iterator[Definition]:
    """Yield records of five kinds in turn. Only the first applies to a client on loopback, which it admits.

    Single addresses, networks and users on the channel itself, certificates on all channels, and other channels.
    """
    yield _rule(channel, mq.MQCAUT_ADDRESSMAP, {"ADDRESS": "127.*", "USERSRC": mq.MQUSRC_CHANNEL})
    for number in range(count - 1):
        high, low = number >> 8 & 0xFF, number & 0xFF
        sort = number % 5
        if sort == 0:
            refused: dict[str, Value] = {"ADDRESS": f"10.{number >> 16}.{high}.{low}", "USERSRC": mq.MQUSRC_NOACCESS}
            yield _rule(channel, mq.MQCAUT_ADDRESSMAP, refused)
        elif sort == 1:
            yield _rule(channel, mq.MQCAUT_ADDRESSMAP, _mapped({"ADDRESS": f"11.{high}.{low}.*"}))
        elif sort == 2:
            yield _rule(channel, mq.MQCAUT_USERMAP, _mapped({"CLNTUSER": f"user{number}"}))
        elif sort == 3:
            yield _rule("*", mq.MQCAUT_SSLPEERMAP, _mapped({"SSLPEER": f"CN=client{number},O=Lab"}))
        else:
            yield _rule(f"APP{number}.*", mq.MQCAUT_ADDRESSMAP, _mapped({"ADDRESS": "*"}))


def user_rules(profile: str, count: int, mapped_to: str = "app") -> Iterator[Definition]:
    """Yield records that admit so many users, one each, on the channels that match a profile."""
    for number in range(count):
        values: dict[str, Value] = {"CLNTUSER": user_name(number), "USERSRC": mq.MQUSRC_MAP, "MCAUSER": mapped_to}
        yield _rule(profile, mq.MQCAUT_USERMAP, values)


def user_name(number: int) -> str:
    """Return the user of a record of `user_rules`, numbered from 0."""
    return f"user{number}"


def _mapped(values: dict[str, Value]) -> dict[str, Value]:
    return {**values, "USERSRC": mq.MQUSRC_MAP, "MCAUSER": "app"}


def _rule(profile: str, kind: int, values: dict[str, Value]) -> Definition:
    given: dict[str, Value] = {"CHLAUTH": profile, "TYPE": kind, **values}
    return new_definition(ObjectType.CHLAUTH, rule_key(given), given, None, "2026-01-01", "00.00.00")


def create(root: Path, name: str, log: LogSection, rules: Iterator[Definition]) -> QueueManager:
    """Create a queue manager with these records besides its own, running in this process."""
    manager = start(name, root, True, log, False)
    while batch := list(islice(rules, _BATCH)):
        define(manager, batch)
    return manager


def define(manager: QueueManager, batch: list[Definition]) -> None:
    """Define many records and force them once."""
    with manager.turn:
        for definition in batch:
            objects.define(manager.engine, definition)
        lsn = manager.log.end_lsn()
    manager.writer.wait_durable(lsn)
