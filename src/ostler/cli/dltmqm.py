"""`ostler dltmqm`: deletes a queue manager that is not running, with its log."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, existing_manager
from ostler.cli.framework.exit_statuses import Status
from ostler.server.config import directories
from ostler.server.config.default_manager import clear_default, mqs_ini
from ostler.server.config.directories import (
    QueueManagerDirectory,
    QueueManagerNotFoundError,
    QueueManagerRunningError,
    describe_process,
)
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import QueueManagerIni


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "dltmqm",
        "delete a queue manager",
        "Delete a queue manager that is not running, with its log, its objects and its messages.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("name", metavar="QMGR", help="its name")
    parser.add_argument("-z", dest="is_quiet", action="store_true", help="print errors only")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    output = CommandOutput(arguments.is_quiet)
    directory = existing_manager(arguments.name, Status.DOES_NOT_EXIST)
    try:
        remove_files(directory)
    except QueueManagerRunningError as error:
        where = f" in {describe_process(error.process)}"
        raise CommandFailed(Status.RUNNING, "end-it-first", name=directory.name, where=where) from error
    except QueueManagerNotFoundError as error:
        raise CommandFailed(Status.DOES_NOT_EXIST, "AMQ8118E", name=directory.name) from error
    except PermissionError as error:
        raise CommandFailed(Status.NOT_AUTHORIZED, "AMQ7021E", name=directory.name, why=error) from error
    except OSError as error:
        raise CommandFailed(Status.REMOVAL_FAILED, "AMQ7021E", name=directory.name, why=error) from error
    output.message("AMQ8002I", name=directory.name)
    try:
        clear_default(directory.root, directory.name)
    except ConfigurationError as error:
        raise CommandFailed(
            Status.DEFAULT_NOT_CLEARED, "done-but", name=directory.name, file=mqs_ini(directory.root), why=error
        ) from error
    return Status.DONE


def remove_files(directory: QueueManagerDirectory) -> None:
    """Removes the directory of a queue manager, and its log where qm.ini places that elsewhere."""
    try:
        log_path = QueueManagerIni.read(directory.ini).settings.log.path
    except ConfigurationError:
        log_path = ""  # a damaged qm.ini does not prevent the deletion; the log stays where it is
    directories.remove_queue_manager(directory.root, directory.name)
    if log_path:
        shutil.rmtree(Path(log_path) / directories.directory_name(directory.name), ignore_errors=True)
