"""`ostler endmqm`: ends a queue manager: controlled, immediate or preemptive."""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import (
    CommandFailed,
    CommandOutput,
    existing_manager,
    request_action,
    whole_number,
)
from ostler.cli.framework.exit_statuses import Status
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory, running_process
from ostler.server.config.process_file import ENDING, ManagerState, state_of

_POLL_SECONDS: Final = 0.01
_FOR_EVER: Final = -1.0
# The share of a target time (-t) in which applications may disconnect; the rest is for the shutdown.
_QUIESCE_SHARE: Final = 0.7
_PATIENCE_SECONDS: Final = 10.0
_GRACE_SECONDS: Final = 1.0


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers, "endmqm", "end a queue manager", "End a queue manager.", Status.PARAMETER_WRONG
    )
    parser.add_argument("name", metavar="QMGR", help="its name")
    modes = parser.add_mutually_exclusive_group()
    for option, purpose in (
        ("c", "controlled: when all applications have disconnected; does not wait (the default)"),
        ("w", "as -c, and wait for the end"),
        ("i", "immediate: break connections, back out what is not committed, and wait"),
        ("p", "preemptive: stop at once, as a crash would; only when nothing else helps"),
    ):
        modes.add_argument(f"-{option}", dest="mode", action="store_const", const=option, help=purpose)
    parser.add_argument(
        "-r",
        dest="reconnects",
        action="store_true",
        help="clients that reconnect by themselves do so (as they do anyway)",
    )
    instances = parser.add_mutually_exclusive_group()
    instances.add_argument(
        "-s", dest="switches_over", action="store_true", help="a replica that is in sync takes over when it has ended"
    )
    instances.add_argument(
        "-x", dest="only_replica", action="store_true", help="end this instance only if it is a replica"
    )
    times = parser.add_mutually_exclusive_group()
    times.add_argument(
        "-t",
        dest="target_seconds",
        type=whole_number,
        metavar="S",
        help="end within this time, with an orderly shutdown",
    )
    times.add_argument(
        "-tp", dest="limit_seconds", type=whole_number, metavar="S", help="end within this time, by force if need be"
    )
    parser.add_argument("-z", dest="is_quiet", action="store_true", help="print errors only")
    parser.set_defaults(run=run, mode="c")


def run(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.name, Status.DOES_NOT_EXIST)
    output = CommandOutput(arguments.is_quiet)
    is_running, process = running_process(directory)
    if not is_running:
        raise CommandFailed(Status.NOT_AVAILABLE, "AMQ7028E", name=directory.typed_name)
    if arguments.only_replica and state_of(directory) is not ManagerState.REPLICA:
        why = "it is not a replica. Without -x it is ended all the same."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-x", why=why)
    mode = {"c": "quiesce", "w": "quiesce", "i": "immediate", "p": "preemptive"}[arguments.mode]
    if arguments.switches_over and mode == "preemptive":
        why = "a preemptive end hands nothing over; the others take over by themselves."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-s", why=why)
    limit = arguments.limit_seconds if arguments.limit_seconds is not None else arguments.target_seconds
    patience = arguments.limit_seconds if arguments.limit_seconds is not None else _patience(mode)
    wait_seconds = _FOR_EVER if limit is None else limit * _QUIESCE_SHARE
    request = {"mode": mode, "wait_seconds": wait_seconds, "reconnect": arguments.reconnects}
    if arguments.switches_over:
        request["switch_over"] = True
    if not _ask_end(directory, request, patience, output):
        _handle_no_answer(directory, process, patience, output)
        return Status.DONE
    if arguments.mode == "c" and limit is None:
        output.message("quiescing", name=directory.name)
        return Status.DONE
    return _await_end(directory, process, mode, patience, output)


def _patience(mode: str) -> float | None:
    """Returns the seconds to wait before the process is killed; None for no limit."""
    return _PATIENCE_SECONDS if mode == "preemptive" else None


def _ask_end(
    directory: QueueManagerDirectory, request: dict[str, object], patience_seconds: float | None, output: CommandOutput
) -> bool:
    """Returns whether the queue manager accepted the request to end. A thread waits, as it may hang."""
    mode = request["mode"]
    accepted: list[bool] = []
    failures: list[CommandFailed] = []

    def wait_for_answer() -> None:
        try:
            for answer in request_action(directory, "end", Status.NOT_AVAILABLE, **request):
                if "cannot_switch_over" in answer:
                    why = answer["cannot_switch_over"]
                    status = Status.CANNOT_SWITCH_OVER
                    failures.append(CommandFailed(status, "AMQ7276E", name=directory.typed_name, why=why))
                if isinstance(taken_over := answer.get("switch_over"), str):
                    output.line(taken_over)
                if answer.get("accepted"):
                    accepted.append(True)
        except MQError:
            # It hangs, or is too busy with its end to answer; its process file has the state.
            if not running_process(directory)[0] or state_of(directory) in ENDING:
                accepted.append(True)
        except CommandFailed as failed:
            failures.append(failed)

    waiter = threading.Thread(target=wait_for_answer, daemon=True)
    waiter.start()
    waiter.join(patience_seconds)
    if failures and mode != "preemptive":
        raise failures[0]
    return bool(accepted)


def _handle_no_answer(
    directory: QueueManagerDirectory, process: int, patience_seconds: float | None, output: CommandOutput
) -> None:
    """Handles a missing answer: the queue manager has ended, or is killed if allowed, or the command fails."""
    if _has_ended(directory, process, _GRACE_SECONDS):
        output.message("AMQ8004I", name=directory.name)
    elif patience_seconds is None:
        why = f"it does not answer. `ostler endmqm -p {directory.name}` ends it all the same."
        raise CommandFailed(Status.UNEXPECTED, "AMQ8146E", name=directory.name, why=why)
    else:
        _kill(directory, process, output)


def _await_end(
    directory: QueueManagerDirectory, process: int, mode: str, patience_seconds: float | None, output: CommandOutput
) -> int:
    output.message("waiting-to-end", name=directory.name)
    if not _has_ended(directory, process, patience_seconds):
        if mode != "preemptive":
            output.message("not-in-time", name=directory.name)
            _ask_end(directory, {"mode": "preemptive", "wait_seconds": 0.0}, _GRACE_SECONDS, output)
        if not _has_ended(directory, process, _GRACE_SECONDS):
            _kill(directory, process, output)
    output.message("AMQ8004I", name=directory.name)
    return Status.DONE


def _has_ended(directory: QueueManagerDirectory, process: int, patience_seconds: float | None) -> bool:
    """Returns whether the instance lock is free after that long at most. A new start counts as an end."""
    deadline = None if patience_seconds is None else time.monotonic() + patience_seconds
    while True:
        is_running, now = running_process(directory)
        if not is_running or now not in (0, process):
            return True
        if deadline is not None and time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)


def _kill(directory: QueueManagerDirectory, process: int, output: CommandOutput) -> None:
    is_running, now = running_process(directory)
    if not is_running or now != process or process <= 0:
        return
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise CommandFailed(Status.NOT_AUTHORIZED, "AMQ7077E", why=error) from error
    _has_ended(directory, process, _PATIENCE_SECONDS)
    output.message("killed", name=directory.name, process=process)
