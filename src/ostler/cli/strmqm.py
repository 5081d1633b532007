"""`ostler strmqm`: start a queue manager, in the background or here."""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import subprocess
import sys
from typing import Any, BinaryIO, Final

from ostler.cli import commands
from ostler.cli.commands import CommandFailed, Speaker, existing, operating_system_failure, refuse_options
from ostler.cli.exit_statuses import Status
from ostler.server.config.directories import QueueManagerDirectory, describe_process, running_process
from ostler.server.config.environment import without_secrets
from ostler.server.config.process_file import ENDING, state_of

_OUTPUT: Final = "output.log"
_OUTPUT_SHOWN_BYTES: Final = 2000
_STANDBY: Final = "there are no standby instances here"
_BACKUP: Final = "there are no backup queue managers here"
_REFUSED_ALONE: Final = {
    "-a": _BACKUP,
    "-r": _BACKUP,
    "-x": _STANDBY,
    "-f": "queue files that are missing are found out at the start, and rcrmqobj recovers them",
    "-ss": "it starts as the user who runs the command; see docs/how-to/run-as-a-service.md",
}
_REFUSED_WITH_VALUE: Final = {"-e": "there is only one command level"}


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "strmqm",
        "start a queue manager",
        "Start a queue manager. The command returns when messages can flow, or says why they cannot.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("name", metavar="QMGR", nargs="?", help="its name (the default queue manager)")
    parser.add_argument(
        "--foreground",
        action="store_true",
        help="stay here and show the error log: for containers and service managers",
    )
    parser.add_argument(
        "-si", dest="is_interactive", action="store_true", help="start as the user who runs the command, as always"
    )
    parser.add_argument("-ns", dest="no_services", action="store_true", help="start no listeners")
    parser.add_argument("-c", dest="only_define", action="store_true", help="define the default objects anew, then end")
    parser.add_argument("-d", dest="detail", choices=("all", "minimal", "none"), default="all", help="how much to say")
    parser.add_argument("-z", dest="is_quiet", action="store_true", help="say nothing but errors")
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
    directory = existing(arguments.name)
    speaker = Speaker(arguments.is_quiet or arguments.detail == "none")
    _check_not_running(directory)
    if arguments.only_define:
        return _redefine(directory, speaker)
    if arguments.foreground:
        from ostler.cli.strmqm_foreground import forget_secrets, run_here

        forget_secrets(_foreground_command(directory, arguments))
        return run_here(directory, not arguments.no_services, arguments.stop_seconds)
    return _start(directory, arguments, speaker)


def _foreground_command(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> list[str]:
    command = ["strmqm", "--foreground", "--stop-seconds", str(arguments.stop_seconds), directory.name]
    return [*command, "-ns"] if arguments.no_services else command


def _check_not_running(directory: QueueManagerDirectory) -> None:
    is_running, process = running_process(directory)
    if is_running and state_of(directory) in ENDING:
        raise CommandFailed(Status.STOPPING, "is-ending", name=directory.name)
    if is_running:
        where = f" in {describe_process(process)}" if process else ""
        raise CommandFailed(Status.RUNNING, "AMQ7005E", name=directory.name, where=where)


def _redefine(directory: QueueManagerDirectory, speaker: Speaker) -> int:
    """strmqm -c: the default objects as they were when the queue manager was new."""
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
    speaker.say("default-objects", count=len(definitions))
    return Status.DONE


# -- in the background -------------------------------------------------------------------------------------------------


def _start(directory: QueueManagerDirectory, arguments: argparse.Namespace, speaker: Speaker) -> int:
    process, pipe = _spawn(directory, arguments)
    with pipe:
        verdict = _await(directory.name, pipe, sys.stderr.isatty() and arguments.detail == "all")
    if verdict is None:
        raise _vanished(directory, process)
    if "failed" in verdict:
        print(verdict["failed"], file=sys.stderr)
        return int(verdict["status"])
    ready = verdict["ready"]
    if arguments.detail == "all":
        speaker.say("AMQ7230I", records=ready["records"], seconds=ready["seconds"], messages=ready["messages"])
        for notice in ready["notices"]:
            speaker.line(str(notice))
    speaker.say("AMQ8003I", name=directory.name, details=f" in process {ready['pid']}")
    # It goes on without us: nobody is to wait for it.
    process.returncode = 0
    return Status.DONE


def _spawn(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> tuple[subprocess.Popen[bytes], BinaryIO]:
    command = [sys.executable, "-P", "-m", "ostler.cli.strmqm_process"]
    command += ["--root", str(directory.root), "--name", directory.name, "--stop-seconds", str(arguments.stop_seconds)]
    if arguments.no_services:
        command.append("--no-services")
    reading, writing = os.pipe()
    try:
        with _output(directory) as output:
            process = subprocess.Popen(
                [*command, "--pipe", str(writing)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(writing,),
                env=without_secrets(os.environ),
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
    """The output file, or nowhere when the disk has no space for one: a queue manager starts without it."""
    try:
        return _output_file(directory)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return open(os.devnull, "wb")


def _output_file(directory: QueueManagerDirectory) -> BinaryIO:
    """Where the process prints to: nothing, as a rule, but trusted applications may, and a crash does."""
    directory.errors.mkdir(mode=0o700, exist_ok=True)
    path = directory.errors / _OUTPUT
    if path.exists() and path.stat().st_size:
        os.replace(path, directory.errors / f"{_OUTPUT}.old")
    path.unlink(missing_ok=True)  # its mode may be another
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def _await(name: str, pipe: BinaryIO, shows_progress: bool) -> dict[str, Any] | None:
    """What the process says at last: ready or failed; None when it is gone without a word."""
    with contextlib.ExitStack() as open_bars:
        bar = None
        for line in pipe:
            told: dict[str, Any] = json.loads(line)
            if "progress" not in told:
                return told
            if shows_progress:
                if bar is None:
                    from ostler.client.locate.embedded import ReplayBar

                    bar = open_bars.enter_context(ReplayBar(name))
                bar(*told["progress"])
    return None


def _vanished(directory: QueueManagerDirectory, process: subprocess.Popen[bytes]) -> CommandFailed:
    status = process.wait()
    how = f"signal {-status}" if status < 0 else f"status {status}"
    path = directory.errors / _OUTPUT
    output = path.read_bytes()[-_OUTPUT_SHOWN_BYTES:].decode(errors="replace").strip() if path.exists() else ""
    shown = f" It said:\n{output}" if output else ""
    return CommandFailed(Status.UNEXPECTED, "did-not-start", name=directory.name, how=how, output=shown)
