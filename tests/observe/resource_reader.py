"""A reader of resource publications that is as strict as the strictest one in use: unknown parameters are errors.

The rules are those of the reader behind the metric exporters for IBM MQ, and of the sample programs in C: which
parameters may be in a group, unique names of metrics, and the topic of the data behind the elements.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ostler.model import constants as mq
from ostler.model.pcf import Group, Integer, Integer64, Parameter, String, decode

BUFFER_BYTES = 4096  # of the sample programs, for metadata


class NotReadable(Exception):
    """A reader would give up."""


@dataclass
class ReadElement:
    number: int
    datatype: int
    description: str


@dataclass
class ReadType:
    number: int
    name: str
    topic: str
    data_topic: str = ""
    elements: dict[int, ReadElement] = field(default_factory=dict)


@dataclass
class ReadClass:
    number: int
    name: str
    flags: int
    topic: str
    types: dict[int, ReadType] = field(default_factory=dict)


Fetch = Callable[[str], bytes]
"""Returns the one retained publication of a topic."""


def discover(fetch: Fetch, queue_manager: str) -> dict[int, ReadClass]:
    """Classes, types and elements, found from the topic of the classes alone."""
    classes: dict[int, ReadClass] = {}
    for values in _groups(
        fetch(f"$SYS/MQ/INFO/QMGR/{queue_manager}/Monitor/METADATA/CLASSES"),
        mq.MQGACF_MONITOR_CLASS,
        numbers=(mq.MQIAMO_MONITOR_CLASS, mq.MQIAMO_MONITOR_FLAGS),
        texts=(mq.MQCAMO_MONITOR_CLASS, mq.MQCAMO_MONITOR_DESC, mq.MQCA_TOPIC_STRING),
    ):
        number, flags, name, _, topic = values
        classes[int(number)] = ReadClass(int(number), str(name), int(flags), str(topic))
    for of_class in classes.values():
        for values in _groups(
            fetch(of_class.topic),
            mq.MQGACF_MONITOR_TYPE,
            numbers=(mq.MQIAMO_MONITOR_TYPE,),
            texts=(mq.MQCAMO_MONITOR_TYPE, mq.MQCAMO_MONITOR_DESC, mq.MQCA_TOPIC_STRING),
        ):
            number, name, _, topic = values
            of_class.types[int(number)] = ReadType(int(number), str(name), str(topic))
        for of_type in of_class.types.values():
            _read_elements(fetch(of_type.topic), of_class, of_type)
    _check_names(classes)
    return classes


def _read_elements(body: bytes, of_class: ReadClass, of_type: ReadType) -> None:
    for values in _groups(
        body,
        mq.MQGACF_MONITOR_ELEMENT,
        numbers=(mq.MQIAMO_MONITOR_ELEMENT, mq.MQIAMO_MONITOR_DATATYPE),
        texts=(mq.MQCAMO_MONITOR_DESC,),
    ):
        number, datatype, description = values
        of_type.elements[int(number)] = ReadElement(int(number), int(datatype), str(description))
    last = decode(body).parameters[-1]
    # The sample programs forget a topic that comes before an element.
    if not isinstance(last, String) or last.parameter != mq.MQCA_TOPIC_STRING:
        raise NotReadable(f"the topic of {of_class.name}/{of_type.name} is not behind its elements")
    of_type.data_topic = last.value


def _groups(
    body: bytes, parameter: int, numbers: tuple[int, ...], texts: tuple[int, ...]
) -> list[tuple[int | str, ...]]:
    if len(body) > BUFFER_BYTES:
        raise NotReadable(f"{len(body)} bytes of metadata do not fit")
    found = []
    for group in decode(body).parameters:
        if not isinstance(group, Group):
            continue
        if group.parameter != parameter:
            raise NotReadable(f"a group {group.parameter} among those of {parameter}")
        values = {each.parameter: _value(each, numbers, texts) for each in group.members}
        if len(values) != len(group.members) or set(values) != {*numbers, *texts}:
            raise NotReadable(f"parameters {[each.parameter for each in group.members]} in a group {parameter}")
        found.append(tuple(values[each] for each in (*numbers, *texts)))
    return found


def _value(parameter: Parameter, numbers: tuple[int, ...], texts: tuple[int, ...]) -> int | str:
    if isinstance(parameter, Integer) and parameter.parameter in numbers:
        return parameter.value
    if isinstance(parameter, String) and parameter.parameter in texts:
        return parameter.value
    raise NotReadable(f"unknown parameter {parameter.parameter}")


def _check_names(classes: dict[int, ReadClass]) -> None:
    """Names of metrics are made from descriptions, those of objects with a prefix of their own."""
    seen: set[str] = set()
    for of_class in classes.values():
        for of_type in of_class.types.values():
            for element in of_type.elements.values():
                metric = re.sub(r"[^a-z0-9]+", "_", element.description.lower()).strip("_")
                name = f"object_{metric}" if "%s" in of_type.data_topic else metric
                if name in seen:
                    raise NotReadable(f"two metrics are called {name}")
                seen.add(name)


@dataclass
class ReadData:
    object: str
    interval_us: int
    values: dict[str, int]
    """By description."""


def read_data(body: bytes, classes: dict[int, ReadClass], queue_manager: str) -> ReadData:
    """The values of a publication; all elements of its type must be there, and nothing else."""
    numbers: dict[int, int] = {}
    texts: dict[int, str] = {}
    for each in decode(body).parameters:
        if isinstance(each, (Integer, Integer64)):
            if each.parameter in numbers:
                raise NotReadable(f"parameter {each.parameter} comes twice")
            numbers[each.parameter] = each.value
        elif isinstance(each, String):
            texts[each.parameter] = each.value.rstrip()
        else:
            raise NotReadable(f"unknown parameter {each.parameter}")
    of_class = classes[numbers.pop(mq.MQIAMO_MONITOR_CLASS)]
    of_type = of_class.types[numbers.pop(mq.MQIAMO_MONITOR_TYPE)]
    interval_us = numbers.pop(mq.MQIAMO64_MONITOR_INTERVAL)
    if texts.pop(mq.MQCA_Q_MGR_NAME) != queue_manager:
        raise NotReadable("another queue manager")
    # IBM's sample reader knows both.
    names = [texts.pop(each) for each in (mq.MQCA_Q_NAME, mq.MQCACF_APPL_NAME) if each in texts]
    if len(names) != bool(of_class.flags & mq.MQIAMO_MONITOR_FLAGS_OBJNAME):
        raise NotReadable(f"objects {names} in {of_class.name}/{of_type.name}")
    name = names[0] if names else ""
    if texts or set(numbers) != set(of_type.elements):
        raise NotReadable(f"elements {sorted(numbers)} in {of_class.name}/{of_type.name}")
    return ReadData(name, interval_us, {of_type.elements[at].description: value for at, value in numbers.items()})
