"""Asynchronous consumption: MQCB registers callbacks, MQCTL starts and stops their calls.

A callback is `function(hconn, md, gmo, buffer, cbc)`: the connection handle, the descriptor and the get options of the
message as bytearrays, its data, and the MQCBC with the reason of the call. Inside a callback all verbs may be used on
its connection. Outside, a started connection accepts only MQCTL to stop or suspend it, and MQDISC.
"""

from __future__ import annotations

import importlib
from typing import Final

from ostler.client.mqi.connection_state import ConnectionState, check_working, state_of, usable_connection
from ostler.client.mqi.consumer_port import ConsumerPort
from ostler.client.mqi.consumers import FULL_LENGTH, Callback, CallbackConsumer
from ostler.client.mqi.dispatcher import STARTED, STOPPED, SUSPENDED, Dispatcher
from ostler.client.mqi.engine_consumer_port import EngineConsumerPort
from ostler.client.mqi.put_get import Result, error_result
from ostler.client.mqi.remote.connect import RemoteState, remote_state
from ostler.client.mqi.remote.connections import FIRST_REMOTE, usable_remote
from ostler.client.mqi.remote.consume import LinkConsumerPort
from ostler.engine.pubsub.subscription_calls import CALLBACK, CONTROL
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.consuming import MQCBD, MQCTLO
from ostler.model.structures.gmo import MQGMO
from ostler.model.structures.layout import trim

_OPERATIONS: Final = frozenset(
    {
        mq.MQOP_REGISTER,
        mq.MQOP_REGISTER | mq.MQOP_SUSPEND,
        mq.MQOP_REGISTER | mq.MQOP_RESUME,
        mq.MQOP_DEREGISTER,
        mq.MQOP_SUSPEND,
        mq.MQOP_RESUME,
    }
)
_CALLBACK_OPTIONS: Final = (
    mq.MQCBDO_START_CALL
    | mq.MQCBDO_STOP_CALL
    | mq.MQCBDO_REGISTER_CALL
    | mq.MQCBDO_DEREGISTER_CALL
    | mq.MQCBDO_FAIL_IF_QUIESCING
    | mq.MQCBDO_EVENT_CALL
    | mq.MQCBDO_MC_EVENT_CALL
)
# Get options that consumers cannot use: there is no cursor position before the first call.
_NOT_BY_CALLBACK: Final = (
    mq.MQGMO_SET_SIGNAL | mq.MQGMO_MSG_UNDER_CURSOR | mq.MQGMO_BROWSE_MSG_UNDER_CURSOR | mq.MQGMO_LOCK | mq.MQGMO_UNLOCK
)
_MATCH_OPTIONS: Final = (
    mq.MQMO_MATCH_MSG_ID
    | mq.MQMO_MATCH_CORREL_ID
    | mq.MQMO_MATCH_GROUP_ID
    | mq.MQMO_MATCH_MSG_SEQ_NUMBER
    | mq.MQMO_MATCH_OFFSET
    | mq.MQMO_MATCH_MSG_TOKEN
)


def MQCB(
    hconn: int,
    operation: int,
    cbd: bytearray | None,
    hobj: int,
    md: bytearray | None,
    gmo: bytearray | None,
    function: Callback | None = None,
) -> Result:
    """Register, deregister, suspend or resume the callback of an object handle, or the event handler.

    The function is given as an argument, or by CallbackName as "package.module:function".
    """
    try:
        if hconn < FIRST_REMOTE:
            usable_connection(hconn)
        else:
            usable_remote(hconn)
        dispatcher = _dispatcher(_state(hconn))
    except MQError as error:
        return error_result(error)
    result = _callback(dispatcher, operation, cbd, hobj, md, gmo, function)
    dispatcher.port.count_call(CALLBACK, operation, hobj, result[0] != mq.MQCC_FAILED)
    return result


def _callback(
    dispatcher: Dispatcher,
    operation: int,
    cbd: bytearray | None,
    hobj: int,
    md: bytearray | None,
    gmo: bytearray | None,
    function: Callback | None,
) -> Result:
    try:
        if operation not in _OPERATIONS:
            raise MQError(mq.MQRC_OPERATION_ERROR, f"{operation} is not an operation of MQCB.")
        if operation & mq.MQOP_REGISTER:
            _register(dispatcher, operation, cbd, hobj, md, gmo, function)
        else:
            consumer = _registered(dispatcher, cbd, hobj)
            if operation == mq.MQOP_DEREGISTER:
                dispatcher.deregister(consumer, consumer.hobj)
            else:
                consumer.suspended = operation == mq.MQOP_SUSPEND
                consumer.retry_at = 0.0
                consumer.fault = 0
    except MQError as error:
        return error_result(error)
    return mq.MQCC_OK, mq.MQRC_NONE


def _state(hconn: int) -> ConnectionState | RemoteState:
    return state_of(hconn) if hconn < FIRST_REMOTE else remote_state(hconn)


