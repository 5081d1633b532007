"""Set, Delete and Inquire Authority Records, Inquire Entity Authority and Inquire Authority Service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ostler.command.admin.authrec import (
    Entity,
    RecordQuery,
    delete_records,
    entity_authority,
    records,
    set_records,
)
from ostler.command.admin.context import CommandContext
from ostler.command.admin.objects import matches
from ostler.command.admin.permissions import authorize
from ostler.command.pcf.command import (
    NAME_LENGTH,
    PcfCommand,
    PcfField,
    PcfRequest,
    Reply,
    number,
    numbers,
    text,
    texts,
)
from ostler.command.pcf.errors import PcfRefused, bad_parameter
from ostler.command.pcf.inquire import reply_row
from ostler.command.pcf.values import text_parameter
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.authorities import AUTHORITY_NUMBERS, words_of
from ostler.model.pcf import Integer, IntegerList
from ostler.security.authorities import OBJECT_TYPES, expand

_GROUP: Final = 2  # MQZAET_GROUP
_INTERFACE_VERSION: Final = 2
_COMPOSITE: Final = {
    mq.MQAUTH_ALL: "ALL",
    mq.MQAUTH_ALL_ADMIN: "ALLADM",
    mq.MQAUTH_ALL_MQI: "ALLMQI",
    mq.MQAUTH_NONE: "NONE",
}
_WORDS: Final = {number: word for word, number in AUTHORITY_NUMBERS.items()} | _COMPOSITE
_TYPE_WORDS: Final = {number: word for word, number in OBJECT_TYPES.items()}
_TYPES: Final = (
    "MQOT_AUTH_INFO",
    "MQOT_CHANNEL",
    "MQOT_CLNTCONN_CHANNEL",
    "MQOT_COMM_INFO",
    "MQOT_LISTENER",
    "MQOT_NAMELIST",
    "MQOT_PROCESS",
    "MQOT_Q",
    "MQOT_Q_MGR",
    "MQOT_REMOTE_Q_MGR_NAME",
    "MQOT_SERVICE",
    "MQOT_TOPIC",
)


def _object_type(request: PcfRequest) -> str:
    return _TYPE_WORDS[request.number(mq.MQIACF_OBJECT_TYPE)]


def _entities(request: PcfRequest) -> list[Entity]:
    groups = request.texts(mq.MQCACF_GROUP_ENTITY_NAMES) or ()
    users = request.texts(mq.MQCACF_PRINCIPAL_ENTITY_NAMES) or ()
    return [Entity(name, True) for name in groups] + [Entity(name) for name in users]


def _mask(request: PcfRequest, parameter: int, objtype: str) -> int:
    mask = 0
    for value in request.numbers(parameter) or ():
        if value not in _WORDS:
            raise bad_parameter(mq.MQRCCF_AUTH_VALUE_ERROR, parameter)
        mask |= expand((_WORDS[value],), OBJECT_TYPES[objtype]) if value != mq.MQAUTH_NONE else 0
    return mask


def _set(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    objtype = _object_type(request)
    if not request.has(mq.MQIACF_AUTH_ADD_AUTHS) and not request.has(mq.MQIACF_AUTH_REMOVE_AUTHS):
        raise PcfRefused(mq.MQRCCF_AUTH_VALUE_MISSING)
    add = _mask(request, mq.MQIACF_AUTH_ADD_AUTHS, objtype)
    remove = _mask(request, mq.MQIACF_AUTH_REMOVE_AUTHS, objtype)
    set_records(context, objtype, request.text(mq.MQCACF_AUTH_PROFILE_NAME), _entities(request), add, remove)
    yield []


def _delete(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    profile = request.text(mq.MQCACF_AUTH_PROFILE_NAME)
    delete_records(context, _object_type(request), profile, _entities(request), False)
    yield []


def _inquire(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    options = request.number(mq.MQIACF_AUTH_OPTIONS)
    profile: str | None = request.text(mq.MQCACF_AUTH_PROFILE_NAME)
    pattern = "*"
    match = "EXACT" if options & mq.MQAUTHOPT_NAME_EXPLICIT else "PROFILE"
    if options & mq.MQAUTHOPT_NAME_AS_WILDCARD:
        pattern, profile = profile or "*", None
    entity = None
    if request.text(mq.MQCACF_ENTITY_NAME):
        entity = Entity(request.text(mq.MQCACF_ENTITY_NAME), request.number(mq.MQIACF_ENTITY_TYPE) == _GROUP)
        if options & mq.MQAUTHOPT_ENTITY_SET:
            match = "MEMBERSHIP"
    given = request.number(mq.MQIACF_OBJECT_TYPE, mq.MQOT_ALL)
    objtype = None if given == mq.MQOT_ALL else _TYPE_WORDS[given]
    selection = request.selected(mq.MQIACF_AUTH_PROFILE_ATTRS, (ObjectType.AUTHREC,))
    name = context.query(_name)
    found = False
    for row in records(context, RecordQuery(profile, objtype, entity, match)):
        if matches(str(row["PROFILE"]), pattern):
            found = True
            reply = reply_row(ObjectType.AUTHREC, row, selection, ("PROFILE", "OBJTYPE", "ENTITY", "ENTTYPE"))
            reply.append(text_parameter(mq.MQCA_Q_MGR_NAME, name, NAME_LENGTH))
            yield reply
    if not found:
        raise PcfRefused(mq.MQRCCF_NONE_FOUND)


def _name(engine: Engine) -> str:
    return engine.name


def _inquire_entity(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    objtype = _object_type(request)
    entity = request.text(mq.MQCACF_ENTITY_NAME)
    entity_type = request.number(mq.MQIACF_ENTITY_TYPE)
    manager = context.query(_name)
    name = request.text(mq.MQCACF_OBJECT_NAME) or (manager if objtype == "QMGR" else "")
    mask = entity_authority(context, entity, entity_type == _GROUP, objtype, name)
    numbers = sorted(AUTHORITY_NUMBERS[word] for word in words_of(mask)) or [mq.MQAUTH_NONE]
    yield [
        IntegerList(mq.MQIACF_AUTHORIZATION_LIST, tuple(numbers)),
        text_parameter(mq.MQCACF_ENTITY_NAME, entity, mq.MQ_ENTITY_NAME_LENGTH),
        Integer(mq.MQIACF_ENTITY_TYPE, entity_type),
        text_parameter(mq.MQCACF_OBJECT_NAME, name, NAME_LENGTH),
        Integer(mq.MQIACF_OBJECT_TYPE, OBJECT_TYPES[objtype]),
        text_parameter(mq.MQCA_Q_MGR_NAME, manager, NAME_LENGTH),
    ]


def _inquire_service(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    if not request.numbers(mq.MQIACF_AUTH_SERVICE_ATTRS):
        raise bad_parameter(mq.MQRCCF_CFIL_COUNT_ERROR, mq.MQIACF_AUTH_SERVICE_ATTRS)
    yield [
        Integer(mq.MQIACF_INTERFACE_VERSION, _INTERFACE_VERSION),
        Integer(mq.MQIACF_USER_ID_SUPPORT, mq.MQUIDSUPP_YES),
    ]


_PROFILE: Final = text("MQCACF_AUTH_PROFILE_NAME", NAME_LENGTH, required=True)
_TYPE: Final = number("MQIACF_OBJECT_TYPE", *_TYPES, required=True)
_OPTIONS: Final = number("MQIACF_AUTH_OPTIONS", required=True)
_COMPONENT: Final = text("MQCACF_SERVICE_COMPONENT")
_WHO: Final[tuple[PcfField, ...]] = (
    texts("MQCACF_GROUP_ENTITY_NAMES", mq.MQ_ENTITY_NAME_LENGTH),
    texts("MQCACF_PRINCIPAL_ENTITY_NAMES", mq.MQ_ENTITY_NAME_LENGTH),
)
COMMANDS: Final = (
    PcfCommand(
        "MQCMD_SET_AUTH_REC",
        _set,
        (
            _PROFILE,
            _TYPE,
            numbers("MQIACF_AUTH_ADD_AUTHS"),
            numbers("MQIACF_AUTH_REMOVE_AUTHS"),
            *_WHO,
            _COMPONENT,
        ),
        ordered=False,
    ),
    PcfCommand("MQCMD_DELETE_AUTH_REC", _delete, (_TYPE, _PROFILE, *_WHO), ordered=False),
    PcfCommand(
        "MQCMD_INQUIRE_AUTH_RECS",
        _inquire,
        (
            _OPTIONS,
            _PROFILE,
            number("MQIACF_OBJECT_TYPE", *_TYPES, "MQOT_ALL", required=True),
            text("MQCACF_ENTITY_NAME", mq.MQ_ENTITY_NAME_LENGTH),
            number("MQIACF_ENTITY_TYPE", "1", "2"),
            numbers("MQIACF_AUTH_PROFILE_ATTRS"),
            _COMPONENT,
        ),
        ordered=False,
    ),
    PcfCommand(
        "MQCMD_INQUIRE_ENTITY_AUTH",
        _inquire_entity,
        (
            text("MQCACF_ENTITY_NAME", mq.MQ_ENTITY_NAME_LENGTH, required=True),
            number("MQIACF_ENTITY_TYPE", "1", "2", required=True),
            _TYPE,
            _OPTIONS,
            text("MQCACF_OBJECT_NAME"),
            numbers("MQIACF_AUTH_PROFILE_ATTRS"),
            _COMPONENT,
        ),
        ordered=False,
    ),
    PcfCommand(
        "MQCMD_INQUIRE_AUTH_SERVICE",
        _inquire_service,
        (numbers("MQIACF_AUTH_SERVICE_ATTRS", required=True), _COMPONENT),
    ),
)
