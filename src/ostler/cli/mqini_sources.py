"""Where `dmpmqcfg` has its definitions from: a queue manager of this machine, or any one through its command server."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from ostler.cli.commands import ask
from ostler.cli.runmqsc.command_queue import CommandQueue
from ostler.command.pcf.kinds import KINDS, QUEUES
from ostler.command.pcf.unsupported import PcfRefused
from ostler.command.pcf.values import value_of
from ostler.model import constants
from ostler.model.attributes import ObjectType, Value, attributes_of
from ostler.model.constants import (
    MQAUTHOPT_ENTITY_EXPLICIT,
    MQAUTHOPT_NAME_AS_WILDCARD,
    MQCACF_AUTH_PROFILE_NAME,
    MQCACF_SUB_NAME,
    MQCACH_CHANNEL_NAME,
    MQCC_FAILED,
    MQCMD_INQUIRE_AUTH_RECS,
    MQCMD_INQUIRE_CHLAUTH_RECS,
    MQCMD_INQUIRE_Q_MGR,
    MQCMD_INQUIRE_SUBSCRIPTION,
    MQIACF_AUTH_OPTIONS,
    MQIACF_OBJECT_TYPE,
    MQOT_ALL,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRCCF_CHANNEL_NOT_FOUND,
    MQRCCF_CHLAUTH_NOT_FOUND,
    MQRCCF_COMMAND_FAILED,
    MQRCCF_NONE_FOUND,
)
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.model.pcf import Integer, Parameter, PcfMessage, String
from ostler.security.authorities import record_key
from ostler.security.channel_authentication import rule_key
from ostler.server.config.directories import QueueManagerDirectory

# What an inquiry that finds nothing is answered with; the last one says of an earlier answer that it was a refusal.
_NOTHING: Final = (
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRCCF_CHANNEL_NOT_FOUND,
    MQRCCF_CHLAUTH_NOT_FOUND,
    MQRCCF_NONE_FOUND,
    MQRCCF_COMMAND_FAILED,
)
_AUTHORITY_OPTIONS: Final = MQAUTHOPT_NAME_AS_WILDCARD | MQAUTHOPT_ENTITY_EXPLICIT
_QUEUE_KINDS: Final = {
    constants.MQQT_LOCAL: ObjectType.QLOCAL,
    constants.MQQT_ALIAS: ObjectType.QALIAS,
    constants.MQQT_REMOTE: ObjectType.QREMOTE,
    constants.MQQT_MODEL: ObjectType.QMODEL,
}


def local_definitions(directory: QueueManagerDirectory) -> Iterator[Definition]:
    """Everything that is defined in a queue manager that runs on this machine."""
    for answer in ask(directory, "definitions"):
        encoded = answer.get("definition")
        if isinstance(encoded, str):
            decoded = Definition.decode(base64.b64decode(encoded))
            # There may be very many with the same names of attributes.
            attributes = {sys.intern(name): value for name, value in decoded.attributes.items()}
            yield Definition(decoded.object_type, decoded.name, attributes)


def queued_definitions(queue: CommandQueue) -> Iterator[Definition]:
    """The same by PCF, one type after the other. What only z/OS has is not told this way."""
    name = ""
    for reply in _replies(queue, MQCMD_INQUIRE_Q_MGR, ()):
        values = _values(ObjectType.QMGR, reply)
        name = str(values.get("QMNAME", ""))
        yield Definition(ObjectType.QMGR, name, values)
    for about in KINDS:
        command: int = getattr(constants, f"MQCMD_INQUIRE_{about.word}")
        for reply in _replies(queue, command, (String(about.name_parameter, "*"),)):
            kind = _queue_kind(reply) if about is QUEUES else about.types[0]
            values = _values(kind, reply)
            yield Definition(kind, str(values.pop(about.name, "")), _kept(kind, values))
    for reply in _replies(queue, MQCMD_INQUIRE_SUBSCRIPTION, (String(MQCACF_SUB_NAME, "*"),)):
        values = _values(ObjectType.SUB, reply)
        if values.get("DESTQMGR") == name:
            values["DESTQMGR"] = ""  # it says its own name where none was given
        yield Definition(ObjectType.SUB, str(values.pop("SUB", "")), values)
    yield from _records(queue)


def _records(queue: CommandQueue) -> Iterator[Definition]:
    """Rules and authority records."""
    for reply in _replies(queue, MQCMD_INQUIRE_CHLAUTH_RECS, (String(MQCACH_CHANNEL_NAME, "*"),)):
        values = _values(ObjectType.CHLAUTH, reply)
        yield Definition(ObjectType.CHLAUTH, rule_key(values), values)
    asked = (
        Integer(MQIACF_AUTH_OPTIONS, _AUTHORITY_OPTIONS),
        String(MQCACF_AUTH_PROFILE_NAME, "*"),
        Integer(MQIACF_OBJECT_TYPE, MQOT_ALL),
    )
    for reply in _replies(queue, MQCMD_INQUIRE_AUTH_RECS, asked):
        values = _values(ObjectType.AUTHREC, reply)
        yield Definition(ObjectType.AUTHREC, record_key(values), values)


def _replies(queue: CommandQueue, command: int, parameters: tuple[Parameter, ...]) -> Iterator[PcfMessage]:
    for reply in queue.ask(command, parameters):
        if reply.header.completion != MQCC_FAILED:
            if reply.parameters:
                yield reply
        elif reply.header.reason not in _NOTHING:
            raise MQError(reply.header.reason, "")


def _queue_kind(reply: PcfMessage) -> ObjectType:
    for each in reply.parameters:
        if isinstance(each, Integer) and each.parameter == constants.MQIA_Q_TYPE and each.value in _QUEUE_KINDS:
            return _QUEUE_KINDS[each.value]
    return ObjectType.QLOCAL


def _values(kind: ObjectType, reply: PcfMessage) -> dict[str, Value]:
    """Parameters as attributes. What we do not know, a later release does; it is left out."""
    known = {attribute.pcf: attribute for attribute in reversed(attributes_of(kind)) if attribute.pcf}
    values: dict[str, Value] = {}
    for item in reply.parameters:
        attribute = known.get(item.parameter)
        if attribute is not None:
            try:
                values[attribute.name] = value_of(attribute, item)
            except PcfRefused:
                continue
    return values


def _kept(kind: ObjectType, values: Mapping[str, Value]) -> dict[str, Value]:
    """What belongs to the definition: not how many messages there are."""
    live = ("CURDEPTH", "IPPROCS", "OPPROCS", "NAMCOUNT") + (("TYPE",) if kind in _QUEUE_KINDS.values() else ())
    return {name: value for name, value in values.items() if name not in live}
