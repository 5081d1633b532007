"""`ostler users`: manages the users in the password file of a queue manager, running or not."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ostler.cli.framework.commands import CommandFailed, CommandParser, existing_manager
from ostler.cli.framework.control_messages import message
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.framework.side_files import refuse_on_replica
from ostler.model.replication import PASSWORDS
from ostler.security.connection_authentication import SOURCE_OPERATING_SYSTEM, SOURCE_PAM
from ostler.security.passwords import (
    SALT_BYTES,
    PasswordFile,
    PasswordFileError,
    PasswordHash,
    UserEntry,
    hash_password,
    name_problem,
    password_problem,
)
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.security.password_store import edit_passwords, password_path, read_passwords
from ostler.server.security.users import Users

_DESCRIPTION: Final = """Users, passwords and groups of a queue manager, in its own password file. A running queue
manager reads changes by itself. Passwords are prompted for without echo; programs pass them on standard input or in
a file. Members of group mqm administer the queue manager."""
_READ_BYTES_MAX: Final = 4096


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("users", help="users and passwords", description=_DESCRIPTION)
    assert isinstance(parser, CommandParser)
    parser.usage_status = Status.PARAMETER_WRONG
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", title="actions", required=True, parser_class=CommandParser
    )
    add = _action(actions, "add", "add a user", _add)
    add.add_argument("--groups", metavar="G,G", default="", help="the groups of the user, joined by commas")
    _take_password(add).add_argument(
        "--no-password", action="store_true", help="the user has groups, but cannot connect with a password"
    )
    _take_password(_action(actions, "set-password", "change the password of a user", _set_password))
    groups = _action(actions, "set-groups", "change the groups of a user", _set_groups)
    groups.add_argument("--groups", metavar="G,G", required=True, help="its groups, joined by commas; '' for none")
    _action(actions, "delete", "delete a user", _delete)
    check = _action(actions, "check", "check a password", _check)
    _take_password(check)
    check.add_argument("--pam", action="store_true", help="with PasswordSource=OS: ask PAM, as AUTHENMD(PAM) does")
    shown = _action(actions, "list", "show the users and their groups", _list, has_user=False)
    shown.add_argument("--json", dest="is_json", action="store_true", help="for programs: as JSON")


def _action(
    actions: argparse._SubParsersAction[CommandParser], name: str, purpose: str, run: object, has_user: bool = True
) -> CommandParser:
    parser = actions.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
    parser.usage_status = Status.PARAMETER_WRONG
    if has_user:
        parser.add_argument("manager", metavar="QMGR", help="the queue manager")
        parser.add_argument("user", metavar="USER", help="the user")
    else:
        parser.add_argument("manager", nargs="?", metavar="QMGR", help="the queue manager (the default one)")
    parser.set_defaults(run=run)
    return parser


def _take_password(parser: CommandParser) -> argparse._MutuallyExclusiveGroup:
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--password-stdin", dest="reads_input", action="store_true", help="read it from standard input, its first line"
    )
    how.add_argument("--password-file", type=Path, metavar="FILE", help="read it from a file, its first line")
    return how


# -- actions -----------------------------------------------------------------------------------------------------------


def _add(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.manager)
    user, groups = _name(arguments.user), _groups(arguments.groups)
    # An existing user is reported before a password is typed.
    if user in _read(directory).users:
        raise CommandFailed(Status.EXISTS, "user-exists", user=user, name=directory.name)
    kept = None if arguments.no_password else new_hash(_new_password(arguments))
    with change_passwords(directory) as passwords:
        if user in passwords.users:
            raise CommandFailed(Status.EXISTS, "user-exists", user=user, name=directory.name)
        passwords.set_user(UserEntry(user, kept, groups))
    print(message("user-added", user=user, name=directory.name))
    return Status.DONE


def _set_password(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.manager)
    _existing_user(directory, _read(directory), arguments.user)
    kept = new_hash(_new_password(arguments))
    with change_passwords(directory) as passwords:
        entry = _existing_user(directory, passwords, arguments.user)
        passwords.set_user(UserEntry(entry.name, kept, entry.groups))
    print(message("password-set", user=arguments.user, name=directory.name))
    return Status.DONE


def _set_groups(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.manager)
    groups = _groups(arguments.groups)
    with change_passwords(directory) as passwords:
        entry = _existing_user(directory, passwords, arguments.user)
        passwords.set_user(UserEntry(entry.name, entry.hash, groups))
    print(message("groups-set", user=arguments.user, name=directory.name, groups=_groups_text(groups)))
    return Status.DONE


def _delete(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.manager)
    with change_passwords(directory) as passwords:
        _existing_user(directory, passwords, arguments.user)
        passwords.delete_user(arguments.user)
    print(message("user-deleted", user=arguments.user, name=directory.name))
    return Status.DONE


def _list(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.manager)
    entries = sorted(_read(directory).users.values(), key=lambda each: each.name)
    if arguments.is_json:
        rows = [{"user": each.name, "groups": list(each.groups), "password": each.hash is not None} for each in entries]
        print(json.dumps(rows, indent=2))
        return Status.DONE
    width = max((len(each.name) for each in entries), default=0)
    for each in entries:
        without = "" if each.hash else "  (no password)"
        print(f"{each.name:<{width}}  {_groups_text(each.groups)}{without}")
    return Status.DONE


def _check(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.manager)
    try:
        settings = QueueManagerIni.read(directory.ini).settings
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=error) from error
    password = _password(arguments, "Password: ")
    users = Users(directory, settings)
    verdict = users.check_password(SOURCE_PAM if arguments.pam else SOURCE_OPERATING_SYSTEM, arguments.user, password)
    if not verdict.ok:
        raise CommandFailed(Status.NOT_AUTHORIZED, "password-wrong", user=arguments.user, why=verdict.why)
    kind = ", who administers the queue manager," if users.is_administrator(arguments.user) else ""
    print(
        message("password-right", user=arguments.user, kind=kind, groups=_groups_text(users.groups_of(arguments.user)))
    )
    return Status.DONE


# -- names and files ---------------------------------------------------------------------------------------------------


def new_hash(password: str) -> PasswordHash:
    """Returns the salted hash of a password. Fails for an invalid password."""
    problem = password_problem(password)
    if problem:
        raise CommandFailed(Status.PARAMETER_WRONG, "no-password", why=problem)
    return hash_password(password, os.urandom(SALT_BYTES))


def _name(name: str) -> str:
    problem = name_problem(name)
    if problem:
        raise CommandFailed(Status.PARAMETER_WRONG, "no-user-name", user=name, why=problem)
    return name


def _groups(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys([_name(group.strip()) for group in text.split(",") if group.strip()]))


def _groups_text(groups: tuple[str, ...]) -> str:
    return ", ".join(groups) or "no groups"


def _existing_user(directory: QueueManagerDirectory, passwords: PasswordFile, user: str) -> UserEntry:
    entry = passwords.users.get(user)
    if entry is None:
        raise CommandFailed(Status.DOES_NOT_EXIST, "no-user", user=user, name=directory.name)
    return entry


def _read(directory: QueueManagerDirectory) -> PasswordFile:
    with _failures(directory):
        return read_passwords(password_path(directory))[0]


@contextmanager
def change_passwords(directory: QueueManagerDirectory) -> Iterator[PasswordFile]:
    """Opens the password file for changes; errors become failures of the command."""
    refuse_on_replica(directory, PASSWORDS)
    with _failures(directory), edit_passwords(directory) as passwords:
        yield passwords


@contextmanager
def _failures(directory: QueueManagerDirectory) -> Iterator[None]:
    path = password_path(directory)
    try:
        yield
    except PasswordFileError as error:
        raise CommandFailed(Status.UNEXPECTED, "password-file-wrong", path=path, why=error) from error
    except PermissionError as error:
        raise CommandFailed(Status.NOT_AUTHORIZED, "AMQ7077E", why=f"{path}: {error.strerror}") from error
    except (OSError, ValueError) as error:
        raise CommandFailed(Status.UNEXPECTED, "password-file-wrong", path=path, why=error) from error


# -- passwords ---------------------------------------------------------------------------------------------------------


def _new_password(arguments: argparse.Namespace) -> str:
    password = _password(arguments, f"New password of {arguments.user}: ")
    is_typed = not arguments.reads_input and arguments.password_file is None
    if is_typed and _prompt("Once more: ") != password:
        raise CommandFailed(Status.PARAMETER_WRONG, "no-password", why="the two passwords differ")
    return password


def _password(arguments: argparse.Namespace, prompt: str) -> str:
    if arguments.reads_input:
        return _first_line(sys.stdin.buffer.readline(_READ_BYTES_MAX), "standard input")
    if arguments.password_file is not None:
        try:
            with open(arguments.password_file, "rb") as file:
                return _first_line(file.readline(_READ_BYTES_MAX), str(arguments.password_file))
        except OSError as error:
            why = f"{arguments.password_file}: {error.strerror}"
            raise CommandFailed(Status.PARAMETER_WRONG, "no-password", why=why) from error
    if not sys.stdin.isatty():
        why = "there is no terminal to ask for it; use --password-stdin or --password-file"
        raise CommandFailed(Status.PARAMETER_WRONG, "no-password", why=why)
    return _prompt(prompt)


def _first_line(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise CommandFailed(Status.PARAMETER_WRONG, "no-password", why=f"{where} is not UTF-8 text") from error


def _prompt(prompt: str) -> str:
    try:
        return getpass.getpass(prompt)
    except EOFError:
        raise CommandFailed(Status.PARAMETER_WRONG, "no-password", why="nothing was typed") from None
