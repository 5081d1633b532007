"""Configuration, command and authority events.

A change of an object makes two configuration events, before and after, with one correlation identifier. Command events
name the user. Authority events describe a request refused with MQRC_NOT_AUTHORIZED. The functions return the messages;
the caller puts them.
"""

from __future__ import annotations

from typing import Final

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.events.performance_events import MANAGER_QUEUE, event_message, fixed_name, fixed_text
from ostler.engine.events.reports import Outgoing
from ostler.engine.message.message import CORRELATION_ID_AT
from ostler.model import constants as mq
from ostler.model.attributes import Attribute, ObjectType, Shown, Value, ValueKind, attributes_of, to_text
from ostler.model.definitions import Definition
from ostler.model.pcf import ByteString, Group, Integer, IntegerList, Parameter, String, StringList

CONFIGURATION_QUEUE: Final = "SYSTEM.ADMIN.CONFIG.EVENT"
COMMAND_QUEUE: Final = "SYSTEM.ADMIN.COMMAND.EVENT"

_PADDED_MAX: Final = 1024
# Parameters that hold passwords.
_SECRET: Final = frozenset(
    [each.pcf for kind in ObjectType for each in attributes_of(kind) if each.shown == Shown.MASKED and each.pcf]
)
_TYPES: Final[dict[ObjectType, int]] = {
    ObjectType.QMGR: mq.MQOT_Q_MGR,
    ObjectType.QLOCAL: mq.MQOT_Q,
    ObjectType.QALIAS: mq.MQOT_Q,
    ObjectType.QREMOTE: mq.MQOT_Q,
    ObjectType.QMODEL: mq.MQOT_Q,
    ObjectType.CHANNEL: mq.MQOT_CHANNEL,
    ObjectType.LISTENER: mq.MQOT_LISTENER,
    ObjectType.SERVICE: mq.MQOT_SERVICE,
    ObjectType.PROCESS: mq.MQOT_PROCESS,
    ObjectType.NAMELIST: mq.MQOT_NAMELIST,
    ObjectType.TOPIC: mq.MQOT_TOPIC,
    ObjectType.AUTHINFO: mq.MQOT_AUTH_INFO,
    ObjectType.COMMINFO: mq.MQOT_COMM_INFO,
    ObjectType.CFSTRUCT: mq.MQOT_CF_STRUC,
    ObjectType.STGCLASS: mq.MQOT_STORAGE_CLASS,
    ObjectType.CHLAUTH: mq.MQOT_CHLAUTH,
    ObjectType.AUTHREC: mq.MQOT_AUTH_REC,
}


def _is_enabled(engine: Engine, name: str) -> bool:
    return engine.manager.attributes.get(name, mq.MQEVR_DISABLED) != mq.MQEVR_DISABLED


# -- configuration ----------------------------------------------------------------------------------------------------


def on_change(engine: Engine, before: Definition | None, after: Definition | None) -> list[Outgoing]:
    """Create, Change or Delete Object: `before` is None for a new object, `after` for a deleted one."""
    either = after if after is not None else before
    if either is None or either.object_type not in _TYPES:
        return []
    # Switching the events off is still reported.
    if not _is_enabled(engine, "CONFIGEV") and not _is_switch_off(before, after):
        return []
    if before is None and after is not None:
        return [_configuration_event(engine, after, mq.MQRC_CONFIG_CREATE_OBJECT, 1, True)]
    if after is None and before is not None:
        return [_configuration_event(engine, before, mq.MQRC_CONFIG_DELETE_OBJECT, 1, True)]
    if before is None or after is None or before.attributes == after.attributes:
        return []
    first = _configuration_event(engine, before, mq.MQRC_CONFIG_CHANGE_OBJECT, 1, False)
    second = _configuration_event(engine, after, mq.MQRC_CONFIG_CHANGE_OBJECT, 2, True)
    shared = engine.new_id()
    for each in (first, second):
        each.md = each.md[:CORRELATION_ID_AT] + shared + each.md[CORRELATION_ID_AT + 24 :]
    return [first, second]


