"""Creating, altering and deleting objects. Each change is written to the journal and survives a restart."""

from __future__ import annotations

from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import LOG_FULL, Engine
from ostler.engine.events import configuration_events
from ostler.engine.journal_records import append_clear, append_define, append_delete
from ostler.engine.message.timestamps import date_of_day, time_of_day
from ostler.engine.pubsub import subscription_definitions
from ostler.engine.pubsub.retained_references import forget_lost
from ostler.engine.queue.delivery import send_own_messages
from ostler.engine.queue.queue import Queue
from ostler.engine.recovery.checkpoint_space import DEFINITION_BYTES, has_checkpoint_space, refuse_full_disk
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, valid_name
from ostler.model.authorities import QUEUE_AUTHORITIES, words_of
from ostler.model.definitions import Definition
from ostler.model.errors import LogFull, MQError

QUEUE_TYPES = (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL)
# Types whose keys need not be valid MQ object names.
_NAMED_BY_TEXT = (ObjectType.QMGR, ObjectType.SUB, ObjectType.CHLAUTH, ObjectType.AUTHREC)
_RECORD_ROOM_BYTES = 64 * 1024
_DYNAMIC_PREFIX_MAX = 32


def find(engine: Engine, object_type: ObjectType, name: str) -> Definition | None:
    """Find an object by type and name. CHANNEL finds a client channel only when no other channel has the name."""
    if object_type == ObjectType.QMGR:
        return engine.manager
    found = engine.of_type(object_type).get(name)
    if found is None and object_type == ObjectType.CHANNEL:
        return engine.of_type(ObjectType.CLNTCONN).get(name)
    return found


def all_of_type(engine: Engine, object_type: ObjectType) -> list[Definition]:
    """Return all objects of a type in order of creation. For CHANNEL the client channels come last."""
    if object_type == ObjectType.QMGR:
        return [engine.manager]
    found = list(engine.of_type(object_type).values())
    if object_type == ObjectType.CHANNEL:
        found += engine.of_type(ObjectType.CLNTCONN).values()
    return found


def queue_definition(engine: Engine, name: str) -> Definition | None:
    """Return the definition of a queue of any type: queues share one name space."""
    for object_type in QUEUE_TYPES:
        definition = engine.of_type(object_type).get(name)
        if definition is not None:
            return definition
    return None


def define(engine: Engine, definition: Definition, replace: bool = False) -> i64:
    """Create an object, or with `replace` alter an existing one. Returns the LSN of its record."""
    if definition.object_type not in _NAMED_BY_TEXT and not valid_name(definition.name):
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"{definition.name!r} is not a valid object name.")
    existing = (
        queue_definition(engine, definition.name)
        if definition.object_type in QUEUE_TYPES
        else _existing(engine, definition)
    )
    if existing is not None:
        if not replace or existing.object_type != definition.object_type:
            raise MQError(mq.MQRC_OBJECT_ALREADY_EXISTS, f"{definition.name} exists already.")
        return change(engine, definition)
    _check_room(engine)
    if definition.object_type == ObjectType.SUB:
        definition = subscription_definitions.with_full_topic(engine, definition)
        subscription_definitions.check_definition(engine, definition)
    queue_id: i64 = engine.next_queue_id if definition.object_type == ObjectType.QLOCAL else 0
    before: i64 = engine.journal.end_lsn()
    lsn: i64 = append_define(engine, definition, queue_id)
    apply.define(engine, definition, queue_id)
    if queue_id:
        queue = engine.queues_by_id[queue_id]
        queue.snapshot_lsn = lsn
        queue.replay_lsn = lsn
        queue.media_lsn = before  # until an image is recorded, media recovery replays its whole history
    send_own_messages(engine, configuration_events.on_change(engine, None, definition), None)
    return lsn


def _existing(engine: Engine, definition: Definition) -> Definition | None:
    """Return the definition that this one would replace."""
    if definition.object_type == ObjectType.QMGR:
        return engine.manager
    return engine.of_type(apply.table_type(definition)).get(definition.name)


