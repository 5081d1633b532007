"""`ostler strmqm`: starts a queue manager, in a process of its own or in the foreground.

In the background the command starts this module as a process (`main`) and reads its reports from a pipe, one JSON
object a line: {"progress": [done, total]} now and then during a long replay, then either {"ready": {...}} or
{"failed": "...", "status": n}. In the foreground the queue manager runs in this process and its error log is shown on
the console.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from ostler import __version__
from ostler.cli.framework import commands
from ostler.cli.framework.commands import (
    CommandFailed,
    CommandOutput,
    existing_manager,
    operating_system_failure,
    refuse_options,
)
from ostler.cli.framework.exit_statuses import Status
from ostler.server.config.directories import (
    QueueManagerDirectory,
    describe_process,
    is_being_killed,
    running_process,
)
from ostler.server.config.environment import without_secrets
from ostler.server.config.process_file import ENDING, state_of
from ostler.server.config.variables import variables_of_manager

if TYPE_CHECKING:
    # Loaded where they are used: the command itself needs no queue manager.
    from ostler.client.locate.embedded import ReplayBar
    from ostler.server.daemon import Daemon, Reporter, StartFailure
    from ostler.server.error_log import Echo
    from ostler.server.queue_manager import QueueManager

_OUTPUT: Final = "output.log"
_NO_PIPE: Final = -1
# Threads of a process that was killed end one after the other, and its lock goes with the last.
_KILLED_SECONDS_MAX: Final = 10.0
_OUTPUT_SHOWN_BYTES: Final = 2000
_PIPE_PROGRESS_SECONDS: Final = 0.2
_CONSOLE_PROGRESS_SECONDS: Final = 5.0
_COLOURS: Final = {"W": "\x1b[33m", "E": "\x1b[31m", "S": "\x1b[31;1m"}
_PLAIN: Final = "\x1b[0m"
_STANDBY: Final = "an instance of a group is started without it, and follows the one that leads"
_BACKUP: Final = "there are no backup queue managers here"
_REFUSED_ALONE: Final = {
    "-a": _BACKUP,
    "-r": _BACKUP,
    "-x": _STANDBY,
    "-f": "missing queue files are found at the start, and rcrmqobj recovers them",
    "-ss": "it starts as the user who runs the command; see docs/how-to/run-as-a-service.md",
}
_REFUSED_WITH_VALUE: Final = {"-e": "there is only one command level"}


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "strmqm",
        "start a queue manager",
        "Start a queue manager. The command returns when it accepts connections, or reports why it did not start.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("name", metavar="QMGR", nargs="?", help="its name (the default queue manager)")
    parser.add_argument(
        "--foreground",
        action="store_true",
        help="run in this process and show the error log: for containers and service managers",
    )
    parser.add_argument(
        "-si", dest="is_interactive", action="store_true", help="start as the user who runs the command, as always"
    )
    parser.add_argument("-ns", dest="no_services", action="store_true", help="start no listeners")
    parser.add_argument(
        "-c", dest="only_define", action="store_true", help="define the default objects again, then end"
    )
    parser.add_argument(
        "-d", dest="detail", choices=("all", "minimal", "none"), default="all", help="how much to print"
    )
    parser.add_argument("-z", dest="is_quiet", action="store_true", help="print errors only")
    parser.add_argument(
        "--stop-seconds",
        type=float,
        default=5.0,
        metavar="S",
        help="how long SIGTERM lets applications finish (%(default)s)",
    )
    refuse_options(parser, _REFUSED_ALONE, 0)
    refuse_options(parser, _REFUSED_WITH_VALUE, "?")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.name)
    output = CommandOutput(arguments.is_quiet or arguments.detail == "none")
    _check_not_running(directory)
    if arguments.only_define:
        return _redefine(directory, output)
    if arguments.foreground:
        os.environ.update(variables_of_manager(directory))
        forget_secrets(_foreground_command(directory, arguments))
        return run_in_foreground(directory, not arguments.no_services, arguments.stop_seconds)
    return _start(directory, arguments, output)


def _foreground_command(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> list[str]:
    command = ["strmqm", "--foreground", "--stop-seconds", str(arguments.stop_seconds), directory.name]
    return [*command, "-ns"] if arguments.no_services else command


def _check_not_running(directory: QueueManagerDirectory) -> None:
    is_running, process = running_process(directory)
    deadline = time.monotonic() + _KILLED_SECONDS_MAX
    while is_running and is_being_killed(process) and time.monotonic() < deadline:
        time.sleep(0.02)
        is_running, process = running_process(directory)
    if is_running and state_of(directory) in ENDING:
        raise CommandFailed(Status.STOPPING, "is-ending", name=directory.name)
    if is_running:
        where = f" in {describe_process(process)}" if process else ""
        raise CommandFailed(Status.RUNNING, "AMQ7005E", name=directory.name, where=where)


def _redefine(directory: QueueManagerDirectory, output: CommandOutput) -> int:
    """Defines the default objects as those of a new queue manager (strmqm -c)."""
    from ostler.model.system_objects import system_definitions
    from ostler.server.daemon import start_failure
    from ostler.server.queue_manager import QueueManager

    try:
        with QueueManager(directory) as manager:
            manager.start()
            definitions = system_definitions()
            for definition in definitions:
                manager.define(definition, replace=True)
    except Exception as error:
        failure = start_failure(directory.name, error)
        print(failure.text, file=sys.stderr)
        return failure.status
    output.message("default-objects", count=len(definitions))
    return Status.DONE


# -- in the background -------------------------------------------------------------------------------------------------


def _start(directory: QueueManagerDirectory, arguments: argparse.Namespace, output: CommandOutput) -> int:
    process, pipe = _spawn(directory, arguments)
    with pipe:
        report = _await_report(directory.name, pipe, sys.stderr.isatty() and arguments.detail == "all")
    if report is None:
        raise _died(directory, process)
    if "failed" in report:
        print(report["failed"], file=sys.stderr)
        return int(report["status"])
    ready = report["ready"]
    if arguments.detail == "all":
        output.message("AMQ7230I", records=ready["records"], seconds=ready["seconds"], messages=ready["messages"])
        for notice in ready["notices"]:
            output.line(str(notice))
    if "replica_of" in ready:
        where = ready["replica_of"]
        leader = f"The active instance is at {where}." if where else "No instance is active yet."
        output.message("started-as-replica", name=directory.typed_name, process=ready["pid"], leader=leader)
    else:
        output.message("AMQ8003I", name=directory.name, details=f" in process {ready['pid']}")
    # The process goes on by itself; Popen must not wait for it.
    process.returncode = 0
    return Status.DONE


def _spawn(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> tuple[subprocess.Popen[bytes], BinaryIO]:
    command = [sys.executable, "-P", "-m", "ostler.cli.strmqm"]
    command += ["--root", str(directory.root), "--name", directory.name, "--stop-seconds", str(arguments.stop_seconds)]
    if arguments.no_services:
        command.append("--no-services")
    reading, writing = os.pipe()
    try:
        with _output(directory) as file:
            process = subprocess.Popen(
                [*command, "--pipe", str(writing)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                pass_fds=(writing,),
                env=without_secrets({**os.environ, **variables_of_manager(directory)}),
                start_new_session=True,
            )
    except OSError as error:
        os.close(reading)
        failure = operating_system_failure(error)
        raise failure or CommandFailed(Status.UNEXPECTED, "AMQ6109E", what="Starting a process", why=error) from error
    finally:
        os.close(writing)
    return process, os.fdopen(reading, "rb")


def _output(directory: QueueManagerDirectory) -> BinaryIO:
    """Opens the output file; /dev/null if the disk is full, as a queue manager starts without one."""
    try:
        return _output_file(directory)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return open(os.devnull, "wb")


def _output_file(directory: QueueManagerDirectory) -> BinaryIO:
    """Opens the file for standard output and error of the process: of trusted applications, and of a crash."""
    directory.errors.mkdir(mode=0o700, exist_ok=True)
    path = directory.errors / _OUTPUT
    if path.exists() and path.stat().st_size:
        os.replace(path, directory.errors / f"{_OUTPUT}.old")
    path.unlink(missing_ok=True)  # its mode may be another
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def _await_report(name: str, pipe: BinaryIO, shows_progress: bool) -> dict[str, Any] | None:
    """Returns the last report of the process, ready or failed; None if it ended without one."""
    with contextlib.ExitStack() as open_bars:
        bar = None
        for line in pipe:
            report: dict[str, Any] = json.loads(line)
            if "progress" not in report:
                return report
            if shows_progress:
                if bar is None:
                    from ostler.client.locate.embedded import ReplayBar

                    bar = open_bars.enter_context(ReplayBar(name))
                bar(*report["progress"])
    return None


def _died(directory: QueueManagerDirectory, process: subprocess.Popen[bytes]) -> CommandFailed:
    status = process.wait()
    how = f"signal {-status}" if status < 0 else f"status {status}"
    path = directory.errors / _OUTPUT
    output = path.read_bytes()[-_OUTPUT_SHOWN_BYTES:].decode(errors="replace").strip() if path.exists() else ""
    shown = f" Its output:\n{output}" if output else ""
    return CommandFailed(Status.UNEXPECTED, "did-not-start", name=directory.name, how=how, output=shown)


# -- the process in the background -------------------------------------------------------------------------------------


class PipeReporter:
    """Reports the progress and the outcome of a start to strmqm over a pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._reported_at = time.monotonic()

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        now = time.monotonic()
        if now - self._reported_at >= _PIPE_PROGRESS_SECONDS:
            self._reported_at = now
            self._write({"progress": [done_bytes, total_bytes]})

    def ready(self, manager: QueueManager) -> None:
        summary = manager.restart
        ready: dict[str, object] = {
            "pid": os.getpid(),
            "records": summary.records,
            "messages": summary.messages,
            "seconds": summary.seconds,
            "notices": list(manager.notices),
        }
        followed = manager.followed_leader()
        if followed is not None:
            ready["replica_of"] = followed
        self._write({"ready": ready})
        self.close()

    def failed(self, failure: StartFailure) -> None:
        self._write({"failed": failure.text, "status": failure.status})
        self.close()

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _write(self, report: dict[str, object]) -> None:
        if self._descriptor >= 0:
            # strmqm may have been interrupted. The queue manager starts all the same.
            with contextlib.suppress(OSError):
                os.write(self._descriptor, json.dumps(report).encode() + b"\n")


