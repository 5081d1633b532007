"""`ostler dmpmqcfg`: writes the definitions of a queue manager as a script that creates them again.

The definitions come from a queue manager of this machine over its own socket, or from any other through its command
server.
"""

from __future__ import annotations

import argparse
import base64
import getpass
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, existing_manager, request_action, whole_number
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.runmqsc.command_queue import CommandQueue
from ostler.command.dump.dump import AUTHORITIES, EXPORTS, TYPES, DumpOptions, ScriptLayout, dump
from ostler.command.pcf.errors import PcfRefused
from ostler.command.pcf.kinds import KINDS, QUEUES
from ostler.command.pcf.values import value_of
from ostler.model import constants
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, attributes_of, find, to_text
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.model.pcf import Integer, Parameter, PcfMessage, String
from ostler.security.authorities import default_records, record_key
from ostler.security.channel_authentication import default_rules, rule_key
from ostler.server.config.directories import QueueManagerDirectory

_SEQUENCE_MAX: Final = 999_999_999
_RULE: Final = "*" * 79
_DEFAULT_CLIENT: Final = "default"
_CLIENT_VARIABLES: Final = ("MQSERVER", "MQCCDTURL", "MQCHLLIB", "MQCHLTAB")
_PASSWORD_VARIABLE: Final = "OSTLER_PASSWORD"
_MODEL: Final = "SYSTEM.DEFAULT.MODEL.QUEUE"
# Reasons of an inquiry that finds nothing; MQRCCF_COMMAND_FAILED only follows one of the others.
_NONE_FOUND: Final = (
    mq.MQRC_UNKNOWN_OBJECT_NAME,
    mq.MQRCCF_CHANNEL_NOT_FOUND,
    mq.MQRCCF_CHLAUTH_NOT_FOUND,
    mq.MQRCCF_NONE_FOUND,
    mq.MQRCCF_COMMAND_FAILED,
)
_AUTHORITY_OPTIONS: Final = mq.MQAUTHOPT_NAME_AS_WILDCARD | mq.MQAUTHOPT_ENTITY_EXPLICIT
_QUEUE_KINDS: Final = {
    constants.MQQT_LOCAL: ObjectType.QLOCAL,
    constants.MQQT_ALIAS: ObjectType.QALIAS,
    constants.MQQT_REMOTE: ObjectType.QREMOTE,
    constants.MQQT_MODEL: ObjectType.QMODEL,
}


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "dmpmqcfg",
        "write all definitions as a script",
        "Write what is defined in a running queue manager as MQSC that makes it again.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("-m", dest="name", metavar="QMGR", help="the queue manager (the default one)")
    parser.add_argument("-x", dest="exports", choices=("all", *EXPORTS), default="all", help="what to write (all)")
    parser.add_argument("-t", dest="type", choices=sorted(TYPES), default="all", help="objects of this type only")
    parser.add_argument("-n", dest="pattern", metavar="NAME", default="*", help="objects of this generic name only")
    parser.add_argument("-a", dest="all", action="store_true", help="all attributes, also those that have defaults")
    parser.add_argument(
        "-s", dest="sequence", type=whole_number, metavar="NUMBER", help="reset sending channels to this number"
    )
    parser.add_argument(
        "-o",
        dest="layout",
        choices=[each.value for each in ScriptLayout],
        default=ScriptLayout.MQSC.value,
        help="how to write it",
    )
    parser.add_argument("-c", dest="client", metavar="default", help="connect as a client (MQSERVER, CCDT)")
    parser.add_argument("-u", dest="user", metavar="USER", help="who connects; the password is asked for")
    parser.add_argument("-q", dest="model", metavar="QUEUE", default=_MODEL, help="the model of the reply queue")
    parser.add_argument("-r", dest="remote", metavar="QMGR", help="ask this queue manager, by way of the one of -m")
    parser.add_argument("-z", dest="is_quiet", action="store_true", help="no warnings")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    options = _dump_options(arguments)
    definitions = list(_definitions(arguments))
    manager = next((each for each in definitions if each.object_type == ObjectType.QMGR), None)
    name = manager.name if manager is not None else ""
    for line in _header(manager) if options.layout.value in ("mqsc", "1line", "2line") else ():
        print(line)
    for line in dump(definitions, options, default_rules(), default_records(), name):
        print(line)
    return Status.DONE