def on_refresh(engine: Engine, definition: Definition) -> list[Outgoing]:
    """Refresh Object: the event of REFRESH QMGR TYPE(CONFIGEV) for one object."""
    if not _is_enabled(engine, "CONFIGEV") or definition.object_type not in _TYPES:
        return []
    return [_configuration_event(engine, definition, mq.MQRC_CONFIG_REFRESH_OBJECT, 1, True)]


def _is_switch_off(before: Definition | None, after: Definition | None) -> bool:
    if before is None or after is None or after.object_type != ObjectType.QMGR:
        return False
    return before.attributes.get("CONFIGEV", 0) != after.attributes.get("CONFIGEV", 0)


def _configuration_event(engine: Engine, definition: Definition, reason: int, number: int, is_last: bool) -> Outgoing:
    kind = definition.object_type
    parameters: list[Parameter] = [
        *_context(engine, engine.actor, engine.actor_origin),
        Integer(mq.MQIACF_OBJECT_TYPE, _TYPES[kind]),
        *object_parameters(definition),
    ]
    control = mq.MQCFC_LAST if is_last else mq.MQCFC_NOT_LAST
    return event_message(engine, CONFIGURATION_QUEUE, mq.MQCMD_CONFIG_EVENT, reason, parameters, number, control)


def _context(engine: Engine, user: str, origin: int) -> list[Parameter]:
    return [
        String(mq.MQCACF_EVENT_USER_ID, fixed_text(user, 12)),
        ByteString(mq.MQBACF_EVENT_SECURITY_ID, bytes(40)),
        Integer(mq.MQIACF_EVENT_ORIGIN, origin if origin else mq.MQEVO_MQSET),
        fixed_name(mq.MQCACF_EVENT_Q_MGR, engine.name),
        ByteString(mq.MQBACF_EVENT_ACCOUNTING_TOKEN, bytes(32)),
        String(mq.MQCACF_EVENT_APPL_IDENTITY, fixed_text("", 32)),
        Integer(mq.MQIACF_EVENT_APPL_TYPE, 6),
        String(mq.MQCACF_EVENT_APPL_NAME, fixed_text("", 28)),
        String(mq.MQCACF_EVENT_APPL_ORIGIN, fixed_text("", 4)),
    ]


def object_parameters(definition: Definition) -> list[Parameter]:
    """Return all attributes of an object as PCF parameters: its name first, then the order of the attribute table."""
    found: list[Parameter] = []
    attributes = attributes_of(definition.object_type)
    for at, attribute in enumerate(attributes):
        value = definition.attributes.get(attribute.name)
        if value is None and at == 0:
            value = definition.name
        if value is not None and attribute.pcf:
            found.append(_parameter(attribute, value))
    return found


def _parameter(attribute: Attribute, value: Value) -> Parameter:
    number = attribute.pcf
    if isinstance(value, int):
        return Integer(number, value)
    if isinstance(value, tuple):
        if attribute.kind == ValueKind.INTEGERS:
            return IntegerList(number, tuple([int(item) for item in value]))
        if attribute.kind == ValueKind.WORDS:
            meanings = dict(attribute.words)
            return IntegerList(number, tuple([meanings[item] for item in value if item in meanings]))
        return StringList(number, value)
    if attribute.kind == ValueKind.HEX:
        return ByteString(number, bytes.fromhex(value))
    text = to_text(attribute, value)  # masks secrets
    size = len(text.encode())
    if attribute.length_max <= _PADDED_MAX and size < attribute.length_max:
        text += " " * (attribute.length_max - size)
    return String(number, text)


# -- commands ---------------------------------------------------------------------------------------------------------


def on_command(
    engine: Engine, user: str, origin: int, command: int, is_display: bool, text: str, parameters: tuple[Parameter, ...]
) -> list[Outgoing]:
    """Command event: an MQSC command (`text`) or a PCF command with its parameters. `command` is an MQCMD number."""
    setting = engine.manager.attributes.get("CMDEV", mq.MQEVR_DISABLED)
    if setting == mq.MQEVR_DISABLED or (setting == mq.MQEVR_NO_DISPLAY and is_display):
        return []
    context = (*_context(engine, user, origin), Integer(mq.MQIACF_COMMAND, command))
    shown: list[Parameter] = (
        [String(mq.MQCACF_COMMAND_MQSC, text)] if text else [_mask_secret(each) for each in parameters]
    )
    data: tuple[Parameter, ...] = tuple(shown)
    return [
        event_message(
            engine,
            COMMAND_QUEUE,
            mq.MQCMD_COMMAND_EVENT,
            mq.MQRC_COMMAND_MQSC if text else mq.MQRC_COMMAND_PCF,
            [Group(mq.MQGACF_COMMAND_CONTEXT, context), Group(mq.MQGACF_COMMAND_DATA, data)],
        )
    ]


