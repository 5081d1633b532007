"""Resource publications in PCF: the metadata that describes them, and the data.

Readers subscribe to METADATA/CLASSES, follow the topic strings in it to types and elements, and know a value by the
number of its element. Some refuse parameters that they do not know, and IBM's sample reader needs the topic string of
the data behind the elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ostler.model import constants as mq
from ostler.model.pcf import Group, Integer, Integer64, Parameter, String
from ostler.observe.message_builder import NAME_BYTES, encode_single, fixed_text
from ostler.observe.resource_table import CLASSES, NEVER, Element, ResourceClass, ResourceType

ROOT: Final = "$SYS/MQ/INFO/QMGR"
# In the topic string of elements, for the object's name.
OBJECT: Final = "%s"
_METADATA: Final = "METADATA"
_INTEGER64_MAX: Final = (1 << 63) - 1


class Metadata(NamedTuple):
    """A retained publication that describes others."""

    topic: str
    body: bytes


def monitor_topic(queue_manager: str) -> str:
    return f"{ROOT}/{queue_manager}/Monitor"


def data_topic(queue_manager: str, of_class: ResourceClass, of_type: ResourceType, name: str = OBJECT) -> str:
    """Return the topic of data. As in MQ, a `/` in the name of an object becomes `&`: it would begin another level."""
    parts = [monitor_topic(queue_manager), of_class.name]
    if of_class.is_per_object:
        parts.append(name.replace("/", "&"))
    return "/".join([*parts, of_type.name])


def all_metadata(queue_manager: str) -> list[Metadata]:
    """Return all metadata of a queue manager."""
    root = f"{monitor_topic(queue_manager)}/{_METADATA}"
    found = [Metadata(f"{root}/CLASSES", _encode([_class_group(root, each) for each in CLASSES]))]
    for of_class in CLASSES:
        found.append(Metadata(_types_topic(root, of_class), _types(root, of_class)))
        found.extend(
            Metadata(_elements_topic(root, of_class, each), _elements(queue_manager, of_class, each))
            for each in of_class.types
        )
    return found


def metadata_topic(queue_manager: str) -> str:
    """Return the topic above all metadata."""
    return f"{monitor_topic(queue_manager)}/{_METADATA}"


def _types_topic(root: str, of_class: ResourceClass) -> str:
    return f"{root}/{of_class.name}/TYPES"


def _elements_topic(root: str, of_class: ResourceClass, of_type: ResourceType) -> str:
    return f"{root}/{of_class.name}/{of_type.name}"


def _flags(of_class: ResourceClass) -> Integer:
    is_named = of_class.is_per_object
    flags = mq.MQIAMO_MONITOR_FLAGS_OBJNAME if is_named else mq.MQIAMO_MONITOR_FLAGS_NONE
    return Integer(mq.MQIAMO_MONITOR_FLAGS, flags)


def _class_group(root: str, of_class: ResourceClass) -> Group:
    return Group(
        mq.MQGACF_MONITOR_CLASS,
        (
            Integer(mq.MQIAMO_MONITOR_CLASS, of_class.number),
            _flags(of_class),
            String(mq.MQCAMO_MONITOR_CLASS, of_class.name),
            String(mq.MQCAMO_MONITOR_DESC, of_class.description),
            String(mq.MQCA_TOPIC_STRING, _types_topic(root, of_class)),
        ),
    )


def _types(root: str, of_class: ResourceClass) -> bytes:
    groups = [
        Group(
            mq.MQGACF_MONITOR_TYPE,
            (
                Integer(mq.MQIAMO_MONITOR_TYPE, each.number),
                String(mq.MQCAMO_MONITOR_TYPE, each.name),
                String(mq.MQCAMO_MONITOR_DESC, each.description),
                String(mq.MQCA_TOPIC_STRING, _elements_topic(root, of_class, each)),
            ),
        )
        for each in of_class.types
    ]
    return _encode([Integer(mq.MQIAMO_MONITOR_CLASS, of_class.number), _flags(of_class), *groups])


def _elements(queue_manager: str, of_class: ResourceClass, of_type: ResourceType) -> bytes:
    return _encode(
        [
            Integer(mq.MQIAMO_MONITOR_CLASS, of_class.number),
            Integer(mq.MQIAMO_MONITOR_TYPE, of_type.number),
            *[_element_group(each) for each in of_type.elements],
            String(mq.MQCA_TOPIC_STRING, data_topic(queue_manager, of_class, of_type)),
        ]
    )


def _element_group(element: Element) -> Group:
    return Group(
        mq.MQGACF_MONITOR_ELEMENT,
        (
            Integer(mq.MQIAMO_MONITOR_ELEMENT, element.number),
            Integer(mq.MQIAMO_MONITOR_DATATYPE, element.datatype),
            String(mq.MQCAMO_MONITOR_DESC, element.description),
        ),
    )


def data_message(
    queue_manager: str,
    of_class: ResourceClass,
    of_type: ResourceType,
    interval_us: int,
    values: Mapping[str, int],
    name: str = "",
) -> bytes:
    """Return the data of a type. `values` are by source; those of the interval come from its counts."""
    parameters: list[Parameter] = [fixed_text(mq.MQCA_Q_MGR_NAME, queue_manager, NAME_BYTES)]
    if of_class.is_per_object:
        length = NAME_BYTES if of_class.object_name == mq.MQCA_Q_NAME else mq.MQ_APPL_NAME_LENGTH
        parameters.append(fixed_text(of_class.object_name, name, length))
    parameters.append(Integer(mq.MQIAMO_MONITOR_CLASS, of_class.number))
    parameters.append(Integer(mq.MQIAMO_MONITOR_TYPE, of_type.number))
    parameters.append(Integer64(mq.MQIAMO64_MONITOR_INTERVAL, interval_us))
    for element in of_type.elements:
        value = 0 if element.source in NEVER else values[element.source]
        parameters.append(Integer64(element.number, min(max(value, 0), _INTEGER64_MAX)))
    return _encode(parameters)


def _encode(parameters: list[Parameter]) -> bytes:
    return encode_single(mq.MQCFT_STATISTICS, mq.MQCMD_NONE, parameters)