def _dump_options(arguments: argparse.Namespace) -> DumpOptions:
    if arguments.sequence is not None and not 1 <= arguments.sequence <= _SEQUENCE_MAX:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-s", why=f"it is from 1 to {_SEQUENCE_MAX}.")
    layout = ScriptLayout(arguments.layout)
    if layout in (ScriptLayout.SETMQAUT, ScriptLayout.GRANTMQAUT) and arguments.exports not in ("all", AUTHORITIES):
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-o", why=f"{layout.value} is for -x authrec.")
    exports = frozenset(EXPORTS if arguments.exports == "all" else (arguments.exports,))
    return DumpOptions(exports, arguments.type, arguments.pattern, arguments.all, layout, arguments.sequence or 0)


def _definitions(arguments: argparse.Namespace) -> Iterator[Definition]:
    """Yields definitions over the queue manager's own socket where possible, else by messages."""
    if arguments.client is None and arguments.user is None and arguments.remote is None:
        try:
            directory = existing_manager(arguments.name)
        except CommandFailed:
            if not any(os.environ.get(name) for name in _CLIENT_VARIABLES):
                raise
        else:
            yield from local_definitions(directory)
            return
    try:
        yield from _definitions_by_message(arguments)
    except MQError as error:
        if error.reason == mq.MQRC_NOT_AUTHORIZED:
            raise CommandFailed(Status.NOT_AUTHORIZED, "AMQ8135E", why=error) from error
        name = arguments.remote or arguments.name or "(any)"
        raise CommandFailed(Status.NOT_AVAILABLE, "AMQ8146E", name=name, why=error) from error


def _definitions_by_message(arguments: argparse.Namespace) -> Iterator[Definition]:
    import ostler

    channel, address = _client_channel(arguments.client)
    is_local = arguments.client is None and not any(os.environ.get(name) for name in _CLIENT_VARIABLES)
    connection = ostler.connect(
        existing_manager(arguments.name).name if is_local else arguments.name or "",
        address or None,
        channel=channel,
        binding="local" if is_local else "client",
        user=arguments.user,
        password=_password(arguments.user),
        application="ostler dmpmqcfg",
    )
    queue = CommandQueue(connection, arguments.remote or "", model=arguments.model)
    try:
        yield from queued_definitions(queue)
    finally:
        queue.close()


def _client_channel(given: str | None) -> tuple[str, str]:
    """Returns the channel and the address that -c names: those of a DEFINE CHANNEL command, none with `default`."""
    if given is None or given == _DEFAULT_CLIENT:
        return "", ""
    from ostler.command.mqsc.statements import parse
    from ostler.command.mqsc.tokens import MqscSyntaxError

    try:
        statement = parse(given)
    except MqscSyntaxError as problem:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-c", why=f"{problem.why}.") from None
    address = statement.argument("CONNAME")
    if statement.name is None or address is None or not address.values:
        why = "it takes default, or DEFINE CHANNEL(name) CHLTYPE(CLNTCONN) CONNAME('host(port)')."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-c", why=why)
    return statement.name.text, ",".join(word.text for word in address.values)


def _password(user: str | None) -> str | None:
    if user is None:
        return None
    if _PASSWORD_VARIABLE in os.environ:
        return os.environ[_PASSWORD_VARIABLE]
    if sys.stdin.isatty():
        return getpass.getpass(f"Password of {user}: ", stream=sys.stderr)
    return sys.stdin.readline().rstrip("\r\n")


def _header(manager: Definition | None) -> Iterator[str]:
    values = manager.attributes if manager is not None else {}
    yield _RULE
    yield f"* Script generated on {time.strftime('%Y-%m-%d')} at {time.strftime('%H.%M.%S')}"
    yield f"* Script generated by user '{getpass.getuser()}' on host '{socket.gethostname()}'"
    yield f"* Queue manager name: {manager.name if manager is not None else ''}"
    yield f"* Queue manager platform: {_attribute_text('PLATFORM', values.get('PLATFORM'))}"
    yield f"* Queue manager command level: {_attribute_text('CMDLEVEL', values.get('CMDLEVEL'))}"
    yield f"* Command issued: ostler {shlex.join(sys.argv[1:])}".rstrip()
    yield _RULE


