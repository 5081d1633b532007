"""Discovery of resource publications: classes, types and elements, from the metadata that a queue manager retains.

Nothing but the topic of the first message is known before, as with IBM MQ's own readers; so classes that a queue
manager has and this release does not know are shown, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from ostler.cli.samples.connection import UsageError
from ostler.client.api.connection import Connection
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.pcf import Group, Integer, Integer64, Parameter, PcfError, PcfMessage, String, decode

OBJECT: Final = "%s"
# The queue manager publishes metadata when it starts, and may not have done so yet.
_METADATA_SECONDS: Final = 10.0


class Element(NamedTuple):
    number: int
    datatype: int
    description: str


class ResourceType(NamedTuple):
    number: int
    name: str
    description: str
    topic: str  # of its elements


class ResourceClass(NamedTuple):
    number: int
    name: str
    description: str
    is_per_object: bool
    topic: str  # of its types


class Elements(NamedTuple):
    topic: str  # of the data, with `%s` for the name of an object
    by_number: dict[int, Element]


def classes(connection: Connection, prefix: str) -> list[ResourceClass]:
    topic = f"{prefix}/INFO/QMGR/{connection.name}/Monitor/METADATA/CLASSES"
    found = [
        ResourceClass(
            _number(group, mq.MQIAMO_MONITOR_CLASS),
            _text(group, mq.MQCAMO_MONITOR_CLASS),
            _text(group, mq.MQCAMO_MONITOR_DESC),
            bool(_number(group, mq.MQIAMO_MONITOR_FLAGS) & mq.MQIAMO_MONITOR_FLAGS_OBJNAME),
            _text(group, mq.MQCA_TOPIC_STRING),
        )
        for group in _groups(_metadata(connection, topic), mq.MQGACF_MONITOR_CLASS)
    ]
    return sorted(found, key=lambda each: each.number)


def types(connection: Connection, of_class: ResourceClass) -> list[ResourceType]:
    found = [
        ResourceType(
            _number(group, mq.MQIAMO_MONITOR_TYPE),
            _text(group, mq.MQCAMO_MONITOR_TYPE),
            _text(group, mq.MQCAMO_MONITOR_DESC),
            _text(group, mq.MQCA_TOPIC_STRING),
        )
        for group in _groups(_metadata(connection, of_class.topic), mq.MQGACF_MONITOR_TYPE)
    ]
    return sorted(found, key=lambda each: each.number)


def elements(connection: Connection, of_type: ResourceType) -> Elements:
    message = _metadata(connection, of_type.topic)
    found = [
        Element(
            _number(group, mq.MQIAMO_MONITOR_ELEMENT),
            _number(group, mq.MQIAMO_MONITOR_DATATYPE),
            _text(group, mq.MQCAMO_MONITOR_DESC),
        )
        for group in _groups(message, mq.MQGACF_MONITOR_ELEMENT)
    ]
    return Elements(_text(message.parameters, mq.MQCA_TOPIC_STRING), {each.number: each for each in found})


def _metadata(connection: Connection, topic: str) -> PcfMessage:
    """Returns the retained publication of a topic."""
    with connection.subscribe(topic) as subscription:
        message = subscription.get(wait=_METADATA_SECONDS)
    if message is None:
        raise MQError(
            mq.MQRC_NO_MSG_AVAILABLE,
            f"{connection.name} retains no metadata on {topic}. Check -p, and that DISPLAY TPSTATUS('$SYS/MQ/#') shows "
            "the topic; a restart of the queue manager publishes its metadata again.",
        )
    return decoded(message.data, topic)


def decoded(data: bytes, topic: str) -> PcfMessage:
    try:
        return decode(data)
    except PcfError as error:
        raise UsageError(f"the publication on {topic} is no PCF message: {error}") from None


def _groups(message: PcfMessage, parameter: int) -> list[tuple[Parameter, ...]]:
    return [each.members for each in message.parameters if isinstance(each, Group) and each.parameter == parameter]


def _number(parameters: Iterable[Parameter], wanted: int) -> int:
    for each in parameters:
        if each.parameter == wanted and isinstance(each, (Integer, Integer64)):
            return each.value
    raise UsageError(f"the metadata lacks parameter {wanted}; another program may have published it")


def _text(parameters: Iterable[Parameter], wanted: int) -> str:
    for each in parameters:
        if each.parameter == wanted and isinstance(each, String):
            return each.value.rstrip()
    raise UsageError(f"the metadata lacks parameter {wanted}; another program may have published it")