def _mask_secret(parameter: Parameter) -> Parameter:
    """Return a parameter with its value masked if it holds a password."""
    if isinstance(parameter, String) and parameter.parameter in _SECRET:
        return String(parameter.parameter, "********")
    return parameter


# -- authority --------------------------------------------------------------------------------------------------------


def _authority_event(engine: Engine, qualifier: int, parameters: list[Parameter]) -> list[Outgoing]:
    if engine.manager.attributes.get("AUTHOREV", mq.MQEVR_DISABLED) != mq.MQEVR_ENABLED:
        return []
    complete: list[Parameter] = [
        fixed_name(mq.MQCA_Q_MGR_NAME, engine.name),
        Integer(mq.MQIACF_REASON_QUALIFIER, qualifier),
        *parameters,
    ]
    return [event_message(engine, MANAGER_QUEUE, mq.MQCMD_Q_MGR_EVENT, mq.MQRC_NOT_AUTHORIZED, complete)]


def _application_parameters(user: str, application_type: int, application: str) -> list[Parameter]:
    return [
        String(mq.MQCACF_USER_IDENTIFIER, fixed_text(user, 12)),
        Integer(mq.MQIA_APPL_TYPE, application_type),
        String(mq.MQCACF_APPL_NAME, fixed_text(application, 28)),
    ]


def on_connect_refused(
    engine: Engine, user: str, application_type: int, application: str, address: str, channel: str, wrong_user: str
) -> list[Outgoing]:
    """Not Authorized (type 1): MQCONN. `wrong_user` is the user whose password was rejected; empty for none."""
    parameters = _application_parameters(user, application_type, application)
    if address:
        parameters.append(String(mq.MQCACH_CONNECTION_NAME, address))
    if channel:
        parameters.append(String(mq.MQCACH_CHANNEL_NAME, fixed_text(channel, 20)))
    if wrong_user:
        parameters.append(String(mq.MQCACF_CSP_USER_IDENTIFIER, wrong_user))
    return _authority_event(
        engine, mq.MQRQ_CSP_NOT_AUTHORIZED if wrong_user else mq.MQRQ_CONN_NOT_AUTHORIZED, parameters
    )


def on_open_refused(
    engine: Engine, connection: Connection, name: str, manager_name: str, options: int, user: str
) -> list[Outgoing]:
    """Not Authorized (type 2): MQOPEN or MQPUT1."""
    application = _application_parameters(user or connection.user, connection.application_type, connection.application)
    parameters: list[Parameter] = [
        Integer(mq.MQIACF_OPEN_OPTIONS, options),
        application[0],
        fixed_name(mq.MQCA_Q_NAME, name),
        *application[1:],
    ]
    if manager_name and manager_name != engine.name:
        parameters.append(fixed_name(mq.MQCACF_OBJECT_Q_MGR_NAME, manager_name))
    return _authority_event(engine, mq.MQRQ_OPEN_NOT_AUTHORIZED, parameters)


def on_close_refused(engine: Engine, connection: Connection, name: str) -> list[Outgoing]:
    """Not Authorized (type 3): MQCLOSE that deletes a queue."""
    application = _application_parameters(connection.user, connection.application_type, connection.application)
    return _authority_event(
        engine, mq.MQRQ_CLOSE_NOT_AUTHORIZED, [application[0], fixed_name(mq.MQCA_Q_NAME, name), *application[1:]]
    )


def on_command_refused(engine: Engine, user: str, command: int) -> list[Outgoing]:
    """Not Authorized (type 4): a command."""
    parameters: list[Parameter] = [
        Integer(mq.MQIACF_COMMAND, command),
        String(mq.MQCACF_USER_IDENTIFIER, fixed_text(user, 12)),
    ]
    return _authority_event(engine, mq.MQRQ_CMD_NOT_AUTHORIZED, parameters)
