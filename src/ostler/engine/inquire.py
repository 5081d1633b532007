"""MQINQ and MQSET: the attributes of an open object, by their selectors.

An alias returns its own attributes and not those of its base queue, a dynamic queue its own and not those of its model,
a local definition of a remote queue those of the definition. For a selector of other queue types MQINQ returns "not
applicable" and a warning; a selector that no queue has is an error.
"""

from __future__ import annotations

from typing import Final

from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.engine.events import triggers
from ostler.engine.handle import OTHER_OBJECT, Handle
from ostler.engine.open import update_open_handles
from ostler.engine.queue.delivery import send_own_messages
from ostler.model import constants as mq
from ostler.model.attributes import Attribute, ObjectType, Value, by_pcf, check
from ostler.model.definitions import Definition
from ostler.model.errors import MQError

SELECTORS_MAX: Final = 256

_QUEUE_TYPES: Final = (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL)
_TYPE_NUMBERS: Final[dict[ObjectType, int]] = {
    ObjectType.QLOCAL: mq.MQQT_LOCAL,
    ObjectType.QALIAS: mq.MQQT_ALIAS,
    ObjectType.QREMOTE: mq.MQQT_REMOTE,
    ObjectType.QMODEL: mq.MQQT_MODEL,
}
# The attribute that is an object's own name.
_NAMES: Final[dict[ObjectType, str]] = {
    ObjectType.QMGR: "QMNAME",
    ObjectType.QLOCAL: "QUEUE",
    ObjectType.QALIAS: "QUEUE",
    ObjectType.QREMOTE: "QUEUE",
    ObjectType.QMODEL: "QUEUE",
    ObjectType.PROCESS: "PROCESS",
    ObjectType.NAMELIST: "NAMELIST",
}
_IDENTIFIER_NAME_BYTES: Final = 28


def inquire(engine: Engine, handle: Handle, selectors: list[int]) -> tuple[list[int], list[bytes], int]:
    """MQINQ. Returns integers and texts, each in the order of their selectors, and MQRC_NONE or a warning.

    Texts are padded to their length in MQ; a list of names is one text.
    """
    if not handle.for_inquire:
        raise MQError(mq.MQRC_NOT_OPEN_FOR_INQUIRE)
    if len(selectors) > SELECTORS_MAX:
        raise MQError(mq.MQRC_SELECTOR_LIMIT_EXCEEDED, f"At most {SELECTORS_MAX} selectors can be given at a time.")
    definition = current_definition(engine, handle)
    integers: list[int] = []
    texts: list[bytes] = []
    reason: int = mq.MQRC_NONE
    for selector in selectors:
        attribute = inquirable(definition.object_type, selector)
        if attribute is None:
            reason = mq.MQRC_SELECTOR_NOT_FOR_TYPE
            other = _of_another_queue_type(selector)
            if is_integer(selector):
                integers.append(mq.MQIAV_NOT_APPLICABLE)
            else:
                texts.append(b"*" * other.length_max)
            continue
        value = live_value(engine, handle, definition, attribute)
        if is_integer(selector):
            integers.append(value if isinstance(value, int) else mq.MQIAV_NOT_APPLICABLE)
        else:
            texts.append(_packed_text(value, attribute))
    return integers, texts, reason


def is_integer(selector: int) -> bool:
    return mq.MQIA_FIRST <= selector <= mq.MQIA_LAST


def current_definition(engine: Engine, handle: Handle) -> Definition:
    """Return the current definition of the object that a handle is open on. Raises MQError when it was deleted."""
    opened = handle.definition
    if not handle.valid:
        raise MQError(mq.MQRC_OBJECT_CHANGED)
    if handle.kind == OTHER_OBJECT:
        assert opened is not None
        found = objects.find(engine, opened.object_type, opened.name)
        if found is None:
            raise MQError(mq.MQRC_OBJECT_CHANGED, f"{opened.name} was deleted.")
        return found
    queue = handle.queue
    assert queue is not None
    if queue.deleted:
        raise MQError(mq.MQRC_Q_DELETED)
    for passed in handle.definitions_on_path:
        if passed.name == handle.object_name:
            found = objects.find(engine, passed.object_type, passed.name)
            if found is None:
                raise MQError(mq.MQRC_OBJECT_CHANGED, f"{passed.name} was deleted.")
            return found
    if handle.remote_manager:
        raise MQError(mq.MQRC_NOT_OPEN_FOR_INQUIRE, "A queue of another queue manager has no attributes here.")
    return queue.definition


def inquirable(object_type: ObjectType, selector: int) -> Attribute | None:
    """Return the attribute of a selector, or None when only other queue types have it. Raises MQError when none has."""
    attribute = by_pcf(object_type, selector)
    if attribute is not None and _answers(attribute):
        return attribute
    if object_type in _QUEUE_TYPES:
        _of_another_queue_type(selector)
        return None
    raise MQError(mq.MQRC_SELECTOR_ERROR, f"A {object_type.value} has no attribute with the selector {selector}.")


