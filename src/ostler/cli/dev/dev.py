"""`ostler dev`: a queue manager with the configuration that MQ developers know, in one command."""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shlex
import socket
import sys
import threading
from dataclasses import dataclass
from typing import Final

from ostler.cli.dev import configuration
from ostler.cli.framework import commands
from ostler.cli.framework.commands import (
    CommandFailed,
    existing_manager,
    manager_directory,
    request_action,
    whole_number,
)
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.strmqm import forget_secrets
from ostler.cli.users import change_passwords, new_hash
from ostler.security.passwords import UserEntry, verify
from ostler.server.config.directories import QueueManagerDirectory, describe_process, running_process
from ostler.server.queue_manager import QueueManager
from ostler.server.security.users import ADMINISTRATORS

_NAME: Final = "QM1"
_PORT: Final = 1414
_LOOPBACK: Final = "127.0.0.1"
_PASSWORD_BYTES: Final = 12
_FAILED_LINES_SHOWN: Final = 12
_AN_ERROR: Final = re.compile(r"AMQ(\d+[EWS]|84\d\dI):")  # syntax errors end in I
_DESCRIPTION: Final = """Make, if need be, and start a queue manager with the developer configuration of IBM's container
image: queues DEV.QUEUE.1 to 3, topic DEV.BASE.TOPIC, channels DEV.APP.SVRCONN and DEV.ADMIN.SVRCONN, users app and
admin. It shows what to paste into programs. What is there already stays as it is."""


@dataclass(frozen=True)
class _Who:
    """One of the two users: where its password may come from, and its groups."""

    user: str
    variable: str
    groups: tuple[str, ...]


_USERS: Final = (
    _Who(configuration.APPLICATION_USER, configuration.APPLICATION_PASSWORD, ()),
    _Who(configuration.ADMINISTRATOR_USER, configuration.ADMINISTRATOR_PASSWORD, (ADMINISTRATORS,)),
)


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers, "dev", "a developer's queue manager in one command", _DESCRIPTION, Status.PARAMETER_WRONG
    )
    parser.add_argument("name", metavar="QMGR", nargs="?", default=_NAME, help="its name (%(default)s)")
    parser.add_argument("--port", type=whole_number, metavar="PORT", help=f"where it listens ({_PORT})")
    parser.add_argument(
        "--address", metavar="IP", help=f"on which address; '*' is every one ({_LOOPBACK}: this machine alone)"
    )
    parser.add_argument(
        "--app-password", metavar="P", help="the password of app (MQ_APP_PASSWORD; else one is made and shown once)"
    )
    parser.add_argument(
        "--admin-password", metavar="P", help="the password of admin (MQ_ADMIN_PASSWORD; else one is made, too)"
    )
    parser.add_argument("--foreground", action="store_true", help="stay here and show the error log")
    parser.add_argument(
        "--take-over", action="store_true", help="configure it although it is there and was made for something else"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory = manager_directory(arguments.name)
    _check_place(arguments)
    is_running, process = running_process(directory)
    if is_running and arguments.foreground:
        where = f" in {describe_process(process)}" if process else ""
        raise CommandFailed(Status.RUNNING, "AMQ7005E", name=directory.name, where=where)
    if not directory.exists():
        _command("crtmqm", directory.name)
    elif not arguments.take_over and not _is_for_developers(directory):
        # Its rules for channels and passwords would be replaced, and an administrator added.
        raise CommandFailed(Status.EXISTS, "not-for-developers", name=directory.name)
    # The users are there before anybody can connect.
    _settle_users(existing_manager(directory.name), arguments)
    if arguments.foreground:
        is_given = arguments.app_password is not None or arguments.admin_password is not None
        forget_secrets(_without_passwords(directory, arguments), is_given)
        return _stay(directory, arguments)
    if not is_running:
        status = _command("strmqm", directory.name)
        if status != Status.DONE:
            return status
    _configure(directory, arguments)
    return Status.DONE


def _without_passwords(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> list[str]:
    """This command as it goes on when the passwords are kept as hashes."""
    command = ["dev", directory.name, "--foreground"]
    if arguments.port is not None:
        command += ["--port", str(arguments.port)]
    if arguments.address is not None:
        command += ["--address", arguments.address]
    return command


def _check_place(arguments: argparse.Namespace) -> None:
    """A port or an address that is none is told before anything is made."""
    port, address = arguments.port, arguments.address
    if port is not None and not 1 <= port <= 65_535:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=f"--port {port} is no port: 1 to 65535 are.")
    if address is not None and address != configuration.EVERYWHERE:
        try:
            found = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            with socket.socket(*found[0][:3]) as trial:
                trial.bind(found[0][4])
        except (OSError, UnicodeError) as error:
            why = f"--address {address} is none of this machine's: {error}."
            raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why) from error


def _command(name: str, *words: str) -> int:
    """Another command of this program, which says for itself what it did."""
    from ostler.cli.main import build_parser

    parsed = build_parser(name).parse_args([name, *words])
    status: int = parsed.run(parsed)
    return status


