"""`ostler run-trusted`: runs an application in the process of the queue manager (a trusted application)."""

from __future__ import annotations

import argparse
import os
import sys

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, existing_manager, request_action
from ostler.cli.framework.exit_statuses import Status
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory, running_process


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "run-trusted",
        "run an application in the queue manager's process",
        "Call a Python function in the process of a running queue manager. If the queue manager is not running, it is "
        "started here, in the foreground, and ends with the application.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("-m", dest="name", metavar="QMGR", help="the queue manager (the default one)")
    parser.add_argument("--here", action="store_true", help="run the queue manager here; refused when it runs already")
    parser.add_argument("-b", "--background", action="store_true", help="return when the application has started")
    parser.add_argument(
        "--path", action="append", metavar="DIR", help="where to look for the module, before all else (this directory)"
    )
    parser.add_argument("-z", dest="is_quiet", action="store_true", help="print errors only")
    parser.add_argument("target", metavar="MODULE:FUNCTION", help="what to call")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="texts to call it with")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.name)
    path = [os.path.abspath(each) for each in arguments.path or ["."]]
    is_running, process = running_process(directory)
    if arguments.here and is_running:
        where = f" in process {process}" if process else ""
        raise CommandFailed(Status.RUNNING, "AMQ7005E", name=directory.name, where=where)
    if is_running:
        return _run_there(directory, path, arguments)
    return _run_here(directory, path, arguments)


def _run_there(directory: QueueManagerDirectory, path: list[str], arguments: argparse.Namespace) -> int:
    output = CommandOutput(arguments.is_quiet)
    status = int(Status.DONE)
    try:
        for answer in request_action(
            directory,
            "run_trusted",
            target=arguments.target,
            path=path,
            arguments=arguments.arguments,
            background=arguments.background,
        ):
            if "line" in answer:
                output.line(str(answer["line"]))
            if "failure" in answer:
                print(answer["failure"], file=sys.stderr)
            found = answer.get("status")
            if isinstance(found, int):
                status = found
    except MQError as error:
        if error.reason != mq.MQRC_OPTIONS_ERROR:
            raise
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=error.detail) from error
    return status


def _run_here(directory: QueueManagerDirectory, path: list[str], arguments: argparse.Namespace) -> int:
    from ostler.cli.strmqm import run_in_foreground
    from ostler.server.daemon import QUIESCE, Daemon, EndRequest
    from ostler.server.queue_manager import QueueManager
    from ostler.server.trusted_applications import ApplicationRefused, TrustedApplication

    try:
        application = TrustedApplication(arguments.target, path, arguments.arguments)
    except ApplicationRefused as refused:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=refused) from refused

    def started(manager: QueueManager, daemon: Daemon) -> None:
        def begin() -> None:
            log = daemon.error_log
            application.start(log.write if log is not None else None, when_done)

        def when_done() -> None:
            daemon.exit_status = application.status
            daemon.request_end(EndRequest(QUIESCE, 5.0, f"application {application.target}, which has ended"))

        daemon.when_ready.append(begin)

    return run_in_foreground(directory, started=started)