def _answers(attribute: Attribute) -> bool:
    return attribute.by_mqinq and not attribute.zos_only


def _of_another_queue_type(selector: int) -> Attribute:
    for object_type in _QUEUE_TYPES:
        attribute = by_pcf(object_type, selector)
        if attribute is not None and _answers(attribute):
            return attribute
    raise MQError(mq.MQRC_SELECTOR_ERROR, f"No queue has an attribute with the selector {selector}.")


def live_value(engine: Engine, handle: Handle, definition: Definition, attribute: Attribute) -> Value:
    """Return the current value of an attribute."""
    name = attribute.name
    if _NAMES.get(definition.object_type) == name:
        return definition.name
    if name == "TYPE" and definition.object_type in _TYPE_NUMBERS:
        return _TYPE_NUMBERS[definition.object_type]
    if definition.object_type == ObjectType.QLOCAL:
        queue = handle.queue
        assert queue is not None
        if name == "CURDEPTH":
            return queue.depth
        if name == "IPPROCS":
            return queue.group_inputs if queue.is_shared else queue.inputs
        if name == "OPPROCS":
            return queue.group_outputs if queue.is_shared else queue.outputs
    elif name == "NAMCOUNT":
        names = definition.attributes.get("NAMES", ())
        return len(names) if isinstance(names, tuple) else 0
    elif name == "QMID":
        return identifier(definition)
    value = definition.attributes.get(name)
    if value is not None:
        return value
    return "" if attribute.default is None else attribute.default


def identifier(manager: Definition) -> str:
    """Return QMID, which identifies the queue manager even among those of the same name."""
    given = manager.attributes.get("QMID")
    if isinstance(given, str) and given:
        return given
    made = f"{manager.attributes.get('CRDATE', '')}_{manager.attributes.get('CRTIME', '')}"
    return f"{manager.name[:_IDENTIFIER_NAME_BYTES]}_{made}"


def _packed_text(value: Value, attribute: Attribute) -> bytes:
    length = attribute.length_max
    if isinstance(value, tuple):
        return b"".join([item.encode().ljust(length)[:length] for item in value])
    text = value if isinstance(value, str) else ""
    return text.encode().ljust(length)[:length]


def set_attributes(engine: Engine, handle: Handle, selectors: list[int], integers: list[int], texts: bytes) -> int:
    """MQSET: make all of the changes or none. Returns the LSN to wait for, or 0.

    ALTDATE and ALTTIME stay unchanged: MQ sets them for commands only.
    """
    if not handle.for_set:
        raise MQError(mq.MQRC_NOT_OPEN_FOR_SET)
    if len(selectors) > SELECTORS_MAX:
        raise MQError(mq.MQRC_SELECTOR_LIMIT_EXCEEDED, f"At most {SELECTORS_MAX} selectors can be given at a time.")
    definition = current_definition(engine, handle)
    changes = _changes(definition.object_type, selectors, integers, texts)
    if not changes:
        return 0
    attributes = {**definition.attributes, **changes}
    changed = Definition(definition.object_type, definition.name, attributes)
    lsn: int = objects.change(engine, changed)
    if changed.object_type == ObjectType.QLOCAL:
        queue = handle.queue
        assert queue is not None
        send_own_messages(engine, triggers.on_definition_change(engine, queue, definition), None)
    else:
        update_open_handles(engine, changed)
    return lsn


def _changes(object_type: ObjectType, selectors: list[int], integers: list[int], texts: bytes) -> dict[str, Value]:
    changes: dict[str, Value] = {}
    next_integer = 0
    next_text = 0
    for selector in selectors:
        attribute = by_pcf(object_type, selector)
        if attribute is None or not attribute.by_mqset:
            raise MQError(mq.MQRC_SELECTOR_ERROR, f"The selector {selector} cannot be set by MQSET here.")
        if is_integer(selector):
            if next_integer >= len(integers):
                raise MQError(mq.MQRC_INT_ATTR_COUNT_ERROR, "IntAttrs has fewer integers than the selectors need.")
            changes[attribute.name] = _settable(attribute, integers[next_integer])
            next_integer += 1
        else:
            end = next_text + attribute.length_max
            if end > len(texts):
                raise MQError(
                    mq.MQRC_CHAR_ATTR_LENGTH_ERROR, "CharAttrs is too short for the selectors that need a text."
                )
            changes[attribute.name] = _readable(texts[next_text:end])
            next_text = end
    return changes


def _settable(attribute: Attribute, value: int) -> Value:
    try:
        return check(attribute, value)
    except MQError as error:
        raise MQError(attribute.set_error or mq.MQRC_SELECTOR_ERROR, error.detail) from None


def _readable(text: bytes) -> str:
    try:
        return text.partition(b"\0")[0].rstrip(b" ").decode()
    except UnicodeDecodeError:
        raise MQError(mq.MQRC_CHAR_ATTRS_ERROR, "The text is not in the queue manager's character set.") from None
