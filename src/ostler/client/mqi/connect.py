"""MQCONN, MQCONNX and MQDISC on queue managers of this process; and MQBEGIN, MQSTAT."""

from __future__ import annotations

import ctypes
import getpass
import sys
import threading
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Final

from ostler.client.locate import registry
from ostler.client.mqi import message_handles
from ostler.client.mqi import put_get as mqi
from ostler.client.mqi.connection_state import (
    ConnectionState,
    all_states,
    engine_turn,
    register_state,
    state_of,
    unregister_state,
    usable_connection,
)
from ostler.client.mqi.put_get import Bound, Result, bind, bound_connection, completion, error_result, unbind
from ostler.client.mqi.variable_strings import write_end
from ostler.engine.connection import AsyncStatus, generated_tag
from ostler.engine.pubsub import subscription_calls
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.connecting import MQBO, MQCNO, MQCSP, MQSTS
from ostler.model.structures.layout import trim

Connected = tuple[int, int, int]
"""A connection handle, completion and reason."""

_SHARED: Final = mq.MQCNO_HANDLE_SHARE_BLOCK | mq.MQCNO_HANDLE_SHARE_NO_BLOCK
LOCAL_BINDINGS: Final = (
    mq.MQCNO_LOCAL_BINDING | mq.MQCNO_FASTPATH_BINDING | mq.MQCNO_SHARED_BINDING | mq.MQCNO_ISOLATED_BINDING
)
# Of the connection tag: MQCNO, ConnTag.
TAG_OPTIONS: Final = (
    mq.MQCNO_SERIALIZE_CONN_TAG_Q_MGR
    | mq.MQCNO_SERIALIZE_CONN_TAG_QSG
    | mq.MQCNO_RESTRICT_CONN_TAG_Q_MGR
    | mq.MQCNO_RESTRICT_CONN_TAG_QSG
)
# Groups of options of which at most one may be given.
EXCLUSIVE_OPTIONS: Final = (
    _SHARED | mq.MQCNO_HANDLE_SHARE_NONE,
    mq.MQCNO_FASTPATH_BINDING | mq.MQCNO_SHARED_BINDING | mq.MQCNO_ISOLATED_BINDING | mq.MQCNO_CLIENT_BINDING,
    mq.MQCNO_LOCAL_BINDING | mq.MQCNO_CLIENT_BINDING,
    mq.MQCNO_ACCOUNTING_MQI_ENABLED | mq.MQCNO_ACCOUNTING_MQI_DISABLED,
    mq.MQCNO_ACCOUNTING_Q_ENABLED | mq.MQCNO_ACCOUNTING_Q_DISABLED,
    mq.MQCNO_ACTIVITY_TRACE_ENABLED | mq.MQCNO_ACTIVITY_TRACE_DISABLED,
    mq.MQCNO_NO_CONV_SHARING | mq.MQCNO_ALL_CONVS_SHARE,
    mq.MQCNO_CD_FOR_OUTPUT_ONLY | mq.MQCNO_USE_CD_SELECTION,
    mq.MQCNO_RECONNECT | mq.MQCNO_RECONNECT_DISABLED | mq.MQCNO_RECONNECT_Q_MGR,
    TAG_OPTIONS,
)
ACCOUNTING_OPTIONS: Final = (
    mq.MQCNO_ACCOUNTING_MQI_ENABLED
    | mq.MQCNO_ACCOUNTING_MQI_DISABLED
    | mq.MQCNO_ACCOUNTING_Q_ENABLED
    | mq.MQCNO_ACCOUNTING_Q_DISABLED
)
_ALL_OPTIONS: Final = reduce(or_, EXCLUSIVE_OPTIONS) | mq.MQCNO_GENERATE_CONN_TAG
_NAME_LENGTH: Final = 48
_STRUCTURE_HEAD_BYTES: Final = 8
_CONN_TAG_VERSION: Final = 3
_CONNECTION_ID_VERSION: Final = 5
_APPLICATION_NAME_VERSION: Final = 7


def MQCONN(name: str | bytes) -> Connected:
    """Connect to a queue manager that runs in this process; a blank name means the default one."""
    return MQCONNX(name, None)


def MQCONNX(name: str | bytes, cno: bytearray | None) -> Connected:
    """Connect with options. An MQCNO of version 5 or later returns the connection id."""
    try:
        version = MQCNO.validate_header(cno) if cno is not None else 0
        options = MQCNO.read_int(cno, "Options") if cno is not None else 0
        _check_options(options)
        user = _user(cno, version)
        application = _application(cno, version)
        manager = registry.find(manager_name(name))
        _disconnect_ended_threads()
        is_shared = bool(options & _SHARED)
        if not is_shared:
            existing = _own_handle()
            if existing is not None:
                if existing.bound.manager is not manager:
                    raise MQError(mq.MQRC_ANOTHER_Q_MGR_CONNECTED)
                return existing.hconn, mq.MQCC_WARNING, mq.MQRC_ALREADY_CONNECTED
        tag_options, tag = connection_tag(cno, version, options)
        hconn = bind(manager, user, application, options=options & ACCOUNTING_OPTIONS | tag_options, tag=tag)
    except MQError as error:
        return mq.MQHC_UNUSABLE_HCONN, *error_result(error)
    bound = bound_connection(hconn)
    register_state(ConnectionState(hconn, bound, None if is_shared else threading.current_thread()))
    if cno is not None:
        _fill_in(cno, version, options, bound)
    return hconn, mq.MQCC_OK, mq.MQRC_NONE


