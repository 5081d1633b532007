"""Shared by all commands on queue managers: parser, names, failures, and requests to a running queue manager."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ostler.cli.framework.control_messages import message
from ostler.cli.framework.exit_statuses import Status
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.default_manager import default_name
from ostler.server.config.directories import (
    QueueManagerDirectory,
    data_root,
    describe_process,
    locate,
    running_process,
)
from ostler.server.config.ini_file import ConfigurationError


class CommandFailed(Exception):
    """A command fails: the message to print and the exit status."""

    def __init__(self, status: int, number: str, **inserts: object) -> None:
        super().__init__(message(number, **inserts))
        self.status = int(status)


class CommandParser(argparse.ArgumentParser):
    """Exits with the status that MQ's command has for wrong options."""

    usage_status = 2

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Reports unknown arguments with the usage and exit status of the command, not of the whole program."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, text: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(self.usage_status, f"{self.prog}: {text}\n")


class RefuseOption(argparse.Action):
    """Rejects an option of MQ's command that has no meaning here, instead of ignoring it; `const` is the reason."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        assert isinstance(parser, CommandParser)
        raise CommandFailed(parser.usage_status, "AMQ5203E", option=option_string, why=self.const)


def add_command(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    help: str,
    description: str,
    usage_status: int,
    add_help: bool = True,
) -> CommandParser:
    """Adds a subcommand that exits with `usage_status` when its options are wrong."""
    parser = subparsers.add_parser(name, help=help, description=description, add_help=add_help, allow_abbrev=False)
    assert isinstance(parser, CommandParser)
    parser.usage_status = usage_status
    return parser


def refuse_options(parser: argparse.ArgumentParser, options: dict[str, str], nargs: int | str) -> None:
    """Adds options of MQ's command that have no meaning here, each with the reason it is refused for."""
    for option, why in options.items():
        parser.add_argument(option, action=RefuseOption, nargs=nargs, const=why, help=argparse.SUPPRESS)


def root() -> Path:
    """Returns the directory that holds the queue managers (OSTLER_DATA)."""
    return data_root(os.environ)


def manager_directory(given: str | None, default: bool = True) -> QueueManagerDirectory:
    """Returns the directory of the queue manager named, or of the default one. It need not exist."""
    name = given or ""
    if not name and default:
        try:
            name = default_name(root())
        except ConfigurationError as error:
            raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=error) from error
    if not name:
        raise CommandFailed(Status.NAME_ERROR, "AMQ9244E", root=root())
    try:
        return locate(root(), name)
    except ValueError:
        raise CommandFailed(Status.NAME_ERROR, "AMQ7049E", name=name) from None


def existing_manager(given: str | None, missing: Status = Status.NAME_ERROR) -> QueueManagerDirectory:
    """Returns the directory of the queue manager named, or of the default one; fails with `missing` without one."""
    directory = manager_directory(given)
    if not directory.exists():
        if missing == Status.DOES_NOT_EXIST:
            raise CommandFailed(missing, "AMQ8118E", name=directory.name)
        raise CommandFailed(missing, "AMQ7048E", name=directory.name, root=directory.root)
    return directory


def request_action(
    directory: QueueManagerDirectory, action: str, not_running: Status = Status.NOT_AVAILABLE, **arguments: object
) -> Iterator[dict[str, object]]:
    """Yields the answers of a running queue manager to a control action; fails with `not_running` without one."""
    from ostler.client.link.control import NotRunningError, control

    try:
        yield from control(directory, action, **arguments)
    except NotRunningError:
        raise CommandFailed(not_running, "AMQ8146E", name=directory.name, why=_why_no_answer(directory)) from None
    except MQError as error:
        if error.reason != mq.MQRC_NOT_AUTHORIZED:
            raise
        raise CommandFailed(Status.NOT_AUTHORIZED, "AMQ7077E", why=error.detail) from error


def _why_no_answer(directory: QueueManagerDirectory) -> str:
    is_running, process = running_process(directory)
    if not is_running:
        return f"it is not running. Start it: ostler strmqm {directory.typed_name}"
    return f"it is inside {describe_process(process)}, which accepts no commands, or has not finished starting."


def operating_system_failure(error: OSError) -> CommandFailed | None:
    """Returns the failure to report for an operating system error; None if it names no reason, which is a bug."""
    if not error.strerror:
        return None
    where = f"{error.filename}: {error.strerror}." if error.filename is not None else f"{error.strerror}."
    if isinstance(error, PermissionError):
        why = f"{where} The files of a queue manager are for the user who owns it; other users connect as clients."
        return CommandFailed(Status.NOT_AUTHORIZED, "AMQ7077E", why=why)
    if error.filename is None:
        return None
    return CommandFailed(Status.UNEXPECTED, "AMQ6119E", why=where)


def expected_failure(error: Exception) -> CommandFailed | None:
    """Returns the failure to report for damage, wrong configuration, or a queue manager in the wrong state.

    None for unexpected exceptions.
    """
    from ostler.log.errors import LogError
    from ostler.model.disk import DiskFailed, DiskFull
    from ostler.security.passwords import PasswordFileError
    from ostler.server.config.directories import (
        QueueManagerExistsError,
        QueueManagerNotFoundError,
        QueueManagerRunningError,
    )
    from ostler.server.tls.certificate_maker import CertificateError
    from ostler.server.tls.key_repository import RepositoryError

    text = str(error)
    why = f"{text[:1].upper()}{text[1:].rstrip('.')}."
    if isinstance(error, QueueManagerRunningError):
        return CommandFailed(Status.RUNNING, "AMQ6119E", why=why)
    if isinstance(error, QueueManagerNotFoundError):
        return CommandFailed(Status.NAME_ERROR, "AMQ6119E", why=why)
    if isinstance(error, QueueManagerExistsError):
        return CommandFailed(Status.EXISTS, "AMQ6119E", why=why)
    if isinstance(error, ConfigurationError):
        return CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=why)
    if isinstance(error, (PasswordFileError, CertificateError, RepositoryError, LogError, DiskFull, DiskFailed)):
        return CommandFailed(Status.UNEXPECTED, "AMQ6119E", why=why)
    return None


class CommandOutput:
    """Prints the messages of a command, unless it is quiet (-z)."""

    def __init__(self, is_quiet: bool = False) -> None:
        self._is_quiet = is_quiet

    def message(self, number: str, **inserts: object) -> None:
        self.line(message(number, **inserts))

    def line(self, text: str) -> None:
        if not self._is_quiet:
            print(text, flush=True)


def whole_number(text: str) -> int:
    """Converts an argument of digits only, for argparse."""
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)
