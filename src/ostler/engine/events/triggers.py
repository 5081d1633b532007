"""Triggering: puts a trigger message on the initiation queue when a queue needs its application started.

The conditions and their numbers are those of MQ's "Conditions for a trigger event":

     1  a message is put on the queue
     2  its priority is at least TRIGMPRI
     3  previous such messages: none (FIRST), any number (EVERY), TRIGDPTH - 1 (DEPTH)
     4  FIRST and DEPTH: the queue is not open for input
     5  gets from the queue are allowed
     6  the process exists; or none is named and the queue is a transmission queue
     7  the initiation queue is a local queue, no transmission queue, with gets and puts allowed
     8  a trigger monitor has the initiation queue open for input
     9  TRIGGER is on
    10  TRIGTYPE is not NONE
    11  FIRST: there are other messages, but the last trigger is TRIGINT ago
    12  FIRST and DEPTH: the last input handle is closed, and there are enough messages
    13  the trigger attributes change, and there are enough messages
    14  puts on the initiation queue are allowed again, 15 gets from the queue are allowed again
    16  the trigger monitor opens the initiation queue, and there are enough messages

Only committed messages count, as in MQ for shared queues: no application is started for messages it cannot get yet.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, write_i32_le
from mypy_extensions import i32, i64

from ostler.engine.core import Engine
from ostler.engine.events.reports import Outgoing, own_descriptor
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.slots import NONE
from ostler.engine.self_altering import alter_queue
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition

_TRIGGER_ATTRIBUTES: Final = ("TRIGGER", "TRIGTYPE", "TRIGMPRI", "TRIGDPTH")
# A longer chain of triggered initiation queues must be a cycle.
_CHAIN_MAX: Final = 16


def after_arrival(engine: Engine, queue: Queue, priority: i64) -> list[Outgoing]:
    """Return the trigger message for a message that became available and was not got at once."""
    if not queue.trigger_on or not _has_trigger_priority(queue, priority):
        return []
    if queue.trigger_type == mq.MQTT_EVERY:
        return _trigger(engine, queue)
    if queue.trigger_type == mq.MQTT_FIRST:
        # The only message, or one of several that became available together on an empty queue.
        is_first: bool = queue.trigger_armed or _count_available(queue, 2) == 1
        queue.trigger_armed = False
        if is_first or _interval_is_over(engine, queue):
            return _trigger(engine, queue)
        return []
    return _trigger_if_ready(engine, queue)


def after_removal(engine: Engine, queue: Queue) -> None:
    """Arm the trigger when the queue is empty, so that the next message counts as a first one."""
    if queue.slots.count == 0:
        queue.trigger_armed = True


def on_input_close(engine: Engine, queue: Queue) -> list[Outgoing]:
    """Return the trigger message after an input handle was closed; the last one may leave messages behind (12)."""
    return _trigger_if_ready(engine, queue)


def on_definition_change(engine: Engine, queue: Queue, before: Definition) -> list[Outgoing]:
    """Return trigger messages after a change of attributes (13, 15), also as an initiation queue (14)."""
    made: list[Outgoing] = []
    old = before.attributes
    new = queue.definition.attributes
    changed = [name for name in _TRIGGER_ATTRIBUTES if old.get(name) != new.get(name)]
    if changed:
        queue.trigger_armed = queue.slots.count == 0
    if changed or (old.get("GET", 0) != 0 and queue.get_allowed):
        made.extend(_trigger_if_ready(engine, queue))
    if old.get("PUT", 0) != 0 and queue.put_allowed:
        made.extend(_trigger_queues_of(engine, queue))
    return made


def on_initiation_queue_open(engine: Engine, queue: Queue) -> list[Outgoing]:
    """Return trigger messages for the first input handle of an initiation queue, a trigger monitor's (16)."""
    return _trigger_queues_of(engine, queue) if queue.inputs == 1 else []


def after_restart(engine: Engine) -> list[Outgoing]:
    """Reset triggering of all queues: trigger messages do not survive a restart."""
    made: list[Outgoing] = []
    for queue in list(engine.queues.values()):
        if queue.trigger_on:
            queue.trigger_fired_ms = 0
            queue.trigger_armed = queue.slots.count == 0
            made.extend(_trigger_if_ready(engine, queue))
    return made


def _trigger_queues_of(engine: Engine, initiation: Queue) -> list[Outgoing]:
    """Trigger the queues of an initiation queue that are ready."""
    made: list[Outgoing] = []
    for queue in list(engine.triggering.values()):
        if queue.trigger_on and queue.definition.attributes.get("INITQ") == initiation.name:
            made.extend(_trigger_if_ready(engine, queue))
    return made


def _trigger_if_ready(engine: Engine, queue: Queue) -> list[Outgoing]:
    """Trigger for messages already on the queue. Not for EVERY, which triggered when each of them arrived."""
    wanted: i64 = queue.trigger_depth if queue.trigger_type == mq.MQTT_DEPTH else 1
    if (
        not queue.trigger_on
        or queue.trigger_type not in (mq.MQTT_FIRST, mq.MQTT_DEPTH)
        or _count_available(queue, wanted) < wanted
    ):
        return []
    return _trigger(engine, queue)