def _check_options(options: int) -> None:
    if options & ~_ALL_OPTIONS:
        raise MQError(mq.MQRC_OPTIONS_ERROR, "MQCNO has options that do not exist, or that only z/OS has.")
    for group in EXCLUSIVE_OPTIONS:
        chosen = options & group
        if chosen & (chosen - 1):
            raise MQError(mq.MQRC_OPTIONS_ERROR, "MQCNO has options that exclude one another.")
    if options & mq.MQCNO_CLIENT_BINDING:
        raise MQError(
            mq.MQRC_ENVIRONMENT_ERROR, "This connects within the process only; leave MQCNO_CLIENT_BINDING out."
        )


def connection_tag(cno: bytes | bytearray | None, version: int, options: int) -> tuple[int, bytes]:
    """Return the options of the connection tag and the tag. Without a tag (MQCT_NONE) the options have no effect."""
    wanted = options & TAG_OPTIONS
    if not wanted or cno is None or version < _CONN_TAG_VERSION:
        return 0, b""
    tag = bytes(MQCNO.read_bytes(cno, "ConnTag"))
    return (wanted, tag) if tag != mq.MQCT_NONE else (0, b"")


def manager_name(name: str | bytes) -> str:
    """Return a queue manager name without padding. Raises MQError when it is too long."""
    text = name.encode("utf-8", "replace") if isinstance(name, str) else bytes(name)
    text = trim(text)
    if len(text) > _NAME_LENGTH:
        raise MQError(mq.MQRC_Q_MGR_NAME_ERROR, f"A queue manager name has at most {_NAME_LENGTH} characters.")
    return text.decode("utf-8", "replace")


def _user(cno: bytearray | None, version: int) -> str:
    """Return the user id of the MQCSP, or of the process. This process is trusted: a password is not checked."""
    if cno is not None and version >= _CONNECTION_ID_VERSION:
        pointer = MQCNO.read_int(cno, "SecurityParmsPtr")
        offset = MQCNO.read_int(cno, "SecurityParmsOffset")
        if pointer and offset:
            raise MQError(mq.MQRC_CNO_ERROR, "The security parameters have a pointer and an offset; give one of them.")
        if pointer or offset:
            given = _csp_user(_csp_at(cno, pointer, offset))
            if given:
                return given
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"


def _csp_at(cno: bytearray, pointer: int, offset: int) -> bytes:
    """Return the MQCSP, with the rest of the caller's buffer if it is at an offset."""
    if offset:
        if not 0 < offset < len(cno):
            raise MQError(mq.MQRC_CSP_ERROR, "The offset of the security parameters lies outside the structure.")
        return bytes(cno[offset:])
    head = ctypes.string_at(pointer, _STRUCTURE_HEAD_BYTES)
    size = MQCSP.sizes.get(int.from_bytes(head[4:], "little"))
    if head[:4] != MQCSP.identifier or size is None:
        raise MQError(mq.MQRC_CSP_ERROR, "The security parameters are not an MQCSP.")
    return ctypes.string_at(pointer, size)


def _csp_user(csp: bytes) -> str:
    MQCSP.validate_header(csp)
    kind = MQCSP.read_int(csp, "AuthenticationType")
    if kind == mq.MQCSP_AUTH_NONE:
        return ""
    if kind == mq.MQCSP_AUTH_ID_TOKEN:
        raise MQError(
            mq.MQRC_FUNCTION_NOT_SUPPORTED, "Connections within the process do not support authentication tokens."
        )
    pointer = MQCSP.read_int(csp, "CSPUserIdPtr")
    offset = MQCSP.read_int(csp, "CSPUserIdOffset")
    length = MQCSP.read_int(csp, "CSPUserIdLength")
    if kind != mq.MQCSP_AUTH_USER_ID_AND_PWD or not 0 <= length <= mq.MQ_CLIENT_USER_ID_LENGTH or (pointer and offset):
        raise MQError(
            mq.MQRC_CSP_ERROR,
            "The user id of the security parameters is not valid: check type, pointer, offset and length.",
        )
    if length == 0:
        return ""
    if pointer:
        data = ctypes.string_at(pointer, length)
    elif 0 < offset <= len(csp) - length:
        data = csp[offset : offset + length]
    else:
        raise MQError(mq.MQRC_CSP_ERROR, "The user id lies outside the security parameters.")
    return trim(data).decode("utf-8", "replace")


def _application(cno: bytearray | None, version: int) -> str:
    if cno is not None and version >= _APPLICATION_NAME_VERSION:
        given = trim(MQCNO.read_bytes(cno, "ApplName")).decode("utf-8", "replace")
        if given:
            return given
    return Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"


