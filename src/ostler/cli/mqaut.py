"""`ostler setmqaut`, `dspmqaut` and `dmpmqaut`: who may do what, changed, asked for and listed."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import Any, Final

from ostler.cli import commands
from ostler.cli.commands import CommandFailed, CommandParser, Speaker, ask, existing
from ostler.cli.exit_statuses import Status
from ostler.model.authorities import AUTHORITY_NUMBERS
from ostler.model.constants import (
    MQRC_UNKNOWN_ENTITY,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRCCF_AUTH_VALUE_ERROR,
    MQRCCF_ENTITY_NAME_MISSING,
)
from ostler.model.errors import MQError
from ostler.security.authorities import COMPOSITES, OBJECT_TYPES
from ostler.security.profiles import CLASS_PROFILE, MANAGER_PROFILE, is_generic
from ostler.server.config.directories import QueueManagerDirectory

# The words of -t: MQSC's in small letters, and short ones.
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
# The order in which authorities are listed here, which is not that of MQSC.
_ORDER: Final = (
    *("get", "browse", "put", "inq", "set", "connect", "altusr", "crt", "dlt", "chg", "dsp", "passid", "passall"),
    *("setid", "setall", "clr", "ctrl", "ctrlx", "pub", "sub", "resume", "system", "none"),
)
_WORDS: Final = tuple(word.lower() for word in (*AUTHORITY_NUMBERS, *COMPOSITES))
_SEPARATOR: Final = "- - - - - - - - - - - - - - - - -"


class AuthorityParser(CommandParser):
    """Knows that a word with a plus sign is meant as an authority."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        found, unknown = argparse.ArgumentParser.parse_known_args(self, args, namespace)
        for word in unknown:
            if word.startswith("+"):
                raise CommandFailed(Status.AUTHORITY_WRONG, "AMQ7097E", why=f"{word} is not one")
        if unknown:
            self.error(f"what is {' '.join(unknown)}?")
        return found, unknown


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _add_set(subparsers)
    shows = commands.add_command(
        subparsers,
        "dspmqaut",
        "show what a user or group may do to an object",
        "Show what a user, with all its groups, or a group may do to an object.",
        Status.ARGUMENTS_WRONG,
    )
    _add_object(shows)
    _add_entity(shows)
    shows.set_defaults(run=display)
    dumps = commands.add_command(
        subparsers,
        "dmpmqaut",
        "list authority records",
        "List authority records: all of them, or those that the options choose.",
        Status.ARGUMENTS_WRONG,
    )
    _add_object(dumps)
    _add_entity(dumps)
    how = dumps.add_mutually_exclusive_group()
    how.add_argument("-l", dest="is_short", action="store_true", help="only the profiles and their types")
    how.add_argument("-a", dest="is_script", action="store_true", help="as setmqaut commands that set them again")
    which = dumps.add_mutually_exclusive_group()
    which.add_argument(
        "-e", dest="match", action="store_const", const="MEMBERSHIP", help="all that counts for the user on object -n"
    )
    which.add_argument(
        "-x", dest="match", action="store_const", const="EXACT", help="only profiles that are written as -n is"
    )
    dumps.set_defaults(run=dump, match="PROFILE")


