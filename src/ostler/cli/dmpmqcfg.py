"""`ostler dmpmqcfg`: everything that is defined in a queue manager, as a script that makes it again."""

from __future__ import annotations

import argparse
import getpass
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from typing import Final

from ostler.cli import commands
from ostler.cli.commands import CommandFailed, existing, whole_number
from ostler.cli.exit_statuses import Status
from ostler.cli.mqini_sources import local_definitions, queued_definitions
from ostler.cli.runmqsc.command_queue import CommandQueue
from ostler.command.dump.dump import AUTHORITIES, EXPORTS, TYPES, Dump, Layout, dump
from ostler.model.attributes import ObjectType, Value, find, to_text
from ostler.model.constants import MQRC_NOT_AUTHORIZED
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.security.authorities import default_records
from ostler.security.channel_authentication import default_rules

_SEQUENCE_MAX: Final = 999_999_999
_RULE: Final = "*" * 79
_DEFAULT_CLIENT: Final = "default"
_ELSEWHERE: Final = ("MQSERVER", "MQCCDTURL", "MQCHLLIB", "MQCHLTAB")
_PASSWORD_VARIABLE: Final = "OSTLER_PASSWORD"
_MODEL: Final = "SYSTEM.DEFAULT.MODEL.QUEUE"


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
        "-o", dest="layout", choices=[each.value for each in Layout], default=Layout.MQSC.value, help="how to write it"
    )
    parser.add_argument("-c", dest="client", metavar="default", help="connect as a client (MQSERVER, CCDT)")
    parser.add_argument("-u", dest="user", metavar="USER", help="who connects; the password is asked for")
    parser.add_argument("-q", dest="model", metavar="QUEUE", default=_MODEL, help="the model of the reply queue")
    parser.add_argument("-r", dest="remote", metavar="QMGR", help="ask this queue manager, by way of the one of -m")
    parser.add_argument("-z", dest="is_quiet", action="store_true", help="warn of nothing")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    asked = _asked(arguments)
    definitions = list(_definitions(arguments))
    manager = next((each for each in definitions if each.object_type == ObjectType.QMGR), None)
    name = manager.name if manager is not None else ""
    for line in _header(manager) if asked.layout.value in ("mqsc", "1line", "2line") else ():
        print(line)
    for line in dump(definitions, asked, default_rules(), default_records(), name):
        print(line)
    return Status.DONE


def _asked(arguments: argparse.Namespace) -> Dump:
    if arguments.sequence is not None and not 1 <= arguments.sequence <= _SEQUENCE_MAX:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-s", why=f"it is from 1 to {_SEQUENCE_MAX}.")
    layout = Layout(arguments.layout)
    if layout in (Layout.SETMQAUT, Layout.GRANTMQAUT) and arguments.exports not in ("all", AUTHORITIES):
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-o", why=f"{layout.value} is for -x authrec.")
    exports = frozenset(EXPORTS if arguments.exports == "all" else (arguments.exports,))
    return Dump(exports, arguments.type, arguments.pattern, arguments.all, layout, arguments.sequence or 0)


def _definitions(arguments: argparse.Namespace) -> Iterator[Definition]:
    """Over the queue manager's own socket where that will do, else by messages."""
    if arguments.client is None and arguments.user is None and arguments.remote is None:
        try:
            directory = existing(arguments.name)
        except CommandFailed:
            if not any(os.environ.get(name) for name in _ELSEWHERE):
                raise
        else:
            yield from local_definitions(directory)
            return
    try:
        yield from _queued(arguments)
    except MQError as error:
        if error.reason == MQRC_NOT_AUTHORIZED:
            raise CommandFailed(Status.NOT_AUTHORIZED, "AMQ8135E", why=error) from error
        name = arguments.remote or arguments.name or "(any)"
        raise CommandFailed(Status.NOT_AVAILABLE, "AMQ8146E", name=name, why=error) from error


def _queued(arguments: argparse.Namespace) -> Iterator[Definition]:
    import ostler

    channel, address = _client_channel(arguments.client)
    is_local = arguments.client is None and not any(os.environ.get(name) for name in _ELSEWHERE)
    connection = ostler.connect(
        existing(arguments.name).name if is_local else arguments.name or "",
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
    """The channel and the address that -c names: none with `default`, else those of a DEFINE CHANNEL command."""
    if given is None or given == _DEFAULT_CLIENT:
        return "", ""
    from ostler.command.mqsc.statements import parse
    from ostler.command.mqsc.tokens import SyntaxProblem

    try:
        statement = parse(given)
    except SyntaxProblem as problem:
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
    yield f"* Queue manager platform: {_word('PLATFORM', values.get('PLATFORM'))}"
    yield f"* Queue manager command level: {_word('CMDLEVEL', values.get('CMDLEVEL'))}"
    yield f"* Command issued: ostler {shlex.join(sys.argv[1:])}".rstrip()
    yield _RULE


def _word(name: str, value: Value | None) -> str:
    attribute = find(ObjectType.QMGR, name)
    return to_text(attribute, value) if attribute is not None and value is not None else ""