def _is_for_developers(directory: QueueManagerDirectory) -> bool:
    """Whether this command has made the queue manager: its users are there from the beginning."""
    with change_passwords(directory) as passwords:
        return any(who.user in passwords.users for who in _USERS)


# -- users -------------------------------------------------------------------------------------------------------------


def _settle_users(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> None:
    """Have both users in the password file, and show passwords that were made here."""
    made: list[str] = []
    options = {
        configuration.APPLICATION_USER: arguments.app_password,
        configuration.ADMINISTRATOR_USER: arguments.admin_password,
    }
    with change_passwords(directory) as passwords:
        for who in _USERS:
            given = options[who.user] if options[who.user] is not None else os.environ.get(who.variable) or None
            entry = passwords.users.get(who.user)
            if entry is None:
                password = secrets.token_urlsafe(_PASSWORD_BYTES) if given is None else given
                passwords.set_user(UserEntry(who.user, new_hash(password), who.groups))
                if given is None:
                    made.append(f"  export {who.variable}={shlex.quote(password)}")
            elif given is not None and (entry.hash is None or not verify(entry.hash, given)):
                passwords.set_user(UserEntry(who.user, new_hash(given), entry.groups))
    if made:
        # At once: whatever goes wrong from here on, they are kept as hashes only.
        print("Passwords were made. They are shown this once; nobody can read them from the queue manager later.\n")
        print("\n".join(made), end="\n\n", flush=True)


# -- configuration -----------------------------------------------------------------------------------------------------


def _configure(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> None:
    """Have a running queue manager be configured and listen, and show what to do with it."""
    there = _listener(directory)
    if there is None:
        address, port = arguments.address or _LOOPBACK, arguments.port or _PORT
        _mqsc(directory, configuration.SCRIPT)
        _mqsc(directory, configuration.listener(address, port))
    else:
        address = there[0] if arguments.address is None else arguments.address
        port = arguments.port or there[1]
        if (address, port) != there:
            _mqsc(directory, configuration.moved(address, port))
    if not _is_listening(directory):
        _mqsc(directory, f"START LISTENER({configuration.LISTENER})\n")
    print(f"\n{configuration.hints(directory.name, address, port)}", end="", flush=True)


def _listener(directory: QueueManagerDirectory) -> tuple[str, int] | None:
    """The address and the port of the developers' listener; None where it is not there."""
    lines, _ = _ask(directory, f"DISPLAY LISTENER({configuration.LISTENER}) IPADDR PORT\n")
    text = "\n".join(lines)
    port = re.search(r"\bPORT\((\d+)\)", text)
    address = re.search(r"\bIPADDR\(([^)]*)\)", text)
    return ((address[1].strip() if address else "", int(port[1]))) if port else None


def _is_listening(directory: QueueManagerDirectory) -> bool:
    lines, failures = _ask(directory, f"DISPLAY LSSTATUS({configuration.LISTENER}) STATUS\n")
    return not failures and any("STATUS(RUNNING)" in line for line in lines)


def _mqsc(directory: QueueManagerDirectory, text: str) -> None:
    """Run commands that must all succeed."""
    lines, failures = _ask(directory, text)
    if failures:
        told = [line.strip() for line in lines if _AN_ERROR.search(line)] or [line for line in lines if line.strip()]
        why = "\n".join(told[:_FAILED_LINES_SHOWN])
        raise CommandFailed(Status.UNEXPECTED, "not-configured", name=directory.name, why=why)


def _ask(directory: QueueManagerDirectory, text: str) -> tuple[list[str], int]:
    """What a queue manager answers to MQSC, and how many commands failed."""
    lines: list[str] = []
    failures = 0
    for answer in request_action(directory, "mqsc", text=text, verify=False, echo=False):
        if "line" in answer:
            lines.append(str(answer["line"]))
        counts = answer.get("counts")
        if isinstance(counts, dict):
            failures += int(counts.get("failed", 0)) + int(counts.get("syntax_errors", 0))
    return lines, failures


# -- in the foreground -------------------------------------------------------------------------------------------------


def _stay(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> int:
    """Be the queue manager's process. A thread configures it as soon as it is ready, as any client would."""
    from ostler.cli.strmqm import Console, make_daemon

    failed: list[CommandFailed] = []

    def configure() -> None:
        try:
            _configure(directory, arguments)
        except CommandFailed as failure:
            failed.append(failure)
            for _ in request_action(directory, "end", mode="immediate"):
                pass

    class DeveloperConsole(Console):
        def ready(self, manager: QueueManager) -> None:
            super().ready(manager)
            threading.Thread(target=configure, name="developer-configuration", daemon=True).start()

    os.umask(0o077)
    console = DeveloperConsole(directory.name)
    status = make_daemon(directory, console, echo=console.echo).run()
    if failed:
        print(failed[0], file=sys.stderr)
        return failed[0].status
    return status