def main() -> int:
    """Runs a queue manager in this process, which strmqm has started in the background."""
    parser = argparse.ArgumentParser(prog="ostler-queue-manager")
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--pipe", type=int, required=True)
    parser.add_argument("--no-services", action="store_true")
    parser.add_argument("--stop-seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    if arguments.pipe != _NO_PIPE:
        os.set_inheritable(arguments.pipe, False)
    os.umask(0o077)
    # The working directory of the caller can be unmounted while the queue manager runs.
    os.chdir(arguments.root)
    directory = QueueManagerDirectory(arguments.root, arguments.name)
    reporter = PipeReporter(arguments.pipe)
    daemon = make_daemon(directory, reporter, not arguments.no_services, arguments.stop_seconds)
    return daemon.run()


# -- in the foreground -------------------------------------------------------------------------------------------------


class Console:
    """Shows the error log with times, coloured by severity on a terminal, and reports the progress of the start."""

    def __init__(self, name: str) -> None:
        from ostler.client.locate.embedded import ReplayBar

        self._is_terminal = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._bar: ReplayBar | None = ReplayBar(name) if sys.stderr.isatty() else None
        self._reported_at = time.monotonic()

    def echo(self, line: str) -> None:
        number = line.partition(":")[0]
        colour = _COLOURS.get(number[-1:], "") if self._is_terminal else ""
        shown = f"{colour}{line}{_PLAIN}" if colour else line
        print(f"{time.strftime('%H:%M:%S')} {shown}", flush=True)

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        if self._bar is not None:
            self._bar(done_bytes, total_bytes)
        elif time.monotonic() - self._reported_at >= _CONSOLE_PROGRESS_SECONDS:
            self._reported_at = time.monotonic()
            self.echo(f"AMQ7229I: {done_bytes >> 20} of {total_bytes >> 20} MB of the log are replayed.")

    def ready(self, manager: QueueManager) -> None:
        self._close_bar()

    def failed(self, failure: StartFailure) -> None:
        self._close_bar()
        print(failure.text, file=sys.stderr, flush=True)

    def _close_bar(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)


def forget_secrets(command: list[str], is_on_command_line: bool = False) -> None:
    """Replaces this process by `command` without passwords in its environment, if it has or was given some.

    The environment and the arguments of a process can be read for as long as it runs, and this process is about to
    run the queue manager.
    """
    kept = without_secrets(os.environ)
    if is_on_command_line or len(kept) != len(os.environ):
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable, "-P", "-m", "ostler.cli.main", *command], kept)