def _dispatcher(state: ConnectionState | RemoteState) -> Dispatcher:
    if state.callbacks is None:
        state.callbacks = Dispatcher(
            LinkConsumerPort(state.remote) if isinstance(state, RemoteState) else EngineConsumerPort(state)
        )
    assert isinstance(state.callbacks, Dispatcher)
    return state.callbacks


def _callback_type(cbd: bytearray | None) -> int:
    if cbd is None:
        return mq.MQCBT_MESSAGE_CONSUMER
    MQCBD.validate_header(cbd)
    kind = MQCBD.read_int(cbd, "CallbackType")
    if kind not in (mq.MQCBT_MESSAGE_CONSUMER, mq.MQCBT_EVENT_HANDLER):
        raise MQError(mq.MQRC_CALLBACK_TYPE_ERROR, f"{kind} is not a callback type.")
    return kind


def _registered(dispatcher: Dispatcher, cbd: bytearray | None, hobj: int) -> CallbackConsumer:
    if _callback_type(cbd) == mq.MQCBT_EVENT_HANDLER:
        consumer = dispatcher.event_handler
    else:
        if not dispatcher.port.has_handle(hobj):
            raise MQError(mq.MQRC_HOBJ_ERROR)
        consumer = dispatcher.consumers.get(hobj)
    if consumer is None:
        raise MQError(mq.MQRC_CALLBACK_NOT_REGISTERED)
    return consumer


def _register(
    dispatcher: Dispatcher,
    operation: int,
    cbd: bytearray | None,
    hobj: int,
    md: bytearray | None,
    gmo: bytearray | None,
    function: Callback | None,
) -> None:
    if cbd is None:
        raise MQError(mq.MQRC_CBD_ERROR, "A callback is registered with an MQCBD.")
    kind = _callback_type(cbd)
    before = dispatcher.event_handler if kind == mq.MQCBT_EVENT_HANDLER else dispatcher.consumers.get(hobj)
    try:
        consumer = _new_consumer(dispatcher.port, cbd, hobj, function)
        if not consumer.is_event_handler:
            _describe_gets(dispatcher.port, consumer, md, gmo)
    except MQError:
        # When the replacement fails, the old callback is deregistered all the same.
        if before is not None:
            dispatcher.deregister(before, before.hobj)
        raise
    consumer.suspended = bool(operation & mq.MQOP_SUSPEND) or (
        before is not None and before.suspended and not operation & mq.MQOP_RESUME
    )
    dispatcher.register(consumer)


def _new_consumer(port: ConsumerPort, cbd: bytearray, hobj: int, function: Callback | None) -> CallbackConsumer:
    options = MQCBD.read_int(cbd, "Options")
    if options & ~_CALLBACK_OPTIONS:
        raise MQError(mq.MQRC_CBD_OPTIONS_ERROR, "MQCBD has options that do not exist.")
    length = MQCBD.read_int(cbd, "MaxMsgLength")
    if length < mq.MQCBD_FULL_MSG_LENGTH:
        raise MQError(mq.MQRC_MAX_MSG_LENGTH_ERROR, f"{length} is not a valid message length.")
    port.check_quiescing(bool(options & mq.MQCBDO_FAIL_IF_QUIESCING))
    is_consumer = MQCBD.read_int(cbd, "CallbackType") == mq.MQCBT_MESSAGE_CONSUMER
    if is_consumer and not port.has_handle(hobj):
        raise MQError(mq.MQRC_HOBJ_ERROR)
    consumer = CallbackConsumer(
        hobj if is_consumer else mq.MQHO_NONE, _function(cbd, function), options, MQCBD.read_int(cbd, "CallbackArea")
    )
    consumer.bytes_max = FULL_LENGTH if length == mq.MQCBD_FULL_MSG_LENGTH else length
    return consumer


def _function(cbd: bytearray, function: Callback | None) -> Callback:
    name = trim(MQCBD.read_bytes(cbd, "CallbackName")).decode("utf-8", "replace")
    if MQCBD.read_int(cbd, "CallbackFunction") or (function is None) == (not name):
        raise MQError(mq.MQRC_CALLBACK_ROUTINE_ERROR, "Give the callback as a Python function or by its name.")
    if function is not None:
        if not callable(function):
            raise MQError(mq.MQRC_CALLBACK_ROUTINE_ERROR, "The callback cannot be called.")
        return function
    module_name, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise MQError(mq.MQRC_CALLBACK_LINK_ERROR, f"{name!r} cannot be loaded: {error}.") from error
    if not callable(found):
        raise MQError(mq.MQRC_CALLBACK_LINK_ERROR, f"{name!r} cannot be called.")
    loaded: Callback = found
    return loaded


