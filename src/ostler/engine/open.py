"""MQOPEN and MQCLOSE."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine import accounting, authority, statistics
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.events import configuration_events, triggers
from ostler.engine.events import performance_events as events
from ostler.engine.groups import groups
from ostler.engine.handle import OTHER_OBJECT, QUEUE, Handle
from ostler.engine.name_resolution import Resolved, resolve
from ostler.engine.objects import create_dynamic, delete_queue
from ostler.engine.outcomes import CloseOutcome
from ostler.engine.pubsub.end_subscription import close_subscription
from ostler.engine.pubsub.open_topic import close_topic, open_topic
from ostler.engine.queue.delivery import send_own_messages
from ostler.engine.queue.queue import Queue, is_ready_to_delete
from ostler.engine.queue.slots import LOCKED, NONE
from ostler.engine.shared.browse_locks import release
from ostler.engine.shared.opens import SharedOpen, begin_open, check_open, end_open
from ostler.engine.syncpoint import serve_returned
from ostler.engine.task import EngineTask
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.authorities import INQ
from ostler.model.definitions import Definition
from ostler.model.errors import InvariantFailed, LogFull, MQError

_INPUT: Final = mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_INPUT_SHARED | mq.MQOO_INPUT_EXCLUSIVE
_ACTIONS: Final = _INPUT | mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE | mq.MQOO_SET
_CONTEXT_OUT: Final = (
    mq.MQOO_PASS_IDENTITY_CONTEXT | mq.MQOO_PASS_ALL_CONTEXT | mq.MQOO_SET_IDENTITY_CONTEXT | mq.MQOO_SET_ALL_CONTEXT
)
_ALL_OPTIONS: Final = 0x007FFFFF
_DEFSOPT_EXCLUSIVE: Final = 4
_READ_AHEAD_YES: Final = 1
# Attributes that name the target of an alias or a remote definition.
_LEADING: Final = ("TARGET", "TARGTYPE", "RNAME", "RQMNAME", "XMITQ")


@final
class OpenRequest:
    """The fields of MQOD, decoded, and the open options."""

    def __init__(self, object_type: i64, name: str, options: i64) -> None:
        self.object_type: i64 = object_type
        self.name = name
        self.options: i64 = options
        self.manager_name: str = ""
        self.dynamic_name: str = ""
        self.alternate_user: str = ""
        self.selection: str = ""
        self.topic_string: str = ""  # ObjectString, of a topic
        self.may_make_queue = True  # by naming a model queue
        self.is_for_put1 = False  # the coupling facility does not count it as open


def open_object(engine: Engine, connection: Connection, request: OpenRequest) -> Handle:
    """MQOPEN. Raises MQError, and then nothing was opened or created."""
    try:
        handle = _open(engine, connection, request)
    except LogFull:
        raise  # it is tried again and not counted
    except MQError:
        statistics.count_open_failed(engine, connection, request.object_type)
        raise
    handle.object_name = request.name
    handle.alternate_user = request.alternate_user
    connection.handles[handle.number] = handle
    statistics.count_open(engine, connection, handle)
    queue = handle.queue
    if queue is not None and (connection.account is not None or queue.is_accounted):
        accounting.record_open(engine, connection, handle)
    return handle


def _open(engine: Engine, connection: Connection, request: OpenRequest) -> Handle:
    engine.check_state(bool(request.options & mq.MQOO_FAIL_IF_QUIESCING))
    _check_options(request.options)
    if len(connection.handles) >= engine.handles_max:
        raise MQError(mq.MQRC_HANDLE_NOT_AVAILABLE)
    try:
        if request.object_type == mq.MQOT_Q:
            return _open_queue(engine, connection, request)
        return _open_other(engine, connection, request)
    except MQError as refusal:
        _report_refusal(engine, connection, request, refusal)
        raise


def _report_refusal(engine: Engine, connection: Connection, request: OpenRequest, refusal: MQError) -> None:
    if refusal.reason == mq.MQRC_NOT_AUTHORIZED:
        engine.notice(f"AMQ8077W: {refusal.detail}")
        user = request.alternate_user if request.options & mq.MQOO_ALTERNATE_USER_AUTHORITY else connection.user
        options: i64 = request.options
        event = configuration_events.on_open_refused(
            engine, connection, request.name, request.manager_name, options, user
        )
    elif request.object_type == mq.MQOT_Q:
        event = events.on_refused(engine, connection, refusal.reason, request.name, request.manager_name)
    else:
        return
    send_own_messages(engine, event, None)


def _check_options(options: i64) -> None:
    inputs: i64 = options & _INPUT
    read_ahead: i64 = options & (mq.MQOO_READ_AHEAD | mq.MQOO_NO_READ_AHEAD)
    binds: i64 = options & (mq.MQOO_BIND_ON_OPEN | mq.MQOO_BIND_NOT_FIXED | mq.MQOO_BIND_ON_GROUP)
    if (
        options & ~_ALL_OPTIONS
        or not options & _ACTIONS
        or inputs & (inputs - 1)
        or read_ahead & (read_ahead - 1)
        or binds & (binds - 1)
        or (options & mq.MQOO_SAVE_ALL_CONTEXT and not inputs)
        or (options & _CONTEXT_OUT and not options & mq.MQOO_OUTPUT)
    ):
        raise MQError(mq.MQRC_OPTIONS_ERROR)


def _new_handle(connection: Connection, kind: i64, name: str, options: i64) -> Handle:
    handle = Handle(connection.next_handle, kind, name, options)
    connection.next_handle += 1
    return handle


def _open_other(engine: Engine, connection: Connection, request: OpenRequest) -> Handle:
    """Open a topic for publishing, or the queue manager, a process or a namelist for inquiry."""
    if request.object_type == mq.MQOT_TOPIC:
        publisher = authority.user_of_open(engine, connection, request.options, request.alternate_user)
        return open_topic(engine, connection, request.name, request.topic_string, request.options, publisher)
    if request.object_type not in (mq.MQOT_Q_MGR, mq.MQOT_PROCESS, mq.MQOT_NAMELIST):
        raise MQError(mq.MQRC_OBJECT_TYPE_ERROR)
    if request.options & ~(mq.MQOO_INQUIRE | mq.MQOO_FAIL_IF_QUIESCING) & _ACTIONS:
        raise MQError(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    user = authority.user_of_open(engine, connection, request.options, request.alternate_user)
    definition: Definition | None = None
    if request.object_type == mq.MQOT_Q_MGR:
        if request.name not in ("", engine.name):
            raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"This queue manager is called {engine.name}.")
        definition = engine.manager
    elif request.object_type == mq.MQOT_PROCESS:
        definition = engine.of_type(ObjectType.PROCESS).get(request.name)
    else:
        definition = engine.of_type(ObjectType.NAMELIST).get(request.name)
    if definition is None:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no object {request.name} of that type.")
    if user:
        authority.require(engine, user, request.object_type, definition.name, INQ)
    handle = _new_handle(connection, OTHER_OBJECT, definition.name, request.options)
    handle.definition = definition
    handle.for_inquire = True
    return handle


def _open_queue(engine: Engine, connection: Connection, request: OpenRequest) -> Handle:
    user = authority.user_of_open(engine, connection, request.options, request.alternate_user)
    alias = engine.of_type(ObjectType.QALIAS).get(request.name)
    if alias is not None and alias.attributes.get("TARGTYPE") == mq.MQOT_TOPIC:
        return _open_topic_alias(engine, connection, request, alias, user)
    found = _resolve(engine, request)
    if found.model is not None and not (request.may_make_queue and request.manager_name in ("", engine.name)):
        raise MQError(mq.MQRC_Q_TYPE_ERROR, f"{request.name} is a model queue; only MQOPEN here makes a queue of it.")
    authority.check_queue(engine, connection, user, request.name, request.manager_name, request.options, found)
    is_created = False
    if found.model is not None:
        found.queue = create_dynamic(engine, found.model, request.dynamic_name, user)
        found.queue_name = found.queue.name
        found.manager_name = engine.name
        is_created = True
    queue = found.queue
    assert queue is not None
    handle = _new_handle(connection, QUEUE, queue.name, request.options)
    try:
        _check_fit(engine, queue, found, request)
        sharing = check_open(engine, queue) if queue.is_shared else None
        if request.selection:
            handle.selector = engine.compile_selector(request.selection)
        _claim_input(queue, handle, request.options)
    except MQError:
        if is_created:
            delete_queue(engine, queue)
        raise
    handle.created_dynamic = is_created
    _fill_queue_handle(engine, connection, handle, queue, found)
    if sharing is not None and not request.is_for_put1:
        begin_open(engine, sharing, queue, handle)
    return handle


def _resolve(engine: Engine, request: OpenRequest) -> Resolved:
    try:
        return resolve(engine, request.name, request.manager_name)
    except MQError as refusal:
        sharing = engine.sharing
        if refusal.reason == mq.MQRC_UNKNOWN_OBJECT_NAME and sharing is not None and not sharing.knows_definitions:
            raise MQError(
                mq.MQRC_DB2_NOT_AVAILABLE,
                f"{request.name} is not known here, and the shared repository of {sharing.group} cannot be asked now.",
            ) from None
        raise


def complete_open(engine: Engine, connection: Connection, handle: Handle) -> None:
    """End the MQOPEN of a shared queue, whose task is done. Raises MQError when it is refused; the handle is closed."""
    opening = handle.opening
    handle.opening = None
    if isinstance(opening, SharedOpen) and opening.reason != 0:
        close_object(engine, connection, handle, 0)
        raise MQError(opening.reason, f"The queue {handle.name} cannot be opened in this queue-sharing group now.")


def _open_topic_alias(
    engine: Engine, connection: Connection, request: OpenRequest, alias: Definition, user: str
) -> Handle:
    """Open an alias of a topic object. It needs authority to put to the alias, not to publish to the topic."""
    if request.manager_name not in ("", engine.name):
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"The alias {alias.name} is one of this queue manager's.")
    needed: i64 = authority.needed_to_open(request.options)
    authority.check_named_queue(engine, connection, user, alias.name, request.options, needed)
    target = alias.attributes.get("TARGET", "")
    name = target if isinstance(target, str) else ""
    if name not in engine.of_type(ObjectType.TOPIC):
        raise MQError(
            mq.MQRC_UNKNOWN_ALIAS_BASE_Q, f"The alias leads to the topic object {name}, which does not exist."
        )
    return open_topic(engine, connection, name, "", request.options, user, alias)


def _check_fit(engine: Engine, queue: Queue, found: Resolved, request: OpenRequest) -> None:
    if queue.damaged:
        raise MQError(mq.MQRC_OBJECT_DAMAGED, queue.damaged)
    if queue.is_moving:
        raise MQError(mq.MQRC_OBJECT_IN_USE, f"The messages of the queue {queue.name} are being moved.")
    if found.remote_manager and request.options & (_INPUT | mq.MQOO_BROWSE):
        raise MQError(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE, "A remote queue can be opened for output only.")
    if request.manager_name not in ("", engine.name) and request.options & _ACTIONS & ~mq.MQOO_OUTPUT:
        # Also when the name is an alias of this queue manager.
        raise MQError(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE, "A queue of a named queue manager is for output only.")
    if request.selection and not request.options & (_INPUT | mq.MQOO_BROWSE):
        raise MQError(mq.MQRC_OPTIONS_ERROR, "A selection string needs the queue opened for input or browse.")


def _claim_input(queue: Queue, handle: Handle, options: i64) -> None:
    """Decide between shared and exclusive input. Raises MQError when other open handles conflict."""
    wanted: i64 = options & _INPUT
    if wanted == 0:
        return
    if wanted == mq.MQOO_INPUT_AS_Q_DEF:
        exclusive: bool = queue.definition.attributes.get("DEFSOPT") == _DEFSOPT_EXCLUSIVE
    else:
        exclusive = wanted == mq.MQOO_INPUT_EXCLUSIVE
    if not queue.shareable:
        exclusive = True
    if queue.exclusive or (exclusive and queue.inputs > 0):
        raise MQError(mq.MQRC_OBJECT_IN_USE, f"The queue {queue.name} is open for input elsewhere.")
    handle.for_input = True
    handle.is_exclusive = exclusive


def _fill_queue_handle(engine: Engine, connection: Connection, handle: Handle, queue: Queue, found: Resolved) -> None:
    options: i64 = handle.options
    handle.queue = queue
    handle.definition = found.path[0] if found.path else queue.definition
    handle.for_output = options & mq.MQOO_OUTPUT != 0
    handle.for_browse = options & mq.MQOO_BROWSE != 0
    handle.for_inquire = options & mq.MQOO_INQUIRE != 0
    handle.for_set = options & mq.MQOO_SET != 0
    handle.saves_context = options & mq.MQOO_SAVE_ALL_CONTEXT != 0
    handle.remote_queue = found.remote_queue
    handle.remote_manager = found.remote_manager
    handle.definitions_on_path = found.path
    handle.resolved_names = (found.queue_name.ljust(48) + found.manager_name.ljust(48)).encode("ascii")
    apply_path(handle)
    queue.handles.append(handle)
    if handle.for_input:
        queue.inputs += 1
        queue.exclusive = handle.is_exclusive
        send_own_messages(engine, triggers.on_initiation_queue_open(engine, queue), None)
    if handle.for_output:
        if queue.outputs == 0 or not _has_open_for_output(connection, queue):
            queue.output_applications += 1
        queue.outputs += 1
    if handle.for_browse:
        queue.browsers.append(handle)


def _has_open_for_output(connection: Connection, queue: Queue) -> bool:
    for handle in connection.handles.values():
        if handle.queue is queue and handle.for_output:
            return True
    return False


def open_managed(engine: Engine, connection: Connection, queue: Queue, options: i64) -> Handle:
    """Open a managed queue of a subscription, for get (MQSUB, MQSO_MANAGED)."""
    handle = _new_handle(connection, QUEUE, queue.name, options)
    _claim_input(queue, handle, options)
    found = Resolved()
    found.queue = queue
    found.queue_name = queue.name
    found.manager_name = engine.name
    _fill_queue_handle(engine, connection, handle, queue, found)
    connection.handles[handle.number] = handle
    statistics.count_open(engine, connection, handle)
    if connection.account is not None or queue.is_accounted:
        accounting.record_open(engine, connection, handle)
    return handle


def apply_path(handle: Handle) -> None:
    """Apply the definitions on the path to a handle: any of them may inhibit, and the first one sets the defaults."""
    handle.put_allowed_by_alias = True
    handle.get_allowed_by_alias = True
    for definition in handle.definitions_on_path:
        if definition.attributes.get("PUT", 0) != 0:
            handle.put_allowed_by_alias = False
        if definition.attributes.get("GET", 0) != 0:
            handle.get_allowed_by_alias = False
    if handle.definitions_on_path:
        attributes = handle.definitions_on_path[0].attributes
        handle.default_persistence = _default(attributes, "DEFPSIST")
        handle.default_priority = _default(attributes, "DEFPRTY")
        handle.default_response = _default(attributes, "DEFPRESP")
        handle.property_control = _default(attributes, "PROPCTL")


def _default(attributes: dict[str, int | str | tuple[str, ...]], name: str) -> int:
    """Return an integer attribute, or NONE when the object has no such attribute."""
    value = attributes.get(name)
    return value if isinstance(value, int) else NONE


def update_open_handles(engine: Engine, changed: Definition) -> None:
    """Apply changed attributes of an alias or remote definition to the handles that were opened by it.

    If its target has changed, all verbs but MQCLOSE get MQRC_OBJECT_CHANGED on these handles.
    """
    for connection in engine.connections.values():
        for handle in connection.handles.values():
            path = handle.definitions_on_path
            is_affected = False
            for at in range(len(path)):
                if path[at].name == changed.name and path[at].object_type == changed.object_type:
                    if any(path[at].attributes.get(name) != changed.attributes.get(name) for name in _LEADING):
                        handle.valid = False
                    path[at] = changed
                    is_affected = True
            if is_affected:
                apply_path(handle)
                if not handle.valid:
                    _fail_waiting(engine, handle, mq.MQRC_OBJECT_CHANGED)
                elif not handle.get_allowed_by_alias:
                    _fail_waiting(engine, handle, mq.MQRC_GET_INHIBITED)


def _fail_waiting(engine: Engine, handle: Handle, reason: i64) -> None:
    queue = handle.queue
    if queue is None or handle.waits == 0:
        return
    for request in queue.waiting.in_service_order():
        if request.handle is handle:
            queue.waiting.remove(request)
            request.reason = reason
            request.done = True
            engine.woken.append(request)


def close_object(engine: Engine, connection: Connection, handle: Handle, options: i64) -> CloseOutcome:
    """MQCLOSE. Raises MQError when it is refused, and the handle stays open."""
    if options & ~(mq.MQCO_DELETE | mq.MQCO_DELETE_PURGE | mq.MQCO_QUIESCE | 12) or options & 3 == 3:
        raise MQError(mq.MQRC_OPTIONS_ERROR)
    queue = handle.queue
    if handle.subscription is not None:
        return close_subscription(engine, connection, handle, options)
    if options & (mq.MQCO_KEEP_SUB | mq.MQCO_REMOVE_SUB):
        raise MQError(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE, "Only the handle of a subscription keeps or removes it.")
    if options & 3:
        _check_delete(queue, handle, options)
        if not handle.created_dynamic:
            try:
                authority.check_delete(engine, connection, handle.name)
            except MQError:
                send_own_messages(engine, configuration_events.on_close_refused(engine, connection, handle.name), None)
                raise
    reason: i64 = mq.MQRC_NONE
    lsn: i64 = 0
    task: EngineTask | None = None
    if handle.topic is not None:
        close_topic(engine, handle.topic)
    if queue is not None:
        reason = groups.close_reason(handle)
        _leave_queue(engine, queue, handle)
        if handle.shared_options != 0:
            task = end_open(engine, queue, handle)
    connection.handles.pop(handle.number, None)
    if queue is not None and handle.for_output and (queue.outputs == 0 or not _has_open_for_output(connection, queue)):
        queue.output_applications -= 1
    statistics.count_close(engine, connection, handle)
    if handle.account is not None:
        accounting.record_close(engine, handle)
    if queue is not None and not queue.deleted:
        is_own_temporary: bool = queue.is_temporary and handle.created_dynamic
        if options & 3 or is_own_temporary or is_ready_to_delete(queue):
            deleted_lsn: i64 = delete_queue(engine, queue)
            if options & 3:
                lsn = deleted_lsn  # the application has asked for it
    outcome = CloseOutcome(reason, lsn)
    outcome.task = task
    return outcome


def _check_delete(queue: Queue | None, handle: Handle, options: i64) -> None:
    if queue is None or handle.definitions_on_path or handle.is_managed:
        raise MQError(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    kind = queue.definition.attributes.get("DEFTYPE")
    if queue.is_temporary:
        if not handle.created_dynamic:
            raise MQError(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE, "Only the handle that made a temporary queue deletes it.")
        return
    if kind != mq.MQQDT_PERMANENT_DYNAMIC:
        raise MQError(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE, "Only dynamic queues are deleted by closing them.")
    # Other handles may be open on it: their next verb gets MQRC_Q_DELETED.
    if queue.uncommitted > 0 or (options & mq.MQCO_DELETE and queue.depth > 0):
        raise MQError(mq.MQRC_Q_NOT_EMPTY, f"The queue {queue.name} holds messages, or units of work concern it.")


def _leave_queue(engine: Engine, queue: Queue, handle: Handle) -> None:
    if handle in queue.handles:
        queue.handles.remove(handle)
    _fail_waiting(engine, handle, mq.MQRC_CONNECTION_STOPPING)
    unlock(engine, queue, handle)
    if handle.locked_entry:
        release(engine, queue, handle)
    if handle.for_browse and handle in queue.browsers:
        queue.browsers.remove(handle)
    if handle.for_output:
        queue.outputs -= 1
    if handle.for_input:
        queue.inputs -= 1
    if queue.outputs < 0 or queue.inputs < 0:
        raise InvariantFailed(f"Queue {queue.name}: IPPROCS is {queue.inputs}, OPPROCS is {queue.outputs}")
    if handle.for_input:
        if handle.is_exclusive:
            queue.exclusive = False
        if queue.inputs == 0 and queue.trigger_on and not queue.deleted:
            send_own_messages(engine, triggers.on_input_close(engine, queue), None)


def unlock(engine: Engine, queue: Queue, handle: Handle) -> bool:
    """Release the browse lock of a handle. Returns False when it held none."""
    slot: i64 = handle.locked_slot
    if slot == NONE:
        return False
    handle.locked_slot = NONE
    return release_lock(engine, queue, slot, handle.locked_seq)


def release_lock(engine: Engine, queue: Queue, slot: i64, seq: i64) -> bool:
    """Unlock a message for all requests. Returns False when it is gone or no longer locked."""
    if queue.slots.seqs[slot] != seq or not queue.slots.flags[slot] & LOCKED:
        return False
    queue.slots.flags[slot] &= ~LOCKED
    serve_returned(engine, queue, slot, seq)
    return True
