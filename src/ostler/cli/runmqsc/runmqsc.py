"""`ostler runmqsc`: runs MQSC commands from a file, from a pipe, or from the terminal."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, existing_manager, refuse_options, whole_number
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.runmqsc.runners import LocalRunner, QueuedRunner, Runner, Verifier
from ostler.cli.runmqsc.script import NotUtf8, first_line, read_parts
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.process_file import ManagerState, state_of

_STANDARD_INPUT: Final = 0
_WAIT_SECONDS_MAX: Final = 999_999
_PASSWORD_VARIABLE: Final = "OSTLER_PASSWORD"
_PROGRESS_SECONDS: Final = 0.5
_FLUSH_SECONDS: Final = 0.2
_REFUSED_ALONE: Final = {
    "-x": "there is no queue manager for z/OS here",
    "-n": "tables of client channels are JSON here: edit them as text, or define CLNTCONN channels in a queue manager",
}


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "runmqsc",
        "run MQSC commands",
        "Run MQSC commands from a file, from standard input, or as you type them. "
        "Ends with 0 when all were done, 10 when some failed, 20 when none could be run.",
        Status.NOT_DONE,
    )
    parser.add_argument("name", metavar="QMGR", nargs="?", help="the queue manager (the default one)")
    parser.add_argument("-f", dest="file", type=Path, metavar="FILE", help="read the commands from this file")
    parser.add_argument("-e", dest="no_echo", action="store_true", help="do not repeat the commands in the report")
    parser.add_argument("-v", dest="verifies", action="store_true", help="only check the commands, run none")
    parser.add_argument("-c", dest="is_client", action="store_true", help="connect as a client (MQSERVER, CCDT)")
    parser.add_argument(
        "-u",
        dest="user",
        metavar="USER",
        help="who connects; the password is asked for, or is the first line of the input",
    )
    parser.add_argument(
        "-w",
        dest="wait",
        type=whole_number,
        metavar="SECONDS",
        help="send the commands as messages and wait so long for each answer",
    )
    parser.add_argument("-m", dest="by", metavar="QMGR", help="with -w: the queue manager that sends them")
    refuse_options(parser, _REFUSED_ALONE, 0)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    session: MqscSession | None = None
    descriptor = _STANDARD_INPUT
    try:
        _check(arguments)
        descriptor = _input(arguments.file)
        is_typed = arguments.file is None and sys.stdin.isatty()
        session = MqscSession(_runner(arguments, is_typed, descriptor))
        return session.interactive() if is_typed else session.batch(descriptor)
    except CommandFailed as failed:
        # In MQ one status of runmqsc means that no command could be run.
        failed.status = _failed(session)
        raise
    except MQError as error:
        if error.reason == mq.MQRC_NOT_AUTHORIZED:
            raise CommandFailed(_failed(session), "AMQ8135E", why=error) from error
        raise CommandFailed(_failed(session), "AMQ8146E", name=_label(arguments), why=error) from error
    finally:
        if descriptor != _STANDARD_INPUT:
            os.close(descriptor)


def _failed(session: MqscSession | None) -> Status:
    return Status.PARTLY_DONE if session is not None and session.runner.counts.read else Status.NOT_DONE


def _label(arguments: argparse.Namespace) -> str:
    return str(arguments.name or "(any)")


def _check(arguments: argparse.Namespace) -> None:
    if arguments.by is not None and arguments.wait is None:
        raise CommandFailed(Status.NOT_DONE, "AMQ5203E", option="-m", why="it needs -w.")
    if arguments.wait is not None and not 1 <= arguments.wait <= _WAIT_SECONDS_MAX:
        raise CommandFailed(Status.NOT_DONE, "AMQ5203E", option="-w", why=f"it is from 1 to {_WAIT_SECONDS_MAX}.")


def _input(file: Path | None) -> int:
    """The source of commands, as a file descriptor."""
    if file is None:
        return _STANDARD_INPUT
    try:
        return os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CommandFailed(Status.NOT_DONE, "cannot-read", what=file, why=error.strerror) from error


# -- who runs the commands ---------------------------------------------------------------------------------------------


def _runner(arguments: argparse.Namespace, is_typed: bool, descriptor: int) -> Runner:
    # One who types commands sees them anyway.
    echoes = not arguments.no_echo and not is_typed
    if arguments.verifies:
        name = existing_manager(arguments.name).name if arguments.name else ""
        return Verifier(name, echoes)
    if not arguments.is_client and arguments.wait is None and arguments.user is None:
        directory = existing_manager(arguments.name)
        _refuse_replica(directory)
        return LocalRunner(directory, echoes)
    return _queued(arguments, echoes, is_typed, descriptor)


def _refuse_replica(directory: QueueManagerDirectory) -> None:
    """Fails for a replica: commands are for the active instance, whose address is told."""
    if state_of(directory) is not ManagerState.REPLICA:
        return
    from ostler.cli.ha.engine import instance_status

    status = instance_status(directory)
    address = status.leader_address() if status is not None else ""
    where = f"The active instance is at {address}." if address else "No active instance is known here."
    why = f"this instance is a replica, and takes no commands. {where}"
    raise CommandFailed(Status.NOT_DONE, "AMQ8146E", name=directory.typed_name, why=why)


def _queued(arguments: argparse.Namespace, echoes: bool, is_typed: bool, descriptor: int) -> Runner:
    """Commands as messages: from here through a queue manager of this machine, or as a client."""
    import ostler
    from ostler.cli.runmqsc.command_queue import WAIT_SECONDS, CommandQueue

    password = _password(arguments.user, is_typed, descriptor) if arguments.user is not None else None
    if arguments.is_client:
        connection = ostler.connect(
            arguments.by or arguments.name or "",
            binding="client",
            user=arguments.user,
            password=password,
            application="ostler runmqsc",
        )
    else:
        connection = ostler.connect(
            _sender(arguments), binding="local", user=arguments.user, password=password, application="ostler runmqsc"
        )
    target = arguments.name if arguments.wait is not None and arguments.name else ""
    queue = CommandQueue(connection, target, float(arguments.wait or WAIT_SECONDS))
    return QueuedRunner(arguments.name or connection.name, echoes, queue)


def _sender(arguments: argparse.Namespace) -> str:
    """The queue manager that sends the messages: -m, else the default one, else the one that they are for."""
    if arguments.by is not None or arguments.wait is None:
        return existing_manager(arguments.by or arguments.name).name
    try:
        return existing_manager(None).name
    except CommandFailed:
        return existing_manager(arguments.name).name


def _password(user: str, is_typed: bool, descriptor: int) -> str:
    """The password: from the environment, from the person who types, or the first line of the input."""
    if _PASSWORD_VARIABLE in os.environ:
        return os.environ[_PASSWORD_VARIABLE]
    if is_typed:
        return getpass.getpass(f"Password of {user}: ", stream=sys.stderr)
    return first_line(descriptor)


# -- the session -------------------------------------------------------------------------------------------------------


class MqscSession:
    """Runs commands in batch or interactive mode, and prints the summary."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    def batch(self, descriptor: int) -> int:
        self._begin()
        progress = _Progress()
        try:
            # An empty script fails, too, if no queue manager answers.
            self.runner.check()
            for line in self._report(descriptor, progress):
                print(line)
        finally:
            progress.end()
            self._finish()
        return self.runner.counts.exit_code

    def _report(self, descriptor: int, progress: _Progress) -> Iterator[str]:
        try:
            for parts in read_parts(descriptor):
                flushed_at = time.monotonic()
                for line in self.runner.run(parts):
                    yield line
                    progress.show(self.runner.counts.read)
                    if time.monotonic() - flushed_at >= _FLUSH_SECONDS:
                        flushed_at = time.monotonic()
                        sys.stdout.flush()
                # A program may wait for the answer before it sends the next command.
                sys.stdout.flush()
        except NotUtf8 as error:
            raise CommandFailed(Status.NOT_DONE, "cannot-read", what="The script", why=error) from error
        except OSError as error:
            raise CommandFailed(Status.NOT_DONE, "cannot-read", what="The script", why=error.strerror) from error

    def interactive(self) -> int:
        """Runs the prompt until END, QUIT, EXIT or the end of input."""
        from ostler.cli.runmqsc.repl import Repl

        # A missing queue manager is reported before the first command is typed.
        self.runner.check()
        self._begin()
        print("HELP describes the commands, END leaves.")
        try:
            Repl(self.runner).run()
        finally:
            self._finish()
        return self.runner.counts.exit_code

    def _begin(self) -> None:
        name = f" for queue manager {self.runner.name}" if self.runner.name else ""
        print(f"Starting MQSC{name}.", flush=True)

    def _finish(self) -> None:
        self.runner.close()
        for line in self.runner.counts.summary():
            print(line, flush=True)


class _Progress:
    """Shows progress on standard error, if the report goes to a file."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty() and not sys.stdout.isatty()
        self._next = time.monotonic() + _PROGRESS_SECONDS
        self._width = 0

    def show(self, read: int) -> None:
        if self._is_shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + _PROGRESS_SECONDS
            text = f"{read} commands"
            self._width = max(self._width, len(text))
            print(f"\r{text}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._width:
            print(f"\r{' ' * self._width}\r", end="", file=sys.stderr, flush=True)