def _attribute_text(name: str, value: Value | None) -> str:
    attribute = find(ObjectType.QMGR, name)
    return to_text(attribute, value) if attribute is not None and value is not None else ""


# -- the definitions of a queue manager --------------------------------------------------------------------------------


def local_definitions(directory: QueueManagerDirectory) -> Iterator[Definition]:
    """Yields all definitions of a queue manager that runs on this machine."""
    for answer in request_action(directory, "definitions"):
        encoded = answer.get("definition")
        if isinstance(encoded, str):
            decoded = Definition.decode(base64.b64decode(encoded))
            # Names of attributes are interned: there may be very many definitions.
            attributes = {sys.intern(name): value for name, value in decoded.attributes.items()}
            yield Definition(decoded.object_type, decoded.name, attributes)


def queued_definitions(queue: CommandQueue) -> Iterator[Definition]:
    """Yields the definitions by PCF, one type after the other. Attributes of z/OS have no PCF here and are left out."""
    name = ""
    for reply in _replies(queue, mq.MQCMD_INQUIRE_Q_MGR, ()):
        values = _values(ObjectType.QMGR, reply)
        name = str(values.get("QMNAME", ""))
        yield Definition(ObjectType.QMGR, name, values)
    for about in KINDS:
        command: int = getattr(constants, f"MQCMD_INQUIRE_{about.word}")
        for reply in _replies(queue, command, (String(about.name_parameter, "*"),)):
            kind = _queue_kind(reply) if about is QUEUES else about.types[0]
            values = _values(kind, reply)
            yield Definition(kind, str(values.pop(about.name, "")), _without_live_values(kind, values))
    for reply in _replies(queue, mq.MQCMD_INQUIRE_SUBSCRIPTION, (String(mq.MQCACF_SUB_NAME, "*"),)):
        values = _values(ObjectType.SUB, reply)
        if values.get("DESTQMGR") == name:
            values["DESTQMGR"] = ""  # an inquiry returns the queue manager's own name where none was given
        yield Definition(ObjectType.SUB, str(values.pop("SUB", "")), values)
    yield from _security_records(queue)


def _security_records(queue: CommandQueue) -> Iterator[Definition]:
    """Yields channel authentication records and authority records."""
    for reply in _replies(queue, mq.MQCMD_INQUIRE_CHLAUTH_RECS, (String(mq.MQCACH_CHANNEL_NAME, "*"),)):
        values = _values(ObjectType.CHLAUTH, reply)
        yield Definition(ObjectType.CHLAUTH, rule_key(values), values)
    inquiry = (
        Integer(mq.MQIACF_AUTH_OPTIONS, _AUTHORITY_OPTIONS),
        String(mq.MQCACF_AUTH_PROFILE_NAME, "*"),
        Integer(mq.MQIACF_OBJECT_TYPE, mq.MQOT_ALL),
    )
    for reply in _replies(queue, mq.MQCMD_INQUIRE_AUTH_RECS, inquiry):
        values = _values(ObjectType.AUTHREC, reply)
        yield Definition(ObjectType.AUTHREC, record_key(values), values)


def _replies(queue: CommandQueue, command: int, parameters: tuple[Parameter, ...]) -> Iterator[PcfMessage]:
    for reply in queue.request(command, parameters):
        if reply.header.completion != mq.MQCC_FAILED:
            if reply.parameters:
                yield reply
        elif reply.header.reason not in _NONE_FOUND:
            raise MQError(reply.header.reason, "")


def _queue_kind(reply: PcfMessage) -> ObjectType:
    for each in reply.parameters:
        if isinstance(each, Integer) and each.parameter == constants.MQIA_Q_TYPE and each.value in _QUEUE_KINDS:
            return _QUEUE_KINDS[each.value]
    return ObjectType.QLOCAL


def _values(kind: ObjectType, reply: PcfMessage) -> dict[str, Value]:
    """Returns the parameters as attributes; leaves out those that only later releases know."""
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


def _without_live_values(kind: ObjectType, values: Mapping[str, Value]) -> dict[str, Value]:
    """Leaves out attributes that are not part of the definition, such as CURDEPTH."""
    live = ("CURDEPTH", "IPPROCS", "OPPROCS", "NAMCOUNT") + (("TYPE",) if kind in _QUEUE_KINDS.values() else ())
    return {name: value for name, value in values.items() if name not in live}