def _describe_gets(port: ConsumerPort, consumer: CallbackConsumer, md: bytearray | None, gmo: bytearray | None) -> None:
    """Set the structures of the consumer's gets. Raises MQError when no get could use them."""
    if md is None:
        raise MQError(mq.MQRC_MD_ERROR)
    if gmo is None:
        raise MQError(mq.MQRC_GMO_ERROR)
    consumer.md = bytes(md)
    consumer.gmo = bytes(gmo)
    if MQGMO.validate_header(gmo) > 1 and MQGMO.read_int(gmo, "MatchOptions") & ~_MATCH_OPTIONS:
        raise MQError(mq.MQRC_MATCH_OPTIONS_ERROR)
    options = consumer.get_options
    if options & _NOT_BY_CALLBACK:
        raise MQError(mq.MQRC_OPTIONS_ERROR, "A callback cannot be given these get options.")
    if options & mq.MQGMO_WAIT and MQGMO.read_int(gmo, "WaitInterval") < -1:
        raise MQError(mq.MQRC_WAIT_INTERVAL_ERROR)
    port.check_gets(consumer)


def MQCTL(hconn: int, operation: int, ctlo: bytearray | None) -> Result:
    """Start, stop, suspend or resume the callbacks of a connection."""
    try:
        state = _state(hconn)
        if isinstance(state, RemoteState):
            if state.remote.broken:
                raise MQError(state.remote.broken, state.remote.broken_text)
        else:
            check_working(state)
        dispatcher = _dispatcher(state)
    except MQError as error:
        return error_result(error)
    result = _control(dispatcher, operation, ctlo)
    dispatcher.port.count_call(CONTROL, operation, mq.MQHO_NONE, result[0] != mq.MQCC_FAILED)
    return result


def _control(dispatcher: Dispatcher, operation: int, ctlo: bytearray | None) -> Result:
    try:
        if operation not in (mq.MQOP_START, mq.MQOP_START_WAIT, mq.MQOP_STOP, mq.MQOP_SUSPEND, mq.MQOP_RESUME):
            raise MQError(mq.MQRC_OPERATION_ERROR, f"{operation} is not an operation of MQCTL.")
        area = _control_options(dispatcher.port, ctlo)
        if operation in (mq.MQOP_STOP, mq.MQOP_SUSPEND):
            return _halt(dispatcher, operation)
        if dispatcher.is_inside():
            return _inside(dispatcher, operation)
        return _begin(dispatcher, operation, area)
    except MQError as error:
        return error_result(error)


def _control_options(port: ConsumerPort, ctlo: bytearray | None) -> int:
    if ctlo is None:
        return 0
    MQCTLO.validate_header(ctlo)
    options = MQCTLO.read_int(ctlo, "Options")
    if options & ~(mq.MQCTLO_THREAD_AFFINITY | mq.MQCTLO_FAIL_IF_QUIESCING):
        raise MQError(mq.MQRC_OPTIONS_ERROR, "MQCTLO has options that do not exist.")
    port.check_quiescing(bool(options & mq.MQCTLO_FAIL_IF_QUIESCING))
    return MQCTLO.read_int(ctlo, "ConnectionArea")


def _halt(dispatcher: Dispatcher, operation: int) -> Result:
    if operation == mq.MQOP_SUSPEND and dispatcher.phase == STOPPED:
        raise MQError(mq.MQRC_OPERATION_NOT_ALLOWED, "The callbacks are stopped; only started ones can be suspended.")
    dispatcher.halt(STOPPED if operation == mq.MQOP_STOP else SUSPENDED)
    return mq.MQCC_OK, mq.MQRC_NONE


def _inside(dispatcher: Dispatcher, operation: int) -> Result:
    """MQOP_START or MQOP_RESUME inside a callback: withdraw a stop that a callback requested."""
    if operation == mq.MQOP_START_WAIT:
        raise MQError(mq.MQRC_ENVIRONMENT_ERROR, "A callback cannot wait for callbacks.")
    dispatcher.cancel()
    return mq.MQCC_OK, mq.MQRC_NONE


def _begin(dispatcher: Dispatcher, operation: int, area: int) -> Result:
    if dispatcher.phase == STARTED:
        if operation == mq.MQOP_START_WAIT:
            raise MQError(mq.MQRC_OPERATION_NOT_ALLOWED, "The callbacks are started already.")
        raise MQError(mq.MQRC_HCONN_ASYNC_ACTIVE, "The callbacks are started already.")
    if (dispatcher.phase == SUSPENDED) != (operation == mq.MQOP_RESUME):
        raise MQError(mq.MQRC_OPERATION_NOT_ALLOWED, f"The callbacks are {dispatcher.phase}.")
    if operation == mq.MQOP_RESUME:
        return dispatcher.resume()
    if operation == mq.MQOP_START_WAIT:
        if all(each.suspended for each in dispatcher.consumers.values()):
            raise MQError(mq.MQRC_NO_CALLBACKS_ACTIVE, "No callback is registered, or all are suspended.")
    elif dispatcher.port.has_unit_of_work():
        raise MQError(mq.MQRC_ASYNC_UOW_CONFLICT, "Commit or back out the unit of work first.")
    return dispatcher.start(operation == mq.MQOP_START_WAIT, area)