def change(engine: Engine, definition: Definition) -> i64:
    """Alter an existing object. Returns the LSN of the record, or 0 for a temporary queue."""
    _check_room(engine)
    lsn: i64 = 0
    before = _existing(engine, definition)
    if definition.object_type == ObjectType.QLOCAL:
        queue = engine.queues[definition.name]
        if not queue.is_temporary:
            lsn = append_define(engine, definition, queue.queue_id)
        apply.define(engine, definition, queue.queue_id)
        if not queue.get_allowed:
            fail_waiting(engine, queue, mq.MQRC_GET_INHIBITED)
        if queue.is_temporary:
            return 0
    else:
        lsn = append_define(engine, definition, 0)
        apply.define(engine, definition, 0)
    send_own_messages(engine, configuration_events.on_change(engine, before, definition), None)
    return lsn


def delete(engine: Engine, object_type: ObjectType, name: str, purge: bool = False) -> i64:
    """Delete an object. A local queue must not be in use, and must be empty unless purged."""
    definition = find(engine, object_type, name)
    if definition is None:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no {object_type.value} called {name}.")
    if object_type != ObjectType.QLOCAL:
        kept = apply.table_type(definition)
        deleted_lsn: i64 = append_delete(engine, kept, name, 0)
        apply.delete(engine, kept, name)
        send_own_messages(engine, configuration_events.on_change(engine, definition, None), None)
        return deleted_lsn
    queue = engine.queues[name]
    _check_free(queue)
    if queue.depth > 0 and not purge:
        raise MQError(mq.MQRC_Q_NOT_EMPTY, f"The queue {name} holds {queue.depth} messages.")
    return delete_queue(engine, queue)


def _check_free(queue: Queue) -> None:
    if queue.is_needed:
        raise MQError(mq.MQRC_OBJECT_IN_USE, f"The queue {queue.name} is in use by running channels.")
    if queue.handles or queue.uncommitted > 0 or queue.is_moving:
        raise MQError(mq.MQRC_OBJECT_IN_USE, f"The queue {queue.name} is open or has uncommitted messages.")


def read_typed_name(data: bytes) -> tuple[ObjectType, str]:
    kind, _, name = data.decode("utf-8").partition(" ")
    return ObjectType(kind), name


def delete_queue(engine: Engine, queue: Queue) -> i64:
    """Delete a local queue with its messages. Handles that are open on it get MQRC_Q_DELETED."""
    lsn: i64 = 0
    fail_waiting(engine, queue, mq.MQRC_Q_DELETED)
    if not queue.is_temporary:
        lsn = append_delete(engine, ObjectType.QLOCAL, queue.name, queue.queue_id)
    apply.delete_queue(engine, queue)
    if queue.definition.attributes.get("DEFTYPE") == mq.MQQDT_PERMANENT_DYNAMIC:
        # Its creator's authorities go with it: the name may be used again by another user.
        prefix = f"QUEUE {queue.name} "
        for key in [key for key in engine.of_type(ObjectType.AUTHREC) if key.startswith(prefix)]:
            lsn = delete(engine, ObjectType.AUTHREC, key)
    if not queue.is_temporary:
        send_own_messages(engine, configuration_events.on_change(engine, queue.definition, None), None)
    return lsn


def fail_waiting(engine: Engine, queue: Queue, reason: i64, with_option: i64 = 0) -> None:
    """End the waiting gets of a queue with a reason; with `with_option` only those that have the option."""
    for request in queue.waiting.in_service_order():
        if with_option == 0 or request.options & with_option:
            queue.waiting.remove(request)
            request.reason = reason
            request.done = True
            engine.woken.append(request)


def clear(engine: Engine, name: str) -> i64:
    """CLEAR QLOCAL: remove all messages of a private queue that is not open and has no uncommitted messages."""
    queue = clearable_queue(engine, name)
    if queue.is_shared:
        raise MQError(mq.MQRC_ENVIRONMENT_ERROR, f"The queue {name} is shared: CLEAR QLOCAL clears it.")
    lsn: i64 = append_clear(engine, queue)
    cleared: i64 = apply.clear(engine, queue)
    if queue.keeps_retained:
        forget_lost(engine)
    queue.counters.purged += cleared
    engine.counters.purged += cleared
    return lsn


def clearable_queue(engine: Engine, name: str) -> Queue:
    """Return a local queue that may be cleared, as far as this queue manager knows. Raises MQError."""
    queue = engine.queues.get(name)
    if queue is None:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no local queue called {name}.")
    _check_free(queue)
    return queue


