"""`ostler setmqaut`: gives authorities to users and groups, or takes them away.

`dspmqaut` and `dmpmqaut` share its options, its object types and its failures.
"""

from __future__ import annotations

import argparse
from typing import Any, Final

from ostler.cli.framework.commands import CommandFailed, CommandOutput, CommandParser, existing_manager, request_action
from ostler.cli.framework.exit_statuses import Status
from ostler.model import constants as mq
from ostler.model.authorities import AUTHORITY_NUMBERS
from ostler.model.errors import MQError
from ostler.security.authorities import COMPOSITES, OBJECT_TYPES
from ostler.security.profiles import CLASS_PROFILE, MANAGER_PROFILE, is_generic
from ostler.server.config.directories import QueueManagerDirectory

# The values of -t: MQSC's words in lower case, and their abbreviations.
_TYPES: Final = {
    **{word.lower(): word for word in OBJECT_TYPES},
    "chl": "CHANNEL",
    "clcn": "CLNTCONN",
    "lstr": "LISTENER",
    "nl": "NAMELIST",
    "prcs": "PROCESS",
    "q": "QUEUE",
    "rqmn": "RQMNAME",
    "srvc": "SERVICE",
    "top": "TOPIC",
}
_AUTHORITIES: Final = tuple(word.lower() for word in (*AUTHORITY_NUMBERS, *COMPOSITES))


class AuthorityParser(CommandParser):
    """Reports an unknown argument with a plus sign as an unknown authority."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        found, unknown = argparse.ArgumentParser.parse_known_args(self, args, namespace)
        for word in unknown:
            if word.startswith("+"):
                raise CommandFailed(Status.AUTHORITY_WRONG, "AMQ7097E", why=f"{word} is not one")
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    description = (
        "Give authorities to users and groups (+get), or take them away (-get). What is taken away goes first. "
        f"Authorities are {', '.join(_AUTHORITIES)}."
    )
    subparsers.add_parser("setmqaut", help="change what users and groups may do", add_help=False)
    parser = AuthorityParser(
        prog="ostler setmqaut",
        usage="ostler setmqaut [-m QMGR] [-n PROFILE] -t TYPE (-p USER | -g GROUP) ... (+AUTHORITY | -AUTHORITY) ...",
        description=description,
        prefix_chars="-+",
        allow_abbrev=False,
    )
    parser.usage_status = Status.ARGUMENTS_WRONG
    subparsers._name_parser_map["setmqaut"] = parser
    add_object_options(parser)
    parser.add_argument("-p", dest="users", action="append", default=[], metavar="USER", help="a user")
    parser.add_argument("-g", dest="groups", action="append", default=[], metavar="GROUP", help="a group")
    parser.add_argument("-remove", dest="deletes", action="store_true", help="remove the records themselves")
    for word in _AUTHORITIES:
        parser.add_argument(f"+{word}", dest="add", action="append_const", const=word, help=argparse.SUPPRESS)
        parser.add_argument(f"-{word}", dest="remove", action="append_const", const=word, help=argparse.SUPPRESS)
    parser.set_defaults(run=run, add=[], remove=[])


def add_object_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", dest="name", metavar="QMGR", help="the queue manager (the default one)")
    parser.add_argument("-n", dest="profile", metavar="PROFILE", help="a name, or a generic one such as 'APP.**'")
    parser.add_argument("-t", dest="type", metavar="TYPE", help="the type of object: queue, topic, qmgr, ...")
    parser.add_argument("-s", dest="component", metavar="COMPONENT", help="the authorization service; there is one")


def run(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.name)
    objtype = object_type(arguments.type)
    profile = profile_name(arguments, objtype, directory)
    if not arguments.users and not arguments.groups:
        raise CommandFailed(Status.ENTITY_MISSING, "AMQ7095E")
    if not arguments.deletes and not arguments.add and not arguments.remove:
        raise CommandFailed(Status.AUTHORITY_MISSING, "AMQ7096E")
    if arguments.add and "all" in arguments.remove and set(arguments.remove) != {"all"}:
        why = "-all takes everything away; beside it, name only what is given again"
        raise CommandFailed(Status.AUTHORITY_WRONG, "AMQ7097E", why=why)
    request_authority_action(
        directory,
        "set_authority",
        objtype=objtype,
        profile=profile,
        users=arguments.users,
        groups=arguments.groups,
        add=arguments.add,
        remove=arguments.remove,
        delete=arguments.deletes,
    )
    CommandOutput().message("AMQ7024I")
    return Status.DONE


def object_type(given: str | None) -> str:
    """Returns the MQSC word for the object type of -t."""
    if not given:
        raise CommandFailed(Status.TYPE_MISSING, "AMQ7093E")
    found = _TYPES.get(given.lower())
    if found is None:
        raise CommandFailed(Status.TYPE_WRONG, "AMQ7094E", type=given, types=", ".join(sorted(_TYPES)))
    return found


def profile_name(arguments: argparse.Namespace, objtype: str, directory: QueueManagerDirectory) -> str:
    """Returns the profile. With -t qmgr, -m names the queue manager; -n may repeat it or be generic."""
    profile: str = arguments.profile or ""
    if objtype != "QMGR":
        if not profile:
            raise CommandFailed(Status.OBJECT_NAME_MISSING, "AMQ7092E")
        return profile
    if profile not in ("", directory.name, MANAGER_PROFILE, CLASS_PROFILE) and not is_generic(profile):
        raise CommandFailed(Status.OBJECT_NAME_UNEXPECTED, "AMQ7091E", profile=profile)
    return profile


def request_authority_action(
    directory: QueueManagerDirectory, action: str, **arguments: object
) -> list[dict[str, object]]:
    """Returns the answers of a running queue manager; its refusals become failures with MQ's exit statuses."""
    try:
        return list(request_action(directory, action, Status.NOT_AVAILABLE, **arguments))
    except MQError as error:
        raise _as_failure(error) from error


def _as_failure(error: MQError) -> CommandFailed:
    if error.reason == mq.MQRC_UNKNOWN_OBJECT_NAME:
        return CommandFailed(Status.OBJECT_UNKNOWN, "AMQ8147E", why=error.detail)
    if error.reason == mq.MQRCCF_AUTH_VALUE_ERROR:
        return CommandFailed(Status.AUTHORITY_WRONG, "AMQ7097E", why=error.detail.rstrip("."))
    if error.reason in (mq.MQRC_UNKNOWN_ENTITY, mq.MQRCCF_ENTITY_NAME_MISSING):
        return CommandFailed(Status.ENTITY_MISSING, "AMQ7026E", why=error.detail)
    return CommandFailed(Status.ARGUMENTS_WRONG, "AMQ7076E", why=error.detail or error)
