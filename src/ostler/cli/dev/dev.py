"""`ostler dev`: creates and starts a queue manager with the developer configuration of MQ, in one command."""

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
_DESCRIPTION: Final = """Create, if need be, and start a queue manager with the developer configuration of IBM's
container image: queues DEV.QUEUE.1 to 3, topic DEV.BASE.TOPIC, channels DEV.APP.SVRCONN and DEV.ADMIN.SVRCONN, users
app and admin. It prints code to paste into programs. Existing settings are kept."""


@dataclass(frozen=True)
class _DeveloperUser:
    """One of the two users: the variable with its password, and its groups."""

    user: str
    variable: str
    groups: tuple[str, ...]


_USERS: Final = (
    _DeveloperUser(configuration.APPLICATION_USER, configuration.APPLICATION_PASSWORD, ()),
    _DeveloperUser(configuration.ADMINISTRATOR_USER, configuration.ADMINISTRATOR_PASSWORD, (ADMINISTRATORS,)),
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
    parser.add_argument("--foreground", action="store_true", help="run in this process and show the error log")
    parser.add_argument(
        "--take-over",
        action="store_true",
        help="configure an existing queue manager that was not created by this command",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory = manager_directory(arguments.name)
    _check_address(arguments)
    is_running, process = running_process(directory)
    if is_running and arguments.foreground:
        where = f" in {describe_process(process)}" if process else ""
        raise CommandFailed(Status.RUNNING, "AMQ7005E", name=directory.name, where=where)
    if not directory.exists():
        _command("crtmqm", directory.name)
    elif not arguments.take_over and not _is_for_developers(directory):
        # Its channel rules and password settings would be replaced, and an administrator added.
        raise CommandFailed(Status.EXISTS, "not-for-developers", name=directory.name)
    # The users exist before clients can connect.
    _ensure_users(existing_manager(directory.name), arguments)
    if arguments.foreground:
        is_given = arguments.app_password is not None or arguments.admin_password is not None
        forget_secrets(_without_passwords(directory, arguments), is_given)
        return _run_in_foreground(directory, arguments)
    if not is_running:
        status = _command("strmqm", directory.name)
        if status != Status.DONE:
            return status
    _configure(directory, arguments)
    return Status.DONE


def _without_passwords(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> list[str]:
    """Returns this command without passwords, which are stored as hashes by then."""
    command = ["dev", directory.name, "--foreground"]
    if arguments.port is not None:
        command += ["--port", str(arguments.port)]
    if arguments.address is not None:
        command += ["--address", arguments.address]
    return command


def _check_address(arguments: argparse.Namespace) -> None:
    """Rejects a wrong port or address before anything is created."""
    port, address = arguments.port, arguments.address
    if port is not None and not 1 <= port <= 65_535:
        raise CommandFailed(
            Status.PARAMETER_WRONG, "AMQ7076E", why=f"--port {port} is not a port: ports are 1 to 65535."
        )
    if address is not None and address != configuration.EVERYWHERE:
        try:
            found = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            with socket.socket(*found[0][:3]) as trial:
                trial.bind(found[0][4])
        except (OSError, UnicodeError) as error:
            why = f"--address {address} is not an address of this machine: {error}."
            raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why) from error


def _command(name: str, *words: str) -> int:
    """Runs another command of this program, which prints its own messages; returns its status."""
    from ostler.cli.main import build_parser

    parsed = build_parser(name).parse_args([name, *words])
    status: int = parsed.run(parsed)
    return status


def _is_for_developers(directory: QueueManagerDirectory) -> bool:
    """Returns whether `ostler dev` created the queue manager: its users exist from the beginning."""
    with change_passwords(directory) as passwords:
        return any(who.user in passwords.users for who in _USERS)


# -- users -------------------------------------------------------------------------------------------------------------


def _ensure_users(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> None:
    """Adds both users to the password file, and shows passwords that were generated."""
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
        # Shown at once: from here on only their hashes exist.
        print("Passwords were generated. They are shown only now; the queue manager stores hashes.\n")
        print("\n".join(made), end="\n\n", flush=True)


# -- configuration -----------------------------------------------------------------------------------------------------


def _configure(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> None:
    """Configures a running queue manager, starts its listener, and prints hints for its use."""
    there = _listener(directory)
    if there is None:
        address, port = arguments.address or _LOOPBACK, arguments.port or _PORT
        _mqsc(directory, configuration.SCRIPT)
        _mqsc(directory, configuration.listener(address, port))
    else:
        address = there[0] if arguments.address is None else arguments.address
        port = arguments.port or there[1]
        if (address, port) != there:
            _mqsc(directory, configuration.move_listener(address, port))
    if not _is_listening(directory):
        _mqsc(directory, f"START LISTENER({configuration.LISTENER})\n")
    print(f"\n{configuration.hints(directory.name, address, port)}", end="", flush=True)


def _listener(directory: QueueManagerDirectory) -> tuple[str, int] | None:
    """Returns the address and the port of the developers' listener; None without one."""
    lines, _ = _run_mqsc(directory, f"DISPLAY LISTENER({configuration.LISTENER}) IPADDR PORT\n")
    text = "\n".join(lines)
    port = re.search(r"\bPORT\((\d+)\)", text)
    address = re.search(r"\bIPADDR\(([^)]*)\)", text)
    return ((address[1].strip() if address else "", int(port[1]))) if port else None


def _is_listening(directory: QueueManagerDirectory) -> bool:
    lines, failures = _run_mqsc(directory, f"DISPLAY LSSTATUS({configuration.LISTENER}) STATUS\n")
    return not failures and any("STATUS(RUNNING)" in line for line in lines)


def _mqsc(directory: QueueManagerDirectory, text: str) -> None:
    """Runs MQSC commands; fails unless all succeed."""
    lines, failures = _run_mqsc(directory, text)
    if failures:
        errors = [line.strip() for line in lines if _AN_ERROR.search(line)] or [line for line in lines if line.strip()]
        why = "\n".join(errors[:_FAILED_LINES_SHOWN])
        raise CommandFailed(Status.UNEXPECTED, "not-configured", name=directory.name, why=why)


def _run_mqsc(directory: QueueManagerDirectory, text: str) -> tuple[list[str], int]:
    """Returns the answer of a queue manager to MQSC, and the number of failed commands."""
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


def _run_in_foreground(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> int:
    """Runs the queue manager in this process. A thread configures it as soon as it is ready, as a client."""
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