def _own_handle() -> ConnectionState | None:
    """Return the unshared handle of this thread, or the handle whose callback it is in."""
    thread = threading.current_thread()
    for state in all_states():
        if state.bound.connection.broken:
            continue
        if state.thread is thread or (state.callbacks is not None and state.callbacks.is_inside()):
            return state
    return None


def _disconnect_ended_threads() -> None:
    """Disconnect unshared handles whose threads have ended. Their units of work are backed out."""
    for state in all_states():
        if state.thread is not None and not state.thread.is_alive():
            unregister_state(state.hconn)
            unbind(state.hconn)
            state.bound.manager.disconnect(state.bound.connection, False)


def _fill_in(cno: bytearray, version: int, options: int, bound: Bound) -> None:
    identifier = bound.connection.connection_id
    if version >= _CONNECTION_ID_VERSION:
        MQCNO.patch(cno, "ConnectionId", identifier)
    if version >= _CONN_TAG_VERSION and options & mq.MQCNO_GENERATE_CONN_TAG:
        MQCNO.patch(cno, "ConnTag", generated_tag(identifier, bound.engine.padded_name))


def MQDISC(hconn: int) -> Connected:
    """Disconnect: commit the unit of work and close all handles. Returns the unusable handle.

    Inside a callback of the connection, the disconnection is done when the callback returns.
    """
    try:
        state = state_of(hconn)
        if state.callbacks is not None and not state.callbacks.disconnect(lambda: _finish_disconnect(state)):
            return mq.MQHC_UNUSABLE_HCONN, mq.MQCC_OK, mq.MQRC_NONE
        return mq.MQHC_UNUSABLE_HCONN, *_finish_disconnect(state)
    except MQError as error:
        return hconn, *error_result(error)


def _finish_disconnect(state: ConnectionState) -> Result:
    """Release the handle, also that of a broken connection, and disconnect."""
    broken = state.bound.connection.broken
    unregister_state(state.hconn)
    unbind(state.hconn)
    message_handles.delete_all(state.bound.connection.message_handles)
    if broken:
        return mq.MQCC_FAILED, broken
    reason = state.bound.manager.disconnect(state.bound.connection)
    return completion(reason), reason


def MQBEGIN(hconn: int, bo: bytearray | None) -> Result:
    """Begin a unit of work. There are no other resource managers, so success is MQRC_NO_EXTERNAL_PARTICIPANTS."""
    try:
        bound = usable_connection(hconn)
        if state_of(hconn).is_shared:
            raise MQError(mq.MQRC_HCONN_ERROR, "MQBEGIN needs a connection handle that is not shared.")
        if bo is not None:
            MQBO.validate_header(bo)
            if MQBO.read_int(bo, "Options"):
                raise MQError(mq.MQRC_OPTIONS_ERROR, "MQBO has no options.")
        with engine_turn(bound) as engine:
            if bound.connection.unit_of_work is not None:
                raise MQError(mq.MQRC_UOW_IN_PROGRESS)
            engine.unit_of_work_of(bound.connection)
    except MQError as error:
        return error_result(error)
    return mq.MQCC_WARNING, mq.MQRC_NO_EXTERNAL_PARTICIPANTS


def MQSTAT(hconn: int, type: int, sts: bytearray) -> Result:
    """Return the status of asynchronous puts since the last MQSTAT, and reset it."""
    try:
        bound = usable_connection(hconn)
        if type in (mq.MQSTAT_TYPE_RECONNECTION, mq.MQSTAT_TYPE_RECONNECTION_ERROR):
            raise MQError(mq.MQRC_ENVIRONMENT_ERROR, "Only client connections reconnect.")
        if type != mq.MQSTAT_TYPE_ASYNC_ERROR:
            raise MQError(mq.MQRC_STAT_TYPE_ERROR, f"{type} is not a status type.")
        MQSTS.validate_header(sts)
        with engine_turn(bound):
            subscription_calls.count_status(bound.engine, bound.connection, True)
            status = bound.connection.async_status
            bound.connection.async_status = AsyncStatus()
    except MQError as error:
        return error_result(error)
    for field, value in (
        ("CompCode", status.first_completion),
        ("Reason", status.first_reason),
        ("PutSuccessCount", status.succeeded),
        ("PutWarningCount", status.warned),
        ("PutFailureCount", status.failed),
        ("ObjectType", status.object_type),
        ("ObjectName", status.object_name),
        ("ObjectQMgrName", bound.engine.name if status.object_name else ""),
        ("ResolvedObjectName", status.object_name),
        ("ResolvedQMgrName", bound.engine.name if status.object_name else ""),
    ):
        MQSTS.patch(sts, field, value)
    describe_topic(sts, status.object_string)
    return mq.MQCC_OK, mq.MQRC_NONE


def describe_topic(sts: bytearray, topic: str) -> None:
    """Return the topic that a publication failed on, if the structure has a field for it."""
    if MQSTS.read_int(sts, "Version") > 1:
        write_end(sts, MQSTS.offset("ObjectString"), topic)


def has_connection() -> bool:
    """Return whether this process has any connection, which message handles of no connection require."""
    return bool(mqi._bound)