def create_dynamic(engine: Engine, model: Definition, wanted: str, owner: str = "") -> Queue:
    """Create a dynamic queue from a model. A trailing asterisk in the wanted name is replaced by a unique string.

    `owner` is the user who gets all authorities on it; empty when its creator has them anyway.
    """
    name = _dynamic_name(engine, wanted)
    is_temporary: bool = model.attributes.get("DEFTYPE") != mq.MQQDT_PERMANENT_DYNAMIC
    attributes = _dynamic_attributes(engine, model, is_temporary)
    definition = Definition(ObjectType.QLOCAL, name, attributes)
    queue_id: i64 = engine.next_queue_id
    if is_temporary:
        if owner:
            engine.dynamic_owners[name] = owner
        return engine.add_queue(definition, queue_id)
    define(engine, definition)
    if owner:
        _grant(engine, name, owner)
    return engine.queues[name]


def _dynamic_attributes(engine: Engine, model: Definition, is_temporary: bool) -> dict[str, Value]:
    """Return the attributes for a dynamic queue. Temporary queues made from one model within a second share them."""
    second: i64 = engine.now_ms // 1000
    if is_temporary and engine.temporary_model is model and engine.temporary_second == second:
        return engine.temporary_attributes
    attributes = dict(model.attributes)
    attributes["DEFTYPE"] = mq.MQQDT_TEMPORARY_DYNAMIC if is_temporary else mq.MQQDT_PERMANENT_DYNAMIC
    date = date_of_day(engine.wall_ms() // 86_400_000).decode("ascii")
    time = time_of_day(engine.wall_ms() % 86_400_000).decode("ascii")
    stamp_date = f"{date[:4]}-{date[4:6]}-{date[6:]}"
    stamp_time = f"{time[:2]}.{time[2:4]}.{time[4:6]}"
    attributes["CRDATE"] = stamp_date
    attributes["CRTIME"] = stamp_time
    attributes["ALTDATE"] = stamp_date
    attributes["ALTTIME"] = stamp_time
    if is_temporary:
        engine.temporary_model = model
        engine.temporary_second = second
        engine.temporary_attributes = attributes
    return attributes


def _grant(engine: Engine, name: str, owner: str) -> None:
    """Grant all authorities on a permanent dynamic queue to its creator, across restarts."""
    key = f"QUEUE {name} PRINCIPAL {owner}"
    attributes: dict[str, int | str | tuple[str, ...]] = {
        "PROFILE": name,
        "OBJTYPE": mq.MQOT_Q,
        "ENTITY": owner,
        "ENTTYPE": 1,
        "AUTHLIST": words_of(QUEUE_AUTHORITIES),
    }
    define(engine, Definition(ObjectType.AUTHREC, key, attributes), True)


def _dynamic_name(engine: Engine, wanted: str) -> str:
    if wanted == "":
        raise MQError(mq.MQRC_DYNAMIC_Q_NAME_ERROR, "A model queue needs a dynamic queue name.")
    name = wanted
    if wanted.endswith("*"):
        prefix = wanted[:-1]
        if len(prefix) > _DYNAMIC_PREFIX_MAX:
            raise MQError(mq.MQRC_DYNAMIC_Q_NAME_ERROR, "The asterisk is behind the 33rd character.")
        while True:
            engine.unique += 1
            name = f"{prefix}{engine.unique:016X}"
            if queue_definition(engine, name) is None:
                break
    if not valid_name(name):
        raise MQError(mq.MQRC_DYNAMIC_Q_NAME_ERROR, f"{name!r} is not a valid queue name.")
    if queue_definition(engine, name) is not None:
        raise MQError(mq.MQRC_OBJECT_ALREADY_EXISTS, f"A queue called {name} exists already.")
    return name


def _check_room(engine: Engine) -> None:
    if engine.lacks_log_space(_RECORD_ROOM_BYTES):
        raise LogFull("The recovery log has no room for the change of the object.")
    if not has_checkpoint_space(engine, DEFINITION_BYTES):
        text = "The disk is full: it has no room for the definition."
        raise LogFull(text) if refuse_full_disk(engine) == LOG_FULL else MQError(mq.MQRC_RESOURCE_PROBLEM, text)
    engine.reserve.needed_bytes += DEFINITION_BYTES