def _add_set(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    description = (
        "Give authorities to users and groups (+get), or take them away (-get). What is taken away goes first. "
        f"Authorities are {', '.join(_WORDS)}."
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
    _add_object(parser)
    parser.add_argument("-p", dest="users", action="append", default=[], metavar="USER", help="a user")
    parser.add_argument("-g", dest="groups", action="append", default=[], metavar="GROUP", help="a group")
    parser.add_argument("-remove", dest="deletes", action="store_true", help="remove the records themselves")
    for word in _WORDS:
        parser.add_argument(f"+{word}", dest="add", action="append_const", const=word, help=argparse.SUPPRESS)
        parser.add_argument(f"-{word}", dest="remove", action="append_const", const=word, help=argparse.SUPPRESS)
    parser.set_defaults(run=change, add=[], remove=[])


def _add_object(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", dest="name", metavar="QMGR", help="the queue manager (the default one)")
    parser.add_argument("-n", dest="profile", metavar="PROFILE", help="a name, or a generic one such as 'APP.**'")
    parser.add_argument("-t", dest="type", metavar="TYPE", help="the type of object: queue, topic, qmgr, ...")
    parser.add_argument("-s", dest="component", metavar="COMPONENT", help="the authorization service; there is one")


def _add_entity(parser: argparse.ArgumentParser) -> None:
    who = parser.add_mutually_exclusive_group()
    who.add_argument("-p", dest="user", metavar="USER", help="a user")
    who.add_argument("-g", dest="group", metavar="GROUP", help="a group")


# -- setmqaut ----------------------------------------------------------------------------------------------------------


def change(arguments: argparse.Namespace) -> int:
    directory = existing(arguments.name)
    objtype = _objtype(arguments.type)
    profile = _profile(arguments, objtype, directory)
    if not arguments.users and not arguments.groups:
        raise CommandFailed(Status.ENTITY_MISSING, "AMQ7095E")
    if not arguments.deletes and not arguments.add and not arguments.remove:
        raise CommandFailed(Status.AUTHORITY_MISSING, "AMQ7096E")
    if arguments.add and "all" in arguments.remove and set(arguments.remove) != {"all"}:
        why = "-all takes everything away; beside it, name only what is given again"
        raise CommandFailed(Status.AUTHORITY_WRONG, "AMQ7097E", why=why)
    _ask(
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
    Speaker().say("AMQ7024I")
    return Status.DONE


def _objtype(given: str | None) -> str:
    if not given:
        raise CommandFailed(Status.TYPE_MISSING, "AMQ7093E")
    found = _TYPES.get(given.lower())
    if found is None:
        raise CommandFailed(Status.TYPE_WRONG, "AMQ7094E", type=given, types=", ".join(sorted(_TYPES)))
    return found


def _profile(arguments: argparse.Namespace, objtype: str, directory: QueueManagerDirectory) -> str:
    """The profile; the queue manager is named by -m, and what else it could be called is taken, too."""
    profile: str = arguments.profile or ""
    if objtype != "QMGR":
        if not profile:
            raise CommandFailed(Status.OBJECT_NAME_MISSING, "AMQ7092E")
        return profile
    if profile not in ("", directory.name, MANAGER_PROFILE, CLASS_PROFILE) and not is_generic(profile):
        raise CommandFailed(Status.OBJECT_NAME_UNEXPECTED, "AMQ7091E", profile=profile)
    return profile


def _ask(directory: QueueManagerDirectory, action: str, **arguments: object) -> list[dict[str, object]]:
    try:
        return list(ask(directory, action, Status.NOT_AVAILABLE, **arguments))
    except MQError as error:
        raise _failed(error) from error


def _failed(error: MQError) -> CommandFailed:
    if error.reason == MQRC_UNKNOWN_OBJECT_NAME:
        return CommandFailed(Status.OBJECT_UNKNOWN, "AMQ8147E", why=error.detail)
    if error.reason == MQRCCF_AUTH_VALUE_ERROR:
        return CommandFailed(Status.AUTHORITY_WRONG, "AMQ7097E", why=error.detail.rstrip("."))
    if error.reason in (MQRC_UNKNOWN_ENTITY, MQRCCF_ENTITY_NAME_MISSING):
        return CommandFailed(Status.ENTITY_MISSING, "AMQ7026E", why=error.detail)
    return CommandFailed(Status.ARGUMENTS_WRONG, "AMQ7076E", why=error.detail or error)


# -- dspmqaut ----------------------------------------------------------------------------------------------------------


def display(arguments: argparse.Namespace) -> int:
    directory = existing(arguments.name)
    objtype = _objtype(arguments.type)
    profile = _profile(arguments, objtype, directory)
    entity = arguments.user or arguments.group
    if not entity:
        raise CommandFailed(Status.ENTITY_MISSING, "AMQ7095E")
    answers = _ask(
        directory,
        "entity_authority",
        objtype=objtype,
        profile=profile,
        entity=entity,
        is_group=arguments.user is None,
    )
    words = _small(answers[-1]["authorities"])
    say = Speaker().line
    say(f"Entity {entity} has these authorities on object {profile or directory.name}:")
    for word in words:
        say(f"\t{word}")
    return Status.DONE


def _small(words: object) -> list[str]:
    """Authorities in small letters and in the order of these commands."""
    given: Sequence[object] = words if isinstance(words, list) else ()
    return sorted((str(word).lower() for word in given), key=_ORDER.index)


# -- dmpmqaut ----------------------------------------------------------------------------------------------------------


def dump(arguments: argparse.Namespace) -> int:
    directory = existing(arguments.name)
    objtype = _objtype(arguments.type) if arguments.type else None
    entity = arguments.user or arguments.group
    if arguments.match == "MEMBERSHIP":
        _check_membership(arguments, objtype)
    profile = arguments.profile
    if objtype == "QMGR" and profile is None and arguments.match == "MEMBERSHIP":
        profile = directory.name
    answers = _ask(
        directory,
        "authority_records",
        objtype=objtype,
        profile=profile,
        entity=entity,
        is_group=arguments.user is None,
        match=arguments.match,
    )
    rows = [answer for answer in answers if "profile" in answer]
    if arguments.is_short:
        lines = [f"profile: {row['profile']}, type: {str(row['objtype']).lower()}" for row in rows]
        for line in dict.fromkeys(lines):
            Speaker().line(line)
    elif arguments.is_script:
        for row in rows:
            Speaker().line(_command(directory.name, row))
    else:
        for at, row in enumerate(rows):
            if at:
                Speaker().line(_SEPARATOR)
            _show(row)
    return Status.DONE


def _check_membership(arguments: argparse.Namespace, objtype: str | None) -> None:
    if objtype is None:
        raise CommandFailed(Status.TYPE_MISSING, "AMQ7093E")
    if not arguments.user and not arguments.group:
        raise CommandFailed(Status.ENTITY_MISSING, "AMQ7095E")
    if not arguments.profile and objtype != "QMGR":
        raise CommandFailed(Status.OBJECT_NAME_MISSING, "AMQ7092E")
    if is_generic(arguments.profile or ""):
        raise CommandFailed(Status.ARGUMENTS_WRONG, "AMQ7076E", why="-e is about one object: -n has no wildcards.")


def _show(row: dict[str, object]) -> None:
    say = Speaker().line
    say(f"profile:     {row['profile']}")
    say(f"object type: {str(row['objtype']).lower()}")
    say(f"entity:      {row['entity']}")
    say(f"entity type: {'group' if row['is_group'] else 'principal'}")
    say(f"authority:   {' '.join(_small(row['authorities']))}")


def _command(manager_name: str, row: dict[str, object]) -> str:
    words = ["setmqaut", "-m", manager_name, "-n", str(row["profile"]), "-t", str(row["objtype"]).lower()]
    words += ["-g" if row["is_group"] else "-p", str(row["entity"])]
    words += [f"+{word}" for word in _small(row["authorities"])]
    return shlex.join(words)