def run_in_foreground(
    directory: QueueManagerDirectory,
    starts_services: bool = True,
    stop_seconds: float = 5.0,
    started: Callable[[QueueManager, Daemon], None] | None = None,
) -> int:
    """Runs a queue manager in this process until it ends; returns the exit status."""
    os.umask(0o077)
    console = Console(directory.name)
    return make_daemon(directory, console, starts_services, stop_seconds, console.echo, started).run()


# -- both --------------------------------------------------------------------------------------------------------------


def make_daemon(
    directory: QueueManagerDirectory,
    reporter: Reporter,
    starts_services: bool = True,
    stop_seconds: float = 5.0,
    echo: Echo | None = None,
    started: Callable[[QueueManager, Daemon], None] | None = None,
) -> Daemon:
    """Returns a daemon that runs a queue manager with sockets. Applications in this process can connect to it, too."""
    from ostler.cli.framework.flavour import is_compiled
    from ostler.client.locate import registry
    from ostler.server.admin.authority_actions import authority_actions
    from ostler.server.admin.control_actions import control_actions
    from ostler.server.daemon import Daemon, ServerProtocol

    def make_server(manager: QueueManager, daemon: Daemon) -> ServerProtocol:
        from ostler.server.assembly import Server

        registry.register(manager)
        server = Server(manager)
        server.actions.update(control_actions(manager, daemon))
        server.actions.update(authority_actions(server.context_for))
        if started is not None:
            started(manager, daemon)
        return server

    def restart() -> None:
        """Runs this process anew, with the same id; strmqm does not listen to it any more."""
        program = [sys.executable, "-P", "-m", "ostler.cli.strmqm", "--root", str(directory.root)]
        program += ["--name", directory.name, "--pipe", str(_NO_PIPE), "--stop-seconds", str(stop_seconds)]
        if not starts_services:
            program.append("--no-services")
        if echo is not None:
            program = [sys.executable, *sys.orig_argv[1:]]
        sys.stdout.flush()
        os.execv(sys.executable, program)

    flavour = "compiled" if is_compiled() else "interpreted"
    return Daemon(
        directory, reporter, make_server, __version__, flavour, stop_seconds, echo, starts_services, restart=restart
    )


if __name__ == "__main__":
    sys.exit(main())