# -- conditions ------------------------------------------------------------------------------------------------------


def _has_trigger_priority(queue: Queue, priority: i64) -> bool:
    """Return whether a priority reaches TRIGMPRI. A FIFO queue gives all messages its default priority."""
    if queue.is_fifo:
        priority = queue.default_priority
    return priority >= queue.trigger_priority


def _count_available(queue: Queue, limit: i64) -> i64:
    """Return the number of committed messages that reach TRIGMPRI, up to `limit`."""
    if queue.is_shared:
        waiting: i64 = queue.depth - queue.uncommitted  # as last heard; priorities are not known
        return waiting if waiting < limit else limit
    slots = queue.slots
    if queue.is_fifo or queue.trigger_priority == 0:
        available: i64 = slots.count - queue.uncommitted
        if not _has_trigger_priority(queue, 0):
            return 0
        return available if available < limit else limit
    found: i64 = 0
    priority: i64 = 9
    while priority >= queue.trigger_priority:
        slot: i64 = slots.heads[priority]
        while slot != NONE and found < limit:
            found += 1
            slot = slots.nexts[slot]
        priority -= 1
    return found


def _interval_is_over(engine: Engine, queue: Queue) -> bool:
    """Return whether TRIGINT has passed since the last trigger message, if there was one."""
    if queue.trigger_fired_ms == 0:
        return True
    return engine.now_ms - queue.trigger_fired_ms >= engine.trigger_interval_ms


def _trigger(engine: Engine, queue: Queue) -> list[Outgoing]:
    """Return the trigger message if conditions 4 to 8 hold."""
    attributes = queue.definition.attributes
    if queue.inputs > 0 and queue.trigger_type != mq.MQTT_EVERY:
        return []
    if not queue.get_allowed or queue.deleted:
        return []
    process_name = _text(attributes, "PROCESS")
    process = engine.of_type(ObjectType.PROCESS).get(process_name)
    if process is None and not (process_name == "" and queue.is_transmission):
        return []
    initiation = engine.queues.get(_text(attributes, "INITQ"))
    if initiation is None or not _is_served(initiation) or _is_cycle(engine, initiation):
        return []
    queue.trigger_fired_ms = engine.now_ms
    md = own_descriptor(engine, mq.MQFMT_TRIGGER, initiation.default_priority, mq.MQPER_NOT_PERSISTENT)
    made = Outgoing(initiation.name, "", md, trigger_message(queue, process), True)
    if queue.trigger_type == mq.MQTT_DEPTH:
        alter_queue(engine, queue, {"TRIGGER": mq.MQTC_OFF})
    return [made]


def _is_served(initiation: Queue) -> bool:
    return (
        initiation.inputs > 0
        and initiation.get_allowed
        and initiation.put_allowed
        and not initiation.is_transmission
        and not initiation.pending_delete
    )


def _is_cycle(engine: Engine, initiation: Queue) -> bool:
    """Return whether triggering there would never end. Only a chain of EVERY queues can be a cycle."""
    hops: i64 = 0
    following: Queue | None = initiation
    while following is not None and following.trigger_on and following.trigger_type == mq.MQTT_EVERY:
        hops += 1
        if hops > _CHAIN_MAX:
            return True
        following = engine.queues.get(_text(following.definition.attributes, "INITQ"))
    return False


# -- the message -----------------------------------------------------------------------------------------------------


def trigger_message(queue: Queue, process: Definition | None) -> bytes:
    """Return the MQTM structure for the trigger monitor."""
    writer = BytesWriter()
    writer.write(mq.MQTM_STRUC_ID)
    write_i32_le(writer, mq.MQTM_VERSION_1)
    writer.write(_field(queue.name, 48))
    writer.write(_field(process.name if process is not None else "", 48))
    writer.write(_field(_text(queue.definition.attributes, "TRIGDATA"), 64))
    if process is None:
        write_i32_le(writer, mq.MQAT_UNKNOWN)
        writer.write(_field("", 256 + 128 + 128))
    else:
        application_type = process.attributes.get("APPLTYPE")
        write_i32_le(writer, i32(application_type) if isinstance(application_type, int) else mq.MQAT_UNKNOWN)
        writer.write(_field(_text(process.attributes, "APPLICID"), 256))
        writer.write(_field(_text(process.attributes, "ENVRDATA"), 128))
        writer.write(_field(_text(process.attributes, "USERDATA"), 128))
    return writer.getvalue()


def _field(text: str, length: i64) -> bytes:
    return text.encode("utf-8", "replace")[:length].ljust(length)


def _text(attributes: dict[str, int | str | tuple[str, ...]], name: str) -> str:
    value = attributes.get(name, "")
    return value if isinstance(value, str) else ""
